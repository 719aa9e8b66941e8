"""Counting in SQL: summaries that are kept up to date, and the deletion of what was counted."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rumor.collector.store.base import ID_BYTES, Registered, Window
from rumor.collector.store.checksums import checksum, damaged, opened
from rumor.collector.store.sqlbase import Row, Run, SqlBase, day_number, day_of
from rumor.core.reports import Reports
from rumor.core.types import Tally
from rumor.mechanisms import Mechanism
from rumor.mechanisms.summary import Summary

# Reports handled at a time: their time and memory are no matter.
CHUNK = 50_000
# Delete a report and keep its id.
SPEND = "UPDATE report SET report = NULL, day = NULL, checksum = NULL"
_COLUMNS = "question, day, reports, tally, checksum"


@dataclass(frozen=True)
class Counted:
    """The tally of some reports of one question and one day."""

    question: int
    day: int
    reports: int
    tally: Tally

    def __add__(self, other: Counted) -> Counted:
        """Both together, of the same question and day."""
        return replace(self, reports=self.reports + other.reports, tally=self.tally + other.tally)

    def __sub__(self, other: Counted) -> Counted:
        """The one without the other, which it must hold."""
        left = replace(self, reports=self.reports - other.reports, tally=self.tally - other.tally)
        if left.reports < 0 or (left.tally < 0).any():
            raise damaged(f"the counts of day {self.day} lack reports that were counted")
        return left


class SqlSummaries(SqlBase):
    """Summaries, and retention; see `rumor.collector.store.base.Store` for what each promises."""

    def summarize(self) -> int:
        """Add what is new to the summaries, a bounded number of reports at a time."""
        with self._writing(alone=True) as run:
            # Everything up to here is committed; numbers taken from now on are higher.
            top = newest_number(run)
        counted = 0
        while True:
            with self._reading() as run:
                mark = read_mark(run)
                if mark >= top:
                    return counted
                end = min(top, mark + CHUNK)
                fresh = self._fresh_rows(run, mark, end)
            tallies = [_count(*each) for each in fresh]
            with self._writing() as run:
                counted += self._add(run, tallies, mark, end)

    def _count_rest(self, run: Run) -> None:
        """The same within a transaction that is alone: afterwards everything is counted.

        Whoever was counting meanwhile finds the mark moved, and begins again.
        """
        top, mark = newest_number(run), read_mark(run)
        while mark < top:
            end = min(top, mark + CHUNK)
            fresh = self._fresh_rows(run, mark, end)
            self._add(run, [_count(*each) for each in fresh], mark, end)
            mark = end

    def _fresh_rows(
        self, run: Run, above: int, upto: int
    ) -> list[tuple[int, int, Mechanism, Reports]]:
        """Question, day, mechanism and reports of what has these numbers, all intact."""
        # Questions first: a report's question was there before it.
        mechanisms = {
            number: entry.collection.question(id).mechanism
            for entry in self._registered(run)
            for id, number in entry.questions.items()
        }
        found = []
        for (question, day), flat in self._fresh(run, above, upto).items():
            if question not in mechanisms or not isinstance(day, int):
                raise damaged("some reports belong to no question, or to no day")
            mechanism = mechanisms[question]
            rows = opened(question, day, flat, ID_BYTES + mechanism.width)
            found.append((question, day, mechanism, np.ascontiguousarray(rows[:, ID_BYTES:])))
        return found

    def _add(self, run: Run, tallies: Sequence[Counted], mark: int, end: int) -> int:
        """Add tallies and move the mark, unless somebody else moved it meanwhile."""
        if not move_mark(run, end, mark):
            return 0
        existing = {number for (number,) in run("SELECT number FROM question")}
        live = [counted for counted in tallies if counted.question in existing]
        for counted in live:
            before = read_summary(run, counted.question, counted.day)
            put(run, counted if before is None else before + counted)
        return sum(counted.reports for counted in live)

    def summary(
        self, registered: Registered, question: str, window: Window = (None, None)
    ) -> Summary:
        """The sum over the days of a window."""
        empty = _empty(registered, question)
        first, last = window
        with self._reading() as run:
            rows = run(
                f"SELECT {_COLUMNS} FROM summary WHERE question = ? AND day >= ? AND day <= ?",
                registered.questions[question],
                day_number(first or datetime.date.min),
                day_number(last or datetime.date.max),
            )
            days = [_read(row, empty) for row in rows]
        tally = empty.tally.copy()
        for day in days:
            tally += day.tally
        return _of(empty, sum(day.reports for day in days), tally)

    def days(self, registered: Registered, question: str) -> dict[datetime.date, int]:
        """The numbers alone: they are asked for often, and tallies may be long."""
        with self._reading() as run:
            rows = run(
                "SELECT day, reports FROM summary WHERE question = ? ORDER BY day",
                registered.questions[question],
            )
        return {day_of(day): reports for day, reports in rows}

    def counted(
        self, registered: Registered, question: str
    ) -> tuple[int, dict[datetime.date, Summary]]:
        """The summary of each day and the mark, both of the same moment."""
        empty = _empty(registered, question)
        with self._reading() as run:
            rows = run(
                "SELECT mark.number, mark.checksum, question, day, reports, tally,"
                " summary.checksum FROM mark LEFT JOIN summary ON question = ? ORDER BY day",
                registered.questions[question],
            )
            mark = checked_mark(*rows[0][:2])
            days = [_read(row[2:], empty) for row in rows if row[2] is not None]
        return mark, {day_of(day.day): _of(empty, day.reports, day.tally) for day in days}

    def expire(self, today: datetime.date) -> int:
        """Delete counted reports past their retention, in short transactions."""
        self.summarize()
        deleted = 0
        for entry in self.registered():
            for question in entry.collection.questions:
                if question.retention_days is not None:
                    first = today - datetime.timedelta(days=question.retention_days)
                    number = entry.questions[question.id]
                    deleted += self._expire(number, day_number(first), keep_ids=entry.open)
        if deleted:
            self._tidy()
        return deleted

    def _expire(self, question: int, first: int, *, keep_ids: bool) -> int:
        change = SPEND if keep_ids else "DELETE FROM report"
        with self._reading() as run:
            old = "FROM report WHERE question = ? AND day < ?"
            ((low, high),) = run(f"SELECT MIN(number), MAX(number) {old}", question, first)
            mark = read_mark(run)
        deleted = 0
        if low is None:
            return 0
        for start in range(low, min(high, mark) + 1, CHUNK):
            with self._writing() as run:
                rows = run(
                    f"{change} WHERE question = ? AND day < ? AND number >= ? AND number < ?"
                    f" AND number <= ? RETURNING 1",
                    *(question, first, start, start + CHUNK, mark),
                )
            deleted += len(rows)
        return deleted


def _count(question: int, day: int, mechanism: Mechanism, reports: Reports) -> Counted:
    return Counted(question, day, len(reports), mechanism.tally(reports))


def put(run: Run, counted: Counted) -> None:
    """Write the summary of a day in place of what was there; nothing where nothing is counted."""
    run("DELETE FROM summary WHERE (question, day) = (?, ?)", counted.question, counted.day)
    if counted.reports:
        tally = counted.tally.astype("<i8").tobytes()
        numbers = (counted.question, counted.day, counted.reports)
        run(
            f"INSERT INTO summary ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)",
            *(*numbers, tally, checksum(*numbers, data=tally)),
        )


def read_summary(run: Run, question: int, day: int) -> Counted | None:
    """The summary of a day, if there is one."""
    rows = run(f"SELECT {_COLUMNS} FROM summary WHERE (question, day) = (?, ?)", *(question, day))
    return _read(rows[0]) if rows else None


def _read(row: Row, empty: Summary | None = None) -> Counted:
    question, day, reports, tally, stored = row
    try:
        intact = bytes(stored) == checksum(question, day, reports, data=bytes(tally))
    except (TypeError, struct.error):
        intact = False
    if not intact:
        raise damaged(f"the counts of day {day} of a question do not fit their checksum")
    found = np.frombuffer(tally, dtype="<i8").astype(np.int64)
    if empty is not None and found.size != empty.tally.size:
        raise damaged(f"the counts of day {day} are of another question")
    return Counted(question, day, reports, found)


def newest_number(run: Run) -> int:
    """The number of the last report that is there."""
    ((top,),) = run("SELECT COALESCE(MAX(number), 0) FROM report")
    return int(top)


def read_mark(run: Run) -> int:
    """The number of the last report that is counted."""
    ((number, stored),) = run("SELECT number, checksum FROM mark")
    return checked_mark(number, stored)


def checked_mark(number: Any, stored: Any) -> int:
    """The mark, if it is what was stored."""
    if not isinstance(number, int) or stored is None or bytes(stored) != checksum(number):
        raise damaged("the mark of what is counted does not fit its checksum")
    return number


def move_mark(run: Run, end: int, mark: int) -> bool:
    """Move the mark, if it still is where it was."""
    move = "UPDATE mark SET number = ?, checksum = ? WHERE number = ? RETURNING number"
    return bool(run(move, end, checksum(end), mark))


def _empty(registered: Registered, question: str) -> Summary:
    return Summary.empty(
        registered.collection.question(question).mechanism,
        contract=registered.collection.digest,
        question=question,
    )


def _of(empty: Summary, reports: int, tally: Tally) -> Summary:
    return Summary(empty.mechanism, reports, tally, empty.contract, empty.question)
