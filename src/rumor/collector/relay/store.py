"""The relay's store: envelopes, and nothing that says whose they are or when they came.

    class     number, digest, question, size, crowd, days, turn_hours: what a contract says of one
              question; moment: where it has turns, when the last release of one was due
    envelope  class, name (a hash of the bytes), day, released, sealed, checksum, turn; the bytes
              and their checksum are NULL once the gateway has them, and the name alone keeps the
              same bytes from coming twice
    release   time, every: when the last release of the schedule was due, and its period in
              seconds; the schedule is that of classes without turns

A batch is what is released together: the envelopes of one class and, where the contract has turns,
of one turn. Without turns, `turn`, `turn_hours` and `moment` are NULL.

Envelopes of a turn are here until it is over (rumor.collector.relay.release). Without turns, none
that is older than the contract's days is released, and none stays for more than seven days beyond
these: so a collector knows how long it must remember that a report was withdrawn.

Rows are kept in the order of their names, which are as good as random; of the time there is the
day. It is a file of its own kind: a collector's store is no relay's, and the other way round. Only
SQLite is taken, since a server's rows tell the order in which they were written.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from rumor.collector.relay.release_times import last_moment
from rumor.collector.store.base import StoreUnavailableError, today
from rumor.collector.store.checksums import checksum, damage_error
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.sqlite import Schema, Sqlite
from rumor.collector.store.tables import Run, day_number
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.relay import DAYS_TO_DELIVER, turn_at
from rumor.core.errors import InputError, format_value

_NAME_BYTES = 16
_SCHEMA = Schema(
    0x52756D79,  # "Rumy"
    (
        """
    CREATE TABLE class (
        number INTEGER PRIMARY KEY, digest TEXT NOT NULL, question TEXT NOT NULL,
        size INTEGER NOT NULL, crowd INTEGER NOT NULL, days INTEGER NOT NULL,
        UNIQUE (digest, question));
    CREATE TABLE envelope (
        class INTEGER NOT NULL REFERENCES class (number), name BLOB NOT NULL,
        day INTEGER NOT NULL, released INTEGER NOT NULL, sealed BLOB, checksum BLOB,
        PRIMARY KEY (class, name)) WITHOUT ROWID;
    CREATE TABLE turn (number INTEGER NOT NULL);
    """,
        # A relay of the version before that still runs on the file finds its table gone, and
        # releases nothing: it would mix turns.
        """
    ALTER TABLE class ADD COLUMN turn_hours INTEGER;
    ALTER TABLE class ADD COLUMN moment INTEGER;
    ALTER TABLE envelope ADD COLUMN turn INTEGER;
    CREATE TABLE release (time REAL NOT NULL, every REAL NOT NULL);
    DROP TABLE turn;
    """,
    ),
    "a relay's store",
)
_WAITING = "class = ? AND turn IS ? AND released = 0 AND sealed IS NOT NULL"
_UNDER_WAY = "class = ? AND turn IS ? AND released = 1 AND sealed IS NOT NULL"


@dataclass(frozen=True)
class QuestionQueue:
    """The relay's settings for the envelopes of one question."""

    number: int
    digest: str
    question: str
    size: int
    crowd: int
    days: int
    turn_hours: int | None = None


@dataclass(frozen=True)
class EnvelopeBatch:
    """The envelopes that are released together: of one class, and of one turn if it has turns."""

    kind: QuestionQueue
    turn: int | None = None

    @property
    def columns(self) -> tuple[int, int | None]:
        """The class and the turn, as the table of envelopes has them."""
        return self.kind.number, self.turn


@dataclass(frozen=True)
class ArrivedEnvelope:
    """One envelope that arrived."""

    of: int
    sealed: bytes
    turn: int | None = None

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True)
class LastRelease:
    """The last release of the schedule: when it was due, and the period in seconds."""

    time: float
    every: float


@dataclass(frozen=True)
class BatchRelease:
    """The outcome of one batch at a release."""

    of: EnvelopeBatch
    released: int
    dropped: int


