"""Taking reports back, in SQL: out of the reports and out of the counts, in one commit."""

from __future__ import annotations

import numpy as np

from rumor.collector.store.base import ID_BYTES, Registered, Unknown
from rumor.collector.store.checksums import joined_fields, opened
from rumor.collector.store.counts import Counted, put, read_summary
from rumor.collector.store.database import Database
from rumor.collector.store.summaries import count_rest
from rumor.collector.store.tables import QUESTIONS, SPEND, Run
from rumor.core.reports import Reports


def withdraw(
    database: Database, registered: Registered, question: str, ids: Reports
) -> int | Unknown:
    """Take back those of these reports that are still there."""
    number = registered.questions[question]
    mechanism = registered.collection.question(question).mechanism
    if registered.collection.relay is not None and not _forestall(database, number, ids):
        return Unknown()
    with database.reading() as run:
        if not run("SELECT 1 FROM question WHERE number = ?", number):
            return Unknown()
        # Whoever knows no report's key does not make anybody wait.
        held = [id for id in map(bytes, ids) if _held(run, number, id)]
    if not held:
        return 0
    with database.writing(alone=True) as run:
        state = run(
            "SELECT open FROM collection JOIN question ON question.collection ="
            " collection.number WHERE question.number = ?",
            number,
        )
        if not state:
            return Unknown()
        # What is counted can be taken out of the counts, and nobody counts it meanwhile.
        count_rest(database, run)
        rows = [row for id in sorted(set(held)) for row in _held(run, number, id)]
        for day in sorted({row[0] for row in rows}):
            sealed = joined_fields(row[1:] for row in rows if row[0] == day)
            intact = opened(number, day, sealed, ID_BYTES + mechanism.width)
            reports = np.ascontiguousarray(intact[:, ID_BYTES:])
            taken = Counted(number, day, len(reports), mechanism.tally(reports))
            before = read_summary(run, number, day) or Counted(number, day, 0, 0 * taken.tally)
            put(run, before - taken)
        # While the collection takes reports, the id keeps this one from coming back.
        change = SPEND if state[0][0] else "DELETE FROM report"
        for row in rows:
            run(f"{change} WHERE id = ?", row[1])
        database.untidy = True
    return len(rows)


def _forestall(database: Database, number: int, ids: Reports) -> bool:
    """Keep the ids of reports that may still be at a relay, so that none of them is taken later.

    Where the report is here already, that stays as it is; False: there is no such question.
    """
    with database.writing() as run:
        known = [bool(is_open) for each, is_open in run(QUESTIONS) if each == number]
        if known and known[0]:
            database.dialect.insert_spent(run, number, ids)
    return bool(known)


def _held(run: Run, question: int, id: bytes) -> list[tuple[int, bytes, bytes, bytes]]:
    """Day, id, report and checksum of a report that is still there."""
    return run(
        "SELECT day, id, report, checksum FROM report"
        " WHERE id = ? AND question = ? AND report IS NOT NULL",
        *(id, question),
    )
