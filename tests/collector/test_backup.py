"""Export and import, and the commands of a collection's life."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.analysis.estimate import analyse
from rumor.cli import main
from rumor.collector import backup
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.store import ingest
from rumor.collector.store.base import (
    BatchAccepted,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
)
from rumor.collector.store.database import Database, Snapshot
from rumor.collector.store.sql import SqlReader, SqlStore
from rumor.collector.store.tables import Run
from rumor.core import files
from rumor.core.errors import InputError
from tests.collector.tools import batch, collection, stored

DAY = datetime.date(2026, 3, 1)


def test_a_collection_goes_on_where_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(collection(retention=10))
    days = [DAY, DAY + datetime.timedelta(days=9), DAY + datetime.timedelta(days=15)]
    batches = []
    for size, day in zip((103, 4, 5), days, strict=True):
        monkeypatch.setattr(ingest, "today", lambda day=day: day)
        batches += [batch(entry, "colour", [0] * size), batch(entry, "many", [1] * size)]
        store.write(batches[-2:])
    assert store.expire(days[2]) == 206
    done = export_collection(store, entry.collection.digest[:12], tmp_path / "backup")
    assert (done.reports, done.counted) == (18, 224)
    files = sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*.parquet"))
    assert files[0] == "backup/question=colour/day=2026-03-10/reports.parquet"
    assert len(files) == 4

    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    busy = other.register(collection(series="busy"))
    other.write([batch(busy, "colour", [1, 2])])
    assert import_collection(other, tmp_path / "backup") == done
    restored = other.find(entry.collection.digest)
    for question in ("colour", "many"):
        assert stored(other, restored, question) == stored(store, entry, question)
        assert other.day_summaries(restored, question)[1] == store.day_summaries(entry, question)[1]
    # Every report that was ever taken is known, and nothing is counted anew.
    numbers = {entry.questions[id]: restored.questions[id] for id in entry.questions}
    again = [type(part)(numbers[part.question], part.rows) for part in batches]
    assert other.write(again) == [BatchAccepted(0, len(part)) for part in batches]
    assert other.summarize() == 0
    assert other.summary(busy, "colour").reports == 2
    other.close()


def test_an_export_is_what_estimate_reads(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 60 + [1] * 30)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    backup = tmp_path / "backup"
    analysis = analyse(backup / "contract.json", backup / "question=colour")
    counted = dataclasses.replace(analysis.summary(), some_ids=())  # a store keeps none
    assert counted == store.summary(entry, "colour")


def test_what_arrives_while_it_is_exported_is_in_reports_and_counts_or_in_neither(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5)])
    counted = SqlReader.day_summaries

    def slowly(self: SqlReader, *arguments: object) -> object:
        found = counted(self, *arguments)  # type: ignore[arg-type]
        store.write([batch(entry, "colour", [1] * 3)])
        store.summarize()
        return found

    monkeypatch.setattr(SqlReader, "day_summaries", slowly)
    done = export_collection(store, entry.collection.digest, tmp_path / "backup")
    monkeypatch.undo()
    assert (done.reports, done.counted) == (5, 5)
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    import_collection(other, tmp_path / "backup")
    other.summarize()
    restored = other.collections()[0]
    assert len(stored(other, restored, "colour")) == other.summary(restored, "colour").reports == 5
    other.close()


def _withdraw(store: Store, entry: StoredCollection, part: ReportBatch) -> None:
    assert store.withdraw(entry, "colour", np.ascontiguousarray(part.rows[:2, :16])) == 2


def _expire(store: Store, entry: StoredCollection, part: ReportBatch) -> None:
    assert store.expire(DAY + datetime.timedelta(days=30)) == len(part)


def _arrive(store: Store, entry: StoredCollection, part: ReportBatch) -> None:
    store.write([batch(entry, "colour", [1] * 3)])
    store.summarize()


@pytest.mark.slow_cases("postgresql-*")
@pytest.mark.parametrize("deed", [_withdraw, _expire, _arrive])
def test_an_export_is_of_one_moment_whatever_happens_between_two_of_its_reads(
    store_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    deed: Callable[[Store, StoredCollection, ReportBatch], None],
) -> None:
    """Something happens after the first read, after the second, and so on until the last."""
    monkeypatch.setattr(ingest, "today", lambda: DAY)
    store, busy = open_store(store_url), open_store(store_url)
    assert isinstance(store, SqlStore)
    reads = done = 0
    while done == reads:
        entry = store.register(collection(series=f"series-{reads}", retention=10))
        part = batch(entry, "colour", [0, 1, 2] * 50)
        store.write([part])
        store.summarize()
        reads += 1
        done = _export_while(store, reads, tmp_path / f"out-{reads}", entry, part, busy, deed)
        other = open_store(f"sqlite:///{tmp_path / f'other-{reads}.db'}")
        import_collection(other, tmp_path / f"out-{reads}")
        restored = other.collections()[0]
        present = stored(other, restored, "colour")
        spent = {bytes(id) for ids in other.spent_ids(restored, "colour") for id in ids}
        mechanism = entry.collection.question("colour").mechanism
        counted = other.summary(restored, "colour")
        assert not spent & set(present)
        assert {bytes(row[:16]) for row in part.rows} <= spent | set(present)
        if deed is not _expire:
            rows = np.frombuffer(b"".join(present.values()), np.uint8).reshape(len(present), -1)
            assert counted.reports == len(present)
            assert (counted.tally == mechanism.tally(rows)).all()
        assert counted.reports in (150, 148, 153)
        other.close()
    assert reads > 4
    store.close()
    busy.close()


def _export_while(
    store: SqlStore,
    after: int,
    folder: Path,
    entry: StoredCollection,
    part: ReportBatch,
    busy: Store,
    deed: Callable[[Store, StoredCollection, ReportBatch], None],
) -> int:
    """Export, and do something after so many reads; how many reads that were at most."""
    seen = 0

    def counting(
        reading: Callable[[Any], AbstractContextManager[Run]],
    ) -> Callable[[Any], AbstractContextManager[Run]]:
        @contextmanager
        def read(self: Database) -> Iterator[Run]:
            nonlocal seen
            with reading(self) as run:
                yield run
            if self.dialect is store.database.dialect and seen < after:
                seen += 1
                if seen == after:
                    deed(busy, busy.find(entry.collection.digest), part)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for place in (Database, Snapshot):
            patch.setattr(place, "reading", counting(place.reading))
        export_collection(store, entry.collection.digest, folder)
    return seen


def test_a_log_that_an_export_needs_is_cut_afterwards(tmp_path: Path) -> None:
    """What is withdrawn meanwhile leaves the file as soon as nobody reads an older state."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    part = batch(entry, "many", list(range(30)) * 20)
    store.write([part])
    store.summarize()
    log = tmp_path / "store.db-wal"
    with store.snapshot() as seen:
        store.withdraw(entry, "many", np.ascontiguousarray(part.rows[:, :16]))
        before = time.monotonic()
        store.forget_tokens()
        store.write([batch(entry, "many", [1])])
        assert time.monotonic() - before < 5  # nobody who sends waits for the export
        assert sum(len(each.ids) for each in seen.reports(entry, "many")) == 600
        assert log.stat().st_size > 0
    store.forget_tokens()
    assert log.stat().st_size == 0
    store.close()


