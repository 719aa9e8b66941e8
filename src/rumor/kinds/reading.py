"""Answers in tables: a column of them, a batch at a time, as a mechanism takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rumor.core.answer_table import Table
from rumor.core.errors import AnswerError, InputError
from rumor.core.types import Codes

Answers: TypeAlias = Any
"""What was read: positions for a choice, an Arrow column otherwise."""


def read_column(
    table: Table,
    column: str,
    cell: str,
    answers: Callable[[pa.Array], Answers],
    keep: Sequence[str] = (),
    *,
    numbers: Sequence[str] = (),
) -> Iterator[tuple[Answers, pa.RecordBatch]]:
    """The answers of a table, a batch at a time, each with its batch.

    A CSV writes them as `cell` says; `answers` takes what is in the column. The batch also has
    the columns of `keep` (as text, in CSV) and `numbers` (as integers).
    """
    cells = [cell, *(["text"] * len(keep)), *(["integer"] * len(numbers))]
    before = 0
    for batch in table.batches([column, *keep, *numbers], cells):
        with table.placing(column, before):
            found = answers(present(batch.column(0)))
        yield found, batch
        before += len(batch)


def present(column: pa.Array) -> pa.Array:
    """A column in which nothing is missing."""
    if column.null_count:
        raise InputError(f"values must not be missing; got {column.null_count} nulls")
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


class Labelled(Protocol):
    """A mechanism whose answers may have labels."""

    def encode(self, values: object) -> Codes:
        """Labels, or integers where there are none, as positions."""
        ...


def positions(oracle: Labelled, column: pa.Array) -> Answers:
    """The answers to a choice as positions."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Each distinct label is looked up once.
        coded = column.dictionary_encode()
        try:
            return oracle.encode(coded.dictionary)[coded.indices.to_numpy()]
        except AnswerError as problem:  # whose index is among the distinct labels
            row = pc.index(coded.indices, problem.row).as_py()
            raise AnswerError(problem.rule, row, problem.got) from None
    return oracle.encode(column)


def counted(
    table: Table,
    read: Callable[[str, Sequence[str]], Iterator[tuple[Answers, pa.RecordBatch]]],
    id: str,
    column: str | None,
) -> Iterator[tuple[Answers, list[int] | None]]:
    """Answers with how many people gave each (None: one), from either form of a table.

    Columns value and count, or a row for each person; `read` reads a column and further
    integers.
    """
    if column is None and {"value", "count"} <= set(table.schema.names):
        for answers, batch in read("value", ("count",)):
            numbers = batch.column("count").to_pylist()
            if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in numbers):
                raise InputError(
                    f"{table.path}, column 'count': counts must be integers of 0 or more; "
                    f"got one that is not"
                )
            yield answers, numbers
        return
    for answers, _ in read(id if column is None else column, ()):
        yield answers, None
