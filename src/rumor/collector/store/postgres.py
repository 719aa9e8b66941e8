"""A store in a PostgreSQL database, by its URL: for a benchmark that looks inside."""

from __future__ import annotations

from rumor.collector.store.dialects.postgres import _INSERT as _INSERT
from rumor.collector.store.dialects.postgres import Postgres
from rumor.collector.store.sql import SqlStore


class PostgresStore(SqlStore):
    """The store."""

    def __init__(self, url: str) -> None:
        super().__init__(Postgres(url))
