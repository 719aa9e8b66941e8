"""A store that does not hold what was written says so, and is neither filled nor believed."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumor
from rumor.cli import main
from rumor.collector.backup import export_collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store import checksums
from rumor.collector.store.base import (
    BatchAccepted,
    Store,
    StoreDamagedError,
    StoreUnavailableError,
    open_store,
)
from rumor.collector.store.dialects import sqlite
from rumor.collector.tokens import Tokens, add_token
from tests.collector.tools import batch, call, collection, rows, send, stored


def changed(store_url: str, statement: str, *parameters: object) -> None:
    """Change something behind the store's back."""
    if store_url.startswith("sqlite"):
        database = sqlite3.connect(store_url.removeprefix("sqlite:///"), isolation_level=None)
        database.execute(statement, parameters)
        database.close()
    else:
        with psycopg.connect(store_url, autocommit=True) as connection:
            connection.execute("SET search_path = rumor")
            connection.execute(statement.replace("?", "%s").encode(), parameters)


def found(store_url: str, statement: str) -> list[tuple[Any, ...]]:
    if store_url.startswith("sqlite"):
        database = sqlite3.connect(store_url.removeprefix("sqlite:///"))
        rows = database.execute(statement).fetchall()
        database.close()
        return rows
    with psycopg.connect(store_url) as connection:
        connection.execute("SET search_path = rumor")
        return connection.execute(statement.encode()).fetchall()


