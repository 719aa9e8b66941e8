"""One question of a table: its answers, batch by batch, and the public columns beside them.

What is public must not say what an answer is: columns that answer any question of the collection
are refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.contract.groups import OTHER, known_group
from rumor.contract.person_weights import rounded_weights
from rumor.contract.sampling import SamplingDesign
from rumor.core.answer_table import AnswerTable
from rumor.core.columns import normalized_name
from rumor.core.day_columns import DayColumn
from rumor.core.errors import InputError
from rumor.core.randomness import RandomSource
from rumor.core.reports import Reports
from rumor.kinds import KINDS
from rumor.mechanisms.base import Mechanism

_CLOCKS_AHEAD = datetime.timedelta(hours=14)  # the clocks furthest ahead of UTC

AnswerBatch = tuple[Any, pa.RecordBatch | None]
"""Answers as a mechanism takes them, and the rows that they are in, where a row is a person."""
ReportColumns = tuple[Reports, datetime.date | NDArray[np.datetime64], dict[str, pa.Array]]
"""Reports, the day of all or of each, and their public columns."""


@dataclass(frozen=True)
class TableQuestion:
    """A question with its answers in a table, and the public columns of their rows."""

    collection: Collection
    question: Question
    table: AnswerTable
    column: str | None
    """The column of the answers; None where the question's id names it, or there are several."""
    keep: tuple[str, ...]
    """Columns that are copied as they are."""
    weight: str | None
    """The column of people's weights, which are copied rounded."""
    groups: Mapping[str, str]
    """The column of each group of the contract, by its name."""
    day: datetime.date | DayColumn
    randomised: bool
    """Whether the answers are those of a design on paper, which are randomised already."""

    @classmethod
    def of(
        cls,
        collection: Collection,
        question: Question,
        table: AnswerTable,
        *,
        column: str | None = None,
        groups: Mapping[str, str] = MappingProxyType({}),
        keep: Sequence[str] = (),
        weight: str | None = None,
        day: datetime.date | DayColumn | None = None,
        randomised: bool = False,
    ) -> TableQuestion:
        """Return the question with its columns, all of which the table has.

        `column` holds the answers (by default that of the question, else its id). A group of the
        contract is read from the column of its name, unless `groups` names another. `day` is today
        by default, or the column with the day of each row.
        """
        column = question.column if column is None else column
        keep = tuple(dict.fromkeys(keep))
        sources = _group_columns(collection, groups)
        _check_kept(keep, sources, weight)
        answers = KINDS[question.kind].answer_column(question.id, column, table)
        day = datetime.datetime.now(datetime.UTC).date() if day is None else day
        made = cls(collection, question, table, column, keep, weight, sources, day, randomised)
        for name in made._public:
            table.require(name)
        _check_public(collection, question.id if answers is None else answers, made._public)
        return made

    @property
    def _public(self) -> list[str]:
        days = [self.day.column] if isinstance(self.day, DayColumn) else []
        return list(dict.fromkeys([*self.keep, *self._weights, *self.groups.values(), *days]))

    @property
    def _weights(self) -> list[str]:
        return [] if self.weight is None else [self.weight]

    @property
    def strata(self) -> pa.Schema:
        """The columns that are copied, without the metadata of the input's file."""
        fields = (self.table.schema.field(name) for name in self.keep)
        return pa.schema(
            [pa.field(field.name, field.type) for field in fields]
            + [pa.field(name, pa.float64(), nullable=False) for name in self._weights]
        )

    def batches(self) -> Iterator[AnswerBatch]:
        """Yield the answers and their rows; the same batches whenever the same table is read."""
        kind = KINDS[self.question.kind]
        return kind.read(self.question.id, self._mechanism, self.table, self.column, self._public)

    @property
    def _mechanism(self) -> Mechanism:
        mechanism = self.question.mechanism
        return mechanism.spoken() if self.randomised else mechanism

    def privatize(
        self, batch: AnswerBatch, before: int, random: RandomSource | None
    ) -> ReportColumns:
        """Return the reports of a batch, which comes after `before` other answers."""
        values, rows = batch
        answers = KINDS[self.question.kind].answer_column(self.question.id, self.column, self.table)
        with self.table.locate_errors(answers, before):
            mechanism = self._mechanism.without_labels()
            reports = (
                mechanism.transcribe(values)
                if self.randomised
                else mechanism.privatize(values, random=random)
            )
        if rows is None:  # tables without rows of people keep no columns
            assert not isinstance(self.day, DayColumn)
            return reports, self.day, {}
        kept = {name: rows.column(name) for name in self.keep}
        kept |= _grouped(self.collection, {n: rows.column(s) for n, s in self.groups.items()})
        for name in self._weights:
            with self.table.locate_errors(name, before):
                kept[name] = rounded_weights(rows.column(name))
        if not isinstance(self.day, DayColumn):
            return reports, self.day, kept
        with self.table.locate_errors(self.day.column, before):
            days = checked_days(self.collection.ask, self.day.days(rows.column(self.day.column)))
        return reports, days, kept

    def check_any(self, reports: int) -> None:
        """Refuse a table without an answer; a question that is assigned to some may have none."""
        if reports == 0 and self.table.has_all_rows:
            raise InputError(f"{self.table.path}: a table must hold at least one answer; got none")


