"""The chart of a mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rumor.core.plain_text import percent
from rumor.results.chart_parts import ROW, WIDTH, framed, points
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.kinds.number.result import MeanEstimate


def mean_chart(
    estimate: MeanEstimate, view: View, title: str | None, truth: float | None
) -> alt.LayerChart:
    """Return a chart of the mean and its interval on the whole range, with the `truth` if known."""
    low, high = estimate.bounds(view)
    row = {"value": "mean", "mean": estimate.mean, "low": low, "high": high, "truth": truth}
    layers = points([row], "mean", "mean", list(estimate.range), truth is not None)
    facts = [
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; "
        f"the line is the {percent(view.level)} interval of the {view.of}"
    ]
    chart = alt.LayerChart(layer=layers).properties(width=WIDTH, height=alt.Step(ROW))
    return framed(chart, title or "Estimated mean", facts)
