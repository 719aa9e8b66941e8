"""Answers in tables: a column of them, a batch at a time, as a mechanism takes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import AnswerError, InputError
from rumor.core.types import Codes, Tally

Answers: TypeAlias = Any
"""What was read: positions for a choice, an Arrow column otherwise."""


def _as_it_is(column: pa.Array) -> Answers:
    return column


@dataclass(frozen=True)
class TableAnswers:
    """The answers to a question that people hold, in a table."""

    table: AnswerTable
    id: str
    """The question's: its column is called so, unless another one is named."""
    column: str | None


@dataclass(frozen=True)
class Reader:
    """How a column of answers is read: as it is, unless a mechanism takes something else."""

    cell_type: str
    """How a CSV writes them: as text, as a number or as an integer."""
    convert: Callable[[pa.Array], Answers] = _as_it_is
    """What the mechanism takes of what is in the column."""
    blank_is_missing: bool = True
    """Whether an empty text is no answer; else it is one."""

    def read(
        self, table: AnswerTable, column: str, keep: Sequence[str] = (), numbers: Sequence[str] = ()
    ) -> Iterator[tuple[Answers, pa.RecordBatch]]:
        """The answers of a table, a batch at a time, each with its batch.

        The batch also has the columns of `keep` (as text, in CSV) and `numbers` (as integers).
        """
        cells = [self.cell_type, *(["text"] * len(keep)), *(["integer"] * len(numbers))]
        before = 0
        for batch in table.answered_batches(
            [column, *keep, *numbers], cells, blank=self.blank_is_missing
        ):
            with table.locate_errors(column, before):
                found = self.convert(require_present(batch.column(0)))
            yield found, batch
            before += len(batch)

    def read_with_counts(self, held: TableAnswers) -> Iterator[tuple[Answers, list[int] | None]]:
        """Answers with how many people gave each (None: one), from either form of a table.

        Columns value and count, or a row for each person.
        """
        table, column = held.table, held.column
        if column is None and {"value", "count"} <= set(table.schema.names):
            for answers, batch in self.read(table, "value", numbers=("count",)):
                numbers = batch.column("count").to_pylist()
                if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in numbers):
                    raise InputError(
                        f"{table.path}, column 'count': counts must be integers of 0 or more; "
                        f"got one that is not"
                    )
                yield answers, numbers
            return
        for answers, _ in self.read(table, held.id if column is None else column):
            yield answers, None


def require_present(column: pa.Array) -> pa.Array:
    """A column in which nothing is missing."""
    if column.null_count:
        raise InputError(f"values must not be missing; got {column.null_count} nulls")
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


class Encoder(Protocol):
    """What knows the positions of answers."""

    def encode(self, values: object) -> Codes:
        """Labels, or numbers where there are none, as positions."""
        ...


class LabelledEncoder(Encoder, Protocol):
    """A mechanism whose answers are positions, which may have labels."""

    @property
    def domain(self) -> int:
        """How many positions there are."""
        ...

    def without_labels(self) -> Self:
        """The same, whose positions are called by their numbers."""
        ...


def positions(oracle: Encoder, column: pa.Array) -> Answers:
    """The answers to a choice as positions."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Each distinct label is looked up once.
        coded = column.dictionary_encode()
        try:
            return oracle.encode(coded.dictionary)[coded.indices.to_numpy()]
        except AnswerError as problem:  # whose index is among the distinct labels
            row = pc.index(coded.indices, problem.row).as_py()
            raise AnswerError(problem.rule, row, problem.got) from None
    return oracle.encode(_whole(column))


def _whole(column: pa.Array) -> pa.Array:
    """Whole numbers as such: pandas makes fractions of a column in which one was missing."""
    if not pa.types.is_floating(column.type):
        return column
    with contextlib.suppress(pa.ArrowInvalid):  # which may quote an answer
        return pc.cast(column, pa.int64())
    return column


def read_histogram(mechanism: LabelledEncoder, reader: Reader, held: TableAnswers) -> Tally:
    """How many people are at each position: from columns value and count, or from raw answers."""
    counts, numbered = np.zeros(mechanism.domain, dtype=np.int64), mechanism.without_labels()
    for answers, numbers in reader.read_with_counts(held):
        codes = numbered.encode(answers)
        if numbers is None:
            counts += np.bincount(codes, minlength=counts.size)
        else:
            np.add.at(counts, codes, numbers)
    if counts.sum() == 0:
        raise InputError(f"{held.table.path}: a table must hold at least one answer; got none")
    return counts