def _group_columns(collection: Collection, groups: Mapping[str, str]) -> dict[str, str]:
    """Return the column of the table that holds each group of the contract, by its name."""
    names = () if collection.groups is None else collection.groups.names
    for name in groups:
        if name not in names:
            raise InputError(
                f"groups must be those of the collection ({', '.join(names) or 'it has none'}); "
                f"got {name!r}"
            )
    return {name: groups.get(name, name) for name in names}


def _check_kept(keep: Sequence[str], sources: Mapping[str, str], weight: str | None) -> None:
    """Refuse to keep a column that the contract sends as groups already, or a weight as it is."""
    if weight is not None and weight in (*keep, *sources, *sources.values()):
        raise InputError(
            f"a weight is kept rounded, since one of many digits is a name; got {weight!r} as a "
            f"kept column or a group too"
        )
    for name in keep:
        if name in sources:
            raise InputError(
                f"a group of the collection is in the reports anyway, as its list has it; got "
                f"{name!r} as a kept column too"
            )


def _grouped(collection: Collection, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return `columns` of a table with the groups of the contract in place of their cells."""
    if collection.groups is None:
        return {}
    found = {}
    for name, labels in collection.groups.columns:
        cells = columns[name]
        coded = cells if isinstance(cells, pa.DictionaryArray) else cells.dictionary_encode()
        named = [known_group(labels, value) for value in coded.dictionary.to_pylist()]
        groups = pa.array([*named, OTHER], pa.string())
        places = pc.fill_null(coded.indices.cast(pa.int64()), len(named))
        found[name] = groups.take(places)
    return found


def _check_public(collection: Collection, answers: str, keep: Sequence[str]) -> None:
    """Refuse to publish columns that hold answers, in any spelling."""
    private = {normalized_name(answers): "holds the answers"}
    for question in collection.questions:
        for name in KINDS[question.kind].columns(question.id, question.mechanism):
            private.setdefault(normalized_name(name), f"answers question {question.id!r}")
        if question.column is not None:
            private.setdefault(
                normalized_name(question.column), f"answers question {question.id!r}"
            )
    for name in keep:
        if normalized_name(name) in private:
            raise InputError(
                f"a public column is published as it is, so it must hold no answers; "
                f"got {name!r}, which {private[normalized_name(name)]}"
            )


def check_randomised(question: Question, randomised: bool, random: RandomSource | None) -> None:
    """Refuse to randomise answers twice, or to take true answers for randomised ones."""
    by_hand = question.mechanism.by_hand
    if randomised and not by_hand:
        question.mechanism.transcribe(())  # says why it cannot
    if by_hand and not randomised and random is None:
        raise InputError(
            f"answers to question {question.id!r} are randomised with dice or cards before they "
            f"are written down: say so (--randomised). For true answers, ask with mechanism "
            f"'randomized-response'"
        )


def check_day(ask: SamplingDesign | None, day: datetime.date | None) -> None:
    """Refuse a `day` outside the days on which respondents are asked."""
    if ask is None or ask.days is None or ask.starts is None or day is None:
        return
    last = ask.day(ask.days - 1, day)
    if not ask.starts <= day <= last:
        raise InputError(
            f"respondents are asked on the {ask.days:,} days from {ask.starts} to {last}; got {day}"
        )


def checked_days(
    ask: SamplingDesign | None, days: NDArray[np.datetime64]
) -> NDArray[np.datetime64]:
    """Return the `days` of rows, all past and on days on which respondents are asked."""
    if days.size:
        first, last = days.min().item(), days.max().item()
        latest = (datetime.datetime.now(datetime.UTC) + _CLOCKS_AHEAD).date()
        if last > latest:
            raise InputError(f"a day must not lie in the future (after {latest}); got {last}")
        check_day(ask, first)
        check_day(ask, last)
    return days
