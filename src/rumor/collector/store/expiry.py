"""The deletion of reports that are counted and past their question's retention, in SQL."""

from __future__ import annotations

import datetime

from rumor.collector.store.contracts import registered
from rumor.collector.store.counts import read_mark
from rumor.collector.store.database import Database
from rumor.collector.store.summaries import summarize
from rumor.collector.store.tables import CHUNK, SPEND, day_number


def expire(database: Database, today: datetime.date) -> int:
    """Delete counted reports past their retention, in short transactions."""
    summarize(database)
    deleted = 0
    with database.reading() as run:
        known = registered(database, run)
    for entry in known:
        for question in entry.collection.questions:
            if question.retention_days is not None:
                first = today - datetime.timedelta(days=question.retention_days)
                number = entry.questions[question.id]
                deleted += _expire(database, number, day_number(first), keep_ids=entry.open)
    if deleted:
        database.dialect.tidy()
    return deleted


def _expire(database: Database, question: int, first: int, *, keep_ids: bool) -> int:
    change = SPEND if keep_ids else "DELETE FROM report"
    with database.reading() as run:
        old = "FROM report WHERE question = ? AND day < ?"
        ((low, high),) = run(f"SELECT MIN(number), MAX(number) {old}", question, first)
        mark = read_mark(run)
    deleted = 0
    if low is None:
        return 0
    for start in range(low, min(high, mark) + 1, CHUNK):
        with database.writing() as run:
            rows = run(
                f"{change} WHERE question = ? AND day < ? AND number >= ? AND number < ?"
                f" AND number <= ? RETURNING 1",
                *(question, first, start, start + CHUNK, mark),
            )
        deleted += len(rows)
    return deleted
