"""The ledger of a device: what was reported, what it cost, what still has to be sent.

A debit and the bytes of its report become durable together, before anything is sent; a
retry sends the same bytes. No true value is ever written, only keyed tags that tell a
repeated value from a new one. Reports are forgotten once they are acknowledged; what they
cost is not.
"""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rumor.canonical import canonical_json, digest
from rumor.client.sent import Made, Sent
from rumor.errors import InputError, Unavailable
from rumor.mechanisms import Mechanism, from_description
from rumor.withdrawal import new_key, report_id

_VERSION = 2
_SCHEMA = """
CREATE TABLE mechanism (digest TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE spending (
    series TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL,
    mechanism TEXT NOT NULL, epoch BLOB NOT NULL, tag BLOB NOT NULL,
    reports INTEGER NOT NULL, epsilon REAL NOT NULL,
    PRIMARY KEY (series, question, round, mechanism, epoch, tag)
) WITHOUT ROWID;
CREATE TABLE pending (
    id BLOB PRIMARY KEY, contract TEXT NOT NULL, question TEXT NOT NULL, report BLOB NOT NULL,
    token BLOB
);
CREATE TABLE event (
    number INTEGER PRIMARY KEY, day TEXT NOT NULL, what TEXT NOT NULL, epoch BLOB NOT NULL
);
"""


@dataclass(frozen=True)
class Envelope:
    """A report ready to be sent: the same id and bytes however often it is tried."""

    id: bytes
    contract: str
    question: str
    report: bytes
    token: bytes | None = None
    """What admits it, where the collection asks for an invitation."""


@dataclass(frozen=True)
class Spending:
    """What one question has cost so far."""

    series: str
    question: str
    reports: int
    values: int
    epsilon: float


@dataclass(frozen=True)
class Debit:
    """A report about to be made: of which question, and which of the person's values."""

    series: str
    question: str
    mechanism: Mechanism
    tag: bytes
    reports_per_person: int
    retention_days: int | None = None


