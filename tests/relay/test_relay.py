"""A relay: one answer to everybody, whole classes or nothing, no order, no sender."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import logging
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.client.transport import Transport
from rumor.collector.metrics import Metrics
from rumor.collector.relay import release
from rumor.collector.relay import store as relay_store
from rumor.collector.relay.release import Releaser
from rumor.collector.relay.service import OUTCOMES
from rumor.collector.relay.store import (
    ArrivedEnvelope,
    BatchRelease,
    EnvelopeBatch,
    LastRelease,
    RelayStore,
    _name,
)
from rumor.collector.store.base import StoreDamagedError, open_store
from rumor.contract.collection import Collection
from tests.collector.tools import call
from tests.relay.tools import envelopes, kind_of, relayed, running

DAY = datetime.date(2026, 3, 1)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RelayStore]:
    monkeypatch.setattr(relay_store, "today", lambda: DAY)
    opened = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
    opened.release(0, 1, DAY)
    yield opened
    opened.close()


def filled(
    kept: RelayStore, contract: Collection, count: int, turn: int | None = None
) -> tuple[EnvelopeBatch, list[bytes]]:
    """A batch with fresh envelopes in it."""
    kept.register(contract)
    (kind,) = [c for c in kept.classes() if (c.digest, c.question) == (contract.digest, "colour")]
    batch, made = EnvelopeBatch(kind, turn), envelopes(contract, count, turn=turn)
    assert kept.keep(arrived(batch, made)) == [True] * count
    return batch, made


def arrived(batch: EnvelopeBatch, made: Iterable[bytes]) -> list[ArrivedEnvelope]:
    """Envelopes as a batch takes them in."""
    return [ArrivedEnvelope(batch.kind.number, each, batch.turn) for each in made]


def last(kept: RelayStore) -> LastRelease:
    """The last release, of a schedule that has started."""
    found = kept.last_release()
    assert found is not None
    return found


def released(found: list[BatchRelease] | None) -> list[int]:
    """How many envelopes of each batch a release let go."""
    assert found is not None
    return [each.released for each in found]


class Desk(Transport):
    """A gateway that takes, refuses or does not answer, as it is told."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")
        self.taken: list[list[bytes]] = []
        self.trouble: Exception | None = None

    def hand_over(
        self, digest: str, question: str, envelopes: bytes, count: int, token: str,
        turn: int | None = None,
    ) -> None:  # fmt: skip
        if self.trouble is not None:
            raise self.trouble
        size = len(envelopes) // count
        self.taken.append([envelopes[at : at + size] for at in range(0, len(envelopes), size)])


@contextlib.contextmanager
def releaser(kept: RelayStore, desk: Desk) -> Iterator[Releaser]:
    """One that only works when it is told to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rumor.collector.periodic.PeriodicTask._run", lambda self: None)
        # By this clock nothing is ever due, unless a test sets another.
        patch.setattr("rumor.collector.clock.now", lambda: last(kept).time)
        yield Releaser(kept, desk, lambda: "token", Metrics(OUTCOMES, "envelopes"), 1)


def test_a_gateway_that_goes_away_again_and_again_is_handed_what_it_lacks(
    kept: RelayStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a class at a time would begin anew each time, and never end."""
    monkeypatch.setattr(release, "_MOST_ENVELOPES", 4)
    batch, made = filled(kept, relayed(crowd=3), 11)

    class Fading(Desk):
        def hand_over(self, *given: Any) -> None:
            super().hand_over(*given)
            self.trouble = rumor.client.transport.Unreachable("gone")

    desk = Fading()
    with releaser(kept, desk) as work:
        kept.release(1, 1, DAY)
        for _ in range(3):
            work.run_once(DAY)
            desk.trouble = None
    assert [len(piece) for piece in desk.taken] == [4, 4, 3]
    assert [each for piece in desk.taken for each in piece] == sorted(made)
    assert not kept.under_way(batch, 99)


