"""What several charts share: a point with its interval on a range, a known truth, a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import altair as alt

from rumor.results.colours import LINE, TRUTH

C = TypeVar("C", alt.HConcatChart, alt.VConcatChart)


def framed(panels: C, title: str, facts: Sequence[str]) -> C:
    """Panels under one title, on white: all that a picture of several panels has around it."""
    framed: Any = panels.properties(title=alt.Title(title, subtitle=list(facts)))
    framed = framed.configure(background="white", padding=12).configure_view(stroke=None)
    return cast("C", framed)


def base_chart(data: Sequence[Mapping[str, object]]) -> alt.Chart:
    """A row for each value, in the order given."""
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
    """Points with their intervals on a range, and the truth where it is known."""
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
    """The truth."""
    mark = base.mark_point(shape="diamond", color=TRUTH, size=60, filled=True, opacity=1)
    truth: alt.Chart = mark.encode(x=alt.X("truth:Q"))
    return truth
