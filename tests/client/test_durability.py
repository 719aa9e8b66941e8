"""What a killed process cannot show: the disk was asked, and whoever writes is alone.

A power cut cannot be staged here, so what is asked of the system is read back where it counts:
on the live connection, and by counting the calls. A fault at every write is in tests/faults.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rumor
from rumor.client.ledger import Ledger
from rumor.collector.store.dialects.sqlite import Sqlite
from rumor.collector.store.sql import SqlStore
from rumor.core.files import new_file, write_whole
from rumor.core.secret import open_secret, replace_secret
from tests.collector.tools import collection

FULL = 2


def setting(database: sqlite3.Connection | None, name: str) -> object:
    assert database is not None
    return database.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_debit_is_on_the_disk_before_its_report_is_handed_out(tmp_path: Path) -> None:
    with rumor.Respondent(tmp_path) as device:
        device.prepare(collection(), {"colour": "red"})
        assert setting(device._ledger._database, "synchronous") == FULL
        assert setting(device._ledger._database, "journal_mode") == "wal"


def test_a_report_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    dialect = Sqlite(tmp_path / "store.db")
    store = SqlStore(dialect)
    for _ in range(2):
        entry = store.register(collection())
        assert store.summary(entry, "colour").reports == 0
        for connection in (dialect._writer.open, dialect._reader.open):
            assert setting(connection, "synchronous") == FULL
            assert setting(connection, "journal_mode") == "wal"
            # What is deleted is overwritten, and what is damaged is noticed.
            assert setting(connection, "secure_delete") == 1
            assert setting(connection, "foreign_keys") == 1
        store.close()  # and again on connections that are made anew


class Synced:
    """Every file and folder that was synced, with what stood under a name at that time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
        self.calls: list[tuple[str, bool]] = []
        real = os.fsync

        def counting(handle: int) -> None:
            kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
            self.calls.append((kind, path.exists()))
            real(handle)

        monkeypatch.setattr(os, "fsync", counting)


# The contents are on the disk before the name is, and then the name.
IN_ORDER = [("file", False), ("folder", True)]


def test_a_secret_is_on_the_disk_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    synced = Synced(monkeypatch, path)
    open_secret(path)
    assert synced.calls == IN_ORDER
    synced.calls.clear()
    replace_secret(path)
    assert synced.calls == [("file", True), ("folder", True)]


def test_a_secret_that_another_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two processes that find none, both use the one that was first."""
    path, first = tmp_path / "secret", list[bytes]()
    exists = Path.exists

    def too_late(self: Path, **more: bool) -> bool:
        found = exists(self, **more)
        if self == path and not first:
            first.append(b"")  # the other one looks as well
            first[0] = open_secret(path)[0]
        return found

    monkeypatch.setattr(Path, "exists", too_late)
    second, made = open_secret(path)
    assert (second, made) == (first[0], False)
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_files_are_on_the_disk_before_they_have_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    synced = Synced(monkeypatch, path)
    write_whole(path, b"x")
    assert synced.calls == IN_ORDER
    other = Synced(monkeypatch, tmp_path / "new")
    with new_file(tmp_path / "new") as aside:
        aside.write_bytes(b"x")
    assert other.calls == IN_ORDER


def test_whoever_writes_the_ledger_is_alone_from_the_first_look(tmp_path: Path) -> None:
    """Or two would read the same total, and both spend what is left."""
    path = tmp_path / "ledger.sqlite3"
    ledger, other = Ledger(path), sqlite3.connect(path, timeout=0, isolation_level=None)
    with ledger.transaction(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE")
    other.close()
    ledger.close()


_RACE = """
    import sys
    import rumor
    from rumor.contract.collection import Collection
    contract = Collection.load(sys.argv[1])
    with rumor.Respondent(sys.argv[2], max_epsilon=float(sys.argv[3])) as device:
        print("ready", flush=True)
        sys.stdin.readline()
        made = 0
        try:
            while True:
                device.prepare(contract, {"colour": "red"})
                made += 1
        except rumor.InputError as problem:
            assert "may spend at most" in str(problem), problem
        print(made, flush=True)
"""


def test_two_processes_race_for_the_last_epsilon(tmp_path: Path) -> None:
    """Together they spend all of it and no more, and neither is told to come back later."""
    collection().save(tmp_path / "contract.json")
    command = [sys.executable, "-c", textwrap.dedent(_RACE), str(tmp_path / "contract.json")]
    racing = [
        subprocess.Popen(
            [*command, str(tmp_path / "device"), "60.5"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    made = [int(process.communicate(timeout=60)[0]) for process in racing]
    assert sum(made) == 60
    with rumor.Respondent(tmp_path / "device") as device:
        assert len(device.pending()) == 60
        assert device.spent == pytest.approx(60)


@pytest.mark.skipif(os.name != "posix", reason="only POSIX systems fork")
def test_a_ledger_does_not_follow_into_a_fork(tmp_path: Path) -> None:
    """SQLite's locks are the process's: parent and child would both think that they hold one."""
    script = """
        import os, sys
        import rumor
        from rumor.contract.collection import Collection
        contract = Collection.load(sys.argv[1])
        with rumor.Respondent(sys.argv[2]) as device:
            device.prepare(contract, {"colour": "red"})
            child = os.fork()
            if child == 0:
                try:
                    device.prepare(contract, {"colour": "red"})
                except rumor.InputError as problem:
                    os._exit(7 if "opened anew after a fork" in str(problem) else 8)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            device.prepare(contract, {"colour": "red"})
            print(os.waitstatus_to_exitcode(status), len(device.pending()))
    """
    collection().save(tmp_path / "contract.json")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "contract.json"),
         str(tmp_path / "device")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "7 2\n"