class TestCrowd:
    def test_one_too_few_is_nothing_released(self, kept: RelayStore) -> None:
        batch, made = filled(kept, relayed(crowd=100), 99)
        assert released(kept.release(1, 1, DAY)) == [0, 0]
        assert kept.under_way(batch, 1000) == []
        (more,) = envelopes(relayed(crowd=100), 1)
        assert kept.keep(arrived(batch, [made[0], more])) == [False, True]
        assert released(kept.release(2, 1, DAY)) == [100, 0]
        assert kept.under_way(batch, 1000) == sorted([*made, more])

    def test_a_turn_comes_once(self, kept: RelayStore) -> None:
        batch, _ = filled(kept, relayed(crowd=3), 3)
        assert kept.release(0, 1, DAY) == []
        assert sum(released(kept.release(1, 1, DAY))) == 3
        kept.keep(arrived(batch, envelopes(relayed(crowd=3), 3)))
        assert kept.release(1, 1, DAY) == []
        assert kept.waiting(batch) == 3

    def test_who_comes_after_the_release_waits_for_the_next(self, kept: RelayStore) -> None:
        """Else a second try would show the few that came between the two."""
        batch, made = filled(kept, relayed(crowd=3), 3)
        desk = Desk()
        with releaser(kept, desk) as work:
            desk.trouble = rumor.client.transport.Unreachable("gone")
            kept.release(1, 1, DAY)
            work.run_once(DAY)
            late = envelopes(relayed(crowd=3), 2)
            kept.keep(arrived(batch, late))
            desk.trouble = None
            work.run_once(DAY)
            assert desk.taken == [sorted(made)]
            kept.release(2, 1, DAY)
            work.run_once(DAY)
            assert desk.taken == [sorted(made)]
            assert kept.waiting(batch) == 2

    def test_bytes_that_were_delivered_do_not_count_for_the_next_crowd(
        self, kept: RelayStore
    ) -> None:
        batch, made = filled(kept, relayed(crowd=3, days=2), 3)
        with releaser(kept, desk := Desk()) as work:
            kept.release(1, 1, DAY)
            work.run_once(DAY)
            assert len(desk.taken) == 1
            again = arrived(batch, made)
            assert kept.keep(again) == [False] * 3
            assert kept.waiting(batch) == 0
            kept.release(2, 1, DAY + datetime.timedelta(days=3))
            assert kept.keep(again) == [True] * 3  # the collector knows them still

    def test_bytes_of_a_turn_do_not_count_again_while_the_turn_is_taken(
        self, kept: RelayStore
    ) -> None:
        """The contract's days may be fewer than those of a turn."""
        batch, made = filled(kept, relayed(crowd=3, days=1, turn_hours=168), 3, turn=3_000)
        kept.release_turns(3_001.5 * 168 * 3600)
        kept.delivered(batch, kept.under_way(batch, 9), DAY)
        for number, days, new in ((1, 14, False), (2, 15, True)):
            kept.release(number, 1, DAY + datetime.timedelta(days=days))
            assert kept.keep(arrived(batch, made)) == [new] * 3

    def test_what_is_too_few_for_too_long_is_dropped_and_that_is_said(
        self, kept: RelayStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        batch, _ = filled(kept, relayed(crowd=100, days=3), 99)
        with releaser(kept, Desk()) as work, caplog.at_level(logging.WARNING):
            for days, left in ((3, 99), (4, 0)):
                with pytest.MonkeyPatch.context() as patch:
                    number = float(days)
                    patch.setattr("rumor.collector.clock.now", lambda n=number: n)
                    work.run_once(DAY + datetime.timedelta(days=days))
                assert kept.waiting(batch) == left
            assert work._metrics.reports["dropped"] == 99
            assert 'rumor_envelopes_total{outcome="dropped"} 99' in work._metrics.text()
        assert [record.message for record in caplog.records] == [
            f"dropped 99 envelopes of question 'colour' ({batch.kind.digest[:16]}...): not "
            f"released within 3 days (the contract waits for 100)"
        ]

    def test_what_is_too_old_is_never_passed_on_nor_counted_for_a_crowd(
        self, kept: RelayStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The collector has forgotten by then who took such a report back."""
        contract = relayed(crowd=3, days=3)
        batch, _ = filled(kept, contract, 5)
        late = DAY + datetime.timedelta(days=4)
        monkeypatch.setattr(relay_store, "today", lambda: late)
        filled(kept, contract, 2)
        first = kept.release(1, 1, late)
        assert first is not None
        assert [(each.released, each.dropped) for each in first] == [(0, 5), (0, 0)]
        _, newer = filled(kept, contract, 1)
        assert released(kept.release(2, 1, late)) == [3, 0]
        assert newer[0] in kept.under_way(batch, 9)

    def test_a_closed_collection_takes_none_and_that_is_said(
        self, kept: RelayStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        filled(kept, relayed(crowd=3), 3)
        desk = Desk()
        desk.trouble = rumor.client.transport.Refused("closed", "it is closed")
        with releaser(kept, desk) as work, caplog.at_level(logging.WARNING):
            kept.release(1, 1, DAY)
            work.run_once(DAY)
            work.run_once(DAY)
        assert [record.message.partition(": ")[2] for record in caplog.records] == [
            "the collection is closed"
        ]

    def test_what_a_gateway_refuses_waits(
        self, kept: RelayStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        batch, made = filled(kept, relayed(crowd=3), 3)
        desk = Desk()
        desk.trouble = rumor.client.transport.Refused("unauthorized", "who are you")
        with releaser(kept, desk) as work, caplog.at_level(logging.WARNING):
            kept.release(1, 1, DAY)
            for _ in range(3):
                work.run_once(DAY + datetime.timedelta(days=10))
            assert kept.under_way(batch, 9) == sorted(made)
            desk.trouble = None
            work.run_once(DAY)
        assert desk.taken == [sorted(made)]
        assert [record.message for record in caplog.records] == [
            "the gateway refuses envelopes, which wait: who are you"
        ]

    def test_what_cannot_be_delivered_for_a_week_beyond_its_days_is_dropped_and_that_is_said(
        self, kept: RelayStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        batch, _ = filled(kept, relayed(crowd=3, days=3), 3)
        desk = Desk()
        desk.trouble = rumor.client.transport.Unreachable("gone")
        with releaser(kept, desk) as work, caplog.at_level(logging.WARNING):
            kept.release(1, 1, DAY)
            for days, left in ((10, 3), (11, 0)):
                work.run_once(DAY + datetime.timedelta(days=days))
                assert len(kept.under_way(batch, 9)) == left
            assert work._metrics.reports["dropped"] == 3
        assert caplog.messages[-1].endswith(": not delivered within 10 days")


class TestStore:
    def test_it_keeps_no_order_and_of_the_time_the_day(
        self, kept: RelayStore, tmp_path: Path
    ) -> None:
        contract = relayed()
        batch, made = filled(kept, contract, 1)
        for each in envelopes(contract, 60):
            kept.keep(arrived(batch, [each]))
            made.append(each)
        kept.tidy(thorough=True)
        database = sqlite3.connect(tmp_path / "relay.db")
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            database.execute("SELECT rowid FROM envelope")
        columns = [row[1] for row in database.execute("PRAGMA table_info(envelope)")]
        assert columns == ["class", "name", "day", "released", "sealed", "checksum", "turn"]
        assert database.execute("SELECT DISTINCT day, released FROM envelope").fetchall() == [
            ((DAY - datetime.date(1970, 1, 1)).days, 0)
        ]
        database.close()
        # Nor do the pages of the file: they are in the order of the names, which are hashes.
        raw = (tmp_path / "relay.db").read_bytes()
        places = [raw.find(each) for each in made]
        assert min(places) > 0
        assert raw.count(made[0]) == 1
        named = sorted(zip(map(_name, made), places, strict=True))
        page = int.from_bytes(raw[16:18], "big")
        together = [
            (place, after)
            for (_, place), (_, after) in itertools.pairwise(named)
            if place // page == after // page
        ]
        # A page is filled from its end, and here by name after name but where two pages meet; as
        # rows came, every other would be out of this order.
        assert len(together) > 50
        assert sum(after > place for place, after in together) <= 2
        assert (tmp_path / "relay.db-wal").stat().st_size == 0

    def test_an_envelope_that_the_disk_changed_is_not_handed_over(
        self, kept: RelayStore, tmp_path: Path
    ) -> None:
        batch, _ = filled(kept, relayed(crowd=3), 3)
        kept.release(1, 1, DAY)
        kept.close()
        with sqlite3.connect(tmp_path / "relay.db") as database:
            database.execute("UPDATE envelope SET sealed = zeroblob(98) WHERE class = 1")
        database.close()
        with pytest.raises(StoreDamagedError, match="an envelope does not fit its checksum"):
            kept.under_way(batch, 9)

    def test_a_relays_store_and_a_collectors_are_not_the_same(self, tmp_path: Path) -> None:
        open_store(f"sqlite:///{tmp_path / 'store.db'}").close()
        with pytest.raises(rumor.InputError, match="a relay's store must be a SQLite file of"):
            RelayStore(f"sqlite:///{tmp_path / 'store.db'}")
        RelayStore(f"sqlite:///{tmp_path / 'relay.db'}").close()
        with pytest.raises(rumor.InputError, match="a store must be a SQLite file of"):
            open_store(f"sqlite:///{tmp_path / 'relay.db'}")
        with pytest.raises(rumor.InputError, match="tells no order of arrival"):
            RelayStore("postgresql://nobody:secret@nowhere/x")


class TestHttp:
    def test_everybody_hears_the_same(self, tmp_path: Path) -> None:
        with running(tmp_path) as path:
            (good,) = envelopes(path.collection, 1)
            bad = bytes(len(good))
            where = f"/v1/relay/{path.collection.digest}/colour"
            answers = [call(path.relay_url, where, each) for each in (good, good, bad, bad)]
            assert {(a.status, a.body) for a in answers} == {(202, b'{"taken":1}')}
            said = [{k: v for k, v in a.headers.items() if k != "date"} for a in answers]
            assert said[0] == said[1] == said[2] == said[3]
            assert said[0]["access-control-allow-origin"] == "*"
            counts = call(path.relay_url, "/metrics").body.decode()
            assert 'rumor_envelopes_total{outcome="kept"} 2' in counts
            assert 'rumor_envelopes_total{outcome="repeated"} 2' in counts

    def test_what_is_no_such_envelope_is_refused(self, tmp_path: Path) -> None:
        with running(tmp_path) as path:
            (good,) = envelopes(path.collection, 1)
            digest = path.collection.digest
            for body in (good[:-1], good + b"x", b""):
                answer = call(path.relay_url, f"/v1/relay/{digest}/colour", body)
                assert (answer.status, answer.problem) == (400, "malformed")
                assert f"must have {len(good)} bytes; got {len(body)}" in answer.json()["detail"]
            for where in (f"{digest}/many", f"{digest}/other", f"{'0' * 64}/colour"):
                answer = call(path.relay_url, f"/v1/relay/{where}", good)
                assert answer.status == (400 if where.endswith("many") else 404)
            assert call(path.relay_url, "/v1/reports", good).status == 404
            assert call(path.relay_url, "/healthz").status == 200
            assert (
                path.relay.store.waiting(path.relay.batch(path.relay.kind(digest, "colour"), None))
                == 0
            )
            assert kind_of(path.collection).size == len(good)
