"""One-time tokens in SQL: their keys come in, each goes with the report that it admits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumor.collector.store.base import ReportBatch
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.dialect import Repeated
from rumor.collector.store.tables import Run


@dataclass(frozen=True)
class NameList:
    """A table of names, each of one series."""

    table: str
    column: str

    def add(self, database: Database, series: str, names: Sequence[bytes]) -> None:
        """Add `names`, in one order for all writers, so that none waits for another in a circle."""
        with database.writing() as run:
            for name in sorted(names):
                run(f"INSERT INTO {self.table} ({self.column}, series) VALUES (?, ?)", name, series)

    def count(self, database: Database, series: str) -> int:
        """Return how many names a series has."""
        with database.reading() as run:
            ((count,),) = run(f"SELECT COUNT(*) FROM {self.table} WHERE series = ?", series)
        return int(count)


_TOKENS = NameList("admission", "key")


def admit(database: Database, series: str, keys: Sequence[bytes]) -> None:
    """Keep the keys of tokens."""
    _TOKENS.add(database, series, keys)


def admissions(database: Database, series: str) -> int:
    """Return how many tokens are still to be used."""
    return _TOKENS.count(database, series)


def admitted(run: Run, batches: Sequence[ReportBatch]) -> set[bytes]:
    """Return the keys of the batches that can still be used."""
    wanted = sorted({batch.admission for batch in batches if batch.admission is not None})
    return {key for key in wanted if run("SELECT 1 FROM admission WHERE key = ?", key)}


def spend(database: Database, run: Run, keys: set[bytes]) -> None:
    """Delete the keys of tokens that are used now."""
    for key in sorted(keys):
        if not run("DELETE FROM admission WHERE key = ? RETURNING 1", key):
            raise Repeated  # another process used it meanwhile
        database.untidy = True


def forget_tokens(database: Database, *, thorough: bool) -> None:
    """Remove the traces that commits left of used tokens and of withdrawals."""
    if database.untidy or thorough:
        database.untidy = False
        database.dialect.tidy_tokens(thorough)
        if not database.dialect.tidy():
            database.untidy = True  # somebody reads an older state: try again
