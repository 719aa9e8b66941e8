"""Some rows of a table: what is left out is never handed on, and rows keep their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rumor.core.answer_table import Table
from rumor.core.errors import AnswerError


@dataclass(frozen=True)
class SomeRows(Table):
    """A table as if it had only the rows that were picked."""

    picked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, table: Table, picked: NDArray[np.bool_]) -> SomeRows:
        """The picked rows of a table that has as many."""
        return cls(table.path, table.schema, table.mark, picked)

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

    @contextmanager
    def placing(self, column: str | None = None, before: int = 0) -> Iterator[None]:
        """Let errors name the row of the table, not of those that were picked."""
        with super().placing(column):
            try:
                yield
            except AnswerError as problem:
                row = problem.row
                if row is not None:
                    row = int(np.flatnonzero(self.picked)[before + row])
                raise AnswerError(problem.rule, row, problem.got) from None
