"""Numbers around zero as a picture: points with intervals in panels, and the line of nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from rumor.results.colours import LINE

_MAX_PANELS = 24


def around_zero(
    rows: Sequence[Mapping[str, Any]], axis: str, title: str, facts: Sequence[str]
) -> alt.FacetChart:
    """Panels with a line where there is nothing."""
    return panels(rows, axis, title, facts, zero=True)


def panels(
    rows: Sequence[Mapping[str, Any]],
    axis: str,
    title: str,
    facts: Sequence[str],
    zero: bool = False,
) -> alt.FacetChart:
    """Rows of panel, name, point, low and high; the first panels of many."""
    titles = list(dict.fromkeys(row["panel"] for row in rows))
    shown = set(titles[:_MAX_PANELS])
    kept = [{**row, "zero": 0.0} for row in rows if row["panel"] in shown]
    names = list(dict.fromkeys(row["name"] for row in kept))
    base = alt.Chart().encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=220))
    )
    layers = alt.LayerChart(
        data=alt.InlineData(values=kept),
        layer=[
            *([base.mark_rule(color="#999", strokeDash=[4, 3]).encode(x="zero:Q")] if zero else []),
            base.mark_rule(color=LINE, strokeWidth=1.6).encode(
                x=alt.X("low:Q", title=axis, scale=alt.Scale(zero=zero)), x2="high:Q"
            ),
            base.mark_point(color=LINE, filled=True, size=55, opacity=1).encode(x="point:Q"),
        ],
    ).properties(width=300, height=alt.Step(20))
    more = len(titles) - _MAX_PANELS
    told = [*facts, *([f"{more:,} further panels are not shown"] if more > 0 else [])]
    chart: alt.FacetChart = (
        layers.facet(facet=alt.Facet("panel:N", title=None, sort=titles[:_MAX_PANELS]), columns=2)
        .resolve_scale(x="independent", y="independent")
        .properties(title=alt.Title(title, subtitle=told))
        .configure(background="white", padding=12)
        .configure_view(stroke=None)
    )
    return chart
