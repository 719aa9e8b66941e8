"""Answers in tables: one column, read batch by batch as a mechanism takes them."""

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
"""A batch of answers: positions for a choice, an Arrow column otherwise."""


def _as_it_is(column: pa.Array) -> Answers:
    return column


@dataclass(frozen=True)
class TableAnswers:
    """The answers to one question in a table."""

    table: AnswerTable
    id: str
    """The id of the question, which names the column unless `column` does."""
    column: str | None


@dataclass(frozen=True)
class Reader:
    """A description of how to read a column of answers for a mechanism."""

    cell_type: str
    """The type of a CSV cell: text, number or integer."""
    convert: Callable[[pa.Array], Answers] = _as_it_is
    """The conversion of a column to what the mechanism takes."""
    blank_is_missing: bool = True
    """Whether an empty text counts as no answer."""

    def read(
        self, table: AnswerTable, column: str, keep: Sequence[str] = (), numbers: Sequence[str] = ()
    ) -> Iterator[tuple[Answers, pa.RecordBatch]]:
        """Yield the answers in `column` of `table`, batch by batch, each with its batch.

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
        """Yield answers with the number of people who gave each; None where every row is one
        person.

        The table `held` has the columns value and count, or a row for each person.
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
    """Return `column`, checked to have no missing cell."""
    if column.null_count:
        raise InputError(f"values must not be missing; got {column.null_count} nulls")
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


class Encoder(Protocol):
    """A mechanism that maps answers to positions."""

    @property
    def labels(self) -> Sequence[str] | None:
        """The labels of the positions, or None if they have none."""
        ...

    def encode(self, values: object) -> Codes:
        """Return the positions of `values`: labels, or numbers where the domain has no labels."""
        ...


def _differs_little(text: str, labels: Sequence[str] | None) -> bool:
    """Return whether `text` is one of `labels` but for case and spaces."""
    plain = {" ".join(label.split()).casefold() for label in labels or ()}
    return " ".join(text.split()).casefold() in plain


class LabelledEncoder(Encoder, Protocol):
    """A mechanism whose answers are positions, which may have labels."""

    @property
    def domain(self) -> int:
        """The number of positions."""
        ...

    def without_labels(self) -> Self:
        """Return the mechanism with positions in place of labels."""
        ...


def positions(oracle: Encoder, column: pa.Array) -> Answers:
    """Return the answers to a choice in `column` as positions."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Each distinct label is looked up once.
        coded = column.dictionary_encode()
        try:
            return oracle.encode(coded.dictionary)[coded.indices.to_numpy()]
        except AnswerError as problem:  # its index is a position among the distinct labels
            row, got = pc.index(coded.indices, problem.row).as_py(), problem.got
            if _differs_little(coded.dictionary[problem.row].as_py(), oracle.labels):
                got = "a text that differs from one of them only in case or spaces"
            raise AnswerError(problem.rule, row, got) from None
    return oracle.encode(_whole(column))


def _whole(column: pa.Array) -> pa.Array:
    """Return a column of floats as integers; pandas reads integers with a gap as floats."""
    if not pa.types.is_floating(column.type):
        return column
    with contextlib.suppress(pa.ArrowInvalid):  # Arrow's own error may quote an answer
        return pc.cast(column, pa.int64())
    return column


def read_histogram(mechanism: LabelledEncoder, reader: Reader, held: TableAnswers) -> Tally:
    """Return the number of people at each position, from columns value and count or from raw
    answers.
    """
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