@dataclass(frozen=True)
class ExpiredTurn:
    """The dropped envelopes of a turn that is over: never released, or never delivered."""

    of: EnvelopeBatch
    waiting: int
    under_way: int


class RelayStore:
    """Envelopes in a file, every commit synced to the disk."""

    def __init__(self, url: str) -> None:
        path = url.removeprefix("sqlite:///")
        if path in ("", url):
            raise InputError(
                f"a relay's store must be sqlite:///FILE, which tells no order of arrival; "
                f"got {format_value(url.partition(':')[0])}"
            )
        self._dialect = Sqlite(path, _SCHEMA)
        self._database = Database(self._dialect)
        try:
            self._dialect.prepare()
            with self._database.reading() as run:
                self._dialect.check_tables(run)
        except (StoreUnavailableError, OSError) as problem:
            self._dialect.close()
            raise self._dialect.not_opened(problem) from None
        except BaseException:
            self._dialect.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._dialect.close()

    def ping(self) -> None:
        """Write something small, durably."""
        with self._database.writing() as run:
            run("UPDATE release SET time = time")

    def register(self, collection: Collection) -> None:
        """Take envelopes of a collection's questions, from now on."""
        with self._database.writing() as run:
            for question in collection.questions:
                kind = EnvelopeFormat.of(collection, question)
                run(
                    "INSERT OR IGNORE INTO class (digest, question, size, crowd, days, turn_hours)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    *(kind.digest, kind.question, kind.size, kind.relay.crowd, kind.relay.days),
                    kind.relay.turn_hours,
                )

    def classes(self) -> list[QuestionQueue]:
        """Return every class, of all contracts that were ever given."""
        with self._database.reading() as run:
            return _classes(run)

    def keep(self, arrived: Sequence[ArrivedEnvelope]) -> list[bool]:
        """Make envelopes durable in one commit; of each whether its bytes are new."""
        day = day_number(today())
        with self._database.writing() as run:
            return [_insert(run, each, day) for each in arrived]

    def last_release(self) -> LastRelease | None:
        """Return the last release of the schedule; None before the schedule has started."""
        with self._database.reading() as run:
            return _last_release(run)

    def release(self, now: float, every: float, day: datetime.date) -> list[BatchRelease] | None:
        """Release whole classes without turns, if `every` seconds have passed since.

        Drops what is older than the contract's days, and then releases each class that is large
        enough. A schedule starts at its first call, and anew when `every` has changed or when
        `now` lies before the last release: then the answer is None and nothing is released until
        the next multiple of `every`.
        """
        due = _last_due(now, every)
        with self._database.writing() as run:
            last = _last_release(run)
            starts = last is None or last.every != every or now < last.time
            if not starts and last is not None and now < last.time + every:
                return []
            run("DELETE FROM release")
            run("INSERT INTO release VALUES (?, ?)", due, every)
            if starts:
                return None
            number = day_number(day)
            _forget_names(run, number)
            return [
                _released(run, EnvelopeBatch(kind), _dropped(run, *_older(_WAITING, kind, number)))
                for kind in _classes(run)
                if kind.turn_hours is None
            ]

    def release_turns(self, now: float) -> list[BatchRelease]:
        """Release whole batches of turns whose moment has come, each moment once.

        A moment that was missed is made up for as long as the turn is not over. After the clock
        went backwards, a moment that lies ahead again is one that was not done.
        """
        with self._database.reading() as run:
            if not (_due_moments(run, now) or run("SELECT 1 FROM class WHERE moment > ?", now)):
                return []
        with self._database.writing() as run:
            run("UPDATE class SET moment = NULL WHERE moment > ?", now)
            due = _due_moments(run, now)
            for batch, moment in due:
                run("UPDATE class SET moment = ? WHERE number = ?", moment, batch.kind.number)
            return [_released(run, batch) for batch, _ in due]

    def is_turn_due(self, now: float) -> bool:
        """Return whether a moment of a turn has come whose release is not done."""
        with self._database.reading() as run:
            return bool(_due_moments(run, now))

    def drop_undelivered(self, day: datetime.date) -> list[BatchRelease]:
        """Drop released envelopes that were not delivered within seven days past the contract's."""
        last = day_number(day) - DAYS_TO_DELIVER
        with self._database.reading() as run:
            late = [
                kind
                for kind in _classes(run)
                if kind.turn_hours is None and _count(run, *_older(_UNDER_WAY, kind, last))
            ]
        if not late:
            return []
        with self._database.writing() as run:
            return [
                BatchRelease(EnvelopeBatch(kind), 0, _dropped(run, *_older(_UNDER_WAY, kind, last)))
                for kind in late
            ]

    def drop_over(self, now: float) -> list[ExpiredTurn]:
        """Drop the envelopes, waiting or released, of all turns that are over at `now`."""
        with self._database.reading() as run:
            over = [
                EnvelopeBatch(kind, turn)
                for kind in _classes(run)
                if kind.turn_hours is not None
                # A turn is over when it is neither the current one nor the one before that.
                for turn in _turns(run, kind, "turn < ?", turn_at(now, kind.turn_hours) - 1)
            ]
        if not over:
            return []
        with self._database.writing() as run:
            return [
                ExpiredTurn(
                    batch,
                    _dropped(run, _WAITING, *batch.columns),
                    _dropped(run, _UNDER_WAY, *batch.columns),
                )
                for batch in over
            ]

    def batches_under_way(self) -> list[EnvelopeBatch]:
        """Return the batches that are released and may not be delivered wholly."""
        with self._database.reading() as run:
            return [
                EnvelopeBatch(kind, turn)
                for kind in _classes(run)
                for turn in _turns_or_none(run, kind, "released = 1")
            ]

    def under_way(self, batch: EnvelopeBatch, most: int) -> list[bytes]:
        """Return some envelopes of a batch that are released and not delivered, by their bytes."""
        with self._database.reading() as run:
            rows = run(
                "SELECT name, day, sealed, checksum FROM envelope"
                f" WHERE {_UNDER_WAY} ORDER BY sealed LIMIT ?",
                *(*batch.columns, most),
            )
            for name, day, sealed, found in rows:
                if found != _checksum(batch.kind.number, batch.turn, day, name, sealed):
                    raise damage_error("an envelope does not fit its checksum")
        return [sealed for _, _, sealed, _ in rows]

    def delivered(
        self, batch: EnvelopeBatch, envelopes: Sequence[bytes], day: datetime.date
    ) -> None:
        """Forget the bytes of envelopes that the gateway has; their names stay a while."""
        with self._database.writing() as run:
            for sealed in envelopes:
                run(
                    "UPDATE envelope SET sealed = NULL, checksum = NULL, day = ?"
                    " WHERE class = ? AND name = ?",
                    *(day_number(day), batch.kind.number, _name(sealed, batch.turn)),
                )

    def give_up(self, batch: EnvelopeBatch) -> int:
        """Drop the released envelopes of a batch that the gateway refuses for good."""
        with self._database.writing() as run:
            return _dropped(run, _UNDER_WAY, *batch.columns)

    def waiting(self, batch: EnvelopeBatch) -> int:
        """Return how many envelopes of a batch wait for more."""
        with self._database.reading() as run:
            return _count(run, _WAITING, *batch.columns)

    def tidy(self, *, thorough: bool = False) -> None:
        """Cut the log, which has commits in their order; thoroughly, write all pages anew."""
        if thorough:
            self._dialect.rewrite()
        else:
            self._dialect.tidy()


