"""What the tables of a ledger have in common."""

from __future__ import annotations

import sqlite3
from typing import ClassVar


class LedgerTable:
    """A table in a ledger's database; the ledger's transactions are around it."""

    SCHEMA: ClassVar[str]
    """The SQL that makes it where there is none."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute(self.SCHEMA)
