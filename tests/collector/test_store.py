"""What both stores promise: durable, exactly once, no clock, counted once."""

from __future__ import annotations

import datetime
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumor
from rumor.collector.store import archive, ingest, summaries
from rumor.collector.store.base import (
    BatchAccepted,
    CollectionClosed,
    CollectionUnknown,
    IdConflict,
    ReportBatch,
    Store,
    StoredCollection,
    StoreUnavailableError,
    open_store,
    sorted_by_id,
)
from rumor.collector.store.dialects import sqlite
from rumor.collector.store.exactly_once import resolve_batches, rows_by_question
from rumor.collector.store.sql import SqlStore
from rumor.collector.store.tables import Run
from rumor.mechanisms.summary import Summary
from tests.collector.tools import batch, collection, rows, stored

DAY = datetime.date(2026, 3, 1)


def on_day(monkeypatch: pytest.MonkeyPatch, day: datetime.date) -> None:
    monkeypatch.setattr(ingest, "today", lambda: day)


def sql(store: Store, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
    assert isinstance(store, SqlStore)
    with store.database.writing() as run:
        return run(statement, *parameters)


class TestExactlyOnce:
    def test_what_is_accepted_is_there_after_reopening(self, store: Store, store_url: str) -> None:
        entry = store.register(collection())
        one, two = batch(entry, "colour", [0, 1, 2]), batch(entry, "many", [5, 7])
        assert store.write([one, two]) == [BatchAccepted(3, 0), BatchAccepted(2, 0)]
        again = open_store(store_url)
        entry = again.register(collection())
        expected = {bytes(row[:16]): bytes(row[16:]) for row in one.rows}
        assert stored(again, entry, "colour") == expected
        assert len(stored(again, entry, "many")) == 2
        again.close()

    def test_the_same_report_again_counts_once(self, store: Store) -> None:
        entry = store.register(collection())
        first = batch(entry, "colour", [0, 1, 2])
        assert store.write([first]) == [BatchAccepted(3, 0)]
        assert store.write([first]) == [BatchAccepted(0, 3)]
        mixed = ReportBatch(
            first.question, np.concatenate([first.rows, rows(entry, "colour", [1])])
        )
        assert store.write([mixed, first, mixed]) == [
            BatchAccepted(1, 3),
            BatchAccepted(0, 3),
            BatchAccepted(0, 4),
        ]
        store.summarize()
        assert store.summary(entry, "colour").reports == 4

    def test_repeats_within_one_commit_count_once(self, store: Store) -> None:
        entry = store.register(collection())
        first = batch(entry, "colour", [0, 1])
        twice = ReportBatch(first.question, np.concatenate([first.rows, first.rows]))
        assert store.write([twice, first]) == [BatchAccepted(2, 2), BatchAccepted(0, 2)]

    def test_other_bytes_under_a_used_id_refuse_their_batch_alone(self, store: Store) -> None:
        entry = store.register(collection())
        good = batch(entry, "colour", [0, 0])
        store.write([good])
        bad = rows(entry, "colour", [1, 1, 1])
        bad[1, :16] = good.rows[0, :16]
        bad[1, 16] = (good.rows[0, 16] + 1) % 3
        other = batch(entry, "many", [3])
        outcomes = store.write([ReportBatch(good.question, bad), other])
        assert outcomes == [IdConflict((1,)), BatchAccepted(1, 0)]
        assert len(stored(store, entry, "colour")) == 2
        assert len(stored(store, entry, "many")) == 1

    def test_an_id_belongs_to_one_question(self, store: Store) -> None:
        entry = store.register(collection())
        first, second = batch(entry, "colour", [0]), rows(entry, "many", [0])
        second[0, :16] = first.rows[0, :16]
        store.write([first])
        assert store.write([ReportBatch(entry.questions["many"], second)]) == [IdConflict((0,))]

    def test_the_same_bytes_of_another_question_are_a_conflict(self) -> None:
        """A device that mixed up its questions hears of it; nothing is quietly dropped."""
        row = np.array([[1] * 16 + [2]], np.uint8)
        known = {bytes(row[0, :16]): (7, bytes(row[0, 16:]))}
        assert resolve_batches([ReportBatch(8, row)], known, set())[0] == [IdConflict((0,))]
        assert resolve_batches([ReportBatch(7, row), ReportBatch(8, row)], {}, set())[0] == [
            BatchAccepted(1, 0),
            IdConflict((0,)),
        ]
        # Deleted since: the id alone is a duplicate, of its own question.
        spent: dict[bytes, tuple[int, bytes | None]] = {bytes(row[0, :16]): (7, None)}
        outcomes, fresh = resolve_batches([ReportBatch(7, row), ReportBatch(8, row)], spent, set())
        assert outcomes == [BatchAccepted(0, 1), IdConflict((0,))]
        assert sum(map(len, fresh.values())) == 0

    def test_questions_are_written_in_the_order_of_their_numbers(self) -> None:
        """Or two collectors with the same reports would wait for each other in a circle."""
        row = np.zeros((1, 17), np.uint8)
        assert list(rows_by_question([ReportBatch(number, row) for number in (8, 7, 9)])) == [
            7,
            8,
            9,
        ]

    def test_processes_that_write_the_same_reports_at_once_count_them_once(
        self, store: Store, store_url: str
    ) -> None:
        entry = store.register(collection())
        batches = [batch(entry, "many", [i % 30] * 40) for i in range(12)]
        stores = [open_store(store_url) for _ in range(3)]
        new = [0, 0, 0]

        def work(index: int) -> None:
            order = np.random.default_rng(index).permutation(len(batches))
            for start in range(0, len(order), 3):
                group = [batches[i] for i in order[start : start + 3]]
                for outcome in stores[index].write(group):
                    assert isinstance(outcome, BatchAccepted)
                    new[index] += outcome.new
                stores[index].summarize()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.summarize()
        expected = {bytes(row[:16]): bytes(row[16:]) for part in batches for row in part.rows}
        assert stored(store, entry, "many") == expected
        assert sum(new) == len(expected) == store.summary(entry, "many").reports
        for opened in stores:
            opened.close()

    @given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), max_size=6)))
    def test_settling_follows_the_rule_one_by_one(
        self, batches: list[list[tuple[int, int]]]
    ) -> None:
        used: dict[int, int] = {0: 0}
        expected: list[BatchAccepted | IdConflict] = []
        for items in batches:
            trial = dict(used)
            conflicts = tuple(
                i for i, (id, bit) in enumerate(items) if trial.setdefault(id, bit) != bit
            )
            if conflicts:
                expected.append(IdConflict(conflicts))
            else:
                expected.append(
                    BatchAccepted(len(trial) - len(used), len(items) - len(trial) + len(used))
                )
                used = trial
        given_rows = [
            np.array([[id] * 16 + [bit] for id, bit in items], np.uint8).reshape(-1, 17)
            for items in batches
        ]
        known = {bytes([0] * 16): (7, bytes([0]))}
        outcomes, fresh = resolve_batches(
            [ReportBatch(7, part) for part in given_rows], known, set()
        )
        assert outcomes == expected
        inserted = {int(row[0]): int(row[16]) for part in fresh.values() for row in part}
        assert inserted == {id: bit for id, bit in used.items() if id != 0}


