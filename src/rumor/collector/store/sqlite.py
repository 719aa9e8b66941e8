"""A store in one SQLite file, by its path: for a test and a benchmark that look inside."""

from __future__ import annotations

import os
import sqlite3

from rumor.collector.store.dialects.sqlite import _INSERT as _INSERT
from rumor.collector.store.dialects.sqlite import Sqlite
from rumor.collector.store.sql import SqlStore


class SqliteStore(SqlStore):
    """The store, with its live connections to be looked at."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._dialect = Sqlite(path)
        super().__init__(self._dialect)

    @property
    def _writer(self) -> sqlite3.Connection | None:
        return self._dialect._writer.open

    @property
    def _reader(self) -> sqlite3.Connection | None:
        return self._dialect._reader.open
