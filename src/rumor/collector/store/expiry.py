"""The deletion of what is past its time, in SQL: reports, and early withdrawals.

Reports that are counted go when their question's retention is over. In the commit that deletes the
last ones of some days, the counts of these days become part of a span
(rumor.collector.store.spans), so that no quiet day is kept by its counts.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rumor.collector.store.base import StoredCollection, stored_name
from rumor.collector.store.contracts import keeps_ids, read_collections
from rumor.collector.store.counts import read_mark
from rumor.collector.store.database import Database
from rumor.collector.store.spans import is_merged, merge
from rumor.collector.store.summaries import summarize
from rumor.collector.store.tables import CHUNK, SPEND, Run, day_number, one_of
from rumor.collector.store.withdrawal import forget_early
from rumor.contract.deletion import LEAST_KEPT


def expire(database: Database, today: datetime.date) -> int:
    """Delete counted reports past their retention, in short transactions."""
    summarize(database)
    deleted = 0
    with database.reading() as run:
        known = read_collections(database, run)
    for entry in known:
        forget_early(database, entry, today)
        for question in entry.collection.questions:
            if question.retention_days is not None:
                first = today - datetime.timedelta(days=question.retention_days)
                deleted += _expire_question(database, entry, question.id, day_number(first))
    if deleted and not database.dialect.tidy():
        database.untidy = True
    return deleted


@dataclass(frozen=True)
class _Days:
    """Consecutive days whose reports go together: how many there are, and their numbers."""

    last: int
    reports: int
    low: int
    high: int
    largest: tuple[int, int]
    """The most reports of one of the days, and that day."""

    def __add__(self, other: _Days) -> _Days:
        low, high = min(self.low, other.low), max(self.high, other.high)
        largest = max(self.largest, other.largest)
        return _Days(other.last, self.reports + other.reports, low, high, largest)


def _expire_question(database: Database, entry: StoredCollection, id: str, first: int) -> int:
    """Delete the reports of a question before the day `first`, those of each stratum apart."""
    numbers = entry.numbers(id)
    with database.reading() as run:
        mark = read_mark(run)
        rows = run(
            "SELECT question, day, COUNT(*), MIN(number), MAX(number) FROM report"
            f" WHERE question {one_of(numbers)} AND day < ? AND number <= ?"
            " GROUP BY question, day ORDER BY question, day",
            *(*numbers, first, mark),
        )
        unmerged = [number for number in numbers if not is_merged(run, number, first)]
    found: dict[int, list[_Days]] = {}
    for number, day, n, low, high in rows:
        found.setdefault(number, []).append(_Days(day, n, low, high, (n, day)))
    deleted = 0
    for number, days in found.items():
        if len(numbers) == 1 or _reports(days) > CHUNK:
            for some in _together(days):
                deleted += _delete(database, entry, stored_name(id, numbers[number]), some)
    few = {number: days for number, days in found.items() if len(numbers) > 1}
    for some_numbers in _few_at_a_time(few):
        deleted += _delete_strata(database, entry, id, some_numbers, first, mark)
    for number in unmerged:  # an older Rumor kept quiet days
        if number not in found:
            with database.writing(alone=True) as run:
                merge(run, number, first)
    return deleted


def _reports(days: Sequence[_Days]) -> int:
    return sum(each.reports for each in days)


def _few_at_a_time(found: Mapping[int, Sequence[_Days]]) -> Iterator[list[int]]:
    """Yield the numbers of strata of few reports, as many as one transaction may delete."""
    some: list[int] = []
    total = 0
    for number, days in found.items():
        reports = _reports(days)
        if reports > CHUNK:
            continue
        if total + reports > CHUNK:
            yield some
            some, total = [], 0
        some.append(number)
        total += reports
    if some:
        yield some


def _delete_strata(
    database: Database,
    entry: StoredCollection,
    id: str,
    numbers: Sequence[int],
    first: int,
    mark: int,
) -> int:
    """Delete all reports of some strata before the day `first`, and merge their counts."""
    with database.writing(alone=True) as run:
        keeps = keeps_ids(read_collections(database, run), entry, id)
        rows = run(
            f"{SPEND if keeps else 'DELETE FROM report'} WHERE question {one_of(numbers)}"
            " AND day < ? AND number <= ? RETURNING 1",
            *(*numbers, first, mark),
        )
        for number in numbers:
            merge(run, number, first)
    return len(rows)


def _together(days: Sequence[_Days]) -> Iterator[_Days]:
    """Join days until their reports are enough for a span; what is left goes with the last."""
    found: list[_Days] = []
    for day in days:
        if found and found[-1].reports < LEAST_KEPT:
            found[-1] += day
        else:
            found.append(day)
    if len(found) > 1 and found[-1].reports < LEAST_KEPT:
        found[-2:] = [found[-2] + found[-1]]
    return iter(found)


def _delete(database: Database, entry: StoredCollection, id: str, days: _Days) -> int:
    """Delete the reports of some days, and merge their counts in the last commit."""
    numbers, deleted = (days.low, days.high), 0
    most, day = days.largest
    for _ in range((most - 1) // CHUNK):
        # Only the largest day may take several transactions, so the deleted part is never small.
        with database.writing() as run:
            chunk = f"day = ? AND number BETWEEN ? AND ? ORDER BY number LIMIT {CHUNK}"
            deleted += _delete_some(database, run, entry, id, chunk, day, *numbers)
    with database.writing(alone=True) as run:
        rest = "day <= ? AND number BETWEEN ? AND ?"
        deleted += _delete_some(database, run, entry, id, rest, days.last, *numbers)
        merge(run, entry.questions[id], days.last + 1)
    return deleted


def _delete_some(
    database: Database, run: Run, entry: StoredCollection, id: str, which: str, *values: int
) -> int:
    change = (
        SPEND if keeps_ids(read_collections(database, run), entry, id) else "DELETE FROM report"
    )
    rows = run(
        f"{change} WHERE number IN (SELECT number FROM report WHERE question = ? AND {which})"
        f" RETURNING 1",
        *(entry.questions[id], *values),
    )
    return len(rows)
