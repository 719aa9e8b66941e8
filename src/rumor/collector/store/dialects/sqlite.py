"""The embedded store: one SQLite file, one writer at a time, every commit synced to the disk.

A batch is inserted by one statement that splits one blob, so that a commit of thousands of
reports costs Python nothing for each of them and runs outside the interpreter's lock.
"""

from __future__ import annotations

import functools
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rumor.collector.store.base import (
    ID_BYTES,
    Outcome,
    ReportBatch,
    StoreDamagedError,
    StoreUnavailableError,
)
from rumor.collector.store.checksums import (
    CHECKSUM_BYTES,
    checksum,
    damage_error,
    joined_fields,
    seal_rows,
)
from rumor.collector.store.dialects.dialect import OneConnection, split_rows
from rumor.collector.store.exactly_once import Known
from rumor.collector.store.ingest import write_in_turn
from rumor.collector.store.tables import Row, Run
from rumor.core.errors import InputError
from rumor.core.files import new_file
from rumor.core.reports import Reports

# "Rumr": tells a store from any other SQLite file.
_APPLICATION = 0x52756D72
_WAIT_SECONDS = 10  # for another process that writes
_TIDY_MILLISECONDS = 500  # for readers, before the log is cut

# A schema is never edited, only followed by the next step; the file knows how far it is.
_MIGRATIONS = (
    """
    CREATE TABLE collection (
        number INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE,
        series TEXT NOT NULL, contract TEXT NOT NULL, open INTEGER NOT NULL);
    CREATE TABLE question (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        collection INTEGER NOT NULL REFERENCES collection (number), id TEXT NOT NULL,
        UNIQUE (collection, id));
    CREATE TABLE report (
        number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, question INTEGER NOT NULL,
        day INTEGER, report BLOB);
    CREATE UNIQUE INDEX report_id ON report (id);
    CREATE TABLE summary (
        question INTEGER NOT NULL REFERENCES question (number), day INTEGER NOT NULL,
        reports INTEGER NOT NULL, tally BLOB NOT NULL, PRIMARY KEY (question, day));
    CREATE TABLE mark (number INTEGER NOT NULL);
    INSERT INTO mark VALUES (0);
    """,
    """
    CREATE TABLE admission (key BLOB PRIMARY KEY, series TEXT NOT NULL) WITHOUT ROWID;
    """,
    """
    ALTER TABLE report ADD COLUMN checksum BLOB;
    ALTER TABLE summary ADD COLUMN checksum BLOB;
    ALTER TABLE mark ADD COLUMN checksum BLOB;
    UPDATE report SET checksum = rumor_checksum(id, report, question, day) WHERE report NOT NULL;
    UPDATE summary SET checksum = rumor_checksum(tally, x'', question, day, reports);
    UPDATE mark SET checksum = rumor_checksum(x'', x'', number);
    """,
    """
    CREATE TABLE invited (person BLOB PRIMARY KEY, series TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE issued (
        person BLOB NOT NULL REFERENCES invited (person), key BLOB NOT NULL,
        number INTEGER NOT NULL, message BLOB NOT NULL,
        PRIMARY KEY (person, key, number)) WITHOUT ROWID;
    """,
    """
    CREATE TABLE early_withdrawal (
        id BLOB PRIMARY KEY, question INTEGER NOT NULL, day INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE span (
        question INTEGER NOT NULL, day INTEGER NOT NULL, last INTEGER NOT NULL,
        checksum BLOB NOT NULL, PRIMARY KEY (question, day)) WITHOUT ROWID;
    CREATE TABLE drop_count (
        question INTEGER PRIMARY KEY, day INTEGER NOT NULL, last INTEGER NOT NULL,
        reports INTEGER NOT NULL, checksum BLOB NOT NULL);
    """,
    """
    ALTER TABLE collection ADD COLUMN users INTEGER NOT NULL DEFAULT 10000;
    """,
)


@dataclass(frozen=True)
class Schema:
    """The tables of one kind of file: its application id, and its migrations."""

    application: int
    steps: tuple[str, ...]
    what: str = "a store"


STORE = Schema(_APPLICATION, _MIGRATIONS)

_SPLIT = """
    WITH RECURSIVE piece (at) AS (
        SELECT 1 UNION ALL SELECT at + :size FROM piece WHERE at + :size <= :length)
"""
_INSERT = f"""
    INSERT OR IGNORE INTO report (id, question, day, report, checksum) {_SPLIT}
    SELECT substr(:blob, at, {ID_BYTES}), :question, :day, substr(:blob, at + {ID_BYTES}, :width),
           substr(:blob, at + {ID_BYTES} + :width, {CHECKSUM_BYTES})
    FROM piece
"""
_INSERT_SPENT = f"""
    INSERT OR IGNORE INTO report (id, question) {_SPLIT}
    SELECT substr(:blob, at, {ID_BYTES}), :question FROM piece
"""
_KNOWN = f"""
    {_SPLIT} SELECT id, question, report FROM report
    WHERE id IN (SELECT substr(:blob, at, {ID_BYTES}) FROM piece)
"""


