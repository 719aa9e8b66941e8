"""The chart of a trend: dots for periods, a line, its band, and a mark where it changed."""

from __future__ import annotations

from typing import Any

import altair as alt

from rumor.analysis.trend.result import Trend
from rumor.core.plain_text import percent
from rumor.results.chart_parts import LINE, TRUTH
from rumor.results.view import View

_MAX_PANELS = 12
_LEVEL = 0.05


def trend_chart(trend: Trend, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each value; if there are many, those with the smallest p-values."""
    most = min(view.rows or _MAX_PANELS, _MAX_PANELS)
    order = view.order or ("given" if len(trend.values) <= most else "estimate")
    seen = View(view.level, rows=most, order=order)
    columns = trend.cells(trend.row_indices(seen), seen)
    changed = {
        str(value): trend.periods[trend.change[i]]
        for i, value in enumerate(trend.values)
        if trend.adjusted[i] < _LEVEL
    }
    rows: list[dict[str, Any]] = []
    for row in zip(*columns.values(), strict=True):
        one: dict[str, Any] = dict(zip(columns, row, strict=True))
        panel = f"{one['quantity']}: {one['value']}"
        here = changed.get(str(one["value"])) == one["period"]
        first = str(one["period"])[:10]  # several days stand at their first
        rows.append({**one, "panel": panel, "first": first, "changed": first if here else None})
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    base = alt.Chart().encode(x=alt.X("first:T", title=None))
    layers = alt.LayerChart(
        data=alt.InlineData(values=rows),
        layer=[
            base.mark_area(color=LINE, opacity=0.15).encode(
                y=alt.Y("low:Q", title=None), y2="high:Q"
            ),
            base.mark_point(color="#888", filled=True, size=14, opacity=0.7).encode(y="estimate:Q"),
            base.mark_line(color=LINE).encode(y="line:Q"),
            base.transform_filter("datum.changed != null")
            .mark_rule(color=TRUTH, strokeDash=[4, 3])
            .encode(x="changed:T"),
        ],
    ).properties(width=280, height=150)
    facts = [
        f"dots are periods; the line is smoothed, with its {percent(view.level)} band",
        "a dashed line is a change that chance alone brings in fewer than 5% of such pictures",
    ]
    chart: alt.FacetChart = (
        layers.facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=2)
        .resolve_scale(y="independent")
        .properties(title=alt.Title(title or "Over time", subtitle=facts))
        .configure(background="white", padding=12)
        .configure_view(stroke=None)
    )
    return chart
