"""Some rows of a table: what is left out is never handed on, and rows keep their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rumor.core.answer_table import Table


@dataclass(frozen=True)
class SomeRows(Table):
    """A table as if it had only the rows that were picked."""

    picked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, table: Table, picked: NDArray[np.bool_]) -> SomeRows:
        """The picked rows of a table that has as many."""
        return cls(table.path, table.files, table.mark, table.missing, picked=picked)

    @property
    def whole(self) -> bool:
        """Whether every row is handed on."""
        return False

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """These columns of the picked rows, in order."""
        before = 0
        for batch in super().batches(columns, cells):
            picked = batch.filter(pa.array(self.picked[before : before + len(batch)]))
            before += len(batch)
            if len(picked):
                yield picked

    def number(self, row: int) -> int:
        """The number of the row in the table, not among those that were picked."""
        return int(np.flatnonzero(self.picked)[super().number(row)])
