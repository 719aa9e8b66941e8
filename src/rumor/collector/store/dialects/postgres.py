"""The PostgreSQL store: several collector processes, on several machines, into one database.

A batch travels as one value and is split by the server. Ids are unique across all
processes, whoever is first; rows come in the order of their ids, so that processes which
write the same ids at once wait for each other and never in a circle.

Every writer holds a lock that writers share. Whoever must know that no report is between
taking its number and its commit (to count, to close, to delete) takes that lock alone, for
a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, LiteralString, Self

from rumor.collector.store.base import (
    ID_BYTES,
    BatchAccepted,
    Outcome,
    ReportBatch,
    StoreDamagedError,
    StoreUnavailableError,
    sorted_by_id,
)
from rumor.collector.store.checksums import CHECKSUM_BYTES, checksum, seal_rows
from rumor.collector.store.dialects.dialect import OneConnection, Repeated, split_rows
from rumor.collector.store.exactly_once import Known, rows_by_question
from rumor.collector.store.tables import QUESTIONS, Row, Run, newest_number
from rumor.core.errors import InputError
from rumor.core.reports import Reports

try:
    import psycopg
except ImportError:
    raise InputError("a PostgreSQL store needs psycopg: pip install 'rumor[server]'") from None

_LOCK = 0x52756D72
# The step of the schema that brought checksums, and how many rows get theirs at a time.
_CHECKSUMS = 3
_AT_ONCE = 50_000

_MIGRATIONS = (
    """
    CREATE TABLE collection (
        number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, digest TEXT NOT NULL UNIQUE,
        series TEXT NOT NULL, contract TEXT NOT NULL, open INTEGER NOT NULL);
    CREATE TABLE question (
        number INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection INTEGER NOT NULL REFERENCES collection (number), id TEXT NOT NULL,
        UNIQUE (collection, id));
    CREATE TABLE report (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id BYTEA NOT NULL,
        question INTEGER NOT NULL, day INTEGER, report BYTEA);
    CREATE UNIQUE INDEX report_id ON report (id);
    ALTER TABLE report ALTER COLUMN report SET STORAGE EXTERNAL;
    CREATE TABLE summary (
        question INTEGER NOT NULL REFERENCES question (number), day INTEGER NOT NULL,
        reports BIGINT NOT NULL, tally BYTEA NOT NULL, PRIMARY KEY (question, day));
    CREATE TABLE mark (number BIGINT NOT NULL);
    INSERT INTO mark VALUES (0);
    """,
    """
    CREATE TABLE admission (key BYTEA PRIMARY KEY, series TEXT NOT NULL);
    """,
    """
    ALTER TABLE report ADD COLUMN checksum BYTEA;
    ALTER TABLE summary ADD COLUMN checksum BYTEA;
    ALTER TABLE mark ADD COLUMN checksum BYTEA;
    """,
    """
    CREATE TABLE invited (person BYTEA PRIMARY KEY, series TEXT NOT NULL);
    CREATE TABLE issued (
        person BYTEA NOT NULL REFERENCES invited (person), key BYTEA NOT NULL,
        number INTEGER NOT NULL, message BYTEA NOT NULL, PRIMARY KEY (person, key, number));
    """,
    """
    CREATE TABLE early_withdrawal (
        id BYTEA PRIMARY KEY, question INTEGER NOT NULL, day INTEGER NOT NULL);
    CREATE TABLE span (
        question INTEGER NOT NULL, day INTEGER NOT NULL, last INTEGER NOT NULL,
        checksum BYTEA NOT NULL, PRIMARY KEY (question, day));
    CREATE TABLE drop_count (
        question INTEGER PRIMARY KEY, day INTEGER NOT NULL, last INTEGER NOT NULL,
        reports BIGINT NOT NULL, checksum BYTEA NOT NULL);
    """,
    """
    ALTER TABLE collection ADD COLUMN users BIGINT NOT NULL DEFAULT 10000;
    """,
)

_INSERT = f"""
    WITH fresh AS (
        INSERT INTO report (id, question, day, report, checksum)
        SELECT substr(%(blob)b, at, {ID_BYTES}), %(question)s, %(day)s,
               substr(%(blob)b, at + {ID_BYTES}, %(width)s),
               substr(%(blob)b, at + {ID_BYTES} + %(width)s, {CHECKSUM_BYTES})
        FROM generate_series(1, %(length)s, %(size)s) AS piece (at)
        ON CONFLICT (id) DO NOTHING RETURNING 1)
    SELECT count(*) FROM fresh
