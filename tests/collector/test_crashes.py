"""Kill -9, a full disk, a database that goes away: nothing lost, nothing twice, no hand needed.

A short version; `make soak` runs the long one.
"""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import StoreUnavailableError, open_store
from tests.collector.chaos import kill_again_and_again
from tests.collector.postgres import Postgres
from tests.collector.tools import batch, call, collection, rows, send, stored


@pytest.mark.one_store
def test_killed_under_load_nothing_is_lost_or_counted_twice(tmp_path: Path, store_url: str) -> None:
    assert kill_again_and_again(tmp_path, store_url, kills=5) > 0
    if store_url.startswith("sqlite"):
        with sqlite3.connect(tmp_path / "store.db") as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()


def test_a_full_disk_refuses_and_recovers(tmp_path: Path) -> None:
    # In a process of its own: the bound on file sizes would hit everybody else too.
    script = """
        import resource, signal, sys
        sys.path.insert(0, sys.argv[2])
        from rumor.collector.http.server import background
        from rumor.collector.service import Service
        from rumor.collector.store.base import open_store
        from tests.collector.tools import call, collection, rows, send, stored

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        store = open_store(f"sqlite:///{sys.argv[1]}/store.db")
        entry = store.register(collection())
        taken, refused = 0, 0
        with background(Service(store, "series")) as url:
            def sent(n):
                records = rows(entry, "many", [1] * n).tobytes()
                return send(url, entry.collection, "many", records).status
            assert sent(1000) == 200
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
            statuses = [sent(1000) for _ in range(30)]
            taken = statuses.count(200)
            assert set(statuses) == {200, 503}, statuses
            assert statuses[-1] == 503
            assert call(url, "/healthz").status == 503
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert sent(1000) == 200
            import time; time.sleep(1.1)
            assert call(url, "/healthz").status == 200
        again = open_store(f"sqlite:///{sys.argv[1]}/store.db")
        assert len(stored(again, again.collections()[0], "many")) == 1000 * (taken + 2)
        again.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path), str(Path.cwd())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "store.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_disk_that_cannot_be_written_refuses_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    connect = sqlite3.connect

    def read_only(path: str, **options: object) -> sqlite3.Connection:
        return connect(path.replace("mode=rw", "mode=ro"), **options)  # type: ignore[call-overload, no-any-return]

    with background(Service(store, "series", summarize_seconds=0.05)) as url:
        records = rows(entry, "colour", [0]).tobytes()
        monkeypatch.setattr(sqlite3, "connect", read_only)
        store.close()  # the next use connects anew, and finds it read-only
        answer = send(url, entry.collection, "colour", records)
        assert (answer.status, answer.problem) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert call(url, "/v1/collection").status == 200  # what is known is still served
        monkeypatch.undo()
        # A connection of the bad time may fail once more; a client tries again.
        answers = [send(url, entry.collection, "colour", records) for _ in range(3)]
        assert answers[-1].status == 200
        assert sum(a.json()["accepted"] for a in answers if a.status == 200) == 1


@pytest.mark.slow
def test_a_database_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    server = Postgres(Path(os.environ.get("TMPDIR", "/tmp")) / f"rumor-postgres-own-{os.getpid()}")
    try:
        store = open_store(server.url)
        entry = store.register(collection())
        with background(Service(store, "series", summarize_seconds=0.05)) as url:
            first, second = (rows(entry, "colour", [i]).tobytes() for i in range(2))
            assert send(url, entry.collection, "colour", first).status == 200
            server.kill()
            answer = send(url, entry.collection, "colour", second)
            assert (answer.status, answer.problem) == (503, "unavailable")
            assert call(url, "/v1/collection").status == 200
            assert call(url, "/healthz").status == 503
            with pytest.raises(StoreUnavailableError):
                store.write([batch(entry, "colour", [0])])
            server.start()
            assert send(url, entry.collection, "colour", second).json()["accepted"] == 1
            assert send(url, entry.collection, "colour", first).json()["duplicates"] == 1
            assert len(stored(store, entry, "colour")) == 2
    finally:
        server.release()


def test_a_database_that_goes_away_as_a_collector_says_hello_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(digest: str) -> None:
        raise StoreUnavailableError("the database is gone")

    def serve(service: Service, listener: object, ready: Callable[[str], None]) -> None:
        monkeypatch.setattr(service.store, "find", gone)
        ready("http://127.0.0.1:1")

    monkeypatch.setattr("rumor.collector.http.server.serve", serve)
    collection().save(tmp_path / "contract.json")
    store = f"sqlite:///{tmp_path / 'store.db'}"
    assert main(["serve", str(tmp_path / "contract.json"), "--store", store, "--port", "0"]) == 0
