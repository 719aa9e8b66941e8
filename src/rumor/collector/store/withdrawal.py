"""Taking reports back, in SQL: out of the reports and out of the counts, in one commit.

Where reports come through a relay, one that is taken back may not have arrived. Its id is kept
then, so that it is not taken later: an *early withdrawal*. Anybody can make up such ids, so they
are few (`most` of a collection), come slowly (`charge`) and do not stay: they go when nothing that
a relay held on that day can arrive any more (`Relay.days_under_way`). When the report arrives after
all, its id is one of a deleted report from then on.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from rumor.collector.store.base import (
    ID_BYTES,
    CollectionUnknown,
    EarlyWithdrawalsRefused,
    StoredCollection,
    today,
)
from rumor.collector.store.checksums import joined_fields, open_rows
from rumor.collector.store.contracts import keeps_ids, read_collections
from rumor.collector.store.counts import DayTally
from rumor.collector.store.database import Database
from rumor.collector.store.spans import take_out
from rumor.collector.store.summaries import count_rest
from rumor.collector.store.tables import CHUNK, QUESTIONS, SPEND, Run, day_number, one_of
from rumor.core.reports import Reports


def withdraw(
    database: Database,
    entry: StoredCollection,
    question: str,
    ids: Reports,
    most: int,
    charge: Callable[[int], float],
) -> int | CollectionUnknown | EarlyWithdrawalsRefused:
    """Take back those of these reports that are still there.

    `most` is how many early withdrawals a collection may have; `charge` is told how many are new,
    and returns after how many seconds they may come.
    """
    numbers = entry.numbers(question)
    refused: EarlyWithdrawalsRefused | None = None
    if entry.collection.relay is not None:
        (number,) = numbers  # no groups go with a relay
        kept = _keep_early(database, entry, number, ids, most, charge)
        if isinstance(kept, CollectionUnknown):
            return kept
        refused = kept
    with database.reading() as run:
        if not _is_there(run, numbers):
            return CollectionUnknown()
        # Whoever knows no report's key does not make anybody wait.
        held = [id for id in map(bytes, ids) if _held(run, numbers, id)]
    found = _take_back(database, entry, question, held) if held else 0
    if refused is not None and not isinstance(found, CollectionUnknown):
        return replace(refused, withdrawn=found)
    return found


def _take_back(
    database: Database, entry: StoredCollection, question: str, ids: Sequence[bytes]
) -> int | CollectionUnknown:
    """Delete reports from the store and the counts."""
    numbers, mechanism = entry.numbers(question), entry.collection.question(question).mechanism
    with database.writing(alone=True) as run:
        if not _is_there(run, numbers):
            return CollectionUnknown()
        # Counted reports can be subtracted, and no other thread counts them meanwhile.
        count_rest(database, run)
        rows = [row for id in sorted(set(ids)) for row in _held(run, numbers, id)]
        for number, day in sorted({row[:2] for row in rows}):
            sealed = joined_fields(row[2:] for row in rows if row[:2] == (number, day))
            intact = open_rows(number, day, sealed, ID_BYTES + mechanism.width)
            reports = np.ascontiguousarray(intact[:, ID_BYTES:])
            take_out(run, DayTally(number, day, len(reports), mechanism.tally(reports)))
        # While reports come, or tokens of the key, the id keeps this one from coming back.
        keeps = keeps_ids(read_collections(database, run), entry, question)
        change = SPEND if keeps else "DELETE FROM report"
        for row in rows:
            run(f"{change} WHERE id = ?", row[2])
        arrived(run, [bytes(row[2]) for row in rows])
        database.untidy = True
    return len(rows)


def _keep_early(
    database: Database,
    entry: StoredCollection,
    number: int,
    ids: Reports,
    most: int,
    charge: Callable[[int], float],
) -> EarlyWithdrawalsRefused | CollectionUnknown | None:
    """Keep the ids of reports that may still be at a relay, so that none of them is taken later.

    All of those that are not here, or none, and then why.
    """
    with database.writing() as run:
        known = [bool(is_open) for each, is_open in run(QUESTIONS) if each == number]
        if not known:
            return CollectionUnknown()
        if not known[0]:
            return None
        here = database.dialect.known(run, ids)
        new = [id for id in sorted(map(bytes, ids)) if id not in here]
        if not new:
            return None
        if early_withdrawals(run, entry) + len(new) > most:
            return EarlyWithdrawalsRefused(0, len(new))
        if (seconds := charge(len(new))) > 0:
            return EarlyWithdrawalsRefused(0, len(new), seconds)
        rows = np.frombuffer(b"".join(new), dtype=np.uint8).reshape(-1, ID_BYTES)
        database.dialect.insert_spent(run, number, rows)
        put_early(run, number, dict.fromkeys(new, day_number(today())))
    return None


def put_early(run: Run, question: int, days: dict[bytes, int]) -> None:
    """Write on which days reports were withdrawn that have not arrived, by id."""
    for id, day in days.items():
        run(
            "INSERT INTO early_withdrawal (id, question, day) VALUES (?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            *(id, question, day),
        )


def early_withdrawals(run: Run, entry: StoredCollection) -> int:
    """Return how many reports of a collection are withdrawn and have not arrived."""
    count = "SELECT COUNT(*) FROM early_withdrawal WHERE question = ?"
    return sum(run(count, number)[0][0] for number in entry.questions.values())


def early_days(database: Database, entry: StoredCollection, question: str) -> dict[bytes, int]:
    """Return on which days reports were withdrawn that have not arrived, by id."""
    numbers = entry.numbers(question)
    with database.reading() as run:
        rows = run(
            f"SELECT id, day FROM early_withdrawal WHERE question {one_of(numbers)} ORDER BY id",
            *numbers,
        )
    return {bytes(id): day for id, day in rows}


def arrived(run: Run, ids: Sequence[bytes]) -> None:
    """Note that reports have arrived: their ids are those of deleted reports from now on."""
    for id in sorted(ids):
        run("DELETE FROM early_withdrawal WHERE id = ?", id)


def forget_early(database: Database, entry: StoredCollection, today: datetime.date) -> None:
    """Forget early withdrawals of reports that an honest relay hands over no more."""
    relay = entry.collection.relay
    if relay is None:
        return
    first = day_number(today - datetime.timedelta(days=relay.days_under_way))
    for number in entry.questions.values():
        while _forget_some(database, number, first) == CHUNK:
            pass


def _forget_some(database: Database, question: int, first: int) -> int:
    old = "SELECT id FROM early_withdrawal WHERE question = ? AND day < ?"
    with database.reading() as run:
        if not run(f"{old} LIMIT 1", question, first):
            return 0
    with database.writing(alone=True) as run:
        ids = run(f"{old} ORDER BY id LIMIT {CHUNK}", question, first)
        for (id,) in ids:
            run("DELETE FROM report WHERE id = ? AND report IS NULL", id)
            run("DELETE FROM early_withdrawal WHERE id = ?", id)
    return len(ids)


def _is_there(run: Run, numbers: Collection[int]) -> bool:
    """Return whether the question with these `numbers` is in the store."""
    return bool(run("SELECT 1 FROM question WHERE number = ?", next(iter(numbers))))


def _held(
    run: Run, numbers: Collection[int], id: bytes
) -> list[tuple[int, int, bytes, bytes, bytes]]:
    """Return question, day, id, report and checksum of the stored report with this `id`."""
    rows = run(
        "SELECT question, day, id, report, checksum FROM report"
        " WHERE id = ? AND report IS NOT NULL",
        id,
    )
    return [row for row in rows if row[0] in numbers]
