"""The chart of a distribution: its histogram, and below it the distribution function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.core.plain_text import percent
from rumor.results.chart_parts import (
    BAR,
    LINE,
    ROW,
    TRUTH,
    WIDTH,
    framed,
    lines_fact,
    points,
    whiskers,
)
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.core.types import Vector
    from rumor.kinds.ordered.result import OrderedEstimate

# Distributions with more bars than this are grouped.
_BARS = 64
_MARKED = ((0.25, "25%"), (0.5, "median"), (0.75, "75%"))
# Labels are drawn upright beyond this number of bars.
_FLAT = 8
_WHOLE = alt.Scale(domain=[0, 1])


def distribution_chart(
    estimate: OrderedEstimate, view: View, title: str | None, truth: Vector | None
) -> alt.VConcatChart:
    """Return bars of shares with the quartiles marked, above the distribution function."""
    labels = estimate.scale.labels is not None
    upper = _labelled(estimate, view, truth) if labels else _histogram(estimate, truth)
    lower = _steps(estimate, view) if labels else _function(estimate, view, truth)
    band = f"the band is the {percent(view.level)} interval of the population"
    facts = [
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; method "
        f"{estimate.method}; {lines_fact(view, 'population') if labels else band}",
        *(["dashed: the quartiles"] if not labels else []),
        *(["orange: the truth"] if truth is not None else []),
    ]
    panels = [
        alt.LayerChart(layer=upper).properties(width=WIDTH, height=180),
        alt.LayerChart(layer=lower).properties(width=WIDTH, height=140),
    ]
    return framed(alt.VConcatChart(vconcat=panels), title or "Estimated distribution", facts)


def _histogram(estimate: OrderedEstimate, truth: Vector | None) -> list[alt.Chart]:
    data = _bars(estimate, estimate.frequency)
    # Between its two ends a bar stands on zero only where the ends are said to be bins.
    x, y = _axis(estimate, "low").bin("binned"), "high"
    share = alt.Y("share:Q", axis=alt.Axis(format="%"), title="share of people")
    base = alt.Chart(alt.InlineData(values=data))
    layers = [base.mark_bar(color=BAR, binSpacing=0.5).encode(x=x, x2=y, y=share)]
    if truth is not None:
        line = alt.Chart(alt.InlineData(values=_bars(estimate, truth)))
        layers.append(
            line.mark_tick(color=TRUTH, thickness=2, width=4).encode(
                x=alt.X("middle:Q"), y=alt.Y("share:Q")
            )
        )
    quartiles = [(name, estimate.quantile(share).value) for share, name in _MARKED]
    for row, (name, at) in enumerate(quartiles):
        mark = alt.Chart(alt.InlineData(values=[{"at": at, "name": f"{name} {at:.3g}"}]))
        layers.append(mark.mark_rule(color=LINE, strokeDash=[4, 3]).encode(x=alt.X("at:Q")))
        # Labels of quartiles are stacked, since quartiles may be close together.
        text = mark.mark_text(color=LINE, align="left", dx=3, y=6 + 12 * row, fontSize=10)
        layers.append(text.encode(x=alt.X("at:Q"), text="name:N"))
    return layers


def _bars(estimate: OrderedEstimate, frequency: Vector) -> list[dict[str, float]]:
    """Return the bars of the histogram; positions are grouped where there are many."""
    domain, scale = estimate.scale.domain, estimate.scale
    each = -(-domain // _BARS)
    starts = np.arange(0, domain, each)
    shares = np.add.reduceat(frequency, starts)
    ends = np.minimum(starts + each, domain)
    low, high = scale.at(starts), scale.at(ends)
    return [
        {"low": float(a), "high": float(b), "middle": float(a + b) / 2, "share": float(s)}
        for a, b, s in zip(low, high, shares, strict=True)
    ]


def _axis(estimate: OrderedEstimate, column: str) -> alt.X:
    scale = estimate.scale
    ends = [float(scale.at(0)), float(scale.at(scale.domain))]
    return alt.X(f"{column}:Q", scale=alt.Scale(domain=ends, nice=False), title=None)


def _function(estimate: OrderedEstimate, view: View, truth: Vector | None) -> list[alt.Chart]:
    cells = estimate.cells(range(estimate.scale.domain), view)
    at = estimate.scale.at(np.arange(estimate.scale.domain + 1))
    each = max(1, estimate.scale.domain // 256)
    data = [{"at": float(at[0]), "cdf": 0.0, "low": 0.0, "high": 0.0}]
    rows = zip(at[1:], cells["cdf"], cells["cdf_low"], cells["cdf_high"], strict=True)
    for i, (x, cdf, low, high) in enumerate(rows):
        if i % each == each - 1 or i == estimate.scale.domain - 1:
            data.append({"at": float(x), "cdf": cdf, "low": low, "high": high})
    base = alt.Chart(alt.InlineData(values=data))
    x = _axis(estimate, "at")
    share = alt.Axis(format="%")
    title = "share of people up to here"
    layers = [
        base.mark_area(color=BAR, opacity=0.6).encode(
            x=x, y=alt.Y("low:Q", axis=share, title=title, scale=_WHOLE), y2="high"
        ),
        base.mark_line(color=LINE, strokeWidth=1.4).encode(x=x, y=alt.Y("cdf:Q")),
    ]
    if truth is not None:
        known = [
            {"at": float(a), "cdf": float(f)} for a, f in zip(at[1:], np.cumsum(truth), strict=True)
        ]
        line = alt.Chart(alt.InlineData(values=known)).mark_line(color=TRUTH, strokeWidth=1.2)
        layers.append(line.encode(x=alt.X("at:Q"), y=alt.Y("cdf:Q")))
    return layers


def _labelled(estimate: OrderedEstimate, view: View, truth: Vector | None) -> list[alt.Chart]:
    names = list(estimate.values)
    named = View(looks=view.looks, users=view.users)
    cells = estimate.cells(range(estimate.scale.domain), named)
    data = [
        {
            "value": name,
            "share": share,
            "low": low,
            "high": high,
            "truth": None if truth is None else float(truth[i]),
        }
        for i, (name, share, low, high) in enumerate(
            zip(names, cells["frequency"], cells["low"], cells["high"], strict=True)
        )
    ]
    base = alt.Chart(alt.InlineData(values=data)).encode(x=_names(names))
    share = alt.Y("share:Q", axis=alt.Axis(format="%"), title="share of people")
    layers = [
        base.mark_bar(color=BAR, width={"band": 0.72}).encode(y=share),
        *whiskers(base, across=False),
    ]
    if truth is not None:
        mark = base.mark_point(shape="diamond", color=TRUTH, size=60, filled=True, opacity=1)
        layers.append(mark.encode(y=alt.Y("truth:Q")))
    return layers


def _steps(estimate: OrderedEstimate, view: View) -> list[alt.Chart]:
    names = list(estimate.values)
    cells = estimate.cells(range(estimate.scale.domain), view)
    columns = (cells["cdf"], cells["cdf_low"], cells["cdf_high"])
    data = [
        {"value": name, "cdf": cdf, "low": low, "high": high}
        for name, cdf, low, high in zip(names, *columns, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=data)).encode(x=_names(names))
    title = "share of people up to it"
    return [
        *whiskers(base, across=False, axis=alt.Axis(format="%"), title=title, scale=_WHOLE),
        base.mark_point(color=LINE, filled=True, size=24, opacity=1).encode(y=alt.Y("cdf:Q")),
    ]


def _names(names: Sequence[str]) -> alt.X:
    return alt.X(
        "value:N",
        sort=list(names),
        title=None,
        axis=alt.Axis(labelLimit=160, labelAngle=0 if len(names) <= _FLAT else -45),
    )


def strata_chart(
    estimates: Mapping[str, OrderedEstimate], by: str, view: View, *, title: str
) -> alt.LayerChart:
    """Return a chart of the linear mean of each stratum, which is comparable, with its interval."""
    first = next(iter(estimates.values()))
    ends = [float(first.scale.at(0)), float(first.scale.at(first.scale.domain))]
    rows = []
    for name, estimate in estimates.items():
        found = estimate.mean_interval(view.level, looks=view.looks, users=view.users)
        rows.append({"value": name, "mean": found.value, "low": found.low, "high": found.high})
    total = sum(estimate.reports for estimate in estimates.values())
    layers = points(rows, "mean", f"mean, by {by}", ends, truth=False)
    chart = alt.LayerChart(layer=layers).properties(width=WIDTH, height=alt.Step(ROW))
    return framed(chart, title, [f"{total:,} reports; {lines_fact(view, 'population')}"])
