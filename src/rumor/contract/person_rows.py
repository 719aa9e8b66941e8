"""Rows of a table by person: which of them become reports where one person has several.

A report costs its person epsilon, whoever's rows it is made of. So a table of events names the
column that says who each row is of, and a rule: one row of each person, or a few, or what their
rows come to together (the most frequent answer, the sum). Days and public columns are those of a
row that is chosen by its place alone, never by its answer: otherwise they would say in the clear
what the report hides.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.contract.collection import Collection as Contract
from rumor.contract.collection import Question
from rumor.core.answer_table import (
    DROP,
    AnswerTable,
    FilteredTable,
    missing_cells,
)
from rumor.core.checks import checked_choice, checked_size
from rumor.core.columns import normalized_name
from rumor.core.day_columns import PERIODS, DayColumn, period_starts
from rumor.core.errors import AnswerError, InputError
from rumor.core.exact import round_up
from rumor.core.reports import Mask
from rumor.core.types import Rows
from rumor.kinds import KINDS

EACH = ("first", "last", "most", "sum")
"""Rules for what a person's rows become: a row by its place, or all of them together."""
_TOGETHER = ("most", "sum")
MAX_CAP = 10**6
_NAMED = "every row must say whose it is"

QuestionCosts = tuple[str, int, float]
"""A question's id, its round and the loss of one report."""
Counts = dict[QuestionCosts, NDArray[np.int64]]
"""The number of reports of each person, by what they cost."""


@dataclass(frozen=True)
class PersonRule:
    """The rule for the rows of one person: which become reports, and how many at most."""

    column: str
    each: str = "first"
    cap: int = 1
    every: str | None = None
    """One report for each period of this length, instead of one for the whole table."""

    def __post_init__(self) -> None:
        checked_choice("--each", self.each, EACH)
        checked_size("--cap", self.cap, 1, MAX_CAP)
        if self.every is not None:
            checked_choice("--every", self.every, PERIODS)
        elif self.each in _TOGETHER and self.cap > 1:
            raise InputError(
                f"--each {self.each} makes one report of all rows of a person, or one for each "
                f"period (--every); got --cap {self.cap}"
            )

    def sentence(self) -> str:
        """Return what becomes of a person's rows, in words."""
        what = {
            "first": "the first row",
            "last": "the last row",
            "most": "the most frequent answer",
            "sum": "the sum",
        }[self.each]
        if self.every is not None:
            return f"{what} of each person and {self.every}, at most {self.cap:,} for a person"
        if self.cap > 1:
            return f"the {self.each} {self.cap:,} rows of each person"
        return f"{what} of each person"


def count_reports(question: Question) -> QuestionCosts:
    """Return the key under which reports of `question` are counted."""
    return question.id, question.mechanism.round, question.epsilon


def largest_loss(*counts: Counts) -> float:
    """Return the largest loss of one person over all `counts`, exactly, rounded up."""
    columns = [(epsilon, n) for one in counts for (_, _, epsilon), n in one.items() if n.any()]
    if not columns:
        return 0.0
    kinds = np.unique(np.stack([n for _, n in columns], axis=1), axis=0).tolist()
    losses = [
        sum(
            (Fraction(epsilon) * n for (epsilon, _), n in zip(columns, row, strict=True)),
            Fraction(0),
        )
        for row in kinds
    ]
    return round_up(max(losses))


