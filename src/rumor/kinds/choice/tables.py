"""Answers to a choice in a table: labels, or integers where values have none."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from rumor.core.answer_table import Table
from rumor.kinds.reading import Answers, positions, read_column
from rumor.mechanisms.oracle import FrequencyOracle


def read_choice(
    oracle: FrequencyOracle,
    table: Table,
    column: str,
    numbers: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> Iterator[tuple[Answers, pa.RecordBatch]]:
    """Positions, a batch at a time."""
    cell = "integer" if oracle.labels is None else "text"
    taken = functools.partial(positions, oracle)
    return read_column(table, column, cell, taken, keep, numbers=numbers)
