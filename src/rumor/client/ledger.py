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
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rumor.canonical import canonical_json, digest
from rumor.errors import InputError
from rumor.mechanisms import Mechanism, from_description

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


def _owners_only(path: Path) -> None:
    """Make the file before SQLite does, which would ask the umask who may read it.

    What an older version left readable is closed too; new logs take the mode of the file.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        if os.name == "posix" and file.exists() and file.stat().st_mode & 0o077:
            file.chmod(0o600)


@dataclass(frozen=True)
class Envelope:
    """A report ready to be sent: the same id and bytes however often it is tried."""

    id: bytes
    contract: str
    question: str
    report: bytes
    token: bytes | None = None
    """What admits it, where the collection asks for an invitation."""
    told: tuple[str, ...] = field(default=(), compare=False)
    """What to tell the person of how the answer was taken: sentences that are kept nowhere."""


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


class Ledger:
    """A ledger in a file of its own, safe between processes and across crashes."""

    def __init__(self, path: Path) -> None:
        self._path, self._process = path, os.getpid()
        _owners_only(path)
        try:
            self._database = sqlite3.connect(
                path, isolation_level=None, timeout=30, check_same_thread=False
            )
            # Full synchronisation: a commit is on the disk before it returns.
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            with self.transaction():
                self._migrate()
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
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

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
        envelope = Envelope(secrets.token_bytes(16), contract, debit.question, report, admits)
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