"""
_INSERT_SPENT = f"""
    INSERT INTO report (id, question)
    SELECT substr(%(blob)b, at, {ID_BYTES}), %(question)s
    FROM generate_series(1, %(length)s, %(size)s) AS piece (at) ON CONFLICT (id) DO NOTHING
"""


class Postgres:
    """A PostgreSQL schema "rumor"; see `rumor.collector.store.dialects.dialect.Dialect`."""

    reads_counts = False

    def __init__(self, url: str) -> None:
        # One connection for ingest, one for everything else, each used by a thread at a time.
        self._ingest, self._other, self._url = _Connection(url), _Connection(url), url

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Return the database that a URL names, as libpq reads it."""
        return cls(url)

    def prepare(self) -> None:
        """Bring the schema to the newest version, one process at a time."""
        with self._other.transaction() as run:
            _migrate(run)

    def check_tables(self, run: Run) -> None:
        """Do nothing: the server answers for its tables."""

    def not_opened(self, problem: StoreUnavailableError | OSError) -> InputError:
        """Return the sentence, without the URL, which may hold a password."""
        if isinstance(problem, StoreDamagedError):
            return InputError(f"the database: {problem}")
        return InputError(f"a store must be reachable; the database is not ({problem})")

    @contextmanager
    def writing(self, *, alone: bool) -> Iterator[Run]:
        """Yield a transaction under the lock that writers share, or hold alone."""
        if alone:
            with self._other.transaction() as run:
                run("SELECT pg_advisory_xact_lock(?)", _LOCK)
                yield run
        else:
            with self._ingest.transaction() as run:
                run("SELECT pg_advisory_xact_lock_shared(?)", _LOCK)
                yield run

    def reading(self) -> AbstractContextManager[Run]:
        """Return a transaction without the lock."""
        return self._other.transaction()

    @contextmanager
    def snapshot(self) -> Iterator[Run]:
        """Yield a transaction that repeats what it read, on a connection of its own."""
        connection = _Connection(self._url)
        try:
            with connection.transaction() as run:
                run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                run("SELECT number FROM mark")  # a transaction sees the moment of its first look
                yield run
        finally:
            connection.close()

    def write_new(self, batches: Sequence[ReportBatch], day: int) -> list[Outcome]:
        """Write new batches in two trips to the server: all statements, then the commit."""
        fresh = rows_by_question(batches)
        with self._ingest.pipeline() as send:
            send("SELECT pg_advisory_xact_lock_shared(?)", _LOCK)
            known = send(QUESTIONS)
            inserted = [
                send(_INSERT, _insertion(question, day, sorted_by_id(rows)))
                for question, rows in fresh.items()
            ]
            usual = fresh.keys() <= {number for number, is_open in known() if is_open} and all(
                answer() == [(len(rows),)]
                for answer, rows in zip(inserted, fresh.values(), strict=True)
            )
            if not usual:
                raise Repeated  # or closed: the careful way finds out which
        return [BatchAccepted(len(batch), 0) for batch in batches]

    def insert(self, run: Run, question: int, day: int, rows: Reports) -> int:
        """Insert rows, split by the server."""
        ((inserted,),) = run(_INSERT, _insertion(question, day, rows))
        return int(inserted)

    def insert_spent(self, run: Run, question: int, ids: Reports) -> None:
        """Insert ids alone."""
        if len(ids):
            run(_INSERT_SPENT, {**split_rows(ids), "question": question})

    def known(self, run: Run, ids: Reports) -> Known:
        """Return those of `ids` that are in use."""
        wanted = [id.tobytes() for id in ids]
        rows = run("SELECT id, question, report FROM report WHERE id = ANY(?)", wanted)
        return {bytes(id): (question, _bytes(report)) for id, question, report in rows}

    def fresh(self, run: Run, above: int, upto: int) -> dict[tuple[int, int], bytes]:
        """Return the reports with these numbers, joined by the server."""
        rows = run(
            "SELECT question, day,"
            " string_agg(id || report || COALESCE(checksum, ''::bytea), ''::bytea) FROM report"
            " WHERE number > ? AND number <= ? AND report IS NOT NULL GROUP BY question, day",
            above,
            upto,
        )
        return {(question, day): bytes(reports) for question, day, reports in rows}

    def tidy_tokens(self, thorough: bool) -> None:
        """Vacuum the tables, since a deleted row names its transaction until then."""
        with suppress(StoreUnavailableError):
            # Rewriting the table also removes bytes that a plain vacuum only frees.
            self._other.outside_transaction(
                "VACUUM FULL admission" if thorough else "VACUUM admission"
            )

    def tidy(self) -> bool:
        """Let the space of deleted reports be overwritten."""
        with suppress(StoreUnavailableError):
            self._other.outside_transaction("VACUUM report")
        return True

    def close(self) -> None:
        """Close the connections."""
        self._ingest.close()
        self._other.close()


