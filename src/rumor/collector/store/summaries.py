"""Counting in SQL: summaries that are kept up to date, so that no report is read twice."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

import numpy as np

from rumor.collector.store.base import ID_BYTES, StoredCollection, Strata
from rumor.collector.store.checksums import damage_error, open_rows
from rumor.collector.store.contracts import mechanisms
from rumor.collector.store.counts import (
    COLUMNS,
    DayTally,
    checked_mark,
    checked_summary,
    move_mark,
    put,
    read_mark,
    read_summary,
)
from rumor.collector.store.database import Database
from rumor.collector.store.spans import all_lasts, first_of, joined_lasts
from rumor.collector.store.tables import (
    CHUNK,
    Run,
    day_number,
    day_of,
    newest_number,
    one_of,
)
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Days, Tally
from rumor.mechanisms import Mechanism
from rumor.mechanisms.summary import Summary

_EVER = (datetime.date.min, datetime.date.max)


def summarize(database: Database) -> int:
    """Add what is new to the summaries, a bounded number of reports at a time."""
    with database.writing(alone=True) as run:
        # Everything up to here is committed; numbers taken from now on are higher.
        top = newest_number(run)
    counted = 0
    while True:
        with database.reading() as run:
            mark = read_mark(run)
            if mark >= top:
                return counted
            end = min(top, mark + CHUNK)
            fresh = _fresh_rows(database, run, mark, end)
        tallies = [_count(*each) for each in fresh]
        with database.writing() as run:
            counted += _add(run, tallies, mark, end)


def count_rest(database: Database, run: Run) -> None:
    """Add all new reports to the summaries, within a transaction that no other one overlaps.

    Another count that was under way finds the mark moved, and begins again.
    """
    top, mark = newest_number(run), read_mark(run)
    while mark < top:
        end = min(top, mark + CHUNK)
        fresh = _fresh_rows(database, run, mark, end)
        _add(run, [_count(*each) for each in fresh], mark, end)
        mark = end


def _fresh_rows(
    database: Database, run: Run, above: int, upto: int
) -> list[tuple[int, int, Mechanism, Reports]]:
    """Return question, day, mechanism and reports of the intact rows with these numbers."""
    # Questions first: a report's question was there before it.
    known = mechanisms(database, run)
    found = []
    for (question, day), flat in database.dialect.fresh(run, above, upto).items():
        if question not in known or not isinstance(day, int):
            raise damage_error("some reports belong to no question, or to no day")
        mechanism = known[question]
        rows = open_rows(question, day, flat, ID_BYTES + mechanism.width)
        found.append((question, day, mechanism, np.ascontiguousarray(rows[:, ID_BYTES:])))
    return found


def _count(question: int, day: int, mechanism: Mechanism, reports: Reports) -> DayTally:
    return DayTally(question, day, len(reports), mechanism.tally(reports))


def _add(run: Run, tallies: Sequence[DayTally], mark: int, end: int) -> int:
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
    database: Database,
    registered: StoredCollection,
    question: str,
    window: Days,
    strata: Strata = None,
) -> Summary:
    """Return the sum over the days of a window, which must not cut a span of days in two."""
    empty, numbers = _empty(registered, question), registered.numbers(question, strata)
    first, last = (day_number(window[0] or _EVER[0]), day_number(window[1] or _EVER[1]))
    with database.reading() as run:
        rows = run(
            f"SELECT {COLUMNS} FROM summary WHERE question {one_of(numbers)}"
            " AND day >= ? AND day <= ?",
            *(*numbers, first, last),
        )
        found = [checked_summary(row, empty) for row in rows]
        for lasts in all_lasts(run, numbers).values():
            _check_window(lasts, first, last)
    tally = empty.tally.copy()
    for day in found:
        tally += day.tally
    return _of(empty, sum(day.reports for day in found), tally)


def _check_window(lasts: Mapping[int, int], first: int, last: int) -> None:
    for day, end in lasts.items():
        if day <= last and end >= first and not first <= day <= end <= last:
            raise InputError(
                f"a window must hold all days of a span or none, since their reports are deleted "
                f"and counted together; it cuts {day_of(day)} to {day_of(end)}"
            )


def days(
    database: Database, registered: StoredCollection, question: str, strata: Strata = None
) -> dict[datetime.date, int]:
    """Return the numbers of reports alone: they are asked for often, and tallies may be long."""
    numbers = registered.numbers(question, strata)
    with database.reading() as run:
        rows = run(
            f"SELECT day, SUM(reports) FROM summary WHERE question {one_of(numbers)}"
            " GROUP BY day ORDER BY day",
            *numbers,
        )
        lasts = joined_lasts(run, numbers)
    found: dict[int, int] = {}
    for day, reports in rows:
        first = first_of(lasts, day)
        found[first] = found.get(first, 0) + int(reports)
    return {day_of(day): reports for day, reports in found.items()}


def by_stratum(database: Database, registered: StoredCollection, question: str) -> dict[int, int]:
    """Return how many reports of each stratum are counted."""
    numbers = registered.numbers(question)
    with database.reading() as run:
        rows = run(
            f"SELECT question, SUM(reports) FROM summary WHERE question {one_of(numbers)}"
            " GROUP BY question ORDER BY question",
            *numbers,
        )
    of = ((numbers[number], int(reports)) for number, reports in rows)
    return {stratum: reports for stratum, reports in of if stratum is not None}


def counted(
    database: Database, registered: StoredCollection, question: str, strata: Strata = None
) -> tuple[int, dict[datetime.date, Summary]]:
    """Return the summary of each day and the mark, both of the same moment."""
    empty, numbers = _empty(registered, question), registered.numbers(question, strata)
    with database.reading() as run:
        rows = run(
            "SELECT mark.number, mark.checksum, question, day, reports, tally, summary.checksum"
            f" FROM mark LEFT JOIN summary ON question {one_of(numbers)} ORDER BY day, question",
            *numbers,
        )
        mark = checked_mark(*rows[0][:2])
        found = [checked_summary(row[2:], empty) for row in rows if row[2] is not None]
        lasts = joined_lasts(run, numbers)
    whole: dict[datetime.date, Summary] = {}
    for day in found:
        first = day_of(first_of(lasts, day.day))
        whole[first] = whole.get(first, empty) + _of(empty, day.reports, day.tally)
    return mark, whole


def _empty(registered: StoredCollection, question: str) -> Summary:
    return Summary.empty(
        registered.collection.question(question).mechanism,
        contract=registered.collection.digest,
        question=question,
    )


def _of(empty: Summary, reports: int, tally: Tally) -> Summary:
    return Summary(empty.mechanism, reports, tally, empty.contract, empty.question)