def test_counts_of_another_question_are_not_put_back(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5), batch(entry, "many", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    counted = tmp_path / "backup" / "_counted"
    (theirs,) = (counted / "many").glob("*.summary")
    (counted / "colour" / theirs.name).write_bytes(theirs.read_bytes())
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(rumor.InputError, match="the summary must be of this collection"):
        import_collection(other, tmp_path / "backup")
    assert other.collections() == []
    other.close()


def test_a_closed_collection_is_restored_closed(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0])])
    store.close_collection(entry.collection.digest)
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    import_collection(other, tmp_path / "backup")
    assert [entry.state for entry in other.collections()] == ["closed"]
    other.close()


def test_what_cannot_be_restored_leaves_nothing(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5), batch(entry, "many", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    with pytest.raises(rumor.InputError, match="must be new to the store"):
        import_collection(store, tmp_path / "backup")
    with pytest.raises(rumor.InputError, match="must go to a new folder"):
        export_collection(store, entry.collection.digest, tmp_path / "backup")
    with pytest.raises(rumor.InputError, match="needs a folder that rumor export wrote"):
        import_collection(store, tmp_path)
    damaged = next((tmp_path / "backup" / "question=many").rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(rumor.InputError, match="must be a complete Parquet file"):
        import_collection(other, tmp_path / "backup")
    assert other.collections() == []
    other.close()


NO_NUMBERS: list[object] = [None, "many", [], {}, -1, 0, 1.5, "1", 10**30]
STATES: list[tuple[str, object]] = [
    *((name, value) for name in ("users", "open") for value in NO_NUMBERS),
    ("users", True),
    ("rumor export", "1"),
    ("rumor export", None),
]


@pytest.mark.one_store
@pytest.mark.parametrize(("name", "value"), STATES)
def test_a_state_that_is_none_is_refused(
    name: str, value: object, store: Store, tmp_path: Path
) -> None:
    entry = store.register(collection())
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    file = tmp_path / "backup" / "state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    wanted = f"state.json: {name} must be" if name != "rumor export" else "that rumor export wrote"
    with pytest.raises(rumor.InputError, match=wanted):
        import_collection(other, tmp_path / "backup")
    assert other.collections() == []
    other.close()


def test_a_summary_is_called_by_its_day(store: Store, tmp_path: Path) -> None:
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0] * 5)])
    export_collection(store, entry.collection.digest, tmp_path / "backup")
    (summary,) = (tmp_path / "backup").rglob("*.summary")
    summary.rename(summary.with_name("yesterday.summary"))
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(rumor.InputError, match="a summary must be called by its first day"):
        import_collection(other, tmp_path / "backup")
    other.close()


