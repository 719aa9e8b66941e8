"""Ordered answers in a table: labels, or numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from rumor.core.answer_table import Table
from rumor.kinds.reading import Answers, positions, read_column
from rumor.mechanisms.wave import Wave


def read_ordered(
    wave: Wave,
    table: Table,
    column: str,
    numbers: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Iterator[tuple[Answers, pa.RecordBatch]]:
    """Positions of labels, or numbers as they are, a batch at a time."""
    if wave.labels is None:
        return read_column(table, column, "number", lambda cells: cells, keep, numbers=numbers)
    taken = functools.partial(positions, wave)
    return read_column(table, column, "text", taken, keep, numbers=numbers)
