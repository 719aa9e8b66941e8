"""Pictures of numbers: a mean on its range, and the shares and means of keys side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.core.plain_text import percent
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.core.types import Vector
    from rumor.kinds.keyvalue.result import KeyValueEstimate, MeanEstimate

# As in rumor.results.charts: a light estimate, a dark interval, an orange truth.
_BAR, _LINE, _TRUTH = "#9ecae9", "#1f4e79", "#d9480f"


def mean_chart(
    estimate: MeanEstimate,
    view: View,
    *,
    title: str | None = None,
    truth: float | None = None,
) -> alt.LayerChart:
    """One point and its interval on the whole range, and the truth where it is known."""
    low, high = estimate.interval(view.level, of=view.of)
    row = {"value": "mean", "mean": estimate.mean, "low": low, "high": high, "truth": truth}
    layers = _points([row], "mean", "mean", list(estimate.range), truth is not None)
    facts = (
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; "
        f"the line is the {percent(view.level)} interval of the {view.of}"
    )
    chart = alt.LayerChart(layer=layers).properties(width=520, height=60)
    return chart.properties(title=alt.Title(title or "Estimated mean", subtitle=facts))


def keyvalue_chart(
    estimate: KeyValueEstimate,
    view: View,
    *,
    title: str | None = None,
    truth: tuple[Vector, Vector] | None = None,
) -> alt.HConcatChart:
    """The most frequent keys: shares as bars on the left, means as points on the right."""
    view = view.on_screen()
    order = estimate.listed(view)
    names = [str(estimate.values[i]) for i in order]
    panels = []
    for index, quantity in enumerate(("frequency", "mean")):
        low, high = estimate.bounds(order, view, quantity)
        answer = getattr(estimate, quantity)
        data = [
            {
                "value": str(estimate.values[i]),
                quantity: None if np.isnan(answer[i]) else float(answer[i]),
                "low": float(low[k]),
                "high": float(high[k]),
                "truth": None if truth is None else float(truth[index][i]),
            }
            for k, i in enumerate(order)
        ]
        known = truth is not None
        if quantity == "frequency":
            layers = _bars(data, names, known)
        else:
            layers = _points(data, "mean", "mean of those who hold it", list(estimate.range), known)
        panels.append(alt.LayerChart(layer=layers).properties(width=320, height=alt.Step(22)))
    hidden = len(estimate.values) - len(order)
    facts = [
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; method "
        f"{estimate.method}; lines are {percent(view.level)} intervals of the {view.of}",
        estimate.covers(view),
        *([f"the {hidden:,} least frequent keys are not shown"] if hidden else []),
    ]
    chart: alt.HConcatChart = (
        alt.HConcatChart(hconcat=panels)
        .properties(title=alt.Title(title or "Estimated shares and means", subtitle=facts))
        .configure(background="white", padding=12)
        .configure_view(stroke=None)
    )
    return chart


def _base(data: Sequence[Mapping[str, object]]) -> alt.Chart:
    names = [str(row["value"]) for row in data]
    axis = alt.Y("value:N", sort=names, title=None, axis=alt.Axis(labelLimit=220))
    return alt.Chart(alt.InlineData(values=list(data))).encode(y=axis)


def _bars(
    data: Sequence[Mapping[str, object]], names: Sequence[str], truth: bool
) -> list[alt.Chart]:
    base = _base(data)
    share = alt.X("frequency:Q", axis=alt.Axis(format="%"), title="share of people")
    layers = [
        base.mark_bar(color=_BAR, height={"band": 0.72}).encode(x=share),
        base.mark_rule(color=_LINE, strokeWidth=1.6).encode(x=alt.X("low:Q"), x2="high:Q"),
    ]
    return layers + ([_diamonds(base)] if truth else [])


def _points(
    data: Sequence[Mapping[str, object]],
    column: str,
    title: str,
    ends: Sequence[float],
    truth: bool,
) -> list[alt.Chart]:
    base, scale = _base(data), alt.Scale(domain=list(ends), nice=False)
    layers = [
        base.mark_rule(color=_LINE, strokeWidth=1.6).encode(
            x=alt.X("low:Q", scale=scale, title=title), x2="high:Q"
        ),
        base.mark_point(color=_LINE, filled=True, size=55, opacity=1).encode(
            x=alt.X(f"{column}:Q", scale=scale)
        ),
    ]
    return layers + ([_diamonds(base)] if truth else [])


def _diamonds(base: alt.Chart) -> alt.Chart:
    mark = base.mark_point(shape="diamond", color=_TRUTH, size=60, filled=True, opacity=1)
    diamonds: alt.Chart = mark.encode(x=alt.X("truth:Q"))
    return diamonds
