"""Figures drawn: lines, bars or ticks, a panel for each facet, published numbers as diamonds."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import altair as alt

from rumor.papers.model import Figure, Point
from rumor.results.chart_parts import SERIES, framed

PUBLISHED = ", published"
# Told apart by colour-blind readers; shapes of lines do it in print.
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


def picture(figure: Figure) -> str:
    """Return the figure as SVG, with the digest of what it shows at its end."""
    import vl_convert

    svg = str(vl_convert.vegalite_to_svg(specification(figure)))
    # One label for the whole instead of one for every mark: half the size.
    bare = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
    labelled = bare.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.title)}" ', 1)
    return f"{labelled}\n<!-- {digest(figure)} -->\n"


def digest(figure: Figure) -> str:
    """Return a digest of a figure's contents, whatever fonts it is drawn with."""
    text = json.dumps(specification(figure), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def specification(figure: Figure) -> dict[str, Any]:
    """Return the figure in the language of Vega-Lite."""
    chart = {"tick": _ticks, "grid": _grids}.get(figure.kind, _panels)(figure)
    facts = [figure.note] if figure.note else []
    made: dict[str, Any] = framed(chart, figure.title, facts).to_dict()
    return made


def _series(points: Sequence[Point]) -> list[str]:
    return list(dict.fromkeys(p.series.removesuffix(PUBLISHED) for p in points))


def _rows(points: Sequence[Point]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for point in points:
        if not (math.isfinite(point.x) and math.isfinite(point.y)):
            continue
        row: dict[str, object] = {
            "series": point.series.removesuffix(PUBLISHED),
            "x": _short(point.x),
            "y": _short(point.y),
            "facet": point.facet,
        }
        if point.low is not None and point.high is not None:
            row |= {"low": _short(point.low), "high": _short(point.high)}
        rows.append(row)
    return rows


def _short(number: float) -> float:
    """Round a number to five digits, more than a chart shows."""
    return float(f"{number:.5g}")


def _panels(figure: Figure) -> Any:
    names = _series(figure.points)
    colour = alt.Color(
        "series:N",
        sort=names,
        scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])),
        legend=alt.Legend(
            title=None, orient="bottom", columns=4, labelLimit=260, symbolStrokeWidth=2
        ),
    )
    dash = alt.StrokeDash(
        "series:N",
        sort=names,
        scale=alt.Scale(domain=names, range=list(_DASHES[: len(names)])),
        legend=None,
    )
    x_scale, x_axis = _scale([p.x for p in figure.points], figure.log_x)
    x = alt.X("x:Q", title=figure.x, scale=x_scale, axis=x_axis)
    facets = list(dict.fromkeys(point.facet for point in figure.points))
    panels = []
    for facet in facets:
        here = [p for p in figure.points if p.facet == facet]
        scaled = figure.points if figure.shared else here
        y_scale, y_axis = _scale([p.y for p in scaled], figure.log_y)
        y = alt.Y("y:Q", title=figure.y or None, scale=y_scale, axis=y_axis)
        data = _rows([p for p in here if not p.series.endswith(PUBLISHED)])
        layers = []
        if figure.kind == "bar":
            bars = [row for row in data if row["series"] == names[0]]
            lines = [row for row in data if row["series"] != names[0]]
            layers.append(
                _chart(bars).mark_bar(size=4, opacity=0.55).encode(x=x, y=y, color=colour)
            )
            data = lines
        line = (
            _chart(data).mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
        )
        layers.append(line)
        spreads = [row for row in data if "low" in row]
        if spreads:
            rule = _chart(spreads).mark_rule(strokeWidth=1.2)
            layers.append(rule.encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour))
        diamonds = _rows([p for p in here if p.series.endswith(PUBLISHED)])
        if diamonds:
            mark = _chart(diamonds).mark_point(shape="diamond", size=45, filled=True, opacity=0.85)
            layers.append(mark.encode(x=x, y=y, color=colour))
        panel = alt.layer(*layers).properties(width=250, height=200)
        titled = alt.Title(facet, fontSize=12, fontWeight="normal")
        panels.append(panel.properties(title=titled) if facet else panel)
    return alt.concat(*panels, columns=figure.columns)


def _ticks(figure: Figure) -> Any:
    names = _series(figure.points)
    mark = _chart(_rows(figure.points)).mark_tick(thickness=2, size=34)
    return mark.encode(
        x=alt.X("x:Q", title=figure.x, scale=alt.Scale(domain=[0, 256], nice=False)),
        y=alt.Y("series:N", sort=names, title=None),
        color=alt.Color(
            "series:N",
            scale=alt.Scale(domain=names, range=list(SERIES[: len(names)])),
            legend=None,
        ),
    ).properties(width=800, height=150)


def _grids(figure: Figure) -> Any:
    """Return matrices side by side: darker cells are smaller, and 0 is black."""
    panels = []
    for facet in dict.fromkeys(point.facet for point in figure.points):
        here = [p for p in figure.points if p.facet == facet]
        names, columns = _series(here), list(dict.fromkeys(p.column for p in here))
        rows = [
            {**row, "x": p.column, "text": p.text} for row, p in zip(_rows(here), here, strict=True)
        ]
        x = alt.X("x:O", title=figure.x, axis=alt.Axis(labelAngle=0), sort=columns)
        y = alt.Y("series:N", sort=names, title=None)
        shade = alt.Color(
            "y:Q", legend=None, scale=alt.Scale(domain=[0, 1e-9, 1], range=["#000", "#789", "#fff"])
        )
        base = _chart(rows).encode(x=x, y=y)
        wide = 12 + 7 * max(len(p.text) for p in here)
        size = {"width": wide * len(columns), "height": 30 * len(names)}
        ink = alt.condition("datum.y > 0.2", alt.value("#111"), alt.value("#fff"))
        panel = alt.layer(
            base.mark_rect(stroke="#ccc").encode(color=shade),
            base.mark_text(fontSize=11).encode(text="text:N", color=ink),
        ).properties(title=alt.Title(facet, fontSize=12, fontWeight="normal"), **size)
        panels.append(panel)
    return alt.concat(*panels, columns=figure.columns)


def _chart(rows: Sequence[dict[str, object]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _scale(values: Sequence[float], log: bool) -> tuple[alt.Scale, alt.Axis]:
    """Return a scale over all values; a logarithmic one with ticks where they can be read."""
    low, high = min(values), max(values)
    if not log:
        room = 0.04 * (high - low or 1)
        low = low if low == 0 else low - room
        return alt.Scale(domain=[low, high + room], nice=False), alt.Axis(tickCount=6)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < 60 else (1,)
    ticks = [float(f"{m}e{d}") for d in decades for m in steps]
    shown = [t for t in ticks if 0.99 * low <= t <= 1.01 * high]
    domain = [low / 1.08, high * 1.08]
    return alt.Scale(type="log", domain=domain, nice=False), alt.Axis(format="~g", values=shown)