def _classes(run: Run) -> list[QuestionQueue]:
    columns = "number, digest, question, size, crowd, days, turn_hours"
    return [QuestionQueue(*row) for row in run(f"SELECT {columns} FROM class ORDER BY number")]


def _turns(run: Run, kind: QuestionQueue, which: str, *values: int) -> list[int]:
    """Return the turns of a class with envelopes that are still here and fulfil `which`."""
    rows = run(
        "SELECT DISTINCT turn FROM envelope WHERE class = ? AND sealed IS NOT NULL"
        f" AND {which} ORDER BY turn",
        *(kind.number, *values),
    )
    return [turn for (turn,) in rows]


def _turns_or_none(run: Run, kind: QuestionQueue, which: str) -> Sequence[int | None]:
    """Return the turns with envelopes that fulfil `which`; [None] for a class without turns."""
    return [None] if kind.turn_hours is None else _turns(run, kind, which)


def _forget_names(run: Run, day: int) -> None:
    """Forget the names of envelopes that were delivered more than the contract's days ago.

    With turns, of none that could still come again in its turn and count for another crowd.
    """
    run(
        "DELETE FROM envelope WHERE sealed IS NULL"
        " AND day < ? - (SELECT MAX(days, (2 * COALESCE(turn_hours, 0) + 23) / 24)"
        " FROM class WHERE class.number = envelope.class)",
        day,
    )


