"""What servers, stores and threads are set to, asked of the thing itself; and who works alone.

Settings that nobody sees in an answer: bounds that uvicorn keeps for us, what SQLite is told, how
long others wait, which transactions hold the lock alone, and in which order they touch rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
import math
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp

from rumor.collector import chart_rendering, periodic, service
from rumor.collector.group_commit import Writer
from rumor.collector.http import server
from rumor.collector.http.application import _http_problem
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import Problem
from rumor.collector.issuing import IssuerService
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import StoreHealth
from rumor.collector.relay.store import RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import (
    BlindedToken,
    CollectionUnknown,
    ReportBatch,
    StoreDamagedError,
    StoreUnavailableError,
    open_store,
)
from rumor.collector.store.checksums import damage_error
from rumor.collector.store.dialects import postgres, sqlite
from rumor.collector.store.sql import SqlStore
from rumor.core.errors import InputError
from tests.collector.tools import collection, rows
from tests.issuers import KEYS, blind_collection
from tests.recorded import Notebook, Spy
from tests.relay.tools import relayed


class Listening:
    """A service with limits that are all unequal."""

    limits = Limits(connections=70, unfinished=90, seconds_idle=17.0)

    def app(self) -> ASGIApp:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            raise AssertionError("nobody asks")

        return answer


# --- Servers -------------------------------------------------------------------------------------


def test_a_server_is_set_up_with_its_limits_and_says_nothing_of_itself() -> None:
    listener = server.listen("127.0.0.1", 0)
    with listener:
        config = server.Server(Listening(), listener, print).config
    protocol: Any = config.http
    assert protocol.func is server.BoundedProtocol
    room = protocol.keywords["room"]
    assert (room._places, room._most_of_one) == (70, 70)  # no address has more than all places
    assert protocol.keywords["limits"] is Listening.limits
    told = {name: getattr(config, name) for name in SERVER}
    assert told == SERVER


SERVER = {
    "ws": "none", "lifespan": "on", "log_config": None, "access_log": False,
    "server_header": False, "proxy_headers": False, "limit_concurrency": 140,
    "timeout_keep_alive": 17.0, "timeout_graceful_shutdown": 10,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "url"),
    [
        (("127.0.0.1", 80), "http://127.0.0.1:80"),
        (("::1", 8080, 0, 0), "http://[::1]:8080"),
    ],
)
@pytest.mark.parametrize("started", [True, False])
def test_a_server_says_where_it_listens_once_it_does(
    monkeypatch: pytest.MonkeyPatch, name: Any, url: str, started: bool
) -> None:
    class Listener:
        def getsockname(self) -> Any:
            return name

    began: list[object] = []

    async def startup(self: Any, sockets: object = None) -> None:
        began.append(sockets)
        self.started = started

    monkeypatch.setattr("uvicorn.Server.startup", startup)
    urls: list[str] = []
    listener: Any = Listener()
    one = server.Server(Listening(), listener, urls.append)
    asyncio.run(one.startup([listener]))
    assert began == [[listener]]
    assert urls == ([url] if started else [])


def test_a_listener_takes_many_who_wait_to_be_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(socket, "create_server", lambda at, **named: made.append((at, named)))
    server.listen("127.0.0.1", 81)
    server.listen("::1", 82)
    assert made == [
        (("127.0.0.1", 81), {"family": socket.AF_INET, "backlog": 1024}),
        (("::1", 82), {"family": socket.AF_INET6, "backlog": 1024}),
    ]


def test_a_free_port_lies_below_those_that_systems_hand_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn, tried = [0, 11_999], list[tuple[str, int]]()

    def below(most: int) -> int:
        assert most == 12_000
        return drawn.pop()

    @contextlib.contextmanager
    def listen(host: str, port: int) -> Iterator[None]:
        tried.append((host, port))
        if len(tried) == 1:
            raise InputError("taken")
        yield

    monkeypatch.setattr(secrets, "randbelow", below)
    monkeypatch.setattr(server, "listen", listen)
    assert server.free_port() == 20_000
    assert tried == [("127.0.0.1", 31_999), ("127.0.0.1", 20_000)]


def test_serving_logs_warnings_allows_files_and_ends_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[tuple[str, Any]] = []
    monkeypatch.setattr(logging, "basicConfig", lambda **named: said.append(("log", named)))
    monkeypatch.setattr(signal, "signal", lambda *given: said.append(("signal", given)))
    monkeypatch.setattr(server, "_allow_files", lambda count: said.append(("files", count)))
    monkeypatch.setattr(server, "_run", lambda *given: said.append(("run", given)))
    with server.listen("127.0.0.1", 0) as listener:
        server.serve(Listening(), listener, print)
        (log, (_, (number, handler)), files, (_, (made, listened))) = (value for value in said)
        assert isinstance(made, server.Server)
        assert listened is listener
    form = "%(name)s: %(message)s"
    assert log == ("log", {"stream": sys.stderr, "level": logging.WARNING, "format": form})
    assert number == signal.SIGTERM
    assert handler(number, None) is None
    assert files == ("files", 2 * 70 + 200)
    assert server._LOG.level == logging.ERROR


def test_threads_of_ours_end_with_the_process(tmp_path: Path) -> None:
    """Each is a daemon: a process whose service was never stopped ends all the same."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(collection())
    before = set(threading.enumerate())
    found: dict[str, bool] = {}
    start = threading.Thread.start

    def started(self: threading.Thread) -> None:
        if self.name.startswith("rumor-"):
            found[self.name] = self.daemon
        start(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", started)
        with server.background(Service(store, "series")):
            pass
    names = {"rumor-server", "rumor-writer", "rumor-keeper", "rumor-loader"}
    assert found == dict.fromkeys(names, True)
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert left <= {"rumor-loader"}  # all others have ended, and their work is done


def test_a_picture_is_drawn_in_a_process_of_its_own_that_may_take_two_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = []

    def run(command: Any, **named: Any) -> Any:
        calls.append((command, named))
        return subprocess.CompletedProcess(command, 0, stdout=b"drawn")

    monkeypatch.setattr(subprocess, "run", run)
    assert chart_rendering.picture("svg", {"mark": "bar"}) == b"drawn"
    assert chart_rendering.bundle.__wrapped__() == b"drawn"
    alone = [sys.executable, "-m", "rumor.collector.chart_rendering"]
    (first, named), (second, bare) = calls
    assert (first, second) == ([*alone, "svg"], [*alone, "bundle"])
    assert json.loads(named.pop("input"))["mark"] == "bar"
    assert bare.pop("input") == b""
    assert named == bare == {"capture_output": True, "check": True, "timeout": 120}


# --- Clocks --------------------------------------------------------------------------------------


class Ticking:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    made = Ticking()
    for module in (service, periodic):
        monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr("rumor.collector.metrics.time", made)
    return made


class Ill:
    """A store that may not take writes, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked, self.is_well = 0, True

    def ping(self) -> None:
        self.asked += 1
        if not self.is_well:
            raise StoreUnavailableError("full")


def test_a_store_is_asked_whether_it_is_well_once_a_second(ticking: Ticking) -> None:
    store = Ill()
    health = StoreHealth(store)

    def asked(now: float) -> tuple[bool, int]:
        ticking.now = now
        return asyncio.run(health.takes_writes()), store.asked

    assert asked(1000.0) == (True, 1)
    store.is_well = False
    assert asked(1000.5) == (True, 1)
    assert asked(1001.0) == (True, 1)
    assert asked(1001.25) == (False, 2)
    store.is_well = True
    assert asked(1002.25) == (False, 2)
    assert asked(1002.5) == (True, 3)


def test_a_service_looks_again_after_a_second_and_is_ill_for_five(
    tmp_path: Path, ticking: Ticking
) -> None:
    real = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = real.register(collection())
    book = Notebook()
    spied: Any = Spy(real, "store", book)
    one = Service(spied, "series")

    def looks(now: float, look: Callable[[], Any]) -> int:
        ticking.now = now
        before = len(book.calls)
        with contextlib.suppress(Problem):
            asyncio.run(look())
        return [name for name, _ in book.calls[before:]].count("store.collections")

    assert looks(1000.0, one.current) == 1
    assert looks(1000.5, one.current) == 0
    assert looks(1001.0, one.current) == 0
    assert looks(1001.25, one.current) == 1
    assert looks(1002.25, lambda: one.entry(entry.collection.digest)) == 0
    assert looks(1002.0, lambda: one.entry("0" * 64)) == 0
    assert looks(1002.5, lambda: one.entry("0" * 64)) == 1
    assert looks(1002.75, one.asked) == 0
    assert looks(1003.75, one.reached) == 1
    assert looks(1004.75, one.asked) == 0
    assert looks(1005.0, one.asked) == 1
    one._trouble = StoreUnavailableError("away")  # then at once
    assert looks(1005.0, one.current) == 1
    assert vars(one)["_trouble"] is None

    def well(now: float) -> bool:
        ticking.now = now
        return asyncio.run(one.is_healthy())

    assert well(1010.0)
    one.metrics.commit_failed()
    assert [well(now) for now in (1010.0, 1013.0, 1015.0, 1015.25)] == [False, False, False, True]
    one.metrics.commit_failed()
    one.metrics.committed(0.1)
    assert well(1015.5)
    assert one.metrics.failed_at == -math.inf
    real.close()


def test_what_takes_long_is_done_once_at_a_time(tmp_path: Path) -> None:
    """Estimates wait for each other, and so do overviews, and withdrawals."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    store.write([ReportBatch(entry.questions["colour"], rows(entry, "colour", [0, 1, 2]))])
    one = Service(store, "series")
    question = entry.collection.question("colour")
    ids = rows(entry, "colour", [0])[:, :16]
    at_once, most = [0], [0]
    guard = threading.Lock()

    def slowly(*given: object, **named: object) -> Any:
        with guard:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        time.sleep(0.02)
        with guard:
            at_once[0] -= 1
        return 0

    query = service.EstimateQuery("colour")
    for name, work in {
        "summarize": lambda: one.estimate(query),
        "snapshot": lambda: one.overview(None),
        "newest_reports": lambda: one.integrity("colour", None),
        "withdraw": lambda: one.withdraw(entry, question, ids),
    }.items():
        most[0] = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, name, slowly)

            async def thrice(work: Callable[[], Any] = work) -> None:
                await asyncio.gather(*(work() for _ in range(3)), return_exceptions=True)

            asyncio.run(thrice())
        assert most[0] == 1, name
    store.close()


