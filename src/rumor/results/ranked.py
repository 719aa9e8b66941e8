"""Estimates that are read from the top: rows in the order of what was estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rumor.core.types import Vector
from rumor.results.rows import Tabular, coverage
from rumor.results.selection import ranked
from rumor.results.view import ROWS_SHOWN, View


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedRows(Tabular):
    """A share for each of some values, the most frequent first."""

    _COVERED: ClassVar[str]
    """What is true of as many of the rows shown as the level says, in words."""
    _NAMED: ClassVar[str]
    """What a row is, in words."""

    values: Sequence[int] | Sequence[str]
    frequency: Vector = field(repr=False)
    unbiased: Vector = field(repr=False)
    stderr: Vector = field(repr=False)

    @property
    def notes(self) -> list[str]:
        """Sentences without which the rows would be misread."""
        return []

    def ranking(self, rows: int | None = ROWS_SHOWN) -> list[int]:
        """The indices of the most frequent values, the most frequent first."""
        return [int(i) for i in ranked(self.frequency, self.unbiased)[:rows]]

    def listed(self, view: View) -> list[int]:
        """The first values in the order of the view."""
        if view.order == "estimate":
            return self.ranking(view.rows)
        return list(range(len(self.values)))[: view.rows]

    def covers(self, view: View) -> str:
        """Which rows the intervals of a view cover, in one sentence."""
        return coverage(view, len(self.values), self._COVERED, self._NAMED)