_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL ORDER BY name"


def migrate(run: Run, version: int, schema: Schema) -> None:
    """Bring a file from one version of the schema to the newest."""
    for step in schema.steps[version:]:
        for statement in step.split(";")[:-1]:
            run(statement)
    run(f"PRAGMA application_id = {schema.application}")
    run(f"PRAGMA user_version = {len(schema.steps)}")


@functools.cache
def _expected_schema(schema: Schema) -> list[Row]:
    """Return the schema of an intact file, made by running all migrations in memory."""
    with closing(_configured(sqlite3.connect(":memory:", isolation_level=None))) as connection:
        with _transaction(connection, "BEGIN") as run:
            migrate(run, 0, schema)
        return connection.execute(_SCHEMA).fetchall()


def _make(path: Path, schema: Schema) -> None:
    """Make a new store's file, which appears with its tables in it or not at all."""
    with suppress(FileExistsError), new_file(path) as aside:
        # Reports are nobody else's business; the log files inherit this mode.
        os.close(os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            with (
                closing(_connect(aside)) as connection,
                _transaction(connection, "BEGIN IMMEDIATE") as run,
            ):
                migrate(run, 0, schema)
        except sqlite3.Error as problem:
            raise _trouble(problem) from None


def _connect(path: Path) -> sqlite3.Connection:
    # mode=rw: a file that has gone away is not silently replaced by an empty one.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=_WAIT_SECONDS,
        check_same_thread=False,
    )
    try:
        _configured(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA cell_size_check = ON")
        # A commit is on the disk before it returns; what is deleted is overwritten.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
    except BaseException:
        connection.close()
        raise
    return connection


class Sqlite:
    """A SQLite file; see `rumor.collector.store.dialects.dialect.Dialect`."""

    reads_counts = True

    def __init__(self, path: str | os.PathLike[str], schema: Schema = STORE) -> None:
        if sqlite3.sqlite_version_info < (3, 35):
            raise InputError(f"a store needs SQLite 3.35 or newer; got {sqlite3.sqlite_version}")
        self._path, self._given, self._schema = Path(path), str(path), schema
        # SQLite has one writer at a time, so every writer is alone: from its first look on.
        self._writer = _Connection(self._path, "BEGIN IMMEDIATE")
        self._reader = _Connection(self._path, "BEGIN")

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Return the file that a URL names: sqlite:///path."""
        return cls(url.removeprefix("sqlite:///"))

    def prepare(self) -> None:
        """Make the file where there is none; else see that it is whole, and ours."""
        if not self._path.exists():
            _make(self._path, self._schema)
        with self.reading() as run:
            found = [str(line) for (line,) in run("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            sentence = " ".join(" ".join(found).split())
            raise damage_error(f"SQLite's own check says {sentence!r}")
        with self.writing(alone=True) as run:
            self._migrate(run)

    def _migrate(self, run: Run) -> None:
        ((application,),) = run("PRAGMA application_id")
        ((version,),) = run("PRAGMA user_version")
        ((tables,),) = run("SELECT COUNT(*) FROM sqlite_master")
        schema, newest = self._schema, len(self._schema.steps)
        if application != schema.application and (tables or application):
            raise InputError(
                f"{schema.what} must be a SQLite file of Rumor's; {str(self._path)!r} holds "
                f"something else"
            )
        if version > newest:
            raise InputError(
                f"{schema.what}'s schema must be at most version {newest}, which this Rumor "
                f"knows; {str(self._path)!r} has {version}"
            )
        if version < newest:
            migrate(run, version, schema)

    def check_tables(self, run: Run) -> None:
        """Check that the file's schema is that of an intact file."""
        if run(_SCHEMA) != _expected_schema(self._schema):
            raise damage_error("the tables are not as Rumor makes them")

    def not_opened(self, problem: StoreUnavailableError | OSError) -> InputError:
        """Return the sentence, with the path as it was given."""
        if isinstance(problem, StoreDamagedError):
            return InputError(f"{self._given!r}: {problem}")
        return InputError(
            f"{self._schema.what} must be a SQLite file that can be written; {self._given!r} is "
            f"not ({problem})"
        )

    def writing(self, *, alone: bool) -> AbstractContextManager[Run]:
        """Return a transaction that writes."""
        return self._writer.transaction()

    def reading(self) -> AbstractContextManager[Run]:
        """Return a transaction that only reads."""
        return self._reader.transaction()

    @contextmanager
    def snapshot(self) -> Iterator[Run]:
        """Yield a read transaction on its own connection; the log keeps the state that it sees."""
        connection = _Connection(self._path, "BEGIN")
        try:
            with connection.transaction() as run:
                run("SELECT COUNT(*) FROM mark")  # a transaction sees the moment of its first look
                yield run
        finally:
            connection.close()

    def write_new(self, batches: Sequence[ReportBatch], day: int) -> list[Outcome]:
        """Write new batches, one statement after another: there is no server to travel to."""
        return write_in_turn(self, batches, day)

    def insert(self, run: Run, question: int, day: int, rows: Reports) -> int:
        """Insert rows, split by the database."""
        whole = seal_rows(question, day, rows)
        parameters = {**split_rows(whole), "question": question, "day": day}
        parameters["width"] = rows.shape[1] - ID_BYTES
        run(_INSERT, parameters)
        ((changes,),) = run("SELECT changes()")
        return int(changes)

    def insert_spent(self, run: Run, question: int, ids: Reports) -> None:
        """Insert ids alone."""
        if len(ids):
            run(_INSERT_SPENT, {**split_rows(ids), "question": question})

    def known(self, run: Run, ids: Reports) -> Known:
        """Return those of `ids` that are in use."""
        rows = run(_KNOWN, split_rows(ids))
        return {id: (question, report) for id, question, report in rows}

    def fresh(self, run: Run, above: int, upto: int) -> dict[tuple[int, int], bytes]:
        """Return the reports with these numbers."""
        groups: dict[tuple[int, int], list[Row]] = {}
        for question, day, *fields in run(
            "SELECT question, day, id, report, checksum FROM report"
            " WHERE number > ? AND number <= ? AND report IS NOT NULL",
            above,
            upto,
        ):
            groups.setdefault((question, day), []).append(tuple(fields))
        return {key: joined_fields(rows) for key, rows in groups.items()}

    def tidy_tokens(self, thorough: bool) -> None:
        """Do nothing: `tidy` cuts the log, in which a deleted key lies next to its report."""

    def tidy(self) -> bool:
        """Overwrite deleted pages in the file, and cut the log that held them.

        Nobody who writes waits long for it: while an export reads, the log stays.
        """
        self._writer.outside_transaction(f"PRAGMA busy_timeout = {_TIDY_MILLISECONDS}")
        found = self._writer.outside_transaction("PRAGMA wal_checkpoint(TRUNCATE)")
        self._writer.outside_transaction(f"PRAGMA busy_timeout = {1000 * _WAIT_SECONDS}")
        return not found or found[0][0] == 0

    def rewrite(self) -> None:
        """Write the file anew, in the order of its keys: no page tells what came first."""
        self._writer.outside_transaction("VACUUM")
        self.tidy()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()
        self._reader.close()


class _Connection(OneConnection["sqlite3.Connection"]):
    """A connection to a SQLite file."""

    trouble = sqlite3.Error

    def __init__(self, path: Path, begin: str) -> None:
        super().__init__()
        self._path, self._begin = path, begin

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        with self._lock:
            try:
                if self.open is None:
                    self.open = _connect(self._path)
                with _transaction(self.open, self._begin) as run:
                    yield run
            except sqlite3.Error as problem:
                # A full or vanished disk may leave the connection unusable: take a new one.
                self._drop()
                raise _trouble(problem) from None
            except UnicodeDecodeError:
                # A damaged schema: SQLite quotes it in its error message.
                self._drop()
                raise damage_error("SQLite says something that is no text") from None

    def outside_transaction(self, statement: str) -> list[Row]:
        """Run `statement` if a connection is open; ignore a failure."""
        with self._lock, suppress(sqlite3.Error):
            if self.open is not None:
                return self.open.execute(statement).fetchall()
        return []


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection that knows what the migrations use."""

    def make(first: bytes, second: bytes, *numbers: int) -> bytes:
        return checksum(*numbers, data=first + second)

    connection.create_function("rumor_checksum", -1, make, deterministic=True)
    return connection


def _trouble(problem: sqlite3.Error) -> StoreUnavailableError:
    """Return the error for SQLite's `problem`: a file is damaged, or unavailable for a while."""
    sentence = " ".join(str(problem).split())
    if getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        return damage_error(f"SQLite says {sentence!r}")
    return StoreUnavailableError(sentence)


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[Run]:
    def run(statement: str, *parameters: object) -> list[Row]:
        # Named parameters come as one dictionary, others one by one.
        named = len(parameters) == 1 and isinstance(parameters[0], dict)
        return connection.execute(statement, parameters[0] if named else parameters).fetchall()  # type: ignore[arg-type]

    connection.execute(begin)
    try:
        yield run
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    try:
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