def test_the_newest_reports_that_are_tested_are_so_many(tmp_path: Path) -> None:
    real = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = real.register(collection())
    real.write([ReportBatch(entry.questions["many"], rows(entry, "many", [0, 1, 2]))])
    book = Notebook()
    spied: Any = Spy(real, "store", book)
    one = Service(spied, "series")
    asyncio.run(one.integrity("many", None))
    (given,) = [given for name, given in book.calls if name == "store.newest_reports"]
    assert given["most"] == 20_000
    real.close()


# --- Stores --------------------------------------------------------------------------------------

PRAGMAS = {
    "journal_mode": "wal",
    "cell_size_check": 1,
    "synchronous": 2,
    "secure_delete": 1,
    "foreign_keys": 1,
    "cache_size": -65536,
    "wal_autocheckpoint": 4000,
    "busy_timeout": 10_000,
}


def test_every_connection_to_a_file_is_set_up_alike(tmp_path: Path) -> None:
    made: list[Any] = [
        open_store(f"sqlite:///{tmp_path / 'store.db'}"),
        RelayStore(f"sqlite:///{tmp_path / 'relay.db'}"),
    ]
    for store in made:
        database = store.database if isinstance(store, SqlStore) else store._database
        dialect: Any = database.dialect
        for open_one in (database.reading, database.writing):
            with open_one() as run:
                found = {name: run(f"PRAGMA {name}")[0][0] for name in PRAGMAS}
            assert found == PRAGMAS
        statements: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            real = dialect._writer.outside_transaction
            patch.setattr(
                dialect._writer,
                "outside_transaction",
                lambda said, real=real, to=statements: (to.append(said), real(said))[1],
            )
            assert dialect.tidy()
            dialect.rewrite()
        # Readers are waited for half a second; afterwards writers wait as long as before.
        tidying = [
            "PRAGMA busy_timeout = 500",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "PRAGMA busy_timeout = 10000",
        ]
        assert statements == [*tidying, "VACUUM", *tidying]
        with database.writing() as run:
            assert run("PRAGMA busy_timeout") == [(10_000,)]
        store.close()
        assert dialect._writer.open is None
        assert dialect._reader.open is None


