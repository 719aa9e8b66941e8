"""Counting in SQL: summaries that are kept up to date, and the deletion of what was counted."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.collector.sqlbase import Run, SqlBase, day_number, day_of
from rumor.collector.store import Registered, Window
from rumor.mechanisms import Mechanism
from rumor.mechanisms.base import Tally
from rumor.summary import Summary

# Reports handled at a time: their time and memory are no matter.
CHUNK = 50_000


@dataclass(frozen=True)
class Counted:
    """The tally of some reports of one question and one day."""

    question: int
    day: int
    reports: int
    tally: Tally


class SqlSummaries(SqlBase):
    """Summaries, and retention; see `rumor.collector.store.Store` for what each promises."""

    def summarize(self) -> int:
        """Add what is new to the summaries, a bounded number of reports at a time."""
        with self._writing(alone=True) as run:
            # Everything up to here is committed; numbers taken from now on are higher.
            ((top,),) = run("SELECT COALESCE(MAX(number), 0) FROM report")
        counted = 0
        while True:
            with self._reading() as run:
                ((mark,),) = run("SELECT number FROM mark")
                if mark >= top:
                    return counted
                end = min(top, mark + CHUNK)
                fresh = self._fresh(run, mark, end)
            mechanisms = self._mechanisms()
            tallies = [
                _count(question, day, mechanisms[question], joined_reports)
                for (question, day), joined_reports in fresh.items()
                if question in mechanisms
            ]
            counted += self._add(tallies, mark, end)

    def _mechanisms(self) -> dict[int, Mechanism]:
        return {
            number: entry.collection.question(id).mechanism
            for entry in self.registered()
            for id, number in entry.questions.items()
        }

    def _add(self, tallies: Sequence[Counted], mark: int, end: int) -> int:
        """Add tallies and move the mark, unless somebody else moved it meanwhile."""
        with self._writing() as run:
            if not run("UPDATE mark SET number = ? WHERE number = ? RETURNING number", end, mark):
                return 0
            existing = {number for (number,) in run("SELECT number FROM question")}
            live = [counted for counted in tallies if counted.question in existing]
            for counted in live:
                key = (counted.question, counted.day)
                rows = run(
                    "SELECT reports, tally FROM summary WHERE (question, day) = (?, ?)", *key
                )
                if rows:
                    ((before, stored),) = rows
                    run(
                        "UPDATE summary SET reports = ?, tally = ? WHERE (question, day) = (?, ?)",
                        before + counted.reports,
                        (_tally(stored) + counted.tally).astype("<i8").tobytes(),
                        *key,
                    )
                else:
                    put(run, counted)
            return sum(counted.reports for counted in live)

    def summary(
        self, registered: Registered, question: str, window: Window = (None, None)
    ) -> Summary:
        """The sum over the days of a window."""
        empty = _empty(registered, question)
        first, last = window
        with self._reading() as run:
            rows = run(
                "SELECT reports, tally FROM summary WHERE question = ? AND day >= ? AND day <= ?",
                registered.questions[question],
                day_number(first or datetime.date.min),
                day_number(last or datetime.date.max),
            )
        tally, reports = empty.tally.copy(), 0
        for count, stored in rows:
            tally += _tally(stored)
            reports += count
        return _of(empty, reports, tally)

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
                "SELECT mark.number, day, reports, tally FROM mark LEFT JOIN summary"
                " ON question = ? ORDER BY day",
                registered.questions[question],
            )
        days = {
            day_of(day): _of(empty, count, _tally(stored))
            for _, day, count, stored in rows
            if day is not None
        }
        return rows[0][0], days

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
        change = "UPDATE report SET report = NULL, day = NULL" if keep_ids else "DELETE FROM report"
        with self._reading() as run:
            old = "FROM report WHERE question = ? AND day < ?"
            ((low, high),) = run(f"SELECT MIN(number), MAX(number) {old}", question, first)
            ((mark,),) = run("SELECT number FROM mark")
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


def _count(question: int, day: int, mechanism: Mechanism, flat: bytes) -> Counted:
    reports = np.frombuffer(flat, dtype=np.uint8).reshape(-1, mechanism.width)
    return Counted(question, day, len(reports), mechanism.tally(reports))


def put(run: Run, counted: Counted) -> None:
    """Write the summary of a day that has none yet."""
    run(
        "INSERT INTO summary (question, day, reports, tally) VALUES (?, ?, ?, ?)",
        counted.question,
        counted.day,
        counted.reports,
        counted.tally.astype("<i8").tobytes(),
    )


def _tally(stored: bytes) -> Tally:
    return np.frombuffer(stored, dtype="<i8").astype(np.int64)


def _empty(registered: Registered, question: str) -> Summary:
    return Summary.empty(
        registered.collection.question(question).mechanism,
        contract=registered.collection.digest,
        question=question,
    )


def _of(empty: Summary, reports: int, tally: Tally) -> Summary:
    return Summary(empty.mechanism, reports, tally, empty.contract, empty.question)
