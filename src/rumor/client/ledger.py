"""The ledger of a device: what was reported, what it cost, what still has to be sent.

One row is one permanent answer to a question, of one of the person's values or of one period,
under a digest of everything public that turns a value into its answer (the column `cell`). The
mechanism knows the joint loss of the reports of a row; rows are independent, and their losses add
up. A debit and the bytes of its report become durable together, before anything is sent; a retry
sends equal bytes. No true value is ever written, only keyed tags that tell a repeated value from a
new one, and the permanent answer of a period. Reports are forgotten once they are acknowledged;
their losses are not.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import math
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from rumor.client.assignment import FROM_4, AssignmentTable
from rumor.client.assignment import SCHEMA as _DRAWN
from rumor.client.pins import Pin, Scope, find_scope
from rumor.client.tables import TurnTable, WithdrawableReport, WithdrawalTable
from rumor.client.token_table import AdmissionToken, TokenTable
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.groups import Groups
from rumor.contract.sender_anonymity import SenderAnonymity
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, UnavailableError
from rumor.core.exact import sum_up
from rumor.mechanisms import Mechanism, from_description

_ReportsByMechanism = dict[str, tuple[Mechanism, int]]
"""The mechanisms that made the reports of a row, by digest, and how many each made."""

P = ParamSpec("P")
R = TypeVar("R")

_VERSION = 9
_PENDING = """
CREATE TABLE pending (
    id BLOB PRIMARY KEY, contract TEXT NOT NULL, question TEXT NOT NULL, report BLOB NOT NULL,
    token BLOB, relay TEXT, sealed BLOB
);
"""
_COLUMNS = "id, contract, question, report, token, relay, sealed, turn, expires, stratum"
_ANSWERS = """
CREATE TABLE answer (
    number INTEGER PRIMARY KEY,
    series TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL, cell TEXT NOT NULL,
    epoch BLOB NOT NULL, period TEXT NOT NULL, tag BLOB NOT NULL,
    settled BLOB, epsilon REAL NOT NULL,
    UNIQUE (series, question, round, cell, epoch, period, tag)
);
CREATE TABLE made (
    answer INTEGER NOT NULL, mechanism TEXT NOT NULL, reports INTEGER NOT NULL,
    PRIMARY KEY (answer, mechanism)
) WITHOUT ROWID;
CREATE TABLE pin (
    series TEXT PRIMARY KEY, revision INTEGER NOT NULL, contract TEXT NOT NULL,
    ceiling REAL NOT NULL, agreed TEXT NOT NULL
) WITHOUT ROWID;
"""
_SCHEMA = f"""
CREATE TABLE mechanism (digest TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event (
    number INTEGER PRIMARY KEY, day TEXT NOT NULL, what TEXT NOT NULL, epoch BLOB NOT NULL
);
{_PENDING}{_ANSWERS}{_DRAWN}"""
# Counts of a row's reports (in `made`) for other collectors than the first of its series.
_SHARES = """
CREATE TABLE share (
    answer INTEGER NOT NULL, scope TEXT NOT NULL, mechanism TEXT NOT NULL, reports INTEGER NOT NULL,
    PRIMARY KEY (answer, scope, mechanism)
) WITHOUT ROWID;
"""
# The scope in which each contract was answered first, by its digest.
_ANSWERED = "CREATE TABLE answered (contract TEXT PRIMARY KEY, scope TEXT NOT NULL) WITHOUT ROWID;"
# Fills `answered` from pins. A series' first collector comes first, and no row is replaced.
_ANSWERED_IN_PINS = """
INSERT OR IGNORE INTO answered
    SELECT contract, series FROM pin UNION SELECT agreed, series FROM pin ORDER BY series;
"""
# An older ledger knows neither the collector of a pin nor its issuer: the next contract that
# names the pinned one says both.
_FROM_7 = f"""
ALTER TABLE pending ADD COLUMN turn INTEGER;
ALTER TABLE pending ADD COLUMN expires INTEGER;
ALTER TABLE pin ADD COLUMN turn_hours INTEGER;
ALTER TABLE pin ADD COLUMN issuer TEXT;
ALTER TABLE pin ADD COLUMN collector TEXT;
ALTER TABLE pin ADD COLUMN contact TEXT;
ALTER TABLE pin ADD COLUMN inherits TEXT;
{_SHARES}{_ANSWERED}{_ANSWERED_IN_PINS}"""
# An older ledger has answered no contract with groups.
_FROM_8 = """
ALTER TABLE pending ADD COLUMN stratum INTEGER;
ALTER TABLE pin ADD COLUMN groups TEXT;
"""
# An older ledger lacks the sender anonymity: the next answer pins it.
_FROM_6 = """
ALTER TABLE pin ADD COLUMN blind INTEGER;
ALTER TABLE pin ADD COLUMN relay TEXT;
ALTER TABLE pin ADD COLUMN crowd INTEGER;
"""
_FROM_5 = """
ALTER TABLE pending ADD COLUMN relay TEXT;
ALTER TABLE pending ADD COLUMN sealed BLOB;
"""
# Answers of older ledgers were keyed otherwise: their rows stay charged, each on its own, and no
# new report is ever added to them.
_FROM_2 = f"""{_ANSWERS}
INSERT INTO answer (series, question, round, cell, epoch, period, tag, epsilon)
    SELECT series, question, round, 'version 2: ' || mechanism, epoch, '', tag, epsilon
    FROM spending;
INSERT INTO made SELECT number, substr(cell, 12), reports
    FROM answer JOIN spending USING (series, question, round, epoch, tag)
    WHERE cell = 'version 2: ' || mechanism;
DROP TABLE spending;
"""


def _owners_only(path: Path) -> None:
    """Make the file before SQLite does, which would ask the umask who may read it.

    What an older version left readable is closed too; new logs take the mode of the file.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        if os.name == "posix" and file.exists() and file.stat().st_mode & 0o077:
            file.chmod(0o600)


@old_names(told="notes")
@dataclass(frozen=True)
class PendingReport:
    """A report ready to be sent, with the same id and bytes at every attempt."""

    id: bytes
    contract: str
    question: str
    report: bytes
    token: bytes | None = None
    """The token that admits the report, if the collection asks for an invitation."""
    relay: str | None = None
    """The address of the relay, if the collection has one."""
    sealed: bytes | None = None
    """The envelope that is sent to the relay."""
    turn: int | None = None
    """The turn that the relay is told, if the contract has turns."""
    expires: int | None = None
    """The hour since 1970 UTC from which no relay takes the report, with turns."""
    stratum: int | None = None
    """The person's groups, which are sent in the clear, if the contract has groups."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences for the person about how the answer was read; they are stored nowhere."""

    @property
    def columns(self) -> tuple[object, ...]:
        """The row of this report in the table `pending`."""
        report = (self.id, self.contract, self.question, self.report)
        sent = (self.token, self.relay, self.sealed, self.turn, self.expires, self.stratum)
        return (*report, *sent)


@dataclass(frozen=True)
class Spending:
    """The loss of one question so far."""

    series: str
    question: str
    reports: int
    values: int
    epsilon: float


@dataclass(frozen=True)
class PermanentAnswerKey:
    """The key of the permanent answer that a report shows."""

    series: str
    question: str
    round: int
    cell: str
    epoch: bytes
    period: str
    """The period that the answer stands for; empty for the answer of a value."""
    tag: bytes
    """A keyed tag of the person's value; empty for the answer of a period."""

    @property
    def columns(self) -> tuple[object, ...]:
        """The key's columns in the table `answer`."""
        source = (self.series, self.question, self.round, self.cell)
        return (*source, self.epoch, self.period, self.tag)


@dataclass(frozen=True)
class Debit:
    """A report about to be made, with the mechanism and the permanent answer behind it."""

    row: PermanentAnswerKey
    mechanism: Mechanism
    report: bytes
    contract: str
    reports_per_person: int
    retention_days: int | None = None
    settled: bytes | None = None
    """The permanent answer, if it must be stored: that of a period."""
    sealed: EnvelopeFormat | None = None
    """The format of the envelopes, if reports go through a relay."""
    scope: Scope | None = None
    """The scope of the series, unless it is that of the first collector of its name."""
    stratum: int | None = None
    """The person's groups, if the contract has groups."""

    @property
    def owner(self) -> Scope:
        """The scope that the report is charged to."""
        return self.scope or Scope(self.row.series, self.row.series)


@dataclass(frozen=True)
class Ceilings:
    """The limits of what may be spent: of the series, and of the device (None: no limit)."""

    series: float
    device: float | None = None


class CeilingError(InputError):
    """An error for a report whose cost would pass the series' limit."""

    def __init__(self, series: str, spent: float, after: float, ceiling: float) -> None:
        super().__init__(
            f"this device lets {series!r} cost at most epsilon {ceiling:.6g}, as was agreed at its "
            f"first answer; it has cost {spent:.4g}, and this report would make it {after:.4g}"
        )
        self.spent, self.after = spent, after


def _serialized(method: Callable[Concatenate[Ledger, P], R]) -> Callable[Concatenate[Ledger, P], R]:
    """Wrap `method` so that it waits until no other thread is in a transaction."""

    @functools.wraps(method)
    def waiting(self: Ledger, /, *arguments: P.args, **named: P.kwargs) -> R:
        with self.turn:
            return method(self, *arguments, **named)

    return waiting


class Ledger:
    """A ledger in a file of its own, safe between processes and across crashes."""

    def __init__(self, path: Path) -> None:
        self._path, self._process = path, os.getpid()
        # Threads share the connection: none may see what another has not made durable yet.
        self.turn = threading.RLock()
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
                self.withdrawals = WithdrawalTable(self._database)
                self.assignments = AssignmentTable(self._database)
                self.tokens = TokenTable(self._database)
                self.turns = TurnTable(self._database)
        except sqlite3.DatabaseError as problem:
            raise InputError(
                f"a ledger must be an intact database; {str(path)!r} is not ({problem})"
            ) from None

    def _migrate(self) -> None:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        steps = {
            0: [_SCHEMA, _FROM_6],
            1: ["ALTER TABLE pending ADD COLUMN token BLOB;", _FROM_2, _DRAWN, _FROM_5, _FROM_6],
            2: [_FROM_2, _DRAWN, _FROM_5, _FROM_6],
            3: [_DRAWN, _FROM_5, _FROM_6],
            4: [FROM_4, _FROM_5, _FROM_6],
            5: [_FROM_5, _FROM_6],
            6: [_FROM_6],
            7: [],
        }
        steps = {number: [*some, _FROM_7] for number, some in steps.items()} | {8: []}
        steps = {number: [*some, _FROM_8] for number, some in steps.items()} | {_VERSION: []}
        if version not in steps:
            raise InputError(
                f"a ledger must be of version 1 to {_VERSION}; {str(self._path)!r} has {version}"
            )
        for step in steps[version]:
            for statement in step.split(";")[:-1]:
                self._database.execute(statement)
        self._database.execute(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything in the block durable together, or nothing; one writer at a time."""
        if os.getpid() != self._process:
            raise InputError("a ledger must be opened anew after a fork; this one is the parent's")
        with self.turn:
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
                raise UnavailableError(
                    f"the ledger {str(self._path)!r} cannot be written just now ({problem})"
                ) from None

    def note(self, what: str, epoch: bytes) -> None:
        """Record event `what` of the secret `epoch`, with its day and no more of its time."""
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        self._database.execute(
            "INSERT INTO event (day, what, epoch) VALUES (?, ?, ?)", (day, what, epoch)
        )

    @_serialized
    def events(self) -> list[tuple[str, str]]:
        """Return every event as (day, what), oldest first."""
        return self._database.execute("SELECT day, what FROM event ORDER BY number").fetchall()

    @_serialized
    def epoch(self) -> bytes | None:
        """Return the fingerprint of the secret that the last event left in place."""
        row = self._database.execute(
            "SELECT epoch FROM event ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return None if row is None else bytes(row[0])

    # Pins

    @_serialized
    def scope(self, collection: Collection, collector: str) -> Scope:
        """Return the scope of a contract met at the origin `collector`, with its pin."""
        rows = self._database.execute(
            "SELECT series, revision, contract, ceiling, agreed, blind, relay, crowd, issuer,"
            " turn_hours, groups, inherits, collector, contact FROM pin"
            " WHERE series = ? OR series LIKE ? ORDER BY series",
            (collection.series, f"{collection.series} %"),
        )
        pins: dict[str, Pin] = {}
        for name, *held, blind, relay, crowd, issuer, hours, groups, inherits, met, contact in rows:
            sent = None if groups is None else Groups.from_json(groups)
            anonymity = (
                None
                if blind is None
                else SenderAnonymity(bool(blind), relay, crowd, issuer, hours, sent)
            )
            others = tuple(json.loads(inherits or "[]"))
            pin = replace(Pin(*held), sender_anonymity=anonymity, collector=met)
            pins[name] = replace(pin, contact=contact, inherits=others)
        answered = self._database.execute(
            "SELECT scope FROM answered WHERE contract = ?", (collection.digest,)
        ).fetchone()
        return find_scope(pins, collection, collector, answered and answered[0])

    def pin(self, scope: Scope, pin: Pin) -> None:
        """Store `pin` for `scope` from now on; earlier pins stay known."""
        # Before as well: an open device of an older version moves pins alone.
        self._database.execute(_ANSWERED_IN_PINS)
        terms = (pin.revision, pin.contract, pin.ceiling, pin.agreed)
        anonymity = pin.sender_anonymity
        inherits = json.dumps(pin.inherits) if pin.inherits else None
        kept: tuple[object, ...] = (None,) * 6
        if anonymity is not None:
            kept = (
                anonymity.blind,
                anonymity.relay,
                anonymity.crowd,
                anonymity.issuer,
                anonymity.turn_hours,
                None if anonymity.groups is None else json.dumps(anonymity.groups.contract()),
            )
        self._database.execute(
            "INSERT OR REPLACE INTO pin (series, revision, contract, ceiling, agreed, blind, relay,"
            " crowd, issuer, turn_hours, groups, collector, contact, inherits)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (scope.name, *terms, *kept, pin.collector, pin.contact, inherits),
        )
        self._database.execute(_ANSWERED_IN_PINS)

    # Reports

    def permanent_answer(self, row: PermanentAnswerKey) -> bytes | None:
        """Return the permanent answer that was kept for the period of `row`, or None."""
        found = self._find(row)
        return (
            None
            if found is None
            else self._database.execute(
                "SELECT settled FROM answer WHERE number = ?", (found[0],)
            ).fetchone()[0]
        )

    def debit(
        self, debit: Debit, ceilings: Ceilings, token: Callable[[int], AdmissionToken] | None = None
    ) -> PendingReport:
        """Charge one report and store its bytes, within a transaction; refuse past a limit.

        `token` returns what admits the person's report of a given number, counted from 0.
        """
        self._check_repeats(debit)
        row, owner = debit.row, debit.owner
        all_made = self._reports_made(owner, row.question)
        number, before = self._find(row) or (None, 0.0)
        described = debit.mechanism.description
        kind = hashlib.sha256(described).hexdigest()
        by_mechanism = {} if number is None else self._reports_by_mechanism(number)
        reports, cost = _add_report(by_mechanism, kind, debit.mechanism)
        own_before, own_cost = before, cost
        if not owner.is_first or (number is not None and self._is_shared(number)):
            theirs = {} if number is None else self._reports_by_mechanism(number, owner)
            own_before = _composed_epsilon(theirs)
            _, own_cost = _add_report(theirs, kind, debit.mechanism)
        self._check_series(owner, own_before, own_cost, ceilings.series)
        self._check_device(before, cost, ceilings.device)
        if number is None:
            number = self._database.execute(
                "INSERT INTO answer (series, question, round, cell, epoch, period, tag,"
                " settled, epsilon) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row.columns, debit.settled, cost),
            ).lastrowid
        else:
            self._database.execute("UPDATE answer SET epsilon = ? WHERE number = ?", (cost, number))
        self._database.execute(
            "INSERT OR IGNORE INTO mechanism VALUES (?, ?)",
            (kind, described.decode()),
        )
        self._database.execute(
            "INSERT OR REPLACE INTO made VALUES (?, ?, ?)", (number, kind, reports)
        )
        if not owner.is_first:
            self._share(number, owner, kind)
        admits = None if token is None else token(all_made)
        takes_back = new_key() if admits is None or admits.key is None else admits.key
        shown = None if admits is None else admits.token
        id, way = report_id(takes_back), debit.sealed
        envelope = PendingReport(
            id,
            debit.contract,
            row.question,
            debit.report,
            shown,
            # Sealed once, so that a retry sends equal bytes and no report is counted twice.
            None if way is None else way.relay.url,
            None if way is None else way.seal(id, shown, debit.report),
            *self._turn(debit),
            debit.stratum,
        )
        # Only blind tokens are kept here: the collector has a key of an invitation's token.
        signed = None if way is None or admits is None or admits.key is None else shown
        own = WithdrawableReport(
            envelope.id, takes_back, debit.contract, row.question, all_made, signed
        )
        self.withdrawals.add(own, debit.retention_days)
        self._database.execute(
            f"INSERT INTO pending ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            envelope.columns,
        )
        return envelope

    def _turn(self, debit: Debit) -> tuple[int | None, int | None]:
        """Store the turn of a report; return it, and the hour from which it is over."""
        way = debit.sealed
        hours = None if way is None else way.relay.turn_hours
        if way is None or way.turn is None or hours is None:
            return None, None
        self.turns.note(debit.owner, debit.row.question, (way.turn + 1) * hours)
        # Relays take the current turn and the one before.
        return way.turn, (way.turn + 2) * hours

    def _check_repeats(self, debit: Debit) -> None:
        """Refuse a report out of order of rounds, or past the limit of reports per person."""
        row, owner, rounds = debit.row, debit.owner, debit.mechanism.rounds
        if row.round > 1 and not self._reports_made(owner, row.question, row.round - 1):
            raise InputError(
                f"rounds must be answered in order; question {row.question!r} is in round "
                f"{row.round}, and this device has not answered round {row.round - 1}"
            )
        made, limit = (
            self._reports_made(owner, row.question, row.round),
            debit.reports_per_person,
        )
        if made >= limit:
            which = f"round {row.round} of question" if rounds > 1 else "question"
            raise InputError(
                f"{which} {row.question!r} takes at most {limit} report{'s'[: limit > 1]} "
                f"of a person; got {made} already"
            )
        debit.mechanism.permanence.check_repeats(made + 1)

    def _check_series(self, scope: Scope, before: float, cost: float, ceiling: float) -> None:
        """Refuse a cost that would pass the limit of a collector's series; exactly."""
        losses = self._losses_of(scope)
        if _exceeds([*losses, -before, cost], ceiling):
            after = sum_up([*losses, -before, cost])
            raise CeilingError(scope.series, sum_up(losses), after, ceiling)

    def _check_device(self, before: float, cost: float, device: float | None) -> None:
        """Refuse a cost that would pass the limit of the device; exactly."""
        if device is not None and _exceeds([*self._losses(), -before, cost], device):
            raise InputError(
                f"a device may spend at most epsilon {device:g} in all; it has spent "
                f"{self.total():.4g}, and this report would make it "
                f"{sum_up([*self._losses(), -before, cost]):.4g}"
            )

    def _find(self, row: PermanentAnswerKey) -> tuple[int, float] | None:
        """Return the number of `row` and its cost so far, or None."""
        found: tuple[int, float] | None = self._database.execute(
            "SELECT number, epsilon FROM answer"
            " WHERE (series, question, round, cell, epoch, period, tag) = (?, ?, ?, ?, ?, ?, ?)",
            row.columns,
        ).fetchone()
        return found

    def _reports_by_mechanism(self, number: int, scope: Scope | None = None) -> _ReportsByMechanism:
        """Return the mechanisms and counts of the reports of row `number`, for `scope` or all."""
        counted, values = _reports_query(scope)
        rows = self._database.execute(
            f"SELECT digest, description, counted.reports FROM ({counted}) AS counted"
            " JOIN mechanism ON mechanism = digest WHERE answer = ? AND counted.reports > 0",
            (*values, number),
        )
        return {
            digest: (from_description(json.loads(text)), reports) for digest, text, reports in rows
        }

    def _is_shared(self, number: int) -> bool:
        """Return whether row `number` has reports for another collector than the first."""
        found = self._database.execute("SELECT 1 FROM share WHERE answer = ?", (number,))
        return found.fetchone() is not None

    def _share(self, number: int | None, scope: Scope, kind: str) -> None:
        """Record that a report of row `number` was made for another collector than the first."""
        self._database.execute(
            "INSERT INTO share VALUES (?, ?, ?, 1)"
            " ON CONFLICT (answer, scope, mechanism) DO UPDATE SET reports = reports + 1",
            (number, scope.name, kind),
        )

    def _reports_made(self, scope: Scope, question: str, number: int | None = None) -> int:
        """Return how many reports of `question` a collector has, in round `number` or in all."""
        counted, values = _reports_query(scope)
        (made,) = self._database.execute(
            "SELECT COALESCE(SUM(counted.reports), 0) FROM answer"
            f" JOIN ({counted}) AS counted ON counted.answer = number"
            " WHERE (series, question) = (?, ?) AND round = COALESCE(?, round)",
            (*values, scope.series, question, number),
        ).fetchone()
        return int(made)

    def _losses(self) -> list[float]:
        """Return the cost of each row."""
        return [epsilon for (epsilon,) in self._database.execute("SELECT epsilon FROM answer")]

    def _losses_of(self, scope: Scope) -> list[float]:
        """Return the cost of each row by the reports to one collector alone."""
        rows = self._database.execute(
            "SELECT number, epsilon, EXISTS (SELECT 1 FROM share WHERE share.answer = number)"
            " FROM answer WHERE series = ?",
            (scope.series,),
        ).fetchall()
        first = scope.series in scope.names
        alone = [epsilon for _, epsilon, shared in rows if first and not shared]
        return alone + [
            _composed_epsilon(self._reports_by_mechanism(number, scope))
            for number, _, shared in rows
            if shared
        ]

    @_serialized
    def total(self) -> float:
        """Return the loss of all reports of this device together, rounded up."""
        return sum_up(self._losses())

    @_serialized
    def spending(self) -> list[Spending]:
        """Return the loss of each question, all its rounds together."""
        rows = self._database.execute(
            "SELECT series, question, SUM(reports), COUNT(DISTINCT period || hex(tag))"
            " FROM answer JOIN made ON answer = number"
            " GROUP BY series, question ORDER BY series, question"
        ).fetchall()
        losses: dict[tuple[str, str], list[float]] = {}
        for series, question, epsilon in self._database.execute(
            "SELECT series, question, epsilon FROM answer"
        ):
            losses.setdefault((series, question), []).append(epsilon)
        return [
            Spending(series, question, reports, values, sum_up(losses[series, question]))
            for series, question, reports, values in rows
        ]

    @_serialized
    def audit(self) -> float:
        """Return the total loss, computed anew from the recorded mechanisms and counts."""
        rows = self._database.execute("SELECT number FROM answer").fetchall()
        return sum_up(_composed_epsilon(self._reports_by_mechanism(number)) for (number,) in rows)

    @_serialized
    def pending(self, contract: str | None = None) -> list[PendingReport]:
        """Return the reports that were not acknowledged yet, of one contract or of all."""
        condition, values = ("", ()) if contract is None else (" WHERE contract = ?", (contract,))
        rows = self._database.execute(
            f"SELECT {_COLUMNS} FROM pending{condition} ORDER BY rowid",
            values,
        )
        return [PendingReport(*row) for row in rows]

    def acknowledge(self, ids: Sequence[bytes]) -> None:
        """Forget the waiting reports with these `ids`, since they have arrived."""
        with self.transaction():
            self._database.executemany("DELETE FROM pending WHERE id = ?", [(id,) for id in ids])
            self.withdrawals.note_arrival(ids)

    @_serialized
    def check_turn(
        self, collection: Collection, scope: Scope, question: str, turn: int | None
    ) -> None:
        """Refuse a second report of a question in one turn."""
        self.turns.check(collection, scope, question, turn)

    @_serialized
    def withdrawable(self) -> list[WithdrawableReport]:
        """Return every report that can still be withdrawn."""
        return self.withdrawals.withdrawable()

    def replace_token(self, id: bytes, admits: AdmissionToken) -> bytes:
        """Give a waiting report another token: the same bytes, at no further cost.

        Call this within a transaction. It returns the report's id, which changes if the token names
        it.
        """
        name = id if admits.key is None else report_id(admits.key)
        self._database.execute(
            "UPDATE pending SET id = ?, token = ? WHERE id = ?", (name, admits.token, id)
        )
        if admits.key is not None:
            self.withdrawals.rename(id, name, admits.key, admits.token)
        return name

    def forget(self, ids: Sequence[bytes]) -> None:
        """Forget reports that were withdrawn, waiting ones too; what they cost stays."""
        with self.transaction():
            self._database.executemany("DELETE FROM pending WHERE id = ?", [(id,) for id in ids])
            self.withdrawals.forget(ids)


def _reports_query(scope: Scope | None) -> tuple[str, tuple[str, ...]]:
    """Return the SQL, and its values, that counts each row's reports, of `scope` or of all."""
    if scope is None:
        return "SELECT answer, mechanism, reports FROM made", ()
    names = f"({', '.join('?' * len(scope.names))})"
    if scope.series not in scope.names:
        shares = (
            f"SELECT answer, mechanism, SUM(reports) AS reports FROM share WHERE scope IN {names}"
        )
        return f"{shares} GROUP BY answer, mechanism", scope.names
    # The first collector has the reports that no share of another one counts.
    others = (
        "SELECT SUM(share.reports) FROM share WHERE share.answer = made.answer"
        f" AND share.mechanism = made.mechanism AND share.scope NOT IN {names}"
    )
    rest = f"SELECT answer, mechanism, reports - COALESCE(({others}), 0) AS reports FROM made"
    return rest, scope.names


def _composed_epsilon(made: _ReportsByMechanism) -> float:
    """Return the joint loss of the reports of a row."""
    of = list(made.values())
    return of[0][0].permanence.epsilon_composed(of) if of else 0.0


def _add_report(made: _ReportsByMechanism, kind: str, mechanism: Mechanism) -> tuple[int, float]:
    """Return a mechanism's count with one more report, and the row's loss then."""
    reports = 1 + made.get(kind, (mechanism, 0))[1]
    others = [each for name, each in made.items() if name != kind]
    return reports, mechanism.permanence.epsilon_composed([(mechanism, reports), *others])


def _exceeds(losses: list[float], ceiling: float) -> bool:
    """Return whether `losses` add up to more than `ceiling`, exactly: no rounding lets one pass."""
    return math.fsum([*losses, -ceiling]) > 0