class Ledger:
    """A ledger in a file of its own, safe between processes and across crashes."""

    def __init__(self, path: Path) -> None:
        self._path, self._process = path, os.getpid()
        try:
            self._database = sqlite3.connect(
                path, isolation_level=None, timeout=30, check_same_thread=False
            )
            # Full synchronisation: a commit is on the disk before it returns.
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            with self.transaction():
                self._migrate()
                self.sent = Sent(self._database)
        except sqlite3.DatabaseError as problem:
            raise InputError(
                f"a ledger must be an intact database; {str(path)!r} is not ({problem})"
            ) from None

    def _migrate(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in _SCHEMA.split(";")[:-1]:
                self._database.execute(statement)
            self._database.execute(f"PRAGMA user_version = {_VERSION}")
        elif version == 1:
            self._database.execute("ALTER TABLE pending ADD COLUMN token BLOB")
            self._database.execute(f"PRAGMA user_version = {_VERSION}")
        elif version != _VERSION:
            raise InputError(
                f"a ledger must be of version 1 or {_VERSION}; {str(self._path)!r} has {version}"
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside becomes durable together, or not at all; one writer at a time."""
        if os.getpid() != self._process:
            raise InputError("a ledger must be opened anew after a fork; this one is the parent's")
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                # A commit that fails (a full disk) may have ended the transaction by itself.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as problem:
            raise Unavailable(
                f"the ledger {str(self._path)!r} cannot be written just now ({problem})"
            ) from None

    def note(self, what: str, epoch: bytes) -> None:
        """Record what happened to the secret, with the day and no more of the time."""
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        self._database.execute(
            "INSERT INTO event (day, what, epoch) VALUES (?, ?, ?)", (day, what, epoch)
        )

    def events(self) -> list[tuple[str, str]]:
        """Every event as (day, what), oldest first."""
        return self._database.execute("SELECT day, what FROM event ORDER BY number").fetchall()

    def epoch(self) -> bytes | None:
        """The fingerprint of the secret that the last event left in place."""
        row = self._database.execute(
            "SELECT epoch FROM event ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return None if row is None else bytes(row[0])

    def debit(
        self,
        debit: Debit,
        epoch: bytes,
        report: bytes,
        contract: str,
        max_epsilon: float | None,
        token: Callable[[int], bytes] | None = None,
    ) -> Envelope:
        """Charge one report and keep its bytes, within a transaction; refuse past a limit.

        `token` gives what admits the person's report of a number, counted from 0.
        """
        number = debit.mechanism.round
        if number > 1 and not self._reports_made(debit.series, debit.question, number - 1):
            raise InputError(
                f"rounds must be answered in order; question {debit.question!r} is in round "
                f"{number}, and this device has not answered round {number - 1}"
            )
        made = self._reports_made(debit.series, debit.question, number)
        all_made = sum(
            self._reports_made(debit.series, debit.question, round)
            for round in range(1, debit.mechanism.rounds + 1)
        )
        if made >= debit.reports_per_person:
            which = f"round {number} of question" if debit.mechanism.rounds > 1 else "question"
            limit = debit.reports_per_person
            raise InputError(
                f"{which} {debit.question!r} takes at most {limit} report{'s'[: limit > 1]} "
                f"of a person; got {made} already"
            )
        debit.mechanism.check_repeats(made + 1)
        kind = digest(debit.mechanism.describe())
        key = (debit.series, debit.question, number, kind, epoch, debit.tag)
        row = self._database.execute(
            "SELECT reports, epsilon FROM spending"
            " WHERE (series, question, round, mechanism, epoch, tag) = (?, ?, ?, ?, ?, ?)",
            key,
        ).fetchone()
        before, cost = row or (0, 0.0)
        total = debit.mechanism.epsilon_after(before + 1)
        spent = self.total()
        if max_epsilon is not None and spent - cost + total > max_epsilon:
            raise InputError(
                f"a device may spend at most epsilon {max_epsilon:g} in all; it has spent "
                f"{spent:.4g}, and this report would make it {spent - cost + total:.4g}"
            )
        if not before:
            self._database.execute(
                "INSERT OR IGNORE INTO mechanism VALUES (?, ?)",
                (kind, canonical_json(debit.mechanism.describe()).decode()),
            )
        self._database.execute(
            "INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, before + 1, total),
        )
        admits = None if token is None else token(all_made)
        takes_back = new_key()
        envelope = Envelope(report_id(takes_back), contract, debit.question, report, admits)
        own = Made(envelope.id, takes_back, contract, debit.question, all_made)
        self.sent.add(own, debit.retention_days)
        self._database.execute(
            "INSERT INTO pending VALUES (?, ?, ?, ?, ?)",
            (envelope.id, envelope.contract, envelope.question, envelope.report, admits),
        )
        return envelope

    def _reports_made(self, series: str, question: str, number: int) -> int:
        (made,) = self._database.execute(
            "SELECT COALESCE(SUM(reports), 0) FROM spending"
            " WHERE (series, question, round) = (?, ?, ?)",
            (series, question, number),
        ).fetchone()
        return int(made)

    def total(self) -> float:
        """What all reports of this device have cost together."""
        (spent,) = self._database.execute(
            "SELECT COALESCE(SUM(epsilon), 0.0) FROM spending"
        ).fetchone()
        return float(spent)

    def spending(self) -> list[Spending]:
        """What each question has cost, all its rounds together."""
        rows = self._database.execute(
            "SELECT series, question, SUM(reports), COUNT(DISTINCT tag), SUM(epsilon)"
            " FROM spending GROUP BY series, question ORDER BY series, question"
        )
        return [Spending(*row) for row in rows]

    def audit(self) -> float:
        """The total computed anew from the recorded mechanisms and counts."""
        known = dict(self._database.execute("SELECT digest, description FROM mechanism").fetchall())
        mechanisms = {key: from_description(json.loads(text)) for key, text in known.items()}
        rows = self._database.execute("SELECT mechanism, reports FROM spending").fetchall()
        return sum(mechanisms[kind].epsilon_after(reports) for kind, reports in rows)

    def pending(self, contract: str | None = None) -> list[Envelope]:
        """What was made and not yet acknowledged, of one contract or of all."""
        condition, values = ("", ()) if contract is None else (" WHERE contract = ?", (contract,))
        rows = self._database.execute(
            f"SELECT id, contract, question, report, token FROM pending{condition} ORDER BY rowid",
            values,
        )
        return [Envelope(*row) for row in rows]

    def acknowledge(self, ids: Sequence[bytes]) -> None:
        """Forget reports that have arrived."""
        with self.transaction():
            self._database.executemany("DELETE FROM pending WHERE id = ?", [(id,) for id in ids])
            self.sent.arrived(ids)

    def readmit(self, id: bytes, token: bytes) -> None:
        """Let a waiting report go out with another token: the same bytes, at no further cost."""
        with self.transaction():
            self._database.execute("UPDATE pending SET token = ? WHERE id = ?", (token, id))

    def forget(self, ids: Sequence[bytes]) -> None:
        """Forget reports that were withdrawn, waiting ones too; what they cost stays."""
        with self.transaction():
            self._database.executemany("DELETE FROM pending WHERE id = ?", [(id,) for id in ids])
            self.sent.forget(ids)