def _migrate(run: Run) -> None:
    run("SELECT pg_advisory_xact_lock(?)", _LOCK)
    run("CREATE SCHEMA IF NOT EXISTS rumor")
    run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
    ((version,),) = run("SELECT COALESCE(MAX(version), 0) FROM schema_version")
    if version > len(_MIGRATIONS):
        raise InputError(
            f"a store's schema must be at most version {len(_MIGRATIONS)}, which this Rumor "
            f"knows; the database has {version}"
        )
    for number, step in enumerate(_MIGRATIONS[version:], start=version + 1):
        for statement in step.split(";")[:-1]:
            run(statement)
        if number == _CHECKSUMS:
            _add_checksums(run)
        run("INSERT INTO schema_version VALUES (?)", number)


class _Connection(OneConnection["psycopg.Connection[Row]"]):
    """A connection to a PostgreSQL server."""

    trouble = psycopg.Error

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def _connected(self) -> psycopg.Connection[Row]:
        if self.open is None or self.open.closed:
            self.open = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
            # Acknowledged means durable, whatever the server's default is.
            self.open.execute("SET synchronous_commit = on")
            self.open.execute("SET search_path = rumor")
        return self.open

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction(), connection.cursor(binary=True) as cursor:

                    def run(statement: str, *parameters: Any) -> list[Row]:
                        named = len(parameters) == 1 and isinstance(parameters[0], dict)
                        # Statements are constants of this package, never made of input.
                        query = statement.replace("?", "%s").encode()
                        cursor.execute(query, parameters[0] if named else parameters or None)
                        return [] if cursor.description is None else cursor.fetchall()

                    yield run
            except psycopg.Error as problem:
                self._drop()
                raise StoreUnavailableError(" ".join(str(problem).split())) from None

    @contextmanager
    def pipeline(self) -> Iterator[Callable[..., Callable[[], list[Row]]]]:
        """Yield a transaction whose statements are sent at once; each gives its rows when asked."""
        with self._lock:
            try:
                connection = self._connected()
                with connection.pipeline(), connection.transaction():

                    def send(statement: str, *parameters: Any) -> Callable[[], list[Row]]:
                        cursor = connection.cursor(binary=True)
                        named = len(parameters) == 1 and isinstance(parameters[0], dict)
                        query = statement.replace("?", "%s").encode()
                        cursor.execute(query, parameters[0] if named else parameters or None)
                        return cursor.fetchall

                    yield send
            except psycopg.Error as problem:
                self._drop()
                raise StoreUnavailableError(" ".join(str(problem).split())) from None

    def outside_transaction(self, statement: LiteralString) -> None:
        with self._lock:
            try:
                self._connected().execute(statement)
            except psycopg.Error as problem:
                self._drop()
                raise StoreUnavailableError(" ".join(str(problem).split())) from None


def _insertion(question: int, day: int, rows: Reports) -> dict[str, object]:
    width = rows.shape[1] - ID_BYTES
    whole = seal_rows(question, day, rows)
    return {**split_rows(whole), "question": question, "day": day, "width": width}


def _add_checksums(run: Run) -> None:
    """Add checksums to rows stored before checksums existed, some at a time."""
    for start in range(0, newest_number(run), _AT_ONCE):
        rows = run(
            "SELECT number, question, day, id || report FROM report"
            " WHERE number > ? AND number <= ? AND report IS NOT NULL",
            *(start, start + _AT_ONCE),
        )
        run(
            "UPDATE report SET checksum = made.checksum"
            " FROM unnest(?::bigint[], ?::bytea[]) AS made (number, checksum)"
            " WHERE report.number = made.number",
            [number for number, *_ in rows],
            [checksum(question, day, data=data) for _, question, day, data in rows],
        )
    for question, day, reports, tally in run("SELECT question, day, reports, tally FROM summary"):
        run(
            "UPDATE summary SET checksum = ? WHERE (question, day) = (?, ?)",
            *(checksum(question, day, reports, data=tally), question, day),
        )
    ((mark,),) = run("SELECT number FROM mark")
    run("UPDATE mark SET checksum = ?", checksum(mark))


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
