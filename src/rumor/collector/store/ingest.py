"""Taking reports into a SQL store: batches become durable in one commit, exactly once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.collector.store import admission
from rumor.collector.store.base import (
    ID_BYTES,
    BatchAccepted,
    CollectionClosed,
    CollectionUnknown,
    Outcome,
    ReportBatch,
    StoreUnavailableError,
    sorted_by_id,
    today,
)
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.dialect import Dialect, Repeated
from rumor.collector.store.exactly_once import resolve_batches, rows_by_question
from rumor.collector.store.tables import QUESTIONS, Run, day_number
from rumor.collector.store.withdrawal import arrived

_ATTEMPTS = 20


def write(database: Database, batches: Sequence[ReportBatch]) -> list[Outcome]:
    """Make batches durable in one commit."""
    day = day_number(today())
    if all(batch.admission is None for batch in batches):
        try:
            with database.watched():
                return database.dialect.write_new(batches, day)
        except Repeated:
            pass
    for _ in range(_ATTEMPTS):
        try:
            return _write_with_care(database, batches, day)
        except Repeated:  # another process was quicker with some of them
            continue
    raise StoreUnavailableError("other collectors keep writing the same reports")


def write_in_turn(dialect: Dialect, batches: Sequence[ReportBatch], day: int) -> list[Outcome]:
    """Write new batches with one statement after another, where the database is a local file.

    Every id is new, and the database finds that out by itself.
    """
    with dialect.writing(alone=False) as run:
        live, outcomes = _live(run, batches)
        for question, rows in rows_by_question(live).items():
            if dialect.insert(run, question, day, sorted_by_id(rows)) != len(rows):
                raise Repeated
        return _merged(outcomes, [BatchAccepted(len(batch), 0) for batch in live])


def _write_with_care(database: Database, batches: Sequence[ReportBatch], day: int) -> list[Outcome]:
    """Write batches of which ids are in use or tokens are to be spent: look each up first."""
    dialect = database.dialect
    with database.writing() as run:
        live, outcomes = _live(run, batches)
        known: dict[bytes, tuple[int, bytes | None]] = {}
        for rows in rows_by_question(live).values():
            known.update(dialect.known(run, np.ascontiguousarray(rows[:, :ID_BYTES])))
        valid = admission.admitted(run, live)
        left = set(valid)
        settled, fresh = resolve_batches(live, known, left)
        admission.spend(database, run, valid - left)
        arrived(run, [id for id, (_, report) in known.items() if report is None])
        for question, rows in fresh.items():
            if len(rows) and dialect.insert(run, question, day, sorted_by_id(rows)) != len(rows):
                raise Repeated
        return _merged(outcomes, settled)


def _live(
    run: Run, batches: Sequence[ReportBatch]
) -> tuple[list[ReportBatch], list[Outcome | None]]:
    """Return the batches whose collections are open, and the answer to the others."""
    known = {number: bool(is_open) for number, is_open in run(QUESTIONS)}
    live = [batch for batch in batches if known.get(batch.question)]
    return live, [_refusal(known.get(batch.question)) for batch in batches]


def _refusal(is_open: bool | None) -> Outcome | None:
    """Return the refusal of a collection: unknown (None), closed (False); None if it is open."""
    if is_open is None:
        return CollectionUnknown()
    return None if is_open else CollectionClosed()


def _merged(outcomes: Sequence[Outcome | None], settled: Sequence[Outcome]) -> list[Outcome]:
    """Fill the gaps of one list with the items of the other, in order."""
    rest = iter(settled)
    return [next(rest) if outcome is None else outcome for outcome in outcomes]
