"""Charts of estimates: bars with intervals, as HTML, PNG or SVG, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.core.plain_text import one_line
from rumor.results.chart_files import chart_svg as chart_svg
from rumor.results.chart_files import checked_chart_path as checked_chart_path
from rumor.results.chart_files import save_chart as save_chart
from rumor.results.chart_files import save_if_named as save_if_named
from rumor.results.chart_parts import BAR, LINE, ROW, TRUTH, WIDTH, framed, lines_fact, whiskers
from rumor.results.estimate import Estimate
from rumor.results.intervals import Bounds
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.core.types import Vector

Chart = alt.LayerChart | alt.FacetChart | alt.HConcatChart

_MAX_FACETS = 24

_NAMES = {"estimate": BAR, "interval": LINE, "truth": TRUTH}


def frequency_chart(
    estimate: Estimate,
    view: View | None = None,
    *,
    title: str | None = None,
    truth: Vector | None = None,
) -> alt.LayerChart:
    """Return the most frequent values as bars with their intervals, and the known truth."""
    view = (view or View()).on_screen()
    order = estimate.row_indices(view)
    left_out = len(estimate.values) - len(order)
    subtitle = [
        f"{estimate.reports:,} reports, {how_made(estimate, view)}",
        estimate.coverage_sentence(view),
    ]
    subtitle += estimate.notes
    if left_out:
        subtitle.append(f"the {left_out:,} least frequent values are not shown")
    layers = _layers(
        _rows(estimate, order, estimate.bounds(order, view), truth),
        [str(estimate.values[i]) for i in order],
        truth is not None,
    )
    chart = layers.properties(width=WIDTH, height=alt.Step(ROW))
    return framed(chart, title or "Estimated shares", subtitle)


def how_made(estimate: Estimate, view: View) -> str:
    """Return a sentence about the method of the estimates and the meaning of the lines."""
    made = f"epsilon {estimate.epsilon:.3g} each; method {estimate.method}"
    return f"{made}; {lines_fact(view)}" if estimate.has_intervals else made


def strata_chart(
    estimates: Mapping[str, Estimate],
    by: str,
    view: View | None = None,
    *,
    title: str | None = None,
) -> alt.FacetChart:
    """Return the values of every group side by side, all on one scale."""
    view = (view or View()).on_screen()
    shown = sorted(estimates.items(), key=lambda item: -item[1].reports)[:_MAX_FACETS]
    total = sum(estimate.reports for _, estimate in shown)
    overall = sum(estimate.frequency * estimate.reports / total for _, estimate in shown)
    order = np.argsort(-np.asarray(overall), kind="stable")[: view.rows].tolist()
    # Shown in the order given: days stay in order, and so do names.
    kept = {name for name, _ in shown}
    headings = {
        name: f"{one_line(name)} ({estimate.reports:,} reports)"
        for name, estimate in estimates.items()
        if name in kept
    }
    data = [
        {"stratum": heading, **row}
        for name, heading in headings.items()
        for row in _rows(
            estimates[name],
            order,
            estimates[name].bounds(order, view, chosen_by_others=True),
            None,
        )
    ]
    first = shown[0][1]
    left_out = len(estimates) - len(shown)
    subtitle = [
        f"by {by}; {total:,} reports, {how_made(first, view)}",
        first.coverage_sentence(view),
    ]
    subtitle += first.notes
    if left_out:
        subtitle.append(f"{left_out:,} smaller groups are not shown")
    layers = _layers(data, [str(first.values[i]) for i in order], truth=False, ticks=4)
    facets = layers.properties(width=260, height=alt.Step(20)).facet(
        facet=alt.Facet("stratum:N", title=None, sort=list(headings.values())),
        columns=2 if len(shown) in (2, 4) else 3,
    )
    return framed(facets, title or "Estimated shares", subtitle)


def _rows(
    estimate: Estimate, order: Sequence[int], ends: Bounds, truth: Vector | None
) -> list[dict[str, object]]:
    return [
        {
            "value": str(estimate.values[i]),
            "frequency": float(estimate.frequency[i]),
            "low": float(ends[0][k]),
            "high": float(ends[1][k]),
            **({} if truth is None else {"truth": float(truth[i])}),
        }
        for k, i in enumerate(order)
    ]


def _layers(
    data: Sequence[Mapping[str, object]], values: list[str], truth: bool, ticks: int = 6
) -> alt.LayerChart:
    """Return bars, then intervals, then the truth, over one row for each value."""
    names = list(_NAMES) if truth else list(_NAMES)[:2]
    color = alt.Color(
        "part:N",
        scale=alt.Scale(domain=names, range=[_NAMES[name] for name in names]),
        legend=alt.Legend(title=None, orient="top", symbolType="square", symbolOpacity=1, offset=8),
    )
    tooltip = [alt.Tooltip("value:N")] + [
        alt.Tooltip(f"{name}:Q", format=".3%")
        for name in ("frequency", "low", "high", *(["truth"] if truth else []))
    ]
    everything = alt.Chart(alt.InlineData(values=list(data))).encode(
        y=alt.Y("value:N", sort=values, title=None, axis=alt.Axis(labelLimit=220)),
        color=color,
        tooltip=tooltip,
    )

    def part(name: str) -> alt.Chart:
        # A constant column names the part, so that it has its colour and its legend.
        return everything.transform_calculate(part=f"'{name}'")

    share = alt.Axis(format="%", tickCount=ticks, grid=True)
    layers = [
        part("estimate")
        .mark_bar(height={"band": 0.72})
        .encode(x=alt.X("frequency:Q", axis=share, title="share of people")),
        *whiskers(part("interval"), colour=None),
    ]
    if truth:
        mark = part("truth").mark_point(shape="diamond", size=60, filled=True, opacity=1)
        layers.append(mark.encode(x=alt.X("truth:Q")))
    return alt.LayerChart(layer=layers)
