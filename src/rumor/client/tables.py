"""Tables beside the ledger: withdrawal keys of reports, and turns in which a device reported.

Each report has a key from the moment it is made (rumor.contract.deletion). It is kept until
the report is withdrawn, or until the retention of its question is over: then the collector has
deleted the report, and only counts are left, which nobody's key can reach. Whoever reads this
table can tell which stored reports are this person's, and nothing more about their answers.

A blind token that admitted a report through a relay is kept as long: the collector asks for it if
the report has not arrived yet, since anybody can make up a key.

A turn is a public number of the relay's (rumor.contract.relay). The table keeps the hour at which
the turn of the last report ends, so that a revision with longer turns admits no report early, and
a clock that went backwards admits none at all. Turns belong to a collector's series: another
collector that uses its name (rumor.client.pins) delays nothing.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rumor.client.pins import Scope
from rumor.contract.collection import Collection
from rumor.core.errors import InputError


class LedgerTable:
    """A table in a ledger's database, used within the ledger's transactions."""

    SCHEMA: ClassVar[str]
    """The SQL that creates the table unless it exists."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute(self.SCHEMA)


_SCHEMA = """
CREATE TABLE IF NOT EXISTS sent (
    id BLOB PRIMARY KEY, key BLOB NOT NULL, contract TEXT NOT NULL, question TEXT NOT NULL,
    number INTEGER NOT NULL, retention INTEGER, until TEXT
) WITHOUT ROWID
"""
_TOKENS = """
CREATE TABLE IF NOT EXISTS sent_token (id BLOB PRIMARY KEY, token BLOB NOT NULL) WITHOUT ROWID
"""


@dataclass(frozen=True)
class WithdrawableReport:
    """A report that this device made and can withdraw."""

    id: bytes
    key: bytes
    contract: str
    question: str
    number: int
    """The number of the report among the person's to this question, from 0."""
    token: bytes | None = None
    """The blind token that admitted the report, if it goes through a relay."""


class WithdrawalTable(LedgerTable):
    """The table of withdrawal keys."""

    SCHEMA = _SCHEMA

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        database.execute(_TOKENS)

    def add(self, made: WithdrawableReport, retention_days: int | None) -> None:
        """Store the key of a `report`, for as long as its question's retention."""
        self._database.execute(
            "INSERT INTO sent VALUES (?, ?, ?, ?, ?, ?, NULL)",
            (made.id, made.key, made.contract, made.question, made.number, retention_days),
        )
        if made.token is not None:
            self._database.execute("INSERT INTO sent_token VALUES (?, ?)", (made.id, made.token))

    def rename(self, id: bytes, name: bytes, key: bytes, token: bytes) -> None:
        """Rename a waiting report from `id` to `name`, since another token names it."""
        self._database.execute("UPDATE sent SET id = ?, key = ? WHERE id = ?", (name, key, id))
        self._database.execute(
            "UPDATE sent_token SET id = ?, token = ? WHERE id = ?", (name, token, id)
        )

    def note_arrival(self, ids: Sequence[bytes]) -> None:
        """Start the retention of the reports with these `ids` today, and forget old keys."""
        today = datetime.datetime.now(datetime.UTC).date()
        for id in ids:
            row = self._database.execute("SELECT retention FROM sent WHERE id = ?", (id,))
            (retention,) = row.fetchone() or (None,)
            if retention is not None:
                # A day more than the collector keeps it: its clock may be in another day.
                until = today + datetime.timedelta(days=retention + 1)
                self._database.execute(
                    "UPDATE sent SET until = ? WHERE id = ?", (until.isoformat(), id)
                )
        self.forget_old(today)

    def forget_old(self, today: datetime.date) -> None:
        """Forget the keys of reports that the collector has deleted by `today`."""
        self._database.execute("DELETE FROM sent WHERE until < ?", (today.isoformat(),))
        self._forget_tokens()

    def forget(self, ids: Sequence[bytes]) -> None:
        """Forget the keys of withdrawn reports."""
        self._database.executemany("DELETE FROM sent WHERE id = ?", [(id,) for id in ids])
        self._forget_tokens()

    def _forget_tokens(self) -> None:
        """Forget the tokens of reports whose keys are gone."""
        self._database.execute("DELETE FROM sent_token WHERE id NOT IN (SELECT id FROM sent)")

    def withdrawable(self) -> list[WithdrawableReport]:
        """Return every report that can still be withdrawn, in the order of the random ids."""
        rows = self._database.execute(
            "SELECT id, key, contract, question, number, token"
            " FROM sent LEFT JOIN sent_token USING (id) ORDER BY id"
        )
        return [WithdrawableReport(*row) for row in rows]


_TURN_SCHEMA = """
CREATE TABLE IF NOT EXISTS turn (
    series TEXT NOT NULL, question TEXT NOT NULL, ends INTEGER NOT NULL,
    PRIMARY KEY (series, question)
) WITHOUT ROWID
"""


class TurnTable(LedgerTable):
    """The table of the hour at which the last report's turn ends, by series and question."""

    SCHEMA = _TURN_SCHEMA

    def check(self, collection: Collection, scope: Scope, question: str, turn: int | None) -> None:
        """Refuse a report of a `turn` that does not begin after the turn of the last report."""
        if turn is None or collection.relay is None or collection.relay.turn_hours is None:
            return
        hours = collection.relay.turn_hours
        marks = ", ".join("?" * len(scope.names))
        (ends,) = self._database.execute(
            f"SELECT MAX(ends) FROM turn WHERE question = ? AND series IN ({marks})",
            (question, *scope.names),
        ).fetchone()
        if ends is None or turn * hours >= ends:
            return
        begins = -(-ends // hours) * hours
        when = datetime.datetime.fromtimestamp(3600 * begins, datetime.UTC)
        raise InputError(
            f"question {question!r} takes one report of a person every {hours} hours, and this "
            f"device has made one; the next turn begins at {when:%Y-%m-%d %H:%M} UTC"
        )

    def note(self, scope: Scope, question: str, ends: int) -> None:
        """Store the hour at which the turn of a new report ends."""
        self._database.execute(
            "INSERT OR REPLACE INTO turn VALUES (?, ?, ?)", (scope.name, question, ends)
        )
