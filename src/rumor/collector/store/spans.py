"""Counts past retention, in SQL: days are merged until a span holds `LEAST_KEPT` reports.

The tally of a day with one report is that report, so a quiet day's counts must not outlive its
reports. When the reports of days are deleted, the tallies of those days are merged in the same
commit: consecutive days become a *span*, which holds at least `LEAST_KEPT` reports. A span is a
row of `summary` under its first day; the table `span` has its last day.

A quiet day that expires later joins the last span before it. Where there is no span yet, the
tally is dropped and only the number of its reports stays (`drop_count`). Other ways lose more:

- To wait until enough days are over keeps reports longer than their retention.
- To keep the small tally until more days join it stores what must not be stored.
- To merge it with days whose reports are still there hides nothing: these can be subtracted.
- To delete the following days early takes from people the time in which they may withdraw.

This is a promise about one store at one time. Whoever has copies of a store from before and
after a day joined a span can subtract one from the other, and knows the day's tally.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rumor.collector.store.base import DroppedReports, StoredCollection, Strata
from rumor.collector.store.checksums import checksum, damage_error
from rumor.collector.store.counts import COLUMNS, DayTally, checked_summary, put, read_summary
from rumor.collector.store.database import Database
from rumor.collector.store.tables import Run, day_number, day_of, one_of
from rumor.contract.deletion import LEAST_KEPT


@dataclass(frozen=True)
class Span:
    """The counts of consecutive days: those of the first day, and the last day."""

    counted: DayTally
    last: int

    def __add__(self, other: Span) -> Span:
        """Merge two spans of one question, the earlier one first."""
        both = replace(self.counted + other.counted, day=min(self.day, other.day))
        return Span(both, max(self.last, other.last))

    @property
    def day(self) -> int:
        """The first day."""
        return self.counted.day


def read_lasts(run: Run, question: int) -> dict[int, int]:
    """Return the last day of each span of a question, by its first day."""
    found = {}
    for day, last, stored in run(
        "SELECT day, last, checksum FROM span WHERE question = ?", question
    ):
        if not _fits(stored, question, day, last):
            raise damage_error(
                f"the last day of the counts from day {day} does not fit its checksum"
            )
        found[day] = last
    return found


def all_lasts(run: Run, questions: Collection[int]) -> dict[int, dict[int, int]]:
    """Return the last day of each span by its first, for each of `questions` that has spans."""
    rows = run(f"SELECT DISTINCT question FROM span WHERE question {one_of(questions)}", *questions)
    return {question: read_lasts(run, question) for (question,) in sorted(rows)}


def joined_lasts(run: Run, questions: Collection[int]) -> dict[int, int]:
    """Return the spans of several questions with those merged that overlap; none of one question.

    Strata of one question have spans of their own, so that days in their sum are merged further.
    """
    if len(questions) == 1:
        return {}
    joined: dict[int, int] = {}
    end = None
    for day, last in sorted(
        each for of in all_lasts(run, questions).values() for each in of.items()
    ):
        if end is None or day > end:
            first, end = day, last
        end = max(end, last)
        joined[first] = end
    return joined


def first_of(lasts: Mapping[int, int], day: int) -> int:
    """Return the first day of the span in `lasts` that holds `day`, or `day` itself."""
    return next((first for first, last in lasts.items() if first <= day <= last), day)


def _fits(stored: Any, *numbers: Any) -> bool:
    whole = all(isinstance(number, int) for number in numbers) and stored is not None
    return whole and bytes(stored) == checksum(*numbers)


def read_dropped(run: Run, question: int) -> tuple[int, int, int] | None:
    """Return first day, last day and number of the reports whose tally was dropped."""
    rows = run("SELECT day, last, reports, checksum FROM drop_count WHERE question = ?", question)
    if not rows:
        return None
    day, last, reports, stored = rows[0]
    if not _fits(stored, question, day, last, reports):
        raise damage_error("the number of reports without counts does not fit its checksum")
    return day, last, reports


def spans(
    database: Database, registered: StoredCollection, question: str, strata: Strata = None
) -> dict[datetime.date, datetime.date]:
    """Return the last day of each span, by its first day."""
    numbers = registered.numbers(question, strata)
    with database.reading() as run:
        one = next(iter(numbers)) if len(numbers) == 1 else None
        lasts = joined_lasts(run, numbers) if one is None else read_lasts(run, one)
    return {day_of(day): day_of(last) for day, last in sorted(lasts.items())}


def dropped(
    database: Database, registered: StoredCollection, question: str, strata: Strata = None
) -> DroppedReports | None:
    """Return which reports are in no summary any more."""
    numbers = registered.numbers(question, strata)
    with database.reading() as run:
        rows = run(f"SELECT question FROM drop_count WHERE question {one_of(numbers)}", *numbers)
        each = [read_dropped(run, question) for (question,) in sorted(rows)]
    found = [one for one in each if one is not None]
    if not found:
        return None
    firsts, lasts, reports = zip(*found, strict=True)
    return DroppedReports(day_of(min(firsts)), day_of(max(lasts)), sum(reports))


def is_merged(run: Run, question: int, first: int) -> bool:
    """Return whether no days before `first` have too few reports to be kept."""
    few = "SELECT 1 FROM summary WHERE question = ? AND day < ? AND reports < ? LIMIT 1"
    return not run(few, question, first, LEAST_KEPT)


def merge(run: Run, question: int, first: int) -> None:
    """Merge the days before `first`, whose reports are gone, into spans of enough reports.

    Within a transaction that is alone.
    """
    if is_merged(run, question, first):
        return
    lasts = read_lasts(run, question)
    rows = run(
        f"SELECT {COLUMNS} FROM summary WHERE question = ? AND day < ? ORDER BY day",
        *(question, first),
    )
    found = [checked_summary(row) for row in rows]
    before = [Span(counted, lasts.get(counted.day, counted.day)) for counted in found]
    for span in before:
        _remove(run, span)
    after, rest = _merged(before)
    for span in after:
        put_span(run, span)
    if rest is not None:
        _drop(run, rest)


def _merged(days: Sequence[Span]) -> tuple[list[Span], Span | None]:
    """Return spans of enough reports, and the reports that are too few for any."""
    whole: list[Span] = []
    rest: Span | None = None
    for day in days:
        rest = day if rest is None else rest + day
        if rest.counted.reports >= LEAST_KEPT:
            whole.append(rest)
            rest = None
    if rest is not None and whole:
        return [*whole[:-1], whole[-1] + rest], None
    return whole, rest


def _remove(run: Run, span: Span) -> None:
    for table in ("summary", "span"):
        run(f"DELETE FROM {table} WHERE (question, day) = (?, ?)", span.counted.question, span.day)


def put_span(run: Run, span: Span) -> None:
    """Write the counts of a span, and its last day where it is of several days."""
    put(run, span.counted)
    if span.last != span.day:
        numbers = (span.counted.question, span.day, span.last)
        run(
            "INSERT INTO span (question, day, last, checksum) VALUES (?, ?, ?, ?)",
            *(*numbers, checksum(*numbers)),
        )


def _drop(run: Run, span: Span) -> None:
    question, reports = span.counted.question, span.counted.reports
    before = read_dropped(run, question)
    first, last, known = (span.day, span.last, 0) if before is None else before
    put_dropped(run, question, min(first, span.day), max(last, span.last), known + reports)


def put_dropped(run: Run, question: int, day: int, last: int, reports: int) -> None:
    """Write how many reports have no tally any more."""
    run("DELETE FROM drop_count WHERE question = ?", question)
    run(
        "INSERT INTO drop_count (question, day, last, reports, checksum) VALUES (?, ?, ?, ?, ?)",
        *(question, day, last, reports, checksum(question, day, last, reports)),
    )


def put_dropped_of(run: Run, question: int, dropped: DroppedReports | None) -> None:
    """Write what a backup says of reports without a tally."""
    if dropped is not None:
        days = day_number(dropped.first), day_number(dropped.last)
        put_dropped(run, question, *days, dropped.reports)


def take_out(run: Run, taken: DayTally) -> None:
    """Subtract the counts of withdrawn reports from the day, or the span, that holds them.

    A span holds them only where a report came under a day that was over: by a clock that was late.
    """
    if read_summary(run, taken.question, taken.day) is None:
        for day, last in read_lasts(run, taken.question).items():
            if day <= taken.day <= last:
                taken = replace(taken, day=day)
    before = read_summary(run, taken.question, taken.day)
    put(run, (before or replace(taken, reports=0, tally=0 * taken.tally)) - taken)
