"""Parts of charts: colours, points with intervals, a known truth, panels and a frame.

The colours are those of the pages (base.css). Everyone can tell them apart, colour-blind readers
and black-and-white printers included: an estimate is light, its interval dark, a truth or a change
orange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import altair as alt

from rumor.core.plain_text import percent
from rumor.results.view import View

INK = "#1d1f23"
LINE = "#1d5a96"
BAR = "#9ecae9"
TRUTH = "#d9480f"
TILES = (BAR, "#ffd8a8", "#b2dfb0", "#d0bfff", "#ffc9c9", "#dee2e6")
"""Colours of areas side by side, which their labels tell apart as well."""
SERIES = (LINE, TRUTH, "#2b8a3e", "#7048a8", "#8a6d1d", "#0b8a9c", "#b0306a", "#666666")
"""Colours of lines in one chart."""


def lines_fact(view: View, of: str | None = None) -> str:
    """Return what the lines of a chart of a `view` are; `of` is their target, if not the view's."""
    return f"lines are {percent(view.level)} intervals of the {of or view.of}"


C = TypeVar("C", alt.HConcatChart, alt.VConcatChart)


def frame_panels(panels: C, title: str, facts: Sequence[str]) -> C:
    """Return `panels` under one title, on white."""
    framed: Any = panels.properties(title=alt.Title(title, subtitle=list(facts)))
    framed = framed.configure(background="white", padding=12).configure_view(stroke=None)
    return cast("C", framed)


def base_chart(data: Sequence[Mapping[str, object]]) -> alt.Chart:
    """Return a chart with a row for each value, in the order given."""
    names = [str(row["value"]) for row in data]
    axis = alt.Y("value:N", sort=names, title=None, axis=alt.Axis(labelLimit=220))
    return alt.Chart(alt.InlineData(values=list(data))).encode(y=axis)


def points(
    data: Sequence[Mapping[str, object]],
    column: str,
    title: str,
    ends: Sequence[float],
    truth: bool,
) -> list[alt.Chart]:
    """Return points with their intervals on a range, and the truth if it is known."""
    base, scale = base_chart(data), alt.Scale(domain=list(ends), nice=False)
    layers = [
        base.mark_rule(color=LINE, strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale, title=title), x2="high:Q"
        ),
        base.mark_point(color=LINE, filled=True, size=55, opacity=1).encode(
            x=alt.X(f"{column}:Q", scale=scale)
        ),
    ]
    return layers + ([diamonds(base)] if truth else [])


def diamonds(base: alt.Chart) -> alt.Chart:
    """Return the mark of the truth: orange diamonds."""
    mark = base.mark_point(shape="diamond", color=TRUTH, size=60, filled=True, opacity=1)
    truth: alt.Chart = mark.encode(x=alt.X("truth:Q"))
    return truth


_MAX_PANELS = 24


def around_zero(
    rows: Sequence[Mapping[str, Any]], axis: str, title: str, facts: Sequence[str]
) -> alt.FacetChart:
    """Return panels with a line at 0."""
    return panels(rows, axis, title, facts, zero=True)


def panels(
    rows: Sequence[Mapping[str, Any]],
    axis: str,
    title: str,
    facts: Sequence[str],
    zero: bool = False,
) -> alt.FacetChart:
    """Return a chart of rows with panel, name, point, low and
    high; only the first of many panels.
    """
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