def test_a_database_is_waited_for_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def connect(url: str, **named: Any) -> Any:
        asked.append({"url": url, **named})
        raise psycopg.OperationalError("nobody\n there")

    monkeypatch.setattr(psycopg, "connect", connect)
    dialect = postgres.Postgres("postgresql://nobody@nowhere/none")
    with pytest.raises(StoreUnavailableError, match=r"^nobody there$"), dialect.reading():
        pass
    assert asked == [
        {"url": "postgresql://nobody@nowhere/none", "autocommit": True, "connect_timeout": 5}
    ]


@pytest.mark.parametrize(
    ("version", "refused"), [((2, 99, 9), True), ((3, 34, 9), True), ((3, 35, 0), False)]
)
def test_an_old_sqlite_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...], refused: bool
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    caught = pytest.raises(InputError, match=r"needs SQLite 3\.35 or newer")
    with caught if refused else contextlib.nullcontext():
        sqlite.Sqlite(tmp_path / "store.db")


@pytest.mark.parametrize("failing", ["prepare", "check_tables"])
@pytest.mark.parametrize("problem", [StoreUnavailableError("away"), RuntimeError("a mistake")])
@pytest.mark.parametrize("kind", [open_store, RelayStore])
def test_a_store_that_does_not_open_keeps_no_connection(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[str], Any],
    failing: str,
    problem: Exception,
) -> None:
    closed: list[sqlite.Sqlite] = []
    close = sqlite.Sqlite.close

    def fail(*_: object) -> None:
        raise problem

    def closing(self: sqlite.Sqlite) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(sqlite.Sqlite, failing, fail)
    monkeypatch.setattr(sqlite.Sqlite, "close", closing)
    expected = RuntimeError if isinstance(problem, RuntimeError) else InputError
    with pytest.raises(expected):
        kind(f"sqlite:///{tmp_path / 'store.db'}")
    assert len(closed) == 1
    assert closed[0]._writer.open is closed[0]._reader.open is None


