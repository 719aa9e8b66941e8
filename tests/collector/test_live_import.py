"""An operator works on a live store, and no acknowledged report is lost."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import rumor
from rumor.collector import service
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store import archive, summaries
from rumor.collector.store.base import (
    CollectionClosed,
    CollectionUnknown,
    ReportBatch,
    Store,
    open_store,
)
from rumor.collector.store.database import Database
from rumor.contract.deletion import report_id
from tests.collector.tools import Answer, batch, call, collection, rows, send, stored


class Poster:
    """Sends one report after the other, and keeps what was answered."""

    def __init__(self, url: str, store: Store) -> None:
        self.url, self._entry = url, store.collections()[0]
        self.answers: list[tuple[bytes, Answer]] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._stopping:
            row = rows(self._entry, "colour", [0]).tobytes()
            answer = send(self.url, self._entry.collection, "colour", row)
            self.answers.append((row[:16], answer))

    def wait_for(self, more: int) -> None:
        """Until so many more were answered."""
        wanted = len(self.answers) + more
        while len(self.answers) < wanted:
            assert self._thread.is_alive()
            time.sleep(0.005)

    def stop(self) -> None:
        self._stopping = True
        self._thread.join()

    @property
    def acknowledged(self) -> set[bytes]:
        return {id for id, answer in self.answers if answer.status == 200}


def test_importing_into_the_store_of_a_running_collector_loses_nothing(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    contract = collection()
    entry = store.register(contract)
    first = batch(entry, "colour", [0] * 300)
    store.write([first, batch(entry, "many", [1] * 300)])
    export_collection(store, contract.digest, tmp_path / "backup")
    operator = open_store(store_url)
    with background(Service(store, "series", summarize_seconds=0.02)) as url:
        poster = Poster(url, store)
        try:
            poster.wait_for(3)
            operator.delete_collection(contract.digest)
            # What came before was deleted, by rule; so may be the one that was under way.
            before = len(poster.answers) + 1
            poster.wait_for(2)
            import_collection(operator, tmp_path / "backup")
            time.sleep(1.1)  # what the service knows is at most a second old
            poster.wait_for(10)
        finally:
            poster.stop()
        assert call(url, "/v1/collection").json()["open"] is True
    seen = {(a.status, a.problem if a.status != 200 else "") for _, a in poster.answers[before:]}
    # Never "closed": a collection that is not there may come back.
    assert seen <= {(200, ""), (409, "unknown-collection"), (503, "unavailable")}
    assert (409, "unknown-collection") in seen
    assert poster.answers[-1][1].status == 200
    restored = operator.find(contract.digest)
    operator.summarize()
    kept = set(stored(operator, restored, "colour"))
    since = {id for id, answer in poster.answers[before:] if answer.status == 200}
    exported = {bytes(row[:16]) for row in first.rows}
    assert exported | since <= kept
    assert kept <= exported | poster.acknowledged
    assert operator.summary(restored, "colour").reports == len(kept)
    operator.close()


def test_an_import_that_fails_late_leaves_the_store_as_it_was(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5), batch(entry, "many", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    ids = next((tmp_path / "backup" / "_counted" / "many").glob("ids.bin"))
    ids.write_bytes(b"x" * 17)
    store.delete_collection(entry.collection.digest)
    other = store.register(collection(series="other"))
    store.write([batch(other, "colour", [1, 2])])
    with pytest.raises(rumor.InputError, match="the file is cut"):
        import_collection(store, tmp_path / "backup")
    assert [entry.collection.series for entry in store.collections()] == ["other"]
    store.summarize()
    assert store.summary(other, "colour").reports == 2


def test_what_arrives_as_an_import_begins_is_counted_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is put back moves the mark, and nothing that came before it may be passed over."""
    entry, other = store.register(collection()), store.register(collection(series="other"))
    store.write([batch(entry, "colour", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    store.delete_collection(entry.collection.digest)
    summarize = summaries.summarize

    def overtaken(database: Database) -> int:
        counted = summarize(database)
        store.write([batch(other, "colour", [1] * 3)])
        return counted

    monkeypatch.setattr(archive, "summarize", overtaken)
    import_collection(store, tmp_path / "backup")
    monkeypatch.undo()
    store.summarize()
    restored = store.find(entry.collection.digest)
    assert [store.summary(each, "colour").reports for each in (restored, other)] == [5, 3]


def test_what_is_unknown_is_never_said_to_be_closed(store: Store) -> None:
    entry = store.register(collection())
    row = rows(entry, "colour", [0])
    store.close_collection(entry.collection.digest)
    assert store.write([ReportBatch(entry.questions["colour"], row)]) == [CollectionClosed()]
    store.delete_collection(entry.collection.digest)
    assert store.write([ReportBatch(entry.questions["colour"], row)]) == [CollectionUnknown()]


def test_a_deleted_collection_is_not_served_and_comes_back(store: Store, tmp_path: Path) -> None:
    contract = collection()
    entry = store.register(contract)
    export_collection(store, contract.digest, tmp_path / "backup")
    with background(Service(store, "series")) as url:
        store.delete_collection(contract.digest)
        body = rows(entry, "colour", [0]).tobytes()
        answer = send(url, contract, "colour", body)
        assert (answer.status, answer.problem) == (409, "unknown-collection")
        assert answer.headers["retry-after"] == "60"
        assert call(url, "/v1/collection").problem == "unknown-collection"
        import_collection(store, tmp_path / "backup")
        time.sleep(1.1)  # what the service knows is at most a second old
        assert send(url, contract, "colour", body).json() == {"accepted": 1, "duplicates": 0}


def test_a_collection_that_is_put_back_at_once_is_found_under_its_new_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However old what the service knows is: nobody is refused, and nothing lands elsewhere."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    contract = collection()
    entry = store.register(contract)
    export_collection(store, contract.digest, tmp_path / "backup")
    key = bytes(16)
    body = report_id(key) + b"\x01"
    with background(Service(store, "series")) as url:
        monkeypatch.setattr(service, "_FRESH_SECONDS", 1e9)
        for again in (True, False):
            store.delete_collection(contract.digest)
            import_collection(store, tmp_path / "backup")
            if again:
                answer = send(url, contract, "colour", body)
                assert answer.json() == {"accepted": 1, "duplicates": 0}
                assert len(stored(store, store.find(contract.digest), "colour")) == 1
                assert store.find(contract.digest).questions != entry.questions
        headers = {"Content-Type": "application/json", "Rumor-Collection": contract.digest}
        keys = {"question": "colour", "keys": [base64.b64encode(key).decode()]}
        answer = call(url, "/v1/withdrawals", json.dumps(keys).encode(), headers)
        assert answer.json() == {"withdrawn": 0, "absent": 1}


_SLOW = """
    import sys, time
    from rumor.cli import main
    from rumor.collector import backup
    def slowly(inner):
        def work(*arguments):
            for item in inner(*arguments):
                yield item
                print("some", flush=True)
                time.sleep(60)
        return work
    backup.stored_in = slowly(backup.stored_in)
    from rumor.collector.store.sql import SqlReader
    SqlReader.reports = slowly(SqlReader.reports)
    sys.exit(main())
"""


@pytest.mark.slow
# What SIGTERM removes is in files alone, so one kind of store is enough for it.
@pytest.mark.one_store
@pytest.mark.parametrize(
    ("store_url", "number"),
    [
        ("sqlite", signal.SIGKILL),
        pytest.param("sqlite", signal.SIGTERM, marks=pytest.mark.slow),
        ("postgresql", signal.SIGKILL),
    ],
    indirect=["store_url"],
)
def test_imports_and_exports_that_are_killed_leave_nothing(
    store: Store, store_url: str, tmp_path: Path, number: int
) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5), batch(entry, "many", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    digest = entry.collection.digest

    def killed(*arguments: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_SLOW), *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "some\n"
        process.send_signal(number)
        assert process.wait(30) != 0
        process.stdout.close()

    killed("export", str(tmp_path / "again"), "--store", store_url)
    assert not (tmp_path / "again").exists()
    if number == signal.SIGTERM:
        assert not list(tmp_path.glob(".again*"))
    done = export_collection(store, digest, tmp_path / "again")
    assert done.reports == 10
    assert not list(tmp_path.glob(".again*"))

    store.delete_collection(digest)
    killed("import", str(tmp_path / "backup"), "--store", store_url)
    assert store.collections() == []
    new = tmp_path / "new.db"
    killed("import", str(tmp_path / "backup"), "--store", f"sqlite:///{new}")
    assert not new.exists()
    assert import_collection(store, tmp_path / "backup") == done