def test_the_commands_of_a_life(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    collection().save("one.json")
    collection(name="Unrelated").save("other.json")
    revised = dataclasses.replace(
        collection(name="Revised"), revision=2, previous=collection().digest
    )
    revised.save("two.json")
    store = open_store("sqlite:///rumor.db")
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0, 1])])
    store.close()

    def listed() -> list[tuple[str, int]]:
        assert main(["collections", "list", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["collections"]
        return [(item["state"], sum(item["reports"].values())) for item in found]

    assert listed() == [("open", 2)]
    assert main(["collections", "revise", "other.json"]) == 2
    assert f'revision = 2 and previous = "{collection().digest}"' in capsys.readouterr().err
    assert main(["collections", "revise", "two.json"]) == 0
    assert capsys.readouterr().out.startswith(revised.digest)
    assert listed() == [("superseded", 2), ("open", 0)]
    assert main(["collections", "list"]) == 0
    assert "superseded" in capsys.readouterr().out
    assert main(["export", "backup"]) == 2
    assert "--digest must say which of the store's 2" in capsys.readouterr().err
    digest = collection().digest[:10]
    assert main(["export", "backup", "--digest", digest, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == 2
    assert main(["collections", "close", digest]) == 0
    assert main(["collections", "delete", digest]) == 2
    capsys.readouterr()
    assert listed() == [("closed", 2), ("open", 0)]
    assert main(["collections", "delete", digest, "--yes"]) == 0
    capsys.readouterr()
    assert listed() == [("open", 0)]
    assert main(["import", "backup"]) == 0
    assert "2 reports of 'A test'" in capsys.readouterr().out
    assert main(["collections", "close", "ffff"]) == 2
    assert "must name one of the store's 2 collections" in capsys.readouterr().err


def test_an_export_is_on_the_disk_and_its_owners_alone_before_it_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    store.write([batch(entry, "colour", [0, 1]), batch(entry, "many", [1])])
    target = tmp_path / "new" / "folder" / "backup"
    left = target.with_name(".backup.partial")
    left.mkdir(parents=True)
    (left / "of an export that was killed").touch()
    synced: list[Path] = []
    modes: list[int] = []
    written: list[str] = []
    sync, save, fsync = files.sync_folder, files.write_whole, os.fsync

    def sync_folder(folder: Path) -> None:
        assert target.exists() == (folder == target.parent)
        synced.append(folder)
        sync(folder)

    def write_whole(path: Path, *given: Any, **named: Any) -> None:
        modes.append(path.parent.stat().st_mode & 0o777)
        save(path, *given, **named)

    def synced_file(handle: int) -> None:
        written.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(backup, "sync_folder", sync_folder)
    monkeypatch.setattr(backup, "write_whole", write_whole)
    monkeypatch.setattr(os, "fsync", synced_file)
    before = os.umask(0)
    try:
        export_collection(store, entry.collection.digest, target)
    finally:
        os.umask(before)
    assert modes[0] == 0o700  # from the first file on
    folders = [place for place in target.rglob("*") if place.is_dir()]
    assert len(folders) == 7
    assert sorted(synced[:-1]) == sorted(left / place.relative_to(target) for place in folders)
    assert synced[-1] == target.parent
    for question in ("colour", "many"):
        assert str(left / "_counted" / question / "ids.bin") in written
    assert {place.stat().st_mode & 0o777 for place in (target, *folders)} == {0o700}
    assert {p.stat().st_mode & 0o777 for p in target.rglob("*") if p.is_file()} == {0o600}
    assert not list(target.rglob("of an export*"))
    assert not left.exists()
    with pytest.raises(InputError, match="one of the store's 1 collections"):
        export_collection(store, "0" * 64, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["new"]
    store.close()
