"""Two collectors at one database, their steps put in the order that would do harm."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rumor.collector.store import admission
from rumor.collector.store.base import (
    BatchAccepted,
    IdConflict,
    Outcome,
    ReportBatch,
    StoredCollection,
    TokenRefused,
)
from rumor.collector.store.database import Database
from rumor.collector.store.dialects.postgres import Postgres as PostgresDialect
from rumor.collector.store.dialects.sqlite import Sqlite
from rumor.collector.store.sql import SqlStore
from rumor.contract.admission import admission_keys, new_invitation
from rumor.contract.collection import Collection
from tests.collector.postgres import Postgres
from tests.collector.tools import batch, collection, stored

INVITED = Collection.resolve(
    {
        "name": "Members only",
        "series": "series",
        "contact": "nobody@example.org",
        "admission": "invited",
        "questions": [{"id": "colour", "kind": "choice", "domain": 3, "epsilon": 1.0}],
    }
)


@pytest.fixture
def two(postgres: Postgres) -> Iterator[tuple[SqlStore, SqlStore]]:
    url = postgres.clean_database()
    stores = SqlStore(PostgresDialect(url)), SqlStore(PostgresDialect(url))
    yield stores
    for store in stores:
        store.close()


def invited(store: SqlStore) -> tuple[StoredCollection, Callable[[int], ReportBatch]]:
    """Batches of one report each, all with the same token."""
    entry = store.register(INVITED)
    (key,) = admission_keys(INVITED, new_invitation())
    store.admit("series", [key])
    return entry, lambda value: replace(batch(entry, "colour", [value]), admission=key)


def test_a_token_that_another_spends_meanwhile_admits_nobody_else(
    two: tuple[SqlStore, SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = two
    entry, one = invited(ours)
    found: list[list[Outcome]] = []
    spend = admission.spend

    def slowly(database: Database, run: Any, keys: set[bytes]) -> None:
        if database is ours.database and not found:
            # The token was seen to be there; another uses it before we do.
            found.append(theirs.write([one(0)]))
        spend(database, run, keys)

    monkeypatch.setattr(admission, "spend", slowly)
    assert ours.write([one(1)]) == [TokenRefused()]
    assert found == [[BatchAccepted(1, 0)]]
    assert len(stored(ours, entry, "colour")) == 1
    assert ours.admissions("series") == 0


@pytest.mark.parametrize("same", [True, False])
def test_an_id_that_another_uses_meanwhile_is_settled_anew(
    two: tuple[SqlStore, SqlStore], monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    ours, theirs = two
    entry = ours.register(collection())
    known = batch(entry, "colour", [0])
    ours.write([known])
    mine = batch(entry, "colour", [0])
    other = mine.rows.copy()
    other[0, 16] = mine.rows[0, 16] if same else (mine.rows[0, 16] + 1) % 3
    found: list[list[Outcome]] = []
    admitted = admission.admitted

    def slowly(run: Any, batches: list[ReportBatch]) -> set[bytes]:
        if not found:  # which ids are in use was looked up; another uses one of the rest
            found.append(theirs.write([ReportBatch(mine.question, other)]))
        return admitted(run, batches)

    monkeypatch.setattr(admission, "admitted", slowly)
    outcomes = ours.write([known, mine])
    assert found == [[BatchAccepted(1, 0)]]
    assert outcomes == [BatchAccepted(0, 1), BatchAccepted(0, 1) if same else IdConflict((0,))]
    assert stored(ours, entry, "colour")[bytes(other[0, :16])] == bytes(other[0, 16:])


def connection(store: SqlStore) -> Any:
    """The one that a store of PostgreSQL's takes reports on."""
    assert isinstance(store.database.dialect, PostgresDialect)
    return store.database.dialect._ingest


def held(store: SqlStore, way: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Let what is written next stand still between its last statement and its commit."""
    there, go = threading.Event(), threading.Event()
    inner = getattr(connection(store), way)

    @contextmanager
    def slowly() -> Iterator[Any]:
        with inner() as run:
            yield run
            there.set()
            assert go.wait(60)

    monkeypatch.setattr(connection(store), way, slowly)
    return there, go


def waits(url: str, thread: threading.Thread) -> None:
    """Until a thread is done, or waits for a lock of the database's."""
    question = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    deadline = time.monotonic() + 60
    with psycopg.connect(url, autocommit=True) as connection:
        while thread.is_alive() and connection.execute(question).fetchone() == (0,):
            assert time.monotonic() < deadline
            time.sleep(0.005)


@pytest.mark.parametrize("way", ["pipeline", "transaction"])
def test_a_report_between_its_number_and_its_commit_is_counted(
    two: tuple[SqlStore, SqlStore], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """A later number that is committed earlier must not move the mark past it."""
    ours, theirs = two
    entry = ours.register(collection())
    slow, quick = batch(entry, "colour", [0, 1]), batch(entry, "colour", [2])
    seen = batch(entry, "colour", [0])
    ours.write([seen])
    there, go = held(ours, way, monkeypatch)
    # What is known already is written the careful way.
    batches = [slow] if way == "pipeline" else [slow, seen]
    writing = threading.Thread(target=ours.write, args=(batches,))
    writing.start()
    assert there.wait(60)
    assert theirs.write([quick]) == [BatchAccepted(1, 0)]
    counting = threading.Thread(target=theirs.summarize)
    counting.start()
    waits(connection(theirs)._url, counting)
    go.set()
    writing.join()
    counting.join()
    theirs.summarize()
    assert theirs.summary(entry, "colour").reports == len(stored(theirs, entry, "colour")) == 4


def test_nothing_arrives_in_a_collection_once_it_is_closed(
    two: tuple[SqlStore, SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who closes waits for what is being written, and deletes the ids of deleted ones after it."""
    ours, theirs = two
    entry = ours.register(collection())
    there, go = held(ours, "pipeline", monkeypatch)
    writing = threading.Thread(target=ours.write, args=([batch(entry, "colour", [0])],))
    writing.start()
    assert there.wait(60)
    closing = threading.Thread(target=theirs.close_collection, args=(entry.collection.digest,))
    closing.start()
    waits(connection(theirs)._url, closing)
    meanwhile = [each.open for each in ours.collections()]
    go.set()
    writing.join()
    closing.join()
    assert meanwhile == [True]
    assert [each.open for each in ours.collections()] == [False]
    assert len(stored(ours, entry, "colour")) == 1


def test_whoever_writes_a_file_is_alone_from_the_first_look(tmp_path: Path) -> None:
    """In SQLite nobody can spend a token, or use an id, that another has looked up."""
    path = tmp_path / "store.db"
    store = SqlStore(Sqlite(path))
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with store.database.writing() as run:
        run("SELECT COUNT(*) FROM admission")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
    other.close()
    store.close()


def test_a_commit_is_durable_whatever_the_server_would_do(postgres: Postgres) -> None:
    """A database that relaxes it for everybody does not relax it for reports."""
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
    with psycopg.connect(url) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
    store = SqlStore(PostgresDialect(url))
    database = store.database
    for writing in (database.writing(), database.writing(alone=True), database.reading()):
        with writing as run:
            assert run("SHOW synchronous_commit") == [("on",)]
    store.close()
