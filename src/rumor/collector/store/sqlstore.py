"""A store in SQL tables: ingest, exactly once, on top of all the rest.

Connections and bulk movements are the dialect's: rumor.collector.store.sqlite and .postgres.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.collector.store.base import (
    ID_BYTES,
    Accepted,
    Batch,
    Closed,
    Outcome,
    StoreUnavailable,
    Unknown,
    sorted_by_id,
    today,
)
from rumor.collector.store.exactly_once import joined, settle
from rumor.collector.store.sqlbase import Run, day_number
from rumor.collector.store.sqlrepair import SqlRepair

QUESTIONS = (
    "SELECT question.number, collection.open FROM question JOIN collection"
    " ON collection.number = question.collection"
)
_ATTEMPTS = 20


class Repeated(Exception):  # noqa: N818 (not an error)
    """Some ids are there already; the transaction is rolled back and done with care."""


class SqlStore(SqlRepair):
    """All that a store promises; see `rumor.collector.store.base.Store`."""

    def write(self, batches: Sequence[Batch]) -> list[Outcome]:
        """Make batches durable in one commit."""
        day = day_number(today())
        if all(batch.admission is None for batch in batches):
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
        """Some ids are in use, or tokens are to be spent: look each up first."""
        with self._writing() as run:
            live, outcomes = self._live(run, batches)
            known: dict[bytes, tuple[int, bytes | None]] = {}
            for rows in joined(live).values():
                known.update(self._known(run, np.ascontiguousarray(rows[:, :ID_BYTES])))
            valid = self._admitted(run, live)
            left = set(valid)
            settled, fresh = settle(live, known, left)
            self._spend(run, valid - left)
            for question, rows in fresh.items():
                if len(rows) and self._insert(run, question, day, sorted_by_id(rows)) != len(rows):
                    raise Repeated
            return _merged(outcomes, settled)

    def admit(self, series: str, keys: Sequence[bytes]) -> None:
        """Keep the keys of tokens."""
        with self._writing() as run:
            for key in sorted(keys):
                run("INSERT INTO admission (key, series) VALUES (?, ?)", key, series)

    def admissions(self, series: str) -> int:
        """How many tokens are still to be used."""
        with self._reading() as run:
            ((count,),) = run("SELECT COUNT(*) FROM admission WHERE series = ?", series)
        return int(count)

    def _admitted(self, run: Run, batches: Sequence[Batch]) -> set[bytes]:
        """Those of the batches' keys that may still be used."""
        wanted = sorted({batch.admission for batch in batches if batch.admission is not None})
        return {key for key in wanted if run("SELECT 1 FROM admission WHERE key = ?", key)}

    def _spend(self, run: Run, keys: set[bytes]) -> None:
        for key in sorted(keys):
            if not run("DELETE FROM admission WHERE key = ? RETURNING 1", key):
                raise Repeated  # another process used it meanwhile
            self._untidy = True

    def forget_tokens(self, *, thorough: bool = False) -> None:
        """Whatever commits left behind of what was used or withdrawn since the last time."""
        if self._untidy or thorough:
            self._untidy = False
            self._tidy_tokens(thorough)
            self._tidy()

    def _live(self, run: Run, batches: Sequence[Batch]) -> tuple[list[Batch], list[Outcome | None]]:
        """The batches whose collections are open, and the answer to the others."""
        known = {number: bool(is_open) for number, is_open in run(QUESTIONS)}
        live = [batch for batch in batches if known.get(batch.question)]
        return live, [_refusal(known.get(batch.question)) for batch in batches]


def _refusal(is_open: bool | None) -> Outcome | None:
    """What is unknown may come back, so only what is known can be closed."""
    if is_open is None:
        return Unknown()
    return None if is_open else Closed()


def _merged(outcomes: Sequence[Outcome | None], settled: Sequence[Outcome]) -> list[Outcome]:
    """Fill the gaps of one list with the items of the other, in order."""
    rest = iter(settled)
    return [next(rest) if outcome is None else outcome for outcome in outcomes]