class TestPrivacyAtRest:
    def test_a_row_holds_its_day_and_nothing_else_of_the_time(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_day(monkeypatch, DAY)
        entry = store.register(collection())
        store.write([batch(entry, "colour", [0])])
        ((_, id, question, day, report),) = sql(
            store, "SELECT number, id, question, day, report FROM report"
        )
        ((columns,),) = sql(store, "SELECT COUNT(*) FROM report")
        assert (len(bytes(id)), question, len(bytes(report)), columns) == (
            16,
            entry.questions["colour"],
            1,
            1,
        )
        assert day == (DAY - datetime.date(1970, 1, 1)).days

    def test_the_rows_of_a_commit_are_in_the_order_of_their_random_ids(self, store: Store) -> None:
        entry = store.register(collection())
        parts = [batch(entry, "many", [i]) for i in range(30)]
        store.write(parts)
        found = [bytes(id) for (id,) in sql(store, "SELECT id FROM report ORDER BY number")]
        assert found == sorted(bytes(part.rows[0, :16]) for part in parts)
        assert found != [bytes(part.rows[0, :16]) for part in parts]

    def test_sorting_is_by_all_of_the_id(self) -> None:
        ids = np.zeros((3, 17), np.uint8)
        ids[:, 15], ids[:, 16] = [2, 1, 0], [0, 1, 2]
        assert sorted_by_id(ids)[:, 16].tolist() == [2, 1, 0]


class TestSummaries:
    def test_they_equal_the_summary_of_the_reports(self, store: Store) -> None:
        entry = store.register(collection())
        parts = [batch(entry, "many", np.arange(40) % 30) for _ in range(5)]
        expected = Summary.empty(
            entry.collection.question("many").mechanism,
            contract=entry.collection.digest,
            question="many",
        )
        for part in parts:
            store.write([part])
            assert store.summarize() == 40
            expected = expected.update(np.ascontiguousarray(part.rows[:, 16:]))
        assert store.summary(entry, "many") == expected
        assert store.summarize() == 0

    def test_no_report_is_read_twice(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = store.register(collection())
        assert isinstance(store, SqlStore)
        read: list[int] = []
        dialect = store.database.dialect
        fresh = dialect.fresh

        def spy(run: Run, above: int, upto: int) -> dict[tuple[int, int], bytes]:
            found = fresh(run, above, upto)
            read.append(sum(map(len, found.values())))
            return found

        monkeypatch.setattr(dialect, "fresh", spy)
        for size in (3, 5, 7):
            store.write([batch(entry, "colour", [0] * size)])
            store.summarize()
            store.summarize()
        row = 16 + 1 + 4  # id, report and checksum
        assert read == [3 * row, 5 * row, 7 * row]

    def test_many_are_counted_in_chunks(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(summaries, "CHUNK", 7)
        monkeypatch.setattr(archive, "CHUNK", 7)
        entry = store.register(collection())
        store.write([batch(entry, "colour", [0] * 50), batch(entry, "many", [1] * 50)])
        assert store.summarize() == 100
        assert store.summary(entry, "colour").reports == 50
        assert len(stored(store, entry, "many")) == 50

    def test_days_and_windows(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = store.register(collection())
        days = [DAY + datetime.timedelta(days=i) for i in range(3)]
        for size, day in enumerate(days, start=1):
            on_day(monkeypatch, day)
            store.write([batch(entry, "colour", [0] * size)])
        store.summarize()
        counts = {
            day: part.reports for day, part in store.day_summaries(entry, "colour")[1].items()
        }
        assert counts == dict(zip(days, (1, 2, 3), strict=True))
        assert store.summary(entry, "colour", (days[1], None)).reports == 5
        assert store.summary(entry, "colour", (None, days[1])).reports == 3
        assert store.summary(entry, "colour", (days[1], days[1])).reports == 2


class TestRetention:
    def test_old_reports_go_their_count_and_ids_stay(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_day(monkeypatch, DAY)
        entry = store.register(collection(retention=10))
        old = batch(entry, "colour", [0, 1, 2] * 50)
        store.write([old])
        later = DAY + datetime.timedelta(days=10)
        on_day(monkeypatch, later)
        new = batch(entry, "colour", [0])
        store.write([new])
        assert store.expire(later) == 0
        assert store.expire(later + datetime.timedelta(days=1)) == 150
        assert list(stored(store, entry, "colour")) == [bytes(new.rows[0, :16])]
        assert store.summary(entry, "colour").reports == 151
        # A client that never heard the answer sends again.
        assert store.write([old]) == [BatchAccepted(0, 150)]
        store.summarize()
        assert store.summary(entry, "colour").reports == 151

    def test_deleted_bytes_are_gone_from_the_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_day(monkeypatch, DAY)
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        wide = rumor.Collection.resolve(
            {
                "name": "wide",
                "series": "wide",
                "contact": "nobody",
                "questions": [
                    {
                        "id": "wide",
                        "kind": "choice",
                        "domain": 400,
                        "epsilon": 1.0,
                        "mechanism": "unary",
                        "retention_days": 1,
                    }
                ],
            }
        )
        entry = store.register(wide)
        part = batch(entry, "wide", np.arange(200))
        store.write([part])

        def on_disk() -> bytes:
            return b"".join(path.read_bytes() for path in tmp_path.iterdir())

        assert part.rows[0, 16:].tobytes() in on_disk()
        store.expire(DAY + datetime.timedelta(days=2))
        for row in part.rows:
            assert row[16:].tobytes() not in on_disk()
            assert row[:16].tobytes() in on_disk()
        store.close()


class TestLifecycle:
    def test_another_contract_of_a_series_is_a_revision_said_so(self, store: Store) -> None:
        first = store.register(collection())
        revised = collection(name="Another name")
        with pytest.raises(rumor.InputError, match="only as a revision"):
            store.register(revised)
        second = store.register(revised, revise=True)
        states = [(entry.state, entry.open) for entry in store.collections()]
        assert states == [("superseded", True), ("open", True)]
        # Reports that were made under the old contract may still be on their way.
        assert store.write([batch(first, "colour", [0]), batch(second, "colour", [0])]) == [
            BatchAccepted(1, 0),
            BatchAccepted(1, 0),
        ]

    def test_the_beginning_of_a_digest_names_one_collection_or_none(self, store: Store) -> None:
        only = store.register(collection()).collection.digest
        with pytest.raises(rumor.InputError, match=r"the store's 1 .* got '', which names none$"):
            store.find("")  # it begins every digest, that of an only collection too
        # Collections are added until two digests begin alike: with 17 of them two surely do.
        known, digest, number = [only], only, 0
        while [other[0] for other in known].count(digest[0]) < 2:
            number += 1
            digest = store.register(collection(series=f"series-{number}")).collection.digest
            known.append(digest)
        for wanted, says in (
            (digest[0], f"{digest[0]!r}, which names 2"),
            (digest + "0", f"{(digest + '0')[:64]!r}, which names 0"),
            ("unknown", "'unknown', which names 0"),
            ("", "'', which names none"),
        ):
            with pytest.raises(rumor.InputError) as refused:
                store.find(wanted)
            assert str(refused.value) == (
                f"a digest must name one of the store's {len(known)} collections; got {says}"
            )
        assert [store.find(one).collection.digest for one in known] == known
        shortest = next(n for n in range(1, 65) if len({one[:n] for one in known}) == len(known))
        assert [store.find(one[:shortest]).collection.digest for one in known] == known

    def test_a_closed_collection_takes_nothing(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        on_day(monkeypatch, DAY)
        entry = store.register(collection(retention=1))
        other = store.register(collection(series="other"))
        store.write([batch(entry, "colour", [0] * 100), batch(entry, "many", [0])])
        store.expire(DAY + datetime.timedelta(days=5))
        store.close_collection(entry.collection.digest)
        assert store.write([batch(entry, "colour", [0]), batch(other, "colour", [0])]) == [
            CollectionClosed(),
            BatchAccepted(1, 0),
        ]
        assert store.summary(entry, "colour").reports == 100
        assert sql(store, "SELECT COUNT(*) FROM report WHERE report IS NULL") == [(0,)]
        assert [entry.state for entry in store.collections()] == ["closed", "open"]

    def test_deleting_leaves_nothing_and_harms_nobody(self, store: Store) -> None:
        kept = store.register(collection(series="kept"))
        gone = store.register(collection(series="gone"))
        store.write([batch(kept, "colour", [0, 1]), batch(gone, "colour", [0, 1, 2])])
        store.summarize()
        store.write([batch(gone, "many", [0, 1, 2])])
        store.delete_collection(gone.collection.digest)
        assert store.write([batch(gone, "colour", [0])]) == [CollectionUnknown()]
        store.write([batch(kept, "colour", [0])])
        store.summarize()
        assert store.summary(kept, "colour").reports == 3
        assert [entry.collection.series for entry in store.collections()] == ["kept"]
        assert sql(store, "SELECT COUNT(*) FROM report") == [(3,)]
        with pytest.raises(rumor.InputError, match="must name one of the store's 1 collections"):
            store.delete_collection(gone.collection.digest)


class TestFiles:
    def test_a_newer_schema_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "store.db"
        open_store(f"sqlite:///{path}").close()
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
        database.close()
        with pytest.raises(rumor.InputError, match=r"at most version 6, .* has 99"):
            open_store(f"sqlite:///{path}")

    def test_other_files_are_refused_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE precious (x)")
        database.close()
        with pytest.raises(rumor.InputError, match="holds something else"):
            open_store(f"sqlite:///{path}")
        (tmp_path / "text").write_bytes(b"not a database at all" * 100)
        with pytest.raises(rumor.InputError, match="must be a SQLite file"):
            open_store(f"sqlite:///{tmp_path / 'text'}")

    def test_the_file_is_its_owners_alone(self, tmp_path: Path) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        store.register(collection())
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
        assert set(modes.values()) == {0o600}
        store.close()

    @pytest.mark.parametrize("url", ["rumor.db", "mysql://u:secret@h/d", "sqlite:///"])
    def test_other_urls_are_refused(self, url: str) -> None:
        with pytest.raises(rumor.InputError, match="a store must be sqlite:///FILE") as caught:
            open_store(url)
        assert "secret" not in str(caught.value)

    def test_a_file_that_vanished_is_not_replaced_by_an_empty_one(self, tmp_path: Path) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(collection())
        store.close()
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(StoreUnavailableError):
            store.write([batch(entry, "colour", [0])])
        assert not (tmp_path / "store.db").exists()


def test_registered_knows_its_questions(store: Store) -> None:
    entry = store.register(collection())
    assert isinstance(entry, StoredCollection)
    assert set(entry.questions) == {"colour", "many"}
    assert store.register(collection()) == entry


def test_a_commit_that_fails_leaves_sqlite_ready_for_the_next(tmp_path: Path) -> None:
    """A writer keeps its connection: a transaction that stayed open would fail all later ones."""
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    connection.executescript(
        "PRAGMA foreign_keys = ON; CREATE TABLE whole (id INTEGER PRIMARY KEY);"
        "CREATE TABLE part (whole REFERENCES whole (id) DEFERRABLE INITIALLY DEFERRED)"
    )
    with pytest.raises(sqlite3.IntegrityError), sqlite._transaction(connection, "BEGIN") as run:
        run("INSERT INTO part VALUES (7)")  # refused at the commit: there is no such whole
    assert not connection.in_transaction
    with sqlite._transaction(connection, "BEGIN") as run:
        run("INSERT INTO whole VALUES (7)")
        run("INSERT INTO part VALUES (7)")
    assert connection.execute("SELECT * FROM part").fetchall() == [(7,)]
    connection.close()