def _last_due(now: float, every: float) -> float:
    """Return the last multiple of `every` up to `now`; rounding puts it neither ahead nor back."""
    due = now // every * every
    return min(now, due + every if now >= due + every else due)


def _last_release(run: Run) -> LastRelease | None:
    rows = run("SELECT time, every FROM release")
    return LastRelease(*rows[0]) if rows else None


def _name(sealed: bytes, turn: int | None = None) -> bytes:
    """Return the name of an envelope, which is another one in another turn."""
    said = b"" if turn is None else turn.to_bytes(8, "big")
    return hashlib.sha256(said + sealed).digest()[:_NAME_BYTES]


def _checksum(kind: int, turn: int | None, day: int, name: bytes, sealed: bytes) -> bytes:
    numbers = (kind, day) if turn is None else (kind, day, turn)
    return checksum(*numbers, data=name + sealed)


def _insert(run: Run, arrived: ArrivedEnvelope, day: int) -> bool:
    name = _name(arrived.sealed, arrived.turn)
    return bool(
        run(
            "INSERT OR IGNORE INTO envelope (class, name, day, released, sealed, checksum, turn)"
            " VALUES (?, ?, ?, 0, ?, ?, ?) RETURNING 1",
            *(arrived.of, name, day, arrived.sealed),
            _checksum(arrived.of, arrived.turn, day, name, arrived.sealed),
            arrived.turn,
        )
    )


def _released(run: Run, batch: EnvelopeBatch, dropped: int = 0) -> BatchRelease:
    """Return the outcome of one batch with `dropped` envelopes: released whole or not at all."""
    waiting = _count(run, _WAITING, *batch.columns)
    if waiting < batch.kind.crowd:
        return BatchRelease(batch, 0, dropped)
    run(f"UPDATE envelope SET released = 1 WHERE {_WAITING}", *batch.columns)
    return BatchRelease(batch, waiting, dropped)


def _due_moments(run: Run, now: float) -> list[tuple[EnvelopeBatch, int]]:
    """Return the batches of turns that must be released, and the moments at which that was due."""
    done: dict[int, int | None] = dict(
        run("SELECT number, moment FROM class WHERE turn_hours IS NOT NULL")
    )
    due = []
    for kind in _classes(run):
        if kind.turn_hours is not None:
            moment = last_moment(now, kind.turn_hours)
            if moment is not None and moment != done[kind.number]:
                due.append((EnvelopeBatch(kind, turn_at(now, kind.turn_hours) - 1), moment))
    return due


def _older(which: str, kind: QuestionQueue, day: int) -> tuple[str, int, None, int]:
    """Return the condition for envelopes of a class without turns that are older than its days."""
    return f"{which} AND day < ?", kind.number, None, day - kind.days


def _count(run: Run, which: str, *values: int | None) -> int:
    ((count,),) = run(f"SELECT COUNT(*) FROM envelope WHERE {which}", *values)
    return int(count)


def _dropped(run: Run, which: str, *values: int | None) -> int:
    dropped = _count(run, which, *values)
    run(f"DELETE FROM envelope WHERE {which}", *values)
    return dropped