@dataclass
class People:
    """The people of a table: whose each row is, and how many reports each person made."""

    rule: PersonRule
    names: pa.Array
    """The name of each person, as a text."""
    codes: Rows
    """The place among `names` of the person of each row."""
    periods: NDArray[np.int64]
    """The first day of each row's period, or 0 where the whole table is one."""
    before: Counts = field(default_factory=dict)
    """The reports that each person made of earlier tables of the series."""
    made: Counts = field(default_factory=dict)
    """The reports that each person made of this table."""
    barred: dict[str, int] = field(default_factory=dict)
    """By question: the people left out since they have made all reports that they may make."""

    @classmethod
    def of(
        cls,
        table: AnswerTable,
        rule: PersonRule,
        day: datetime.date | DayColumn | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> People:
        """Read whose the rows of `table` are; `day` is the column of their days, if there is."""
        days = day.read(table) if isinstance(day, DayColumn) and rule.every is not None else None
        if rule.every is not None and days is None:
            raise InputError(
                f"periods of a person need the days of the rows (--day-column); "
                f"got --every {rule.every} alone"
            )
        texts, before = [], 0
        for batch in table.batches([rule.column]):
            column = batch.column(0)
            with table.locate_errors(rule.column, before):
                texts.append(_as_texts(column))
            before += len(batch)
            if on_progress is not None:
                on_progress(before)
        whole = pa.chunked_array(texts, pa.string()).combine_chunks().dictionary_encode()
        if isinstance(whole, pa.ChunkedArray):
            whole = whole.combine_chunks()
        codes = np.asarray(whole.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
        periods = np.zeros(codes.size, dtype=np.int64)
        if rule.every is not None and days is not None:
            periods = period_starts(days, rule.every).astype(np.int64)
        return cls(rule, whole.dictionary, codes, periods)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return int(self.codes.size)

    @property
    def epsilon(self) -> float:
        """The largest loss of one person by the reports of this table."""
        return largest_loss(self.made)

    @property
    def epsilon_series(self) -> float:
        """The largest loss of one person by this table and earlier ones of the series."""
        return largest_loss(self.before, self.made)

    def allowances(
        self, question: Question, limit: float | None, assigned: Mask | None = None
    ) -> NDArray[np.int64]:
        """Return how many reports of `question` each person may make of this table.

        `limit` is the series' limit on the loss, `assigned` says who is asked the question.
        """
        key = count_reports(question)
        spent = np.zeros(len(self), dtype=np.int64)
        for (id, turn, _), n in self.before.items():
            if (id, turn) == key[:2]:
                spent += n
        allowed = np.minimum(self.rule.cap, np.maximum(question.reports_per_person - spent, 0))
        if limit is not None:
            allowed = np.minimum(allowed, self._affordable(Fraction(limit), question.epsilon))
        self.barred[question.id] = int(np.count_nonzero(allowed == 0))
        if assigned is not None:
            self.barred[question.id] = int(np.count_nonzero((allowed == 0) & assigned))
            allowed = np.where(assigned, allowed, 0)
        return allowed.astype(np.int64)

    def _affordable(self, limit: Fraction, epsilon: float) -> NDArray[np.int64]:
        """Return how many reports of `epsilon` each person can make within `limit`."""
        counts = [*self.before.items(), *self.made.items()]
        if not counts:
            return np.full(len(self), min(int(limit / Fraction(epsilon)), MAX_CAP), dtype=np.int64)
        kinds, which = np.unique(
            np.stack([n for _, n in counts], axis=1), axis=0, return_inverse=True
        )
        left = [
            limit
            - sum(
                (Fraction(key[2]) * n for (key, _), n in zip(counts, row, strict=True)),
                Fraction(0),
            )
            for row in kinds.tolist()
        ]
        most = [min(max(int(rest / Fraction(epsilon)), 0), MAX_CAP) for rest in left]
        return np.array(most, dtype=np.int64)[which.ravel()]

    def select(
        self, table: AnswerTable, question: Question, allowed: NDArray[np.int64]
    ) -> PersonTable:
        """Return the rows of `table` that become reports of `question`, `allowed` per person."""
        return PersonTable(
            table.path,
            table.files,
            table.mark,
            table.missing_rule,
            people=self,
            allowed=allowed,
            counted=count_reports(question),
        )

    def check_table(
        self, collection: Contract, questions: Iterable[str], table: AnswerTable
    ) -> None:
        """Refuse a `table` of pairs, which says whose each row is in a column of its own."""
        for question in map(collection.question, questions):
            if not KINDS[question.kind].has_row_per_person(table):
                raise InputError(
                    f"{table.path}: the columns person, key and value say whose each row is "
                    f"already; got --person {self.rule.column} with them"
                )

    def first_rows(self, table: AnswerTable) -> FilteredTable:
        """Return `table` with one row of each person."""
        mask = np.zeros(self.rows, dtype=np.bool_)
        mask[np.unique(self.codes, return_index=True)[1]] = True
        return FilteredTable.select_rows(table, mask)


_PEOPLE = "user|person|customer|client|patient|visitor|respondent|participant|panelist|subject"
_HOLDERS = "member|device|account|session|employee|student|household|login|people"
_ID_NAME = re.compile(
    rf"({_PEOPLE}|e-?mail)|({_PEOPLE}|{_HOLDERS})-?(id|ids|uid|uuid|guid|key|no|nr|number|name|hash)"
    r"|id|uid|uuid|guid"
)
_LOOKED_AT = 1 << 20  # rows that are searched for a person who has several


def is_id_name(name: str) -> bool:
    """Return whether a column called `name` says whose a row is, as far as its name tells."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name)
    return any(_ID_NAME.fullmatch(normalized_name(one)) for one in (name, spaced))


def repeated_id_column(table: AnswerTable, answers: Collection[str]) -> str | None:
    """Return a column that names people, some of them in several rows; None if there is none.

    Columns of `answers` are none. Only the first million rows are looked at.
    """
    for name in table.schema.names:
        if name in answers or not is_id_name(name):
            continue
        seen, rows = pa.chunked_array([], pa.string()), 0
        for batch in table.batches([name]):
            try:
                cells = pc.cast(batch.column(0), pa.string())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                break
            cells = cells.filter(pa.array(~missing_cells(cells, blank=True)))
            seen, rows = pa.chunked_array([*seen.chunks, cells]), rows + len(cells)
            if pc.count_distinct(seen).as_py() < rows:
                return str(name)
            if rows >= _LOOKED_AT:
                break
    return None


def _as_texts(column: pa.Array) -> pa.Array:
    """Return the names in a `column`, or raise an AnswerError where one is missing."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    missing = missing_cells(column, blank=True)
    if missing.any():
        raise AnswerError(_NAMED, int(np.argmax(missing)), "nothing")
    try:
        return pc.cast(column, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass  # Arrow's own error may quote a cell
    raise InputError(f"{_NAMED}, as a text or a number; got a column of {column.type}")


@dataclass(frozen=True)
class PersonTable(FilteredTable):
    """A table restricted to the rows of each person that become reports."""

    people: People = field(kw_only=True)
    allowed: NDArray[np.int64] = field(kw_only=True)
    counted: QuestionCosts = field(kw_only=True)
    _origins: list[Rows] = field(default_factory=list)
    """The rows that the answers come from, where they are not the selected rows."""

    def answered_batches(
        self,
        columns: Sequence[str],
        cells: Sequence[str] | None = None,
        answers: int = 1,
        *,
        blank: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the chosen rows, after the answers of all rows were looked at."""
        cells = list(cells or ["text"] * len(columns))
        each = self.people.rule.each
        if each in _TOGETHER and answers > 1:
            raise InputError(
                f"--each {each} needs the answers in one column; "
                f"got {answers} columns of {self.counted[0]!r}"
            )
        missing = np.zeros(self.people.rows, dtype=np.bool_)
        whole: list[pa.Array] = []
        if each in _TOGETHER or self.missing_rule.rule == DROP:
            before = 0
            for batch in AnswerTable.batches(self, columns[:answers], cells[:answers]):
                masks = [missing_cells(batch.column(i), blank) for i in range(answers)]
                missing[before : before + len(batch)] = np.logical_or.reduce(masks)
                before += len(batch)
                if each in _TOGETHER:
                    whole.append(batch.column(0))
        chosen = self._choose(missing)
        if each in _TOGETHER and self.missing_rule.label is None:
            self._refuse_missing(columns[0], missing)
        table = _ChosenRows(
            self.path, self.files, self.mark, self.missing_rule, self._starts, is_selected=chosen
        )
        if whole:
            answer = pa.chunked_array(whole).combine_chunks()
            together = self._most(answer, chosen) if each == "most" else self._sum(answer, chosen)
            table = _ChosenRows(
                self.path,
                self.files,
                self.mark,
                self.missing_rule,
                self._starts,
                is_selected=chosen,
                replaced=(columns[0], together[0]),
            )
            self._origins[:] = [together[1]]
        else:
            self._origins[:] = [np.flatnonzero(chosen)]
        self._count(chosen & ~missing if self.missing_rule.rule == DROP else chosen)
        yield from table.answered_batches(columns, cells, answers, blank=blank)

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are chosen by their places alone."""
        if self.people.rule.each in _TOGETHER:
            raise InputError(
                f"--each {self.people.rule.each} needs the answers in one column; "
                f"got several columns of {self.counted[0]!r}"
            )
        chosen = self._choose(np.zeros(self.people.rows, dtype=np.bool_))
        self._origins[:] = [np.flatnonzero(chosen)]
        self._count(chosen)
        yield from _ChosenRows(
            self.path, self.files, self.mark, self.missing_rule, self._starts, is_selected=chosen
        ).batches(columns, cells)

    def original_row(self, row: int) -> int:
        """Return the number in the whole table of the row that an answer comes from."""
        return int(self._origins[0][self.missing_rule.original_row(row)])

    def _groups(self) -> Rows:
        """Return a number for each row: that of its person and period."""
        codes, periods = self.people.codes, self.people.periods
        if not periods.any():
            return codes
        _, of_day = np.unique(periods, return_inverse=True)
        return (codes * (int(of_day.max()) + 1) + of_day.ravel()).astype(np.intp)

    def _choose(self, missing: Mask) -> Mask:
        """Return which rows become reports; those without an answer come last."""
        rule, codes, groups = self.people.rule, self.people.codes, self._groups()
        places = np.arange(codes.size)
        turned = -places if rule.each == "last" else places
        chosen = np.zeros(codes.size, dtype=np.bool_)
        order = np.lexsort((turned, missing, groups))
        ranks = _ranks(groups[order])
        at_most = 1 if rule.every is not None else rule.cap
        kept = order[ranks < at_most]
        if rule.every is not None:
            turned = -self.people.periods if rule.each == "last" else self.people.periods
        kept = kept[np.lexsort((turned[kept], missing[kept], codes[kept]))]
        ranks = _ranks(codes[kept])
        # A row without an answer stands for its person only where no row of theirs has one.
        kept = kept[(ranks < self.allowed[codes[kept]]) & (~missing[kept] | (ranks == 0))]
        chosen[kept] = True
        return chosen

    def _count(self, chosen: Mask) -> None:
        counts = np.bincount(self.people.codes[chosen], minlength=len(self.people))
        self.people.made[self.counted] = counts.astype(np.int64)

    def _refuse_missing(self, column: str, missing: Mask) -> None:
        """Refuse a missing answer in rows that are put together, unless the rule drops them."""
        if self.missing_rule.rule != DROP and missing.any():
            self._origins[:] = [np.arange(missing.size)]
            with self.locate_errors(column):
                raise AnswerError(
                    "an answer must not be missing (--missing says what becomes of such rows)",
                    int(np.argmax(missing)),
                    "nothing",
                )

    def _most(self, answers: pa.Array, chosen: Mask) -> tuple[pa.Array, Rows]:
        """Return the most frequent answer of each chosen row's group, and a row that has it.

        Of equally frequent answers the one that comes first is taken.
        """
        coded = answers if pa.types.is_dictionary(answers.type) else answers.dictionary_encode()
        values = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        groups = self._groups()
        blank = missing_cells(answers, blank=True)
        pairs = np.lexsort((values, groups))
        starts = np.flatnonzero(
            np.append(True, _changed(groups[pairs]) | _changed(values[pairs]))[: pairs.size]
        )
        firsts, sizes = pairs[starts], np.diff(np.append(starts, pairs.size))
        # No answer counts as one only where it is to stand for itself.
        sizes = np.where(blank[firsts] & (self.missing_rule.label is None), 0, sizes)
        best = firsts[np.lexsort((firsts, -sizes, groups[firsts]))]
        best = best[_ranks(groups[best]) == 0]
        rows = best[np.searchsorted(groups[best], groups[np.flatnonzero(chosen)])]
        return answers.take(pa.array(rows)), rows

    def _sum(self, answers: pa.Array, chosen: Mask) -> tuple[pa.Array, Rows]:
        """Return the sum of the answers of each chosen row's group, and the row itself."""
        rows = np.flatnonzero(chosen)
        kind = answers.type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ):
            raise InputError(
                f"--each sum adds up numbers; question {self.counted[0]!r} has other answers"
            )
        numbers = pc.cast(answers, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        known = ~np.isnan(numbers)
        names, of_row = np.unique(self._groups(), return_inverse=True)
        totals = np.bincount(of_row[known], weights=numbers[known], minlength=names.size)
        some = np.bincount(of_row[known], minlength=names.size) > 0
        found = pa.array(totals[of_row[rows]], mask=~some[of_row[rows]])
        return found, rows


@dataclass(frozen=True)
class _ChosenRows(FilteredTable):
    """A table restricted to chosen rows, with the answers in one column replaced."""

    replaced: tuple[str, pa.Array] | None = None

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield `columns` of the chosen rows, the replaced answers among them."""
        done = 0
        for batch in super().batches(columns, cells):
            if self.replaced is not None:
                name, answers = self.replaced
                arrays: list[Any] = [
                    answers.slice(done, len(batch)) if other == name else batch.column(i)
                    for i, other in enumerate(columns)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            else:
                yield batch
            done += len(batch)


def _changed(values: NDArray[Any]) -> Mask:
    found: Mask = values[1:] != values[:-1]
    return found


def _ranks(groups: NDArray[Any]) -> Rows:
    """Return the place of each row in its run of equal `groups`."""
    starts = np.flatnonzero(np.append(True, _changed(groups)))
    return np.arange(groups.size) - np.repeat(starts, np.diff(np.append(starts, groups.size)))
