"""The chart of the shares and means of keys, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from rumor.results.chart_parts import (
    BAR,
    ROW,
    WIDTH,
    base_chart,
    diamonds,
    framed,
    lines_fact,
    points,
    whiskers,
)
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.core.types import Vector
    from rumor.kinds.keyvalue.result import KeyValueEstimate


def keyvalue_chart(
    estimate: KeyValueEstimate,
    view: View,
    title: str | None,
    truth: tuple[Vector, Vector] | None,
) -> alt.HConcatChart:
    """Return a chart of the most frequent keys: shares as bars on the left, means as points."""
    view = view.on_screen()
    order = estimate.row_indices(view)
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
            layers = points(data, "mean", "mean of those who hold it", list(estimate.range), known)
        panels.append(
            alt.LayerChart(layer=layers).properties(width=WIDTH // 2, height=alt.Step(ROW))
        )
    hidden = len(estimate.values) - len(order)
    facts = [
        f"{estimate.reports:,} reports, epsilon {estimate.epsilon:.3g} each; method "
        f"{estimate.method}; {lines_fact(view)}",
        estimate.coverage_sentence(view),
        *estimate.notes,
        *([f"the {hidden:,} least frequent keys are not shown"] if hidden else []),
    ]
    return framed(alt.HConcatChart(hconcat=panels), title or "Estimated shares and means", facts)


def _bars(
    data: Sequence[Mapping[str, object]], names: Sequence[str], truth: bool
) -> list[alt.Chart]:
    base = base_chart(data)
    share = alt.X("frequency:Q", axis=alt.Axis(format="%"), title="share of people")
    layers = [
        base.mark_bar(color=BAR, height={"band": 0.72}).encode(x=share),
        *whiskers(base),
    ]
    return layers + ([diamonds(base)] if truth else [])
