"""The long version: `make soak` kills, starves and fuzzes a collector for some minutes."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from rumor.collector.tokens import Tokens, add_token
from tests.collector.chaos import Collector, kill_again_and_again, prepare, senders
from tests.collector.fuzzing import fuzz
from tests.collector.postgres import Postgres
from tests.collector.tools import call, collection, rows, send, stored
from tests.soak.numbers import done as said

KILLS = int(os.environ.get("RUMOR_SOAK_KILLS", "100"))
BODIES = int(os.environ.get("RUMOR_SOAK_BODIES", "150000"))
ILLNESSES = int(os.environ.get("RUMOR_SOAK_ILLNESSES", "12"))


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    server = Postgres(Path("/tmp") / f"rumor-postgres-soak-{os.getpid()}")
    yield server
    server.release()


def _survived(what: str, kills: int, reports: int) -> None:
    said(
        f"{what} under load: {reports:,} reports, none lost, none twice",
        kills=kills,
        acknowledged=reports,
    )


def test_killed_100_times_on_sqlite(tmp_path: Path) -> None:
    survived = kill_again_and_again(tmp_path, f"sqlite:///{tmp_path / 'store.db'}", KILLS, seed=11)
    with sqlite3.connect(tmp_path / "store.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    _survived(f"{KILLS} kills of a collector on SQLite", KILLS, survived)


def test_killed_100_times_on_postgresql(tmp_path: Path, postgres: Postgres) -> None:
    survived = kill_again_and_again(tmp_path, postgres.new_database(), KILLS, seed=12)
    _survived(f"{KILLS} kills of a collector on PostgreSQL", KILLS, survived)


def test_the_database_itself_is_killed_under_load(tmp_path: Path, postgres: Postgres) -> None:
    url = postgres.new_database()
    contract, account = prepare(tmp_path, url)
    collectors = [Collector(contract, url) for _ in range(2)]
    chance = random.Random(13)
    account.url = collectors[0].url
    with senders(account):
        for turn in range(ILLNESSES):
            before = len(account.acknowledged)
            deadline = time.monotonic() + 60
            while len(account.acknowledged) <= before:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.3))
            postgres.kill()
            time.sleep(chance.uniform(0, 0.5))
            postgres.start()
            account.url = collectors[turn % 2].url  # two collectors, one database
        account.stopping = True
    for collector in collectors:
        assert collector.kill(signal.SIGTERM) == 0
    assert account.refusals.get(503, 0) > 0
    survived = account.balance(url)
    _survived(f"{ILLNESSES} kills of PostgreSQL itself", ILLNESSES, survived)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a disk of its own needs the right to mount one")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def _health(url: str, expected: int) -> None:
    deadline = time.monotonic() + 20
    while call(url, "/healthz").status != expected:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _starve(disk: Path, starve: Callable[[], None], feed: Callable[[], None]) -> None:
    """Take something away and give it back: refused meanwhile, then on as before."""
    store_url = f"sqlite:///{disk / 'store.db'}"
    store = open_store(store_url)
    entry = store.register(collection())
    expected: set[bytes] = set()

    def sent(url: str) -> int:
        some = rows(entry, "many", [1] * 200)
        status = send(url, entry.collection, "many", some.tobytes()).status
        if status == 200:
            expected.update(bytes(row[:16]) for row in some)
        return status

    with background(Service(store, "series", summarize_seconds=0.2)) as url:
        for _ in range(5):
            assert sent(url) == 200
            starve()
            statuses = [sent(url) for _ in range(20)]
            assert set(statuses) <= {200, 503}
            assert statuses[-1] == 503
            _health(url, 503)
            assert call(url, "/v1/collection").status == 200
            feed()
            deadline = time.monotonic() + 20
            while sent(url) != 200:
                assert time.monotonic() < deadline
            _health(url, 200)
    again = open_store(store_url)
    assert set(stored(again, again.collections()[0], "many")) == expected
    again.close()
    with sqlite3.connect(disk / "store.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()


def test_the_disk_is_full_again_and_again(small_disk: Path) -> None:
    ballast = small_disk / "ballast"

    def starve() -> None:
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    _starve(small_disk, starve, ballast.unlink)


def test_the_disk_is_read_only_again_and_again(small_disk: Path) -> None:
    # Remounting read-only is refused while files are open for writing; making the files
    # immutable to root as well needs the file system's help, which tmpfs does not give. So
    # the disk is swapped for an empty one: every write fails, and the file is not there.
    hidden = small_disk.with_name("hidden")
    hidden.mkdir()

    def starve() -> None:
        subprocess.run(["mount", "--bind", "-o", "ro", str(hidden), str(small_disk)], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", str(small_disk)], check=True)

    def feed() -> None:
        subprocess.run(["umount", str(small_disk)], check=True)

    _starve_hidden(small_disk, starve, feed)


def _starve_hidden(disk: Path, starve: Callable[[], None], feed: Callable[[], None]) -> None:
    """As `_starve`, for a file that is open: new connections cannot find it."""
    store = open_store(f"sqlite:///{disk / 'store.db'}")
    entry = store.register(collection())
    with background(Service(store, "series", summarize_seconds=5)) as url:
        for turn in range(5):
            records = rows(entry, "many", [1] * 50).tobytes()
            assert send(url, entry.collection, "many", records).status == 200
            starve()
            store.close()
            assert send(url, entry.collection, "many", records).status == 503
            feed()
            assert send(url, entry.collection, "many", records).json()["duplicates"] == 50
            assert len(stored(store, entry, "many")) == 50 * (turn + 1)


def test_100_000_malformed_bodies(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    process = psutil.Process()
    memory: list[int] = []
    tally = fuzz(store, entry, BODIES, 5, lambda done: memory.append(process.memory_info().rss))
    assert tally.wrong == []
    refused = sum(count for status, count in tally.statuses.items() if 400 <= status < 500)
    assert refused + tally.statuses[200] == BODIES
    settled, last = memory[len(memory) // 5], max(memory[-5:])
    # What was accepted is kept by the test itself (some dozens of bytes for each report).
    kept = 400 * len(tally.accepted)
    assert last - settled < kept + (8 << 20)
    said(
        f"{refused:,} malformed bodies of {BODIES:,}: {dict(tally.statuses)}; "
        f"memory {settled >> 20} to {last >> 20} MB",
        bodies=BODIES,
    )


def test_a_million_reports_are_estimated_in_under_a_second(tmp_path: Path) -> None:
    store: Store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    token = add_token(tmp_path / "tokens", "alice")
    crowd = np.random.default_rng(1)
    with background(Service(store, "series", tokens=Tokens(tmp_path / "tokens"))) as url:
        for _ in range(200):
            records = rows(entry, "many", crowd.integers(0, 30, 5_000)).tobytes()
            assert send(url, entry.collection, "many", records).status == 200
        headers = {"Authorization": f"Bearer {token}"}
        answer = call(url, "/v1/estimates/many", headers=headers)  # counts what is left to count
        assert json.loads(answer.body)["reports"] == 1_000_000
        start = time.perf_counter()
        answer = call(url, "/v1/estimates/many", headers=headers)
        seconds = time.perf_counter() - start
        assert json.loads(answer.body)["reports"] == 1_000_000
        assert seconds < 1
    said(f"the estimate of 1,000,000 reports took {seconds * 1000:.0f} ms")
