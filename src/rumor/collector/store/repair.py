"""Repair of a damaged SQL store: contents that fit their checksums stay, and nothing else.

Reports that do not fit are removed; they stay counted if they were counted before. Days whose
counts do not fit are counted anew from the reports that are left. When the mark of what is
counted does not fit, that is done with every day that has reports. A span of days whose last day
does not fit is one day from then on. A file whose own pages are
damaged must be recovered by SQLite's shell first.
"""

from __future__ import annotations

import numpy as np

from rumor.collector.store.base import RepairResult, StoreDamagedError
from rumor.collector.store.checksums import CHECKSUM_BYTES, checksum, checksums, joined_fields
from rumor.collector.store.contracts import mechanisms
from rumor.collector.store.counts import DayTally, put, read_mark, read_summary
from rumor.collector.store.database import Database
from rumor.collector.store.spans import read_dropped, read_lasts
from rumor.collector.store.tables import CHUNK, Run, newest_number
from rumor.mechanisms import Mechanism


def repair(database: Database) -> RepairResult:
    """Remove what is damaged, in one commit."""
    with database.writing(alone=True) as run:
        known = mechanisms(database, run)
        removed = _remove_reports(run, known)
        _remove_spans(run)
        days = _damaged_days(run, known)
        try:
            mark = read_mark(run)
        except StoreDamagedError:
            mark = newest_number(run)
            run("UPDATE mark SET number = ?, checksum = ?", mark, checksum(mark))
            days |= set(run("SELECT DISTINCT question, day FROM report WHERE day IS NOT NULL"))
        for question, day in sorted(days):
            _recount(run, known[question], question, day, mark)
    return RepairResult(removed, len(days))


def _remove_reports(run: Run, known: dict[int, Mechanism]) -> int:
    removed = 0
    for start in range(0, newest_number(run), CHUNK):
        rows = run(
            "SELECT number, question, day, id, report, checksum FROM report"
            " WHERE number > ? AND number <= ? AND report IS NOT NULL",
            *(start, start + CHUNK),
        )
        for number, question, day, *fields in rows:
            if question not in known or not _fits(question, day, fields):
                run("DELETE FROM report WHERE number = ?", number)
                removed += 1
    return removed


def _fits(question: int, day: object, fields: list[object]) -> bool:
    if not isinstance(day, int) or not all(isinstance(field, bytes) for field in fields):
        return False
    flat = joined_fields([tuple(fields)])
    row = np.frombuffer(flat[:-CHECKSUM_BYTES], np.uint8)[None]
    return checksums(question, day, row).tobytes() == flat[-CHECKSUM_BYTES:]


def _damaged_days(run: Run, known: dict[int, Mechanism]) -> set[tuple[int, int]]:
    found = set()
    for question, day in run("SELECT question, day FROM summary"):
        try:
            read_summary(run, question, day)
        except StoreDamagedError:
            for table in ("summary", "span"):
                run(f"DELETE FROM {table} WHERE (question, day) = (?, ?)", question, day)
            if question in known and isinstance(day, int):
                found.add((question, day))
    return found


def _remove_spans(run: Run) -> None:
    """Remove what says of days past retention what it did not say when it was written."""
    for table, read in (("span", read_lasts), ("drop_count", read_dropped)):
        for (question,) in run(f"SELECT DISTINCT question FROM {table}"):
            try:
                read(run, question)
            except StoreDamagedError:
                run(f"DELETE FROM {table} WHERE question = ?", question)


def _recount(run: Run, mechanism: Mechanism, question: int, day: int, mark: int) -> None:
    rows = run(
        "SELECT report FROM report WHERE question = ? AND day = ? AND number <= ?",
        *(question, day, mark),
    )
    flat = b"".join(bytes(report) for (report,) in rows)
    reports = np.frombuffer(flat, np.uint8).reshape(-1, mechanism.width)
    put(run, DayTally(question, day, len(reports), mechanism.tally(reports)))
