"""People may take back what they sent: it leaves the reports and the counts together."""

from __future__ import annotations

import base64
import datetime
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rumor
from rumor.cli import main
from rumor.client.ledger import Ledger
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.limits import Limits
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store import ingest, summaries
from rumor.collector.store.base import (
    BatchAccepted,
    CollectionUnknown,
    ReportBatch,
    Store,
    open_store,
)
from rumor.collector.store.counts import DayTally
from rumor.contract.deletion import new_key, report_id
from rumor.core.reports import Reports
from rumor.mechanisms.summary import Summary
from tests.collector.tools import (
    Answer,
    batch,
    call,
    collection,
    many_questions,
    send,
    stored,
    typing,
)

DAY = datetime.date(2026, 3, 1)


def counted(store: Store, question: str) -> Summary:
    store.summarize()
    return store.summary(store.collections()[0], question)


def recounted(store: Store, question: str) -> Summary:
    """The summary of the reports that are there."""
    entry = store.collections()[0]
    mechanism = entry.collection.question(question).mechanism
    empty = Summary.empty(mechanism, contract=entry.collection.digest, question=question)
    for part in store.reports(entry, question):
        empty = empty.update(np.ascontiguousarray(part.reports))
    return empty


def ids(part: ReportBatch) -> Reports:
    return np.ascontiguousarray(part.rows[:, :16])


