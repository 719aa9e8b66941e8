"""Names that a series has a list of: one to a row, none twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rumor.collector.store.database import Database


@dataclass(frozen=True)
class NameList:
    """A table of names, each of one series."""

    table: str
    column: str

    def add(self, database: Database, series: str, names: Sequence[bytes]) -> None:
        """More of them, in one order for everybody who writes."""
        with database.writing() as run:
            for name in sorted(names):
                run(f"INSERT INTO {self.table} ({self.column}, series) VALUES (?, ?)", name, series)

    def count(self, database: Database, series: str) -> int:
        """How many a series has."""
        with database.reading() as run:
            ((count,),) = run(f"SELECT COUNT(*) FROM {self.table} WHERE series = ?", series)
        return int(count)
