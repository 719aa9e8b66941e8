"""Parts of charts: colours, intervals, points, a known truth, panels, and the style of all.

The colours are those of the pages (base.css). Everyone can tell them apart, colour-blind readers
and black-and-white printers included: an estimate is light, its interval dark, a truth or a change
orange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

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


WIDTH, ROW = 520, 24
"""The width of a chart that stands alone, and the height of its rows, in pixels."""

C = TypeVar("C", bound=alt.TopLevelMixin)


def framed(chart: C, title: str, facts: Sequence[str]) -> C:
    """Return `chart` in the style of all charts, with its `title` and the `facts` above it."""
    text = {"labelFont": "sans-serif", "titleFont": "sans-serif", "labelColor": INK}
    made: Any = chart
    made = (
        made.properties(title=alt.Title(title, subtitle=list(facts)))
        .configure(background="white", padding=12, font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            **text, labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#eee"
        )
        .configure_axisYDiscrete(domain=False, ticks=False, labelPadding=6, grid=False)
        .configure_legend(**text, labelFontSize=12)
        .configure_header(**text, labelFontSize=13, labelFontWeight="bold")
        .configure_title(
            font="sans-serif",
            subtitleFont="sans-serif",
            anchor="start",
            fontSize=15,
            subtitleFontSize=12,
            subtitleColor="#555",
            offset=10,
        )
    )
    return cast("C", made)


def whiskers(
    base: alt.Chart, across: bool = True, colour: str | None = LINE, **axis: Any
) -> list[alt.Chart]:
    """Return the intervals of rows, from low to high, with a cap at each end.

    They lie `across` or stand upright. Without a `colour` they have that of `base`; `axis` says how
    their first end is encoded.
    """
    marked: dict[str, Any] = {} if colour is None else {"color": colour}
    one, other, channel = ("x", "x2", alt.X) if across else ("y", "y2", alt.Y)
    rule = base.mark_rule(strokeWidth=1.6, **marked)
    turned: Literal["vertical", "horizontal"] = "vertical" if across else "horizontal"
    cap = base.mark_tick(thickness=1.6, size=9, orient=turned, opacity=1, **marked)
    return [
        rule.encode(**{one: channel("low:Q", **axis), other: "high:Q"}),
        *(cap.encode(**{one: channel(end)}) for end in ("low:Q", "high:Q")),
    ]


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
        *whiskers(base, scale=scale, title=title),
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
    # Across all rows, so without their encoding.
    nothing = alt.Chart().mark_rule(color="#999", strokeDash=[4, 3]).encode(x="zero:Q")
    layers = alt.LayerChart(
        data=alt.InlineData(values=kept),
        layer=[
            *([nothing] if zero else []),
            *whiskers(base, title=axis, scale=alt.Scale(zero=zero)),
            base.mark_point(color=LINE, filled=True, size=55, opacity=1).encode(x="point:Q"),
        ],
    ).properties(width=300, height=alt.Step(20))
    more = len(titles) - _MAX_PANELS
    told = [*facts, *([f"{more:,} further panels are not shown"] if more > 0 else [])]
    chart: alt.FacetChart = layers.facet(
        facet=alt.Facet("panel:N", title=None, sort=titles[:_MAX_PANELS]), columns=2
    ).resolve_scale(x="independent", y="independent")
    return framed(chart, title, told)
