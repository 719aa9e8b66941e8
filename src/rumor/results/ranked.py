"""Estimates that are read from the top: rows in the order of what was estimated."""

from __future__ import annotations

from collections.abc import Sequence

from rumor.core.types import Vector
from rumor.results.rows import Tabular
from rumor.results.selection import ranked
from rumor.results.view import ROWS_SHOWN, View


class RankedRows(Tabular):
    """A share for each of some values, the most frequent first."""

    values: Sequence[int] | Sequence[str]
    frequency: Vector
    unbiased: Vector

    def ranking(self, rows: int | None = ROWS_SHOWN) -> list[int]:
        """The indices of the most frequent values, the most frequent first."""
        return [int(i) for i in ranked(self.frequency, self.unbiased)[:rows]]

    def listed(self, view: View) -> list[int]:
        """The first values in the order of the view."""
        if view.order == "estimate":
            return self.ranking(view.rows)
        return list(range(len(self.values)))[: view.rows]
