"""A relay's store as version 1 made it: its tables, and the statements that it ran on them."""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from rumor.collector.store.checksums import checksum
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat

_TABLES = """
    CREATE TABLE class (
        number INTEGER PRIMARY KEY, digest TEXT NOT NULL, question TEXT NOT NULL,
        size INTEGER NOT NULL, crowd INTEGER NOT NULL, days INTEGER NOT NULL,
        UNIQUE (digest, question));
    CREATE TABLE envelope (
        class INTEGER NOT NULL REFERENCES class (number), name BLOB NOT NULL,
        day INTEGER NOT NULL, released INTEGER NOT NULL, sealed BLOB, checksum BLOB,
        PRIMARY KEY (class, name)) WITHOUT ROWID;
    CREATE TABLE turn (number INTEGER NOT NULL);
"""
INSERT = "INSERT OR IGNORE INTO envelope VALUES (?, ?, ?, 0, ?, ?) RETURNING 1"
RELEASE = "SELECT number FROM turn"


def make_first_version(
    path: Path, contract: Collection, made: Sequence[bytes], day: datetime.date, turn: int
) -> None:
    """A file of version 1 with waiting envelopes of the question "colour"."""
    with sqlite3.connect(path, isolation_level=None) as database:
        # Written out, not taken from the code: a step that was edited would not be noticed.
        for statement in _TABLES.split(";")[:-1]:
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {0x52756D79}")
        database.execute("PRAGMA user_version = 1")
        for question in contract.questions:
            kind = EnvelopeFormat.of(contract, question)
            database.execute(
                "INSERT INTO class (digest, question, size, crowd, days) VALUES (?, ?, ?, ?, ?)",
                (kind.digest, kind.question, kind.size, kind.relay.crowd, kind.relay.days),
            )
        number = (day - datetime.date(1970, 1, 1)).days
        for sealed in made:
            name = hashlib.sha256(sealed).digest()[:16]
            found = checksum(1, number, data=name + sealed)
            database.execute(INSERT, (1, name, number, sealed, found)).fetchall()
        database.execute("INSERT INTO turn VALUES (?)", (turn,))
    database.close()
