"""Reports out of a SQL store and back in: for a look at some, an export, and back from one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rumor.collector.store.base import (
    ID_BYTES,
    QuestionContents,
    StoredCollection,
    StoredReports,
    Strata,
    sorted_by_id,
    stored_name,
)
from rumor.collector.store.checksums import joined_fields, open_rows
from rumor.collector.store.contracts import add_collection, find, read_collections, token_siblings
from rumor.collector.store.counts import DayTally, move_mark, read_mark
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.dialect import Dialect
from rumor.collector.store.spans import Span, put_dropped_of, put_span
from rumor.collector.store.summaries import count_rest, summarize
from rumor.collector.store.tables import (
    CHUNK,
    Row,
    Run,
    day_number,
    day_of,
    newest_number,
    one_of,
)
from rumor.collector.store.withdrawal import put_early
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.core.reports import Reports

# How far back the newest reports of a question are looked for.
_RECENT = 1_000_000


def reports(
    database: Database,
    entry: StoredCollection,
    question: str,
    upto: int | None,
) -> Iterator[StoredReports]:
    """Yield the reports that are still there, day by day."""
    most = sys.maxsize if upto is None else upto
    numbers, width = entry.numbers(question), _width(entry, question)
    with database.reading() as run:
        spans = run(
            "SELECT day, MIN(number), MAX(number) FROM report"
            f" WHERE question {one_of(numbers)} AND day IS NOT NULL AND number <= ?"
            " GROUP BY day ORDER BY day",
            *(*numbers, most),
        )
    for day, low, high in spans:
        for start in range(low, high + 1, CHUNK):
            with database.reading() as run:
                rows = run(
                    "SELECT question, id, report, checksum FROM report"
                    f" WHERE question {one_of(numbers)} AND day = ?"
                    " AND number >= ? AND number < ? AND number <= ?",
                    *(*numbers, day, start, start + CHUNK, most),
                )
                parts = [
                    (number, open_rows(number, day, joined_fields(fields), ID_BYTES + width))
                    for number, fields in _by(rows)
                ]
            for number, intact in parts:
                whole = sorted_by_id(intact)
                ids, made = whole[:, :ID_BYTES], whole[:, ID_BYTES:]
                yield StoredReports(day_of(day), ids, made, numbers[number])


def _by(rows: Iterable[Row]) -> list[tuple[Any, list[Row]]]:
    """Return the rest of `rows` by their first field, as it comes first."""
    found: dict[Any, list[Row]] = {}
    for first, *rest in rows:
        found.setdefault(first, []).append(tuple(rest))
    return list(found.items())


def newest_reports(
    database: Database,
    entry: StoredCollection,
    question: str,
    most: int,
    strata: Strata = None,
) -> Reports:
    """Return the newest reports, searched for among a bounded number of all questions' reports."""
    width = _width(entry, question)
    with database.reading() as run:
        numbers = entry.numbers(question, strata)
        rows = run(
            f"SELECT question, day, id, report, checksum FROM report"
            f" WHERE question {one_of(numbers)} AND report IS NOT NULL"
            " AND number > (SELECT COALESCE(MAX(number), 0) FROM report) - ?"
            " ORDER BY number DESC LIMIT ?",
            *(*numbers, _RECENT, most),
        )
        parts = [
            open_rows(number, day, joined_fields(fields), ID_BYTES + width)
            for (number, day), fields in _by(((row[0], row[1]), *row[2:]) for row in rows)
        ]
    found = [np.zeros((0, width), dtype=np.uint8), *(part[:, ID_BYTES:] for part in parts)]
    return np.ascontiguousarray(np.concatenate(found))


def spent_ids(
    database: Database, entry: StoredCollection, question: str
) -> Iterator[tuple[int | None, Reports]]:
    """Yield the ids of deleted reports, those of each stratum apart."""
    after, numbers = b"", entry.numbers(question)
    while True:
        with database.reading() as run:
            rows = run(
                f"SELECT question, id FROM report WHERE question {one_of(numbers)}"
                f" AND report IS NULL AND id > ? ORDER BY id LIMIT {CHUNK}",
                *(*numbers, after),
            )
        if not rows:
            return
        after = bytes(rows[-1][1])
        for number, ids in _by(rows):
            yield numbers[number], _rows(joined_fields(ids), ID_BYTES)


def restore(
    database: Database,
    collection: Collection,
    contents: Mapping[str, QuestionContents],
    *,
    open: bool,
    users: int = PLANNED,
) -> StoredCollection:
    """Put back a collection in one commit: until then, nobody sees anything of it."""
    summarize(database)  # so that little is left to be counted while others wait
    with database.writing(alone=True) as run:
        if run("SELECT 1 FROM collection WHERE digest = ?", collection.digest):
            raise InputError(
                f"a collection must be new to the store to be imported; "
                f"it has {collection.digest[:16]}... already"
            )
        # Restored reports were counted before, so the mark must move past them.
        count_rest(database, run)
        numbers = add_collection(run, collection, open=open, users=users)
        known = read_collections(database, run)
        (mine,) = (entry for entry in known if entry.collection.digest == collection.digest)
        for name, each in contents.items():
            siblings = token_siblings(known, mine, name)
            _put_back(database.dialect, run, numbers, name, each, siblings)
        move_mark(run, newest_number(run), read_mark(run))
    return find(database, collection.digest)


def _put_back(
    dialect: Dialect,
    run: Run,
    numbers: Mapping[str, int],
    name: str,
    contents: QuestionContents,
    siblings: set[int],
) -> None:
    for part in contents.reports:
        rows = np.concatenate([part.ids, part.reports], axis=1)
        if siblings:
            _reclaim(dialect, run, part.ids, siblings)
        to = numbers[
            name if part.stratum is None else stored_name(name.partition("/")[0], part.stratum)
        ]
        if dialect.insert(run, to, day_number(part.day), sorted_by_id(rows)) != len(rows):
            raise InputError("report ids must be new to the store; some are in use")
    number = numbers[name]
    for ids in contents.spent_ids:
        dialect.insert_spent(run, number, ids)
    put_early(run, number, dict(contents.early))
    for day, summary in contents.days.items():
        counted = DayTally(number, day_number(day), summary.reports, summary.tally)
        put_span(run, Span(counted, day_number(contents.spans.get(day, day))))
    put_dropped_of(run, number, contents.dropped)


def _reclaim(dialect: Dialect, run: Run, ids: Reports, siblings: set[int]) -> None:
    """Take back ids that a revision kept for a deleted collection, so that tokens stay spent."""
    for id, (question, report) in dialect.known(run, np.ascontiguousarray(ids)).items():
        if report is None and question in siblings:
            run("DELETE FROM report WHERE id = ?", id)


def _rows(flat: bytes, width: int) -> Reports:
    return np.frombuffer(flat, dtype=np.uint8).reshape(-1, width)


def _width(entry: StoredCollection, question: str) -> int:
    return entry.collection.question(question).mechanism.width
