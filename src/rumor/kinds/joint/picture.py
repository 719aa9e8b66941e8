"""The chart of the table of two answers: a mosaic where cells are few, else a heat map.

A mosaic's tiles are as large as their shares: columns as wide as the second part's values are
frequent, each divided as the first part's values are among its people. Where the answers are
independent, all columns are divided alike. Every tile shows its share and its interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.core.plain_text import decimals_for, one_line, percent
from rumor.results.chart_parts import INK, TILES, TRUTH, framed
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.core.types import Vector
    from rumor.kinds.joint.result import JointEstimate

# The largest number of cells of a mosaic, whose tiles need room for their text.
_MOSAIC = 6
_MOST_STRATA = 12
_WIDTH, _HEIGHT, _STEP = 420, 280, 46

Row = Mapping[str, object]


def joint_chart(
    estimate: JointEstimate, view: View, title: str | None, truth: Vector | None
) -> alt.VConcatChart:
    """Return a chart with a panel for each pair of parts."""
    panels = [_panel(estimate, pair, view, truth, None) for pair in estimate.tables]
    facts = [
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; method "
        f"{estimate.method}; below each share its {percent(view.level)} interval",
        *[_strength(estimate, pair, view) for pair in estimate.tables],
        *(["orange: the truth"] if truth is not None else []),
    ]
    return framed(alt.VConcatChart(vconcat=panels), title or "Estimated table", facts)


def strata_chart(
    estimates: Mapping[str, JointEstimate], by: str, view: View, *, title: str
) -> alt.VConcatChart:
    """Return a chart of the tables of the largest strata, one below the other."""
    order = sorted(estimates, key=lambda name: -estimates[name].reports)
    most = set(order[:_MOST_STRATA])
    panels = [
        _panel(one, pair, view, None, f"{one_line(name)} ({one.reports:,} reports)")
        for name, one in estimates.items()
        if name in most
        for pair in one.tables
    ]
    facts = [f"by {by}; below each share its {percent(view.level)} interval"]
    if len(estimates) > len(most):
        facts.append(f"{len(estimates) - len(most):,} smaller groups are not shown")
    return framed(alt.VConcatChart(vconcat=panels), title, facts)


def _strength(estimate: JointEstimate, pair: tuple[int, int], view: View) -> str:
    table = estimate.tables[pair]
    v = table.cramers_v(view.level)
    return (
        f"{table.ids[0]} and {table.ids[1]}: Cramer's V {v.value:.2f} ({v.low:.2f} to "
        f"{v.high:.2f}), p of independence {table.test.p_value:.2g}"
    )


def _panel(
    estimate: JointEstimate,
    pair: tuple[int, int],
    view: View,
    truth: Vector | None,
    heading: str | None,
) -> alt.LayerChart:
    table = estimate.tables[pair]
    rows = _rows(estimate, pair, view, truth)
    few = table.shares.size <= _MOSAIC
    layers = _mosaic(rows, table.ids) if few else _heat_map(rows, table.ids)
    if truth is not None:
        layers.append(layers[1].mark_text(fontSize=9, color=TRUTH, dy=22).encode(text="truth:N"))
    columns, lines = len(table.labels[1]), len(table.labels[0])
    width = _WIDTH if few else max(_WIDTH, 84 * columns)
    height = _HEIGHT if few else _STEP * lines
    chart = alt.LayerChart(layer=layers).properties(width=width, height=height)
    if heading is not None:
        chart = chart.properties(title=heading)
    made: alt.LayerChart = chart
    return made


def _rows(
    estimate: JointEstimate, pair: tuple[int, int], view: View, truth: Vector | None
) -> list[Row]:
    """Return a row for each cell: its place in a mosaic, and its text."""
    table = estimate.tables[pair]
    low, high = estimate.bounds(view)
    shares = table.shares
    digits = min(decimals_for(float(table.linear.deviation.min())), 1)
    wide = shares.sum(axis=0)
    left = np.concatenate([[0.0], np.cumsum(wide)])
    found: list[Row] = []
    for j, column in enumerate(table.labels[1]):
        inside = shares[:, j] / wide[j] if wide[j] > 0 else np.full(len(shares), 1 / len(shares))
        top = np.concatenate([[0.0], np.cumsum(inside)])
        for i, row in enumerate(table.labels[0]):
            at = estimate.row(pair, (row, column))
            ends = f"{100 * low[at]:.{digits}f} to {100 * high[at]:.{digits}f}"
            found.append(
                {
                    "row": row,
                    "column": column,
                    "share": float(shares[i, j]),
                    "low": float(low[at]),
                    "high": float(high[at]),
                    "ratio": float(table.ratio[i, j]),
                    "said": percent(float(shares[i, j]), digits),
                    "ends": ends,
                    "truth": "" if truth is None else percent(float(truth[at]), digits),
                    "x": float(left[j]),
                    "x2": float(left[j + 1]),
                    "y": float(1 - top[i]),
                    "y2": float(1 - top[i + 1]),
                    "middle": float((left[j] + left[j + 1]) / 2),
                    "centre": float(1 - (top[i] + top[i + 1]) / 2),
                    "dark": bool(shares[i, j] > 0.7 * shares.max()),
                }
            )
    return found


def _base(rows: list[Row], ids: tuple[str, str]) -> alt.Chart:
    tooltip = [
        alt.Tooltip("row:N", title=ids[0]),
        alt.Tooltip("column:N", title=ids[1]),
        *(alt.Tooltip(f"{name}:Q", format=".2%") for name in ("share", "low", "high")),
        alt.Tooltip("ratio:Q", format=".2f", title="times the product of margins"),
    ]
    base: alt.Chart = alt.Chart(alt.InlineData(values=rows)).encode(tooltip=tooltip)
    return base


def _names(rows: list[Row], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _mosaic(rows: list[Row], ids: tuple[str, str]) -> list[alt.Chart]:
    base, lines = _base(rows, ids), _names(rows, "row")
    colour = alt.Color(
        "row:N",
        sort=lines,
        scale=alt.Scale(domain=lines, range=list(TILES[: len(lines)])),
        legend=alt.Legend(title=ids[0], orient="right", symbolType="square"),
    )
    none = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    whole = alt.Scale(domain=[0, 1], nice=False)
    across = alt.X("x:Q", scale=whole, axis=none, title=ids[1])
    up = alt.Y("y:Q", scale=whole, axis=none, title=ids[0])
    text = base.encode(x=alt.X("middle:Q", scale=whole), y=alt.Y("centre:Q", scale=whole))
    columns = {str(row["column"]): row["middle"] for row in rows}
    heads = alt.Chart(
        alt.InlineData(values=[{"column": c, "middle": m, "top": 1} for c, m in columns.items()])
    )
    return [
        base.mark_rect(stroke="white", strokeWidth=3).encode(
            x=across, x2="x2:Q", y=up, y2="y2:Q", color=colour
        ),
        text.mark_text(fontSize=13, color=INK, dy=-6).encode(text="said:N"),
        text.mark_text(fontSize=10, color=INK, dy=9).encode(text="ends:N"),
        heads.mark_text(fontSize=12, color=INK, dy=-10).encode(
            x=alt.X("middle:Q", scale=whole), y=alt.Y("top:Q", scale=whole), text="column:N"
        ),
    ]


def _heat_map(rows: list[Row], ids: tuple[str, str]) -> list[alt.Chart]:
    labels = alt.Axis(labelLimit=160, labelAngle=0, orient="top", domain=False, ticks=False)
    base = _base(rows, ids).encode(
        x=alt.X("column:N", sort=_names(rows, "column"), title=ids[1], axis=labels),
        y=alt.Y("row:N", sort=_names(rows, "row"), title=ids[0]),
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme="blues", domainMin=0),
        legend=alt.Legend(title="share", format="%"),
    )
    ink = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    return [
        base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour),
        base.mark_text(fontSize=12, dy=-7).encode(text="said:N", color=ink),
        base.mark_text(fontSize=9, dy=8).encode(text="ends:N", color=ink),
    ]
