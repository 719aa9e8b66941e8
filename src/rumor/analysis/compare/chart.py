"""The chart of a comparison: differences with their intervals, and the line of no difference."""

from __future__ import annotations

from typing import Any

import altair as alt

from rumor.analysis.compare.result import SHARES, Comparison
from rumor.results.chart_parts import around_zero, lines_fact
from rumor.results.view import View


def comparison_chart(comparison: Comparison, view: View, title: str | None) -> alt.FacetChart:
    """Draw a panel for each pair and quantity, shares in per cent."""
    seen = comparison.on_screen(view)
    columns = comparison.cells(comparison.row_indices(seen), seen)
    rows: list[dict[str, Any]] = []
    for row in zip(*columns.values(), strict=True):
        one: dict[str, Any] = dict(zip(columns, row, strict=True))
        if one["low"] is None:
            continue
        share = one["quantity"] in SHARES
        unit = f"{one['quantity']}, per cent" if share else one["quantity"]
        ends = {"point": "difference", "low": "low", "high": "high"}
        rows.append(
            {
                "panel": f"{one['second']} less {one['first']} ({unit})",
                "name": str(one["value"]),
                **{name: (100.0 if share else 1.0) * one[key] for name, key in ends.items()},
            }
        )
    facts = [lines_fact(view, comparison.of)]
    return around_zero(rows, "difference", title or "Differences", facts)