class TestStore:
    @pytest.mark.parametrize("before", [True, False])
    def test_a_report_leaves_reports_and_counts(self, store: Store, before: bool) -> None:
        entry = store.register(collection())
        part, other = batch(entry, "many", np.arange(9)), batch(entry, "colour", [0, 1])
        store.write([part, other])
        if before:
            store.summarize()
        assert store.withdraw(entry, "many", ids(part)[:4]) == 4
        assert counted(store, "many") == recounted(store, "many")
        assert counted(store, "many").reports == 5
        assert counted(store, "colour").reports == 2
        # Asking again is safe, and the report that comes again is not counted.
        assert store.withdraw(entry, "many", ids(part)[:5]) == 1
        assert store.write([part]) == [BatchAccepted(0, 9)]
        assert counted(store, "many").reports == 4

    def test_nothing_else_is_taken(self, store: Store) -> None:
        entry = store.register(collection())
        part = batch(entry, "colour", [0, 1])
        store.write([part])
        assert store.withdraw(entry, "many", ids(part)) == 0
        assert store.withdraw(entry, "colour", np.zeros((1, 16), np.uint8)) == 0
        assert counted(store, "colour").reports == 2
        store.delete_collection(entry.collection.digest)
        assert store.withdraw(entry, "colour", ids(part)) == CollectionUnknown()

    def test_the_last_report_of_a_day_takes_the_day_along(self, store: Store) -> None:
        entry = store.register(collection())
        part = batch(entry, "colour", [0, 1])
        store.write([part])
        assert store.withdraw(entry, "colour", ids(part)) == 2
        assert store.reports_by_day(entry, "colour") == {}
        assert counted(store, "colour").reports == 0

    def test_a_closed_collection_lets_reports_go_with_their_ids(self, store: Store) -> None:
        entry = store.register(collection())
        part = batch(entry, "colour", [0, 1])
        store.write([part])
        store.close_collection(entry.collection.digest)
        assert store.withdraw(entry, "colour", ids(part)[:1]) == 1
        assert list(store.spent_ids(entry, "colour")) == []
        assert counted(store, "colour").reports == 1

    def test_what_is_past_its_retention_is_a_count_alone(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ingest, "today", lambda: DAY)
        entry = store.register(collection(retention=1))
        part = batch(entry, "colour", [0, 1] * 50)
        store.write([part])
        store.expire(DAY + datetime.timedelta(days=5))
        assert store.withdraw(entry, "colour", ids(part)) == 0
        assert counted(store, "colour").reports == 100

    def test_it_survives_an_export_and_an_import(self, store: Store, tmp_path: Path) -> None:
        entry = store.register(collection())
        part = batch(entry, "colour", [0, 1, 2])
        store.write([part])
        store.withdraw(entry, "colour", ids(part)[:1])
        export_collection(store, entry.collection.digest, tmp_path / "out")
        store.delete_collection(entry.collection.digest)
        import_collection(store, tmp_path / "out")
        again = store.collections()[0]
        assert store.write([ReportBatch(again.questions["colour"], part.rows)]) == [
            BatchAccepted(0, 3)
        ]
        assert store.withdraw(again, "colour", ids(part)) == 2
        assert counted(store, "colour").reports == 0

    def test_who_is_counting_meanwhile_begins_again(
        self, store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A report that was read to be counted and is withdrawn before that is not counted."""
        entry = store.register(collection())
        part = batch(entry, "colour", [0, 1, 2])
        store.write([part])
        other, count = open_store(store_url), summaries._count
        done: list[object] = []

        def slowly(*arguments: object) -> DayTally:
            if not done:
                done.append(None)  # the one who withdraws counts as well
                done.append(other.withdraw(entry, "colour", ids(part)[:2]))
            return count(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(summaries, "_count", slowly)
        store.summarize()
        monkeypatch.undo()
        assert done == [None, 2]
        assert counted(store, "colour") == recounted(store, "colour")
        assert counted(store, "colour").reports == 1
        other.close()

    def test_withdrawn_bytes_are_gone_from_the_file(self, tmp_path: Path) -> None:
        """Of reports that are long enough not to be found by chance."""
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        asked = {"id": "q", "kind": "choice", "domain": 400, "epsilon": 1.0, "mechanism": "unary"}
        entry = store.register(many_questions(1, questions=[asked]))
        part = batch(entry, "q", [1] * 50)
        store.write([part])

        def on_disk() -> int:
            whole = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            return sum(row[16:].tobytes() in whole for row in part.rows)

        assert on_disk() == 50
        store.withdraw(entry, "q", ids(part)[:40])
        store.forget_tokens()
        assert on_disk() == 10
        store.close()

    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.lists(st.tuples(st.sampled_from("wwctr"), st.integers(0, 20)), max_size=12))
    def test_counts_are_the_reports_that_are_there(
        self, tmp_path: Path, operations: list[tuple[str, int]]
    ) -> None:
        """Writes, counts, withdrawals and repeats in any order."""
        for file in tmp_path.iterdir():
            file.unlink()
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(collection())
        parts: list[ReportBatch] = []
        gone: set[bytes] = set()
        for what, number in operations:
            if what == "w":
                parts.append(batch(entry, "many", np.arange(number % 4 + 1)))
                store.write([parts[-1]])
            elif what == "c":
                store.summarize()
            elif what == "t" and parts:
                part = parts[number % len(parts)]
                some = ids(part)[: number % len(part) + 1]
                fresh = {bytes(id) for id in some} - gone
                assert store.withdraw(entry, "many", some) == len(fresh)
                gone |= fresh
            elif what == "r" and parts:
                assert store.write([parts[number % len(parts)]])[0].new == 0  # type: ignore[union-attr]
        left = {bytes(row[:16]) for part in parts for row in part.rows} - gone
        assert set(stored(store, entry, "many")) == left
        assert counted(store, "many") == recounted(store, "many")
        store.close()


def withdraw(url: str, digest: str, document: object) -> Answer:
    headers = {"Content-Type": "application/json", "Rumor-Collection": digest}
    return call(url, "/v1/withdrawals", json.dumps(document).encode(), headers)


def as_text(key: bytes) -> str:
    return base64.b64encode(key).decode()


class TestOverHttp:
    def test_the_key_takes_back_and_the_id_does_not(self, store: Store) -> None:
        entry = store.register(collection())
        keys = [new_key() for _ in range(3)]
        body = b"".join(report_id(key) + b"\x01" for key in keys)
        with background(Service(store, "series")) as url:
            assert send(url, entry.collection, "colour", body).status == 200
            seen = [as_text(report_id(key)) for key in keys]  # what an export shows
            digest = entry.collection.digest
            answer = withdraw(url, digest, {"question": "colour", "keys": seen})
            assert answer.json() == {"withdrawn": 0, "absent": 3}
            two = {"question": "colour", "keys": [as_text(key) for key in keys[:2]]}
            assert withdraw(url, digest, two).json() == {"withdrawn": 2, "absent": 0}
            assert withdraw(url, digest, two).json() == {"withdrawn": 0, "absent": 2}
            assert (
                'rumor_reports_total{outcome="withdrawn"} 2' in call(url, "/metrics").body.decode()
            )
        again = counted_at(store)
        assert again == 1

    @pytest.mark.parametrize(
        ("document", "status", "problem"),
        [
            ({"question": "colour", "keys": []}, 400, "malformed"),
            ({"question": "colour", "keys": [as_text(bytes(15))]}, 400, "malformed"),
            ({"question": "colour", "keys": "x"}, 400, "malformed"),
            ({"question": "colour", "ids": [as_text(bytes(16))]}, 400, "malformed"),
            ({"question": "smell", "keys": [as_text(bytes(16))]}, 404, "not-found"),
            ({"question": "colour", "keys": [as_text(bytes(16))] * 6}, 413, "too-large"),
        ],
    )
    def test_anything_else_is_refused(
        self, tmp_path: Path, document: object, status: int, problem: str
    ) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(collection())
        with background(Service(store, "series", limits=Limits(json_reports=5))) as url:
            answer = withdraw(url, entry.collection.digest, document)
            assert (answer.status, answer.problem) == (status, problem)
            answer = withdraw(url, "f" * 64, document)
            assert (answer.status, answer.problem) == (409, "unknown-collection")


def counted_at(store: Store) -> int:
    return counted(store, "colour").reports


class TestDevice:
    def test_a_person_takes_back_what_was_sent_and_nothing_is_refunded(
        self, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        entry = store.register(collection())
        mine, theirs = str(tmp_path / "mine"), str(tmp_path / "theirs")
        with background(Service(store, "series")) as url:
            for device in (mine, theirs):
                with typing("colour=red\nmany=3"):
                    assert main(["answer", url, "--state-dir", device]) == 0
            with typing("colour=blue"):
                assert main(["answer", url, "--state-dir", mine]) == 0
            capsys.readouterr()
            command = ["withdraw", url, "--state-dir", mine]
            assert main([*command, "many"]) == 0
            said = capsys.readouterr().out
            assert (
                "1 report withdrawn, 0 not found, 0 still to withdraw. Epsilon 3 remains spent"
                in said
            )
            assert "cannot be withdrawn" in said
            assert main([*command, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            assert (found["withdrawn"], found["absent"], found["left"]) == (2, 0, 0)
            assert found["spent"] == pytest.approx(3.0)
            assert main([*command, "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["withdrawn"] == 0
            # Nor can the question be answered anew: what was asked once was asked.
            assert main(["answer", url, "many=3", "--state-dir", mine]) == 2
            for question in ("colour", "many"):
                assert len(stored(store, entry, question)) == 1
                assert counted(store, question) == recounted(store, question)

    def test_what_waits_is_never_sent_and_what_arrived_unheard_is_taken_back(
        self, store: Store, tmp_path: Path
    ) -> None:
        entry = store.register(collection())
        with background(Service(store, "series")) as url:
            with rumor.Client(url, tmp_path / "device", collection()) as client:
                client._respondent.prepare(collection(), {"colour": "red"})
                (unheard,) = client.waiting()
                record = unheard.id + unheard.report
                client._transport.send(unheard.contract, "colour", record, 1)
                client._respondent.prepare(collection(), {"many": 3})
                assert len(client.waiting()) == 2
                done = client.withdraw()
                assert (done.withdrawn, done.absent, done.left) == (1, 1, 0)
                assert client.waiting() == []
                assert client.flush().sent == 0
            assert stored(store, entry, "colour") == {}
            assert stored(store, entry, "many") == {}

    def test_keys_are_kept_while_the_collector_is_away(self, store: Store, tmp_path: Path) -> None:
        store.register(collection())
        with background(Service(store, "series")) as url:
            client = rumor.Client(url, tmp_path / "device", attempts=1)
            assert client.answer({"colour": "red"}).sent == 1
            store.delete_collection(collection().digest)
            done = client.withdraw()
            assert (done.withdrawn, done.left) == (0, 1)
            assert "if it was deleted, so were the reports" in str(done.problem)
        done = client.withdraw()
        assert (done.withdrawn, done.left) == (0, 1)
        assert "cannot be reached" in str(done.problem)
        client.close()

    def test_keys_are_forgotten_when_retention_ends(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Today(datetime.datetime):
            at = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)

            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
                return cls.at

        monkeypatch.setattr("rumor.client.tables.datetime.datetime", Today)
        with rumor.Respondent(tmp_path) as person:
            for contract in (collection(retention=10), collection(series="other")):
                person.acknowledge(person.prepare(contract, {"colour": "red"}))
            person.prepare(collection(retention=10), {"many": 1})
            for days, left in ((10, 3), (11, 3), (12, 2)):
                Today.at = datetime.datetime(2026, 3, 1 + days, tzinfo=datetime.UTC)
                person.acknowledge([])
                assert len(person.withdrawable()) == left, days

    def test_a_ledger_from_before_learns_of_keys(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.sqlite3"
        Ledger(path).close()
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE sent")
        database.close()
        ledger = Ledger(path)
        assert ledger.withdrawals.withdrawable() == []
        ledger.close()
