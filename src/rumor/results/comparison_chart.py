"""A comparison as a picture: differences with their intervals, and the line of no difference."""

from __future__ import annotations

from typing import Any

import altair as alt

from rumor.core.plain_text import percent
from rumor.results.comparison import SHARES, Comparison
from rumor.results.points import LINE
from rumor.results.view import View

_MAX_PANELS = 24


def comparison_chart(comparison: Comparison, view: View, title: str | None) -> alt.FacetChart:
    """A panel for each pair and quantity, shares in per cent."""
    seen = comparison.on_screen(view)
    columns = comparison.cells(comparison.listed(seen), seen)
    rows: list[dict[str, Any]] = []
    for row in zip(*columns.values(), strict=True):
        one = dict(zip(columns, row, strict=True))
        if one["low"] is None:
            continue
        scale = 100.0 if one["quantity"] in SHARES else 1.0
        unit = f"{one['quantity']}, per cent" if one["quantity"] in SHARES else one["quantity"]
        rows.append(
            {
                "panel": f"{one['second']} less {one['first']} ({unit})",
                "value": str(one["value"]),
                "zero": 0.0,
                **{name: scale * one[name] for name in ("difference", "low", "high")},
            }
        )
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    shown = set(panels[:_MAX_PANELS])
    rows = [row for row in rows if row["panel"] in shown]
    values = list(dict.fromkeys(row["value"] for row in rows))
    base = alt.Chart().encode(
        y=alt.Y("value:N", sort=values, title=None, axis=alt.Axis(labelLimit=220))
    )
    layers = alt.LayerChart(
        data=alt.InlineData(values=rows),
        layer=[
            base.mark_rule(color="#999", strokeDash=[4, 3]).encode(x=alt.X("zero:Q")),
            base.mark_rule(color=LINE, strokeWidth=1.6).encode(
                x=alt.X("low:Q", title="difference"), x2="high:Q"
            ),
            base.mark_point(color=LINE, filled=True, size=55, opacity=1).encode(x="difference:Q"),
        ],
    ).properties(width=300, height=alt.Step(20))
    facts = [f"lines are {percent(view.level)} intervals of the {comparison.of}"]
    if len(panels) > _MAX_PANELS:
        facts.append(f"{len(panels) - _MAX_PANELS:,} further panels are not shown")
    chart: alt.FacetChart = (
        layers.facet(facet=alt.Facet("panel:N", title=None, sort=panels[:_MAX_PANELS]), columns=2)
        .resolve_scale(x="independent", y="independent")
        .properties(title=alt.Title(title or "Differences", subtitle=facts))
        .configure(background="white", padding=12)
        .configure_view(stroke=None)
    )
    return chart
