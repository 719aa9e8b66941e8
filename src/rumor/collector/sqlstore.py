"""A store in SQL tables: ingest, exactly once, on top of all the rest.

Connections and bulk movements are the dialect's: rumor.collector.sqlite and .postgres.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.collector.settle import joined, settle
from rumor.collector.sqlarchive import SqlArchive
from rumor.collector.sqlbase import Run, day_number
from rumor.collector.store import (
    ID_BYTES,
    Accepted,
    Batch,
    Closed,
    Outcome,
    StoreUnavailable,
    sorted_by_id,
    today,
)

OPEN_QUESTIONS = (
    "SELECT question.number FROM question JOIN collection"
    " ON collection.number = question.collection WHERE collection.open = 1"
)
_ATTEMPTS = 20


class Repeated(Exception):  # noqa: N818 (not an error)
    """Some ids are there already; the transaction is rolled back and done with care."""


class SqlStore(SqlArchive):
    """All that a store promises; see `rumor.collector.store.Store`."""

    def write(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Make batches durable in one commit."""
        day = day_number(today())
        try:
            return self._write_new(batches, day)
        except Repeated:
            pass
        for _ in range(_ATTEMPTS):
            try:
                return self._write_with_care(batches, day)
            except Repeated:  # another process was quicker with some of them
                continue
        raise StoreUnavailable("other collectors keep writing the same reports")

    def _write_new(self, batches: Sequence[Batch], day: int) -> list[Outcome]:
        """The usual case: every id is new, and the database finds that out by itself."""
        with self._writing() as run:
            live, outcomes = self._live(run, batches)
            for question, rows in joined(live).items():
                if self._insert(run, question, day, sorted_by_id(rows)) != len(rows):
                    raise Repeated
            return _merged(outcomes, [Accepted(len(batch), 0) for batch in live])

    def _write_with_care(self, batches: Sequence[Batch], day: int) -> list[Outcome]:
        """Some ids are in use: look each up first."""
        with self._writing() as run:
            live, outcomes = self._live(run, batches)
            known: dict[bytes, tuple[int, bytes | None]] = {}
            for rows in joined(live).values():
                known.update(self._known(run, np.ascontiguousarray(rows[:, :ID_BYTES])))
            settled, fresh = settle(live, known)
            for question, rows in fresh.items():
                if len(rows) and self._insert(run, question, day, sorted_by_id(rows)) != len(rows):
                    raise Repeated
            return _merged(outcomes, settled)

    def _live(self, run: Run, batches: Sequence[Batch]) -> tuple[list[Batch], list[Outcome | None]]:
        """The batches whose collections are open, and the answer to the others."""
        taking = {number for (number,) in run(OPEN_QUESTIONS)}
        live = [batch for batch in batches if batch.question in taking]
        return live, [None if batch.question in taking else Closed() for batch in batches]


def _merged(outcomes: Sequence[Outcome | None], settled: Sequence[Outcome]) -> list[Outcome]:
    """Fill the gaps of one list with the items of the other, in order."""
    rest = iter(settled)
    return [next(rest) if outcome is None else outcome for outcome in outcomes]