class Watch:
    """Notes each transaction that writes: whether it is alone, and its statements."""

    def __init__(self, store: SqlStore) -> None:
        self.alone: list[bool] = []
        self.statements: list[list[tuple[str, tuple[Any, ...]]]] = []
        self._dialect: Any = store.database.dialect
        self._writing = self._dialect.writing

    @contextlib.contextmanager
    def writing(self, *, alone: bool) -> Iterator[Any]:
        self.alone.append(alone)
        self.statements.append([])
        with self._writing(alone=alone) as real:

            def run(statement: str, *given: Any) -> Any:
                self.statements[-1].append((statement, given))
                return real(statement, *given)

            yield run


def watched(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch(store)
    monkeypatch.setattr(watch._dialect, "writing", watch.writing)
    return watch


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SqlStore]:
    made = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    assert isinstance(made, SqlStore)
    yield made
    made.close()


def test_whoever_counts_closes_or_deletes_is_alone(
    file: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No report may be between taking its number and its commit; all others share the store."""
    watch = watched(file, monkeypatch)
    today = datetime.datetime.now(datetime.UTC).date()
    contract, other = collection(retention=1), relayed(series="other")
    entries: list[Any] = []
    sent: list[Any] = []

    def write(_: object = None) -> None:
        sent[:] = [rows(entries[0], "colour", [0, 1, 2])]
        file.write([ReportBatch(entries[0].questions["colour"], sent[0])])

    early = np.arange(48, dtype=np.uint8).reshape(3, 16)
    key, person = b"k" * 32, b"p" * 32
    token = BlindedToken(key, 0, b"m")
    steps: list[tuple[str, Callable[[], Any], list[bool]]] = [
        ("register", lambda: entries.append(file.register(contract)), [True]),
        ("register", lambda: entries.append(file.register(other)), [True]),
        ("register again", lambda: file.register(contract, users=5), [True]),
        ("ping", file.ping, [False]),
        ("write", write, [False]),
        ("write again", lambda: file.write([ReportBatch(1, sent[0])]), [False, False]),
        ("summarize", file.summarize, [True, False]),
        ("nothing to count", file.summarize, [True]),
        ("withdraw", lambda: file.withdraw(entries[0], "colour", sent[0][:1, :16]), [True]),
        ("early", lambda: file.withdraw(entries[1], "colour", early), [False]),
        ("write", write, [False]),
        # Counting, the deletion of the days, and early withdrawals that are over.
        ("expire", lambda: file.expire(today + datetime.timedelta(days=400)),
         [True, False, True, True]),
        ("admit", lambda: file.admit("series", [key]), [False]),
        ("invite", lambda: file.invite("series", [person]), [False]),
        ("issue", lambda: file.issue("series", person, [token]), [False]),
        ("repair", file.repair, [True]),
        ("close", lambda: file.close_collection(contract.digest), [True]),
        ("delete", lambda: file.delete_collection(contract.digest), [True]),
        ("restore", lambda: file.restore(contract, {}, open=True), [True, True]),
    ]  # fmt: skip
    for name, step, alone in steps:
        watch.alone.clear()
        step()
        assert watch.alone == alone, name


def keys_of(given: Sequence[Any]) -> list[bytes]:
    """The keys among the parameters of a statement."""
    return [one for one in given if isinstance(one, bytes)][:1]


def test_rows_are_touched_in_the_order_of_their_keys(
    file: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes the same rows at once waits for another, and never in a circle."""
    watch = watched(file, monkeypatch)
    entry, late = file.register(collection()), file.register(relayed(series="other"))
    drawn = np.random.default_rng(3)
    names = [bytes(row) for row in drawn.integers(0, 256, (40, 32), dtype=np.uint8)]
    assert names != sorted(names)
    file.admit("series", names)
    file.invite("series", names)
    tokens = [BlindedToken(name, number, name) for name in names[:9] for number in (2, 0, 1)]
    assert file.issue("series", names[0], tokens) == ()
    made = rows(entry, "colour", [0] * 40)
    number = entry.questions["colour"]
    invited = [ReportBatch(number, made[i : i + 1], names[i]) for i in range(40)]
    assert all(outcome.new == 1 for outcome in file.write(invited))  # type: ignore[union-attr]
    assert file.withdraw(entry, "colour", made[::-1, :16]) == 40
    ids = rows(late, "colour", [0] * 40)
    assert file.withdraw(late, "colour", ids[:, :16]) == 0
    file.write([ReportBatch(late.questions["colour"], ids)])
    touched: set[str] = set()
    for transaction in watch.statements:
        by_statement: dict[str, list[Any]] = {}
        for statement, given in transaction:
            if statement.startswith("INSERT INTO issued"):
                by_statement.setdefault(statement, []).append(given[:3])
            elif keys := keys_of(given):
                by_statement.setdefault(statement, []).append(keys[0])
        for statement, keys in by_statement.items():
            if len(keys) > 1:
                assert keys == sorted(keys), statement
                touched.add(statement.split(" WHERE ")[0].split(" (")[0])
    assert touched >= {
        "INSERT INTO admission",
        "INSERT INTO invited",
        "INSERT INTO issued",
        "INSERT INTO early_withdrawal",
        "SELECT 1 FROM admission",
        "DELETE FROM admission",
        "DELETE FROM early_withdrawal",
        "UPDATE report SET report = NULL, day = NULL, checksum = NULL",
    }


# --- Queues --------------------------------------------------------------------------------------


def test_a_writer_counts_what_waits_and_ends_after_it() -> None:
    wrote: list[list[bytes]] = []

    def write(items: Sequence[bytes]) -> list[int]:
        wrote.append(list(items))
        return [len(item) for item in items]

    async def life() -> list[Any]:
        writer: Writer[bytes, int] = Writer(write, Metrics(), 5)
        first, second = writer.submit(b"ab", b"c"), writer.submit(b"de")
        await writer.stop()
        assert not writer._thread.is_alive()
        return [await first, await second]

    assert asyncio.run(life()) == [[2, 1], [2]]
    assert [item for items in wrote for item in items] == [b"ab", b"c", b"de"]


# --- Stores that fail ----------------------------------------------------------------------------


class Broken:
    """A connection to a database that fails at every statement."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> Any:
            raise psycopg.OperationalError("gone\n  away")

        return fail


@pytest.mark.parametrize("way", ["transaction", "pipeline", "outside_transaction"])
def test_a_connection_to_a_database_that_broke_is_made_anew(way: str) -> None:
    held = postgres.Postgres("postgresql://nobody@nowhere/none")._other
    broken: Any = Broken()
    held.open = broken

    def used() -> None:
        if way == "outside_transaction":
            held.outside_transaction("VACUUM report")
        else:
            with getattr(held, way)():
                pass

    with pytest.raises(StoreUnavailableError, match=r"^gone away$"):
        used()
    assert broken.closed
    assert held.open is None


def test_a_database_of_a_newer_rumor_or_with_damage_is_refused() -> None:
    newest = len(postgres._MIGRATIONS)
    for version in (newest, newest + 1):
        said: list[str] = []

        def run(statement: str, *given: Any, to: list[str] = said, v: int = version) -> Any:
            to.append(statement)
            return [(v,)]

        if version == newest:
            postgres._migrate(run)
            assert not [one for one in said if one.startswith("INSERT")]
            continue
        with pytest.raises(InputError) as found:
            postgres._migrate(run)
        assert str(found.value) == (
            f"a store's schema must be at most version {newest}, which this Rumor knows; the "
            f"database has {version}"
        )
    dialect = postgres.Postgres("postgresql://me:secret@nowhere/none")
    damage = dialect.not_opened(damage_error("a page is torn"))
    assert str(damage).startswith(
        "the database: a store must be intact; in this one a page is torn"
    )
    assert "secret" not in str(damage) + str(dialect.not_opened(StoreUnavailableError("away")))


def test_a_file_that_quotes_what_is_no_text_is_damaged(file: SqlStore) -> None:
    dialect: Any = file.database.dialect
    with pytest.raises(StoreDamagedError, match="something that is no text"), dialect.reading():
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
    assert dialect._reader.open is None


def test_a_service_whose_store_is_away_says_try_again(
    file: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = file.register(collection())
    question = entry.collection.question("colour")
    ids = rows(entry, "colour", [0])

    def away(*_: object, **__: object) -> Any:
        raise StoreUnavailableError("away")

    one = Service(file, "series")
    with monkeypatch.context() as patch:
        patch.setattr(file, "collections", away)
        with pytest.raises(StoreUnavailableError):  # nothing is known that could still serve
            asyncio.run(one.current())
    asyncio.run(one.current())
    with monkeypatch.context() as patch:
        patch.setattr(file, "withdraw", away)
        with pytest.raises(Problem) as found:
            asyncio.run(one.withdraw(entry, question, ids[:, :16]))
    assert (found.value.type, found.value.headers) == ("unavailable", {"Retry-After": "1"})
    assert found.value.detail == "the store cannot be written to just now; try again"


def test_a_collection_that_is_deleted_twice_meanwhile_is_unknown(
    file: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was put back under other numbers, and is gone again when it is tried with those."""
    entry = file.register(collection())
    one = Service(file, "series")
    again: list[object] = []

    async def put_back(known: object) -> object:
        again.append(known)
        return entry

    class Gone:
        async def submit(self, *batches: object) -> list[object]:
            return [CollectionUnknown() for _ in batches]

    monkeypatch.setattr(one, "_again", put_back)
    monkeypatch.setattr(one, "_writer", Gone())
    monkeypatch.setattr(file, "withdraw", lambda *_, **__: CollectionUnknown())
    asyncio.run(one.current())
    question, made = entry.collection.question("colour"), rows(entry, "colour", [0])
    for work in (
        lambda: one.take(entry, question, made),
        lambda: one.withdraw(entry, question, made[:, :16]),
    ):
        with pytest.raises(Problem) as found:
            asyncio.run(work())
        assert found.value.type == "unknown-collection"
        assert found.value.headers == {"Retry-After": "60"}
    assert again == [entry, entry]


def test_an_issuer_whose_store_is_away_says_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store: Any = None
    one = IssuerService(store, blind_collection(), KEYS)

    def away(*_: object) -> Any:
        raise StoreUnavailableError("away")

    monkeypatch.setattr(one, "_check", lambda *_: None)
    monkeypatch.setattr(one, "_sign", away)
    with pytest.raises(Problem) as found:
        asyncio.run(one.sign(b"", []))
    assert (found.value.type, found.value.headers) == ("unavailable", {"Retry-After": "1"})


def test_what_starlette_refuses_otherwise_is_malformed() -> None:
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []})
    said = {}
    for status in (400, 404, 405, 413):
        answer = asyncio.run(_http_problem(request, HTTPException(status, "its own words")))
        document = json.loads(bytes(answer.body))
        said[status] = (answer.status_code, document["status"], document["detail"])
    assert said == {
        400: (400, 400, "its own words"),
        404: (404, 404, "the path must be one of this service; got another"),
        405: (405, 405, "the method must be one that this path has; got 'GET'"),
        413: (400, 400, "its own words"),
    }
