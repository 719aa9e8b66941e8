"""The turns in which a device has reported: at most one report per question and turn.

A turn is a public number of the relay's (rumor.contract.relay). What is kept is the hour at which
the turn of the last report ends, so that a revision with longer turns lets no report in early, and
a clock that went backwards lets in none at all. Turns are of a collector's series: another
collector that uses its name (rumor.client.scopes) holds up nothing.
"""

from __future__ import annotations

import datetime

from rumor.client.ledger_table import LedgerTable
from rumor.client.scopes import Scope
from rumor.contract.collection import Collection
from rumor.core.errors import InputError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS turn (
    series TEXT NOT NULL, question TEXT NOT NULL, ends INTEGER NOT NULL,
    PRIMARY KEY (series, question)
) WITHOUT ROWID
"""


class TurnTable(LedgerTable):
    """By series and question, the hour since 1970 UTC at which the turn of the last report ends."""

    SCHEMA = _SCHEMA

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
        """Keep the hour at which the turn of a new report ends."""
        self._database.execute(
            "INSERT OR REPLACE INTO turn VALUES (?, ?, ?)", (scope.name, question, ends)
        )