def test_a_file_with_damaged_spots_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forty spots of sixteen bytes, as of a failing disk: nothing is acknowledged, ever."""
    path = tmp_path / "store.db"
    store = open_store(f"sqlite:///{path}")
    entry = store.register(collection())
    for _ in range(10):
        store.write([batch(entry, "many", np.arange(300) % 30)])
    store.summarize()
    store.close()
    good = path.read_bytes()
    refused = 0
    for seed in range(10):
        chance, bad = random.Random(seed), bytearray(good)
        for _ in range(40):
            at = chance.randrange(100, len(bad) - 16)
            bad[at : at + 16] = chance.randbytes(16)
        path.write_bytes(bad)
        if main(["collections", "list", "--store", f"sqlite:///{path}"]) == 2:
            said = capsys.readouterr().err
            assert len(said.splitlines()) == 1
            assert "restore it from an export" in said
            refused += 1
            continue
        # Only bytes of reports were hit, which quick_check cannot see: the checksums do.
        damaged = open_store(f"sqlite:///{path}")
        with pytest.raises(StoreDamagedError):
            list(damaged.reports(damaged.collections()[0], "many"))
        damaged.close()
    assert refused > 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE report SET report = ? WHERE number = 2",
        "UPDATE report SET id = ? WHERE number = 2",
        "UPDATE report SET day = day + 1 WHERE number = 2",
        "UPDATE report SET question = 2 WHERE number = 2",
        "UPDATE report SET question = 77 WHERE number = 2",
        "UPDATE report SET checksum = NULL WHERE number = 2",
    ],
)
def test_counting_verifies_every_report(store: Store, store_url: str, statement: str) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0, 1, 2])])
    changed(store_url, statement, *([b"y" * 16] if "?" in statement else []))
    with pytest.raises(
        StoreDamagedError, match=r"a store must be intact; .* restore it from an export"
    ):
        store.summarize()
    # What cannot be counted is not acknowledged either, and nothing is estimated.
    uses: list[Callable[[], object]] = [
        lambda: store.write([batch(entry, "colour", [0])]),
        store.ping,
        lambda: store.summary(entry, "colour"),
    ]
    for refused in uses:
        with pytest.raises(StoreDamagedError):
            refused()


@pytest.mark.parametrize("question", ["colour", "many"])
def test_every_way_out_verifies(
    store: Store, store_url: str, tmp_path: Path, question: str
) -> None:
    entry = store.register(collection())
    part = batch(entry, question, [0, 1, 2])
    store.write([part])
    store.summarize()
    ((report,),) = found(store_url, "SELECT report FROM report WHERE number = 1")
    other = bytes([report[0] ^ 1, *report[1:]])
    changed(store_url, "UPDATE report SET report = ? WHERE number = 1", other)
    ways: list[Callable[[Store], object]] = [
        lambda opened: stored(opened, entry, question),
        lambda opened: opened.newest_reports(entry, question, 10),
        lambda opened: export_collection(opened, entry.collection.digest, tmp_path / "out"),
        lambda opened: opened.withdraw(entry, question, part.rows[:, :16]),
    ]
    for way in ways:
        opened = open_store(store_url)
        with pytest.raises(StoreDamagedError, match="1 of 3 reports do not fit their checksums"):
            way(opened)
        opened.close()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE summary SET reports = reports + 1", "counts"),
        ("UPDATE summary SET tally = ?", "counts"),
        ("UPDATE mark SET number = 0", "mark"),
        ("UPDATE collection SET contract = REPLACE(contract, 'red', 'rad')", "contract"),
        ("DELETE FROM question WHERE id = 'many'", "questions"),
    ],
)
def test_counts_mark_and_contracts_are_verified_when_a_store_is_opened(
    tmp_path: Path, statement: str, sentence: str
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0, 1, 2])])
    store.summarize()
    store.close()
    open_store(url).close()
    changed(url, statement, *([bytes(24)] if "?" in statement else []))
    with pytest.raises(rumor.InputError, match=rf"{sentence}.*restore it"):
        open_store(url)


def test_tables_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    open_store(url).close()
    changed(url, "DROP INDEX report_id")
    with pytest.raises(rumor.InputError, match="tables are not as Rumor makes them"):
        open_store(url)


def test_a_collector_that_finds_damage_takes_and_tells_nothing(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    entry = store.register(collection())
    token = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'alice')}"}
    service = Service(store, "series", tokens=Tokens(tmp_path / "tokens"), summarize_seconds=3600)
    with background(service) as url:
        assert service._task is not None
        service._task.stop()  # the analyst is the first to count
        body = rows(entry, "colour", [0] * 3).tobytes()
        assert send(url, entry.collection, "colour", body).status == 200
        changed(store_url, "UPDATE report SET report = ? WHERE number = 2", b"\x09")
        answer = call(url, "/v1/estimates/colour", headers=token)
        assert (answer.status, answer.problem) == (503, "unavailable")
        assert "damaged" in answer.json()["detail"]
        answer = send(url, entry.collection, "colour", rows(entry, "colour", [0]).tobytes())
        assert (answer.status, answer.problem) == (503, "unavailable")
        assert call(url, "/healthz").status == 503


def test_rows_without_a_checksum_get_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    url = f"sqlite:///{path}"
    with sqlite3.connect(path) as database:
        for step in sqlite._MIGRATIONS[:2]:
            database.executescript(step)
        database.execute(f"PRAGMA application_id = {sqlite._APPLICATION}")
        database.execute("PRAGMA user_version = 2")
        contract = collection()
        database.execute(
            "INSERT INTO collection (digest, series, contract, open) VALUES (?, 'series', ?, 1)",
            (contract.digest, contract.canonical().decode()),
        )
        database.execute("INSERT INTO question (collection, id) VALUES (1, 'colour'), (1, 'many')")
        reports = [(bytes([i]) * 16, 1, 20_000, bytes([i % 3])) for i in range(6)]
        insert = "INSERT INTO report (id, question, day, report) VALUES (?, ?, ?, ?)"
        database.executemany(insert, reports)
        database.execute("INSERT INTO report (id, question) VALUES (x'ff', 1)")  # a spent id
        tally = np.array([1, 1, 1], "<i8").tobytes()
        database.execute("INSERT INTO summary VALUES (1, 20000, 3, ?)", (tally,))
        database.execute("UPDATE mark SET number = 3")
    database.close()
    store = open_store(url)
    entry = store.collections()[0]
    assert store.summarize() == 3
    assert store.summary(entry, "colour").tally.tolist() == [2, 2, 2]
    assert stored(store, entry, "colour") == {row[0]: row[3] for row in reports}
    assert found(url, "SELECT COUNT(*) FROM report WHERE checksum IS NULL") == [(1,)]
    store.close()


def test_rows_without_a_checksum_get_one_in_postgresql(postgres: Any) -> None:
    url = postgres.clean_database()
    store = open_store(url)
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0, 1, 2])])
    store.summarize()
    part = batch(entry, "many", [0, 1, 2])
    store.write([part])
    store.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = rumor")
        for table in ("report", "summary", "mark"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum".encode())
        connection.execute("DROP TABLE issued, invited, early_withdrawal, span, drop_count")
        connection.execute("ALTER TABLE collection DROP COLUMN users")
        connection.execute("DELETE FROM schema_version WHERE version >= 3")
    store = open_store(url)
    assert store.summarize() == 3
    assert store.write([part]) == [BatchAccepted(0, 3)]
    assert len(stored(store, entry, "colour")) == 3
    assert [store.summary(entry, id).reports for id in ("colour", "many")] == [3, 3]
    store.close()


@given(st.binary(min_size=17, max_size=40), st.data())
def test_any_one_byte_that_changes_is_noticed(row: bytes, data: st.DataObject) -> None:
    whole = np.frombuffer(row, np.uint8).reshape(1, -1)
    flat = bytearray(checksums.seal_rows(3, 20_000, whole).tobytes())
    assert checksums.open_rows(3, 20_000, bytes(flat), len(row)).tobytes() == row
    at = data.draw(st.integers(0, len(flat) - 1))
    flat[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(StoreUnavailableError, match="do not fit their checksums"):
        checksums.open_rows(3, 20_000, bytes(flat), len(row))
    with pytest.raises(StoreDamagedError):
        checksums.open_rows(4, 20_000, checksums.seal_rows(3, 20_000, whole).tobytes(), len(row))


class TestRepair:
    def test_what_fits_its_checksum_is_saved(
        self, store: Store, store_url: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entry = store.register(collection())
        counted, fresh = batch(entry, "many", np.arange(9)), batch(entry, "colour", [0, 1, 2])
        store.write([counted])
        store.summarize()
        store.write([fresh])
        store.close()
        for number in (2, 11):  # one that was counted, one that was not
            changed(store_url, f"UPDATE report SET report = ? WHERE number = {number}", b"xxxx")
        command = ["repair", "--store", store_url]
        assert main(command) == 0
        assert capsys.readouterr().out == "2 reports removed, 0 days counted anew\n"
        again = open_store(store_url)
        assert again.summarize() == 2
        assert [again.summary(entry, id).reports for id in ("many", "colour")] == [9, 2]
        assert [len(stored(again, entry, id)) for id in ("many", "colour")] == [8, 2]
        again.close()
        assert main([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"removed": 0, "recounted": 0}

    @pytest.mark.parametrize(
        "statement", ["UPDATE summary SET reports = 77", "UPDATE mark SET number = 2"]
    )
    def test_counts_are_made_anew(
        self, store: Store, store_url: str, statement: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entry = store.register(collection())
        part = batch(entry, "many", np.arange(9))
        store.write([part])
        store.summarize()
        before = store.summary(entry, "many")
        store.close()
        changed(store_url, statement)
        assert main(["repair", "--store", store_url]) == 0
        assert capsys.readouterr().out == "0 reports removed, 1 day counted anew\n"
        again = open_store(store_url)
        assert again.summarize() == 0
        assert again.summary(entry, "many") == before
        assert again.write([part]) == [BatchAccepted(0, 9)]
        again.close()

    def test_what_cannot_be_repaired_is_said(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        url = f"sqlite:///{tmp_path / 'store.db'}"
        assert main(["repair", "--store", url]) == 2
        assert "a store must exist" in capsys.readouterr().err
        store = open_store(url)
        store.register(collection())
        store.close()
        changed(url, "UPDATE collection SET contract = 'x'")
        assert main(["repair", "--store", url]) == 2
        assert "does not fit its digest" in capsys.readouterr().err
