"""Pictures of estimates: bars with intervals, as HTML, PNG or SVG, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.errors import InputError

if TYPE_CHECKING:
    from rumor.estimates import Estimate

_FORMATS = (".html", ".png", ".svg")


def frequency_chart(
    estimate: Estimate, *, level: float = 0.95, of: str = "population", rows: int = 20
) -> alt.LayerChart:
    """The most frequent values as bars, each with its interval."""
    low, high = estimate.interval(level, of=of)
    order = np.argsort(-estimate.frequency, kind="stable")[:rows].tolist()
    data = alt.InlineData(
        values=[
            {
                "value": str(estimate.values[i]),
                "frequency": float(estimate.frequency[i]),
                "low": float(low[i]),
                "high": float(high[i]),
            }
            for i in order
        ]
    )
    base = alt.Chart(data).encode(y=alt.Y("value:N", sort=None, title=None))
    bars = base.mark_bar(color="#4c78a8").encode(
        x=alt.X("frequency:Q", axis=alt.Axis(format="%"), title="share of people"),
        tooltip=[alt.Tooltip("value:N"), alt.Tooltip("frequency:Q", format=".3%")],
    )
    rules = base.mark_rule(color="#222", strokeWidth=2).encode(x="low:Q", x2="high:Q")
    title = alt.Title(
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each",
        subtitle=f"method {estimate.method}; lines are {level:.0%} intervals of the {of}",
    )
    return alt.LayerChart(layer=[bars, rules]).properties(title=title, width=480)


def save_chart(chart: alt.LayerChart, path: str) -> None:
    """Write a chart to a file; HTML carries its scripts inside, so it opens anywhere."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise InputError(f"a chart's file must end in {', '.join(_FORMATS)}; got {path!r}")
    if suffix == ".html":
        chart.save(path, inline=True)
    else:
        chart.save(path, scale_factor=2 if suffix == ".png" else 1)
