"""What a relay keeps: envelopes, and nothing that says whose they are or when they came.

    class     number, digest, question, size, crowd, days: what a contract says of one question
    envelope  class, name (a hash of the bytes), day, released, sealed, checksum; the last two are
              NULL once the gateway has it, and the name alone keeps the same bytes from coming
              twice
    turn      number: up to which turn of the schedule classes were released

Rows are kept in the order of their names, which are as good as random; of the time there is the
day. It is a file of its own kind: a collector's store is no relay's, and the other way round. Only
SQLite is taken, since a server's rows tell the order in which they were written.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from rumor.collector.store.base import StoreUnavailable, today
from rumor.collector.store.checksums import checksum, damaged
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.sqlite import Schema, Sqlite
from rumor.collector.store.tables import Run, day_number
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeClass
from rumor.core.errors import InputError, shown

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
    ),
    "a relay's store",
)
_WAITING = "class = ? AND released = 0 AND sealed IS NOT NULL"
_UNDER_WAY = "class = ? AND released = 1 AND sealed IS NOT NULL"


@dataclass(frozen=True)
class Class:
    """The envelopes of one question: what the relay knows of them."""

    number: int
    digest: str
    question: str
    size: int
    crowd: int
    days: int


@dataclass(frozen=True)
class Arrived:
    """One envelope that somebody sent."""

    of: int
    sealed: bytes

    def __len__(self) -> int:
        return 1


@dataclass(frozen=True)
class Turned:
    """What became of one class at a turn of the schedule."""

    of: Class
    released: int
    dropped: int


class RelayStore:
    """Envelopes in a file, every commit synced to the disk."""

    def __init__(self, url: str) -> None:
        path = url.removeprefix("sqlite:///")
        if path in ("", url):
            raise InputError(
                f"a relay's store must be sqlite:///FILE, which tells no order of arrival; "
                f"got {shown(url.partition(':')[0])}"
            )
        self._dialect = Sqlite(path, _SCHEMA)
        self._database = Database(self._dialect)
        try:
            self._dialect.prepare()
            with self._database.reading() as run:
                self._dialect.check_tables(run)
        except (StoreUnavailable, OSError) as problem:
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
            run("UPDATE turn SET number = number")

    def register(self, collection: Collection) -> None:
        """Take envelopes of a collection's questions, from now on."""
        with self._database.writing() as run:
            for question in collection.questions:
                kind = EnvelopeClass.of(collection, question)
                run(
                    "INSERT OR IGNORE INTO class (digest, question, size, crowd, days)"
                    " VALUES (?, ?, ?, ?, ?)",
                    *(kind.digest, kind.question, kind.size, kind.relay.crowd, kind.relay.days),
                )

    def classes(self) -> list[Class]:
        """Every class, of all contracts that were ever given."""
        with self._database.reading() as run:
            return _classes(run)

    def keep(self, arrived: Sequence[Arrived]) -> list[bool]:
        """Make envelopes durable in one commit; of each whether its bytes are new."""
        day = day_number(today())
        with self._database.writing() as run:
            return [_insert(run, each, day) for each in arrived]

    def turn(self, number: int, day: datetime.date) -> list[Turned]:
        """Release whole classes that are large enough, and drop what waited too long for that.

        Once for every number; the first that a file sees only starts the schedule.
        """
        with self._database.writing() as run:
            known = run("SELECT number FROM turn")
            if not known:
                run("INSERT INTO turn VALUES (?)", number)
            if not known or known[0][0] >= number:
                return []
            run("UPDATE turn SET number = ?", number)
            return [_turned(run, kind, day_number(day)) for kind in _classes(run)]

    def under_way(self, kind: Class, most: int) -> list[bytes]:
        """Some envelopes of a class that are released and not delivered, by their bytes."""
        with self._database.reading() as run:
            rows = run(
                "SELECT name, day, sealed, checksum FROM envelope"
                f" WHERE {_UNDER_WAY} ORDER BY sealed LIMIT ?",
                *(kind.number, most),
            )
            for name, day, sealed, found in rows:
                if found != checksum(kind.number, day, data=name + sealed):
                    raise damaged("an envelope does not fit its checksum")
        return [sealed for _, _, sealed, _ in rows]

    def delivered(self, kind: Class, envelopes: Sequence[bytes], day: datetime.date) -> None:
        """Forget the bytes of envelopes that the gateway has; their names stay a while."""
        with self._database.writing() as run:
            for sealed in envelopes:
                run(
                    "UPDATE envelope SET sealed = NULL, checksum = NULL, day = ?"
                    " WHERE class = ? AND name = ?",
                    *(day_number(day), kind.number, _name(sealed)),
                )

    def give_up(self, kind: Class) -> int:
        """Drop what is released of a class that the gateway takes no more."""
        with self._database.writing() as run:
            return _dropped(run, _UNDER_WAY, kind.number)

    def waiting(self, kind: Class) -> int:
        """How many envelopes of a class wait for more."""
        with self._database.reading() as run:
            return _count(run, _WAITING, kind.number)

    def tidy(self, *, thorough: bool = False) -> None:
        """Cut the log, which has commits in their order; thoroughly, write all pages anew."""
        if thorough:
            self._dialect.rewrite()
        else:
            self._dialect.tidy()


def _classes(run: Run) -> list[Class]:
    rows = run("SELECT number, digest, question, size, crowd, days FROM class ORDER BY number")
    return [Class(*row) for row in rows]


def _name(sealed: bytes) -> bytes:
    return hashlib.sha256(sealed).digest()[:_NAME_BYTES]


def _insert(run: Run, arrived: Arrived, day: int) -> bool:
    name = _name(arrived.sealed)
    return bool(
        run(
            "INSERT OR IGNORE INTO envelope VALUES (?, ?, ?, 0, ?, ?) RETURNING 1",
            *(arrived.of, name, day, arrived.sealed),
            checksum(arrived.of, day, data=name + arrived.sealed),
        )
    )


def _turned(run: Run, kind: Class, day: int) -> Turned:
    """One class at its turn, which is released whole or not at all."""
    run(
        "DELETE FROM envelope WHERE class = ? AND sealed IS NULL AND day < ?",
        *(kind.number, day - kind.days),
    )
    waiting = _count(run, _WAITING, kind.number)
    if waiting >= kind.crowd:
        run(f"UPDATE envelope SET released = 1 WHERE {_WAITING}", kind.number)
        return Turned(kind, waiting, 0)
    return Turned(kind, 0, _dropped(run, f"{_WAITING} AND day < ?", kind.number, day - kind.days))


def _count(run: Run, which: str, *values: int) -> int:
    ((count,),) = run(f"SELECT COUNT(*) FROM envelope WHERE {which}", *values)
    return int(count)


def _dropped(run: Run, which: str, *values: int) -> int:
    dropped = _count(run, which, *values)
    run(f"DELETE FROM envelope WHERE {which}", *values)
    return dropped
