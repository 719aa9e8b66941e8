"""Devices that answer through a relay: sealed once, sent alone, heard by nobody else."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.contract.admission import admission_keys, new_invitation
from tests.collector.tools import stored
from tests.relay.tools import PRIVATE, Path3, kind_of, relayed, running


def client(path: Path3, folder: Path, **more: object) -> Client:
    return Client(path.collector_url, folder, delay=0.0, attempts=1, **more)  # type: ignore[arg-type]


def delivered(path: Path3, count: int) -> dict[bytes, bytes]:
    """What the collector holds, once there is so much of it and the relay has heard of it.

    The store holds reports a moment before they are counted and acknowledged.
    """
    deadline, batches = time.monotonic() + 30, path.relay.store.batches_under_way()
    while len(held := stored(path.store, path.entry, "colour")) < count or any(
        path.relay.store.under_way(batch, 1) for batch in batches
    ):
        assert time.monotonic() < deadline, held
        time.sleep(0.02)
    return held


def released(path: Path3) -> None:
    """A release of the schedule comes."""
    path.release()


def test_answers_reach_the_collector_as_a_crowd(tmp_path: Path, store_url: str) -> None:
    with running(tmp_path, store_url, crowd=4) as path:
        ids = set()
        for number in range(4):
            with client(path, tmp_path / f"device-{number}") as device:
                receipt = device.answer({"colour": "red"})
                assert (receipt.sent, receipt.waiting, receipt.problem) == (1, 0, None)
                ids |= {made.id for made in device._respondent.withdrawable()}
            if number == 2:
                released(path)
                time.sleep(0.2)
                assert stored(path.store, path.entry, "colour") == {}
        released(path)
        assert set(delivered(path, 4)) == ids


def test_what_waits_is_sent_again_byte_for_byte(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        with Respondent(tmp_path / "device") as person:
            (made,) = person.prepare(path.collection, {"colour": "red"})
            (kept,) = person.pending()
        assert kept == made
        assert made.relay == path.relay_url
        assert made.sealed is not None
        with client(path, tmp_path / "device") as device:
            device.collection()
            batch = path.batch()
            for _ in range(2):
                assert device.waiting() == [made]
                device._deliver([made])
                assert path.relay.store.waiting(batch) == 1
            assert device.flush().sent == 1
            assert path.relay.store.waiting(batch) == 1


def test_several_answers_to_one_question_all_arrive(tmp_path: Path) -> None:
    with running(tmp_path) as path, client(path, tmp_path / "device") as device:
        for answer in ("red", "green", "blue"):
            device._respondent.prepare(path.collection, {"colour": answer})
        device.collection()
        assert device.flush().sent == 3
        batch = path.batch()
        assert path.relay.store.waiting(batch) == 3


def test_the_outbox_holds_what_opens_to_the_report(tmp_path: Path) -> None:
    contract = relayed()
    with Respondent(tmp_path) as person:
        (made,) = person.prepare(contract, {"many": 3})
    assert made.sealed is not None
    opened = kind_of(contract, "many").open(PRIVATE, made.sealed, contract)
    assert opened is not None
    assert (opened[0].id, opened[1]) == (made.id, made.report)


def test_an_invited_person_answers_through_a_relay(tmp_path: Path) -> None:
    with running(tmp_path, crowd=2, admission="invited") as path:
        for number in range(2):
            code = new_invitation()
            path.store.admit("series", admission_keys(path.collection, code))
            with client(path, tmp_path / f"device-{number}", invitation=code) as device:
                assert device.answer({"colour": "red"}).sent == 1
        released(path)
        assert len(delivered(path, 2)) == 2


def test_a_relay_that_is_away_costs_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        contract = path.collection
        with Respondent(tmp_path / "device") as person:
            person.prepare(relayed(url="http://127.0.0.1:9", series="other"), {"colour": "red"})
        with client(path, tmp_path / "device") as device:
            device.collection()
            device._remember(relayed(url="http://127.0.0.1:9", series="other"))
            receipt = device.flush()
            assert (receipt.sent, receipt.waiting) == (0, 1)
            assert receipt.problem is not None
            assert "127.0.0.1:9 cannot be reached" in receipt.problem
        assert contract.relay is not None


def test_a_report_that_is_withdrawn_while_it_is_at_the_relay_never_counts(
    tmp_path: Path, store_url: str
) -> None:
    with running(tmp_path, store_url, crowd=2) as path:
        with client(path, tmp_path / "sorry") as device:
            device.answer({"colour": "red"})
            (gone,) = device._respondent.withdrawable()
            taken = device.withdraw()
            assert (taken.withdrawn, taken.absent, taken.left) == (0, 1, 0)
        with client(path, tmp_path / "glad") as device:
            device.answer({"colour": "red"})
            (stays,) = device._respondent.withdrawable()
        released(path)
        assert set(delivered(path, 1)) == {stays.id}
        time.sleep(0.1)
        assert set(stored(path.store, path.entry, "colour")) == {stays.id}
        assert path.service.metrics.reports["duplicate"] == 1
        path.store.summarize()
        assert path.store.summary(path.entry, "colour").reports == 1
        with client(path, tmp_path / "glad") as device:
            assert device.withdraw().withdrawn == 1
        assert stored(path.store, path.entry, "colour") == {}
        assert gone.id != stays.id


def test_each_envelope_waits_a_while_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    with running(tmp_path) as path:
        # The client's own clock alone: others sleep, too, while they serve.
        clock = SimpleNamespace(**{**vars(time), "sleep": slept.append})
        monkeypatch.setattr("rumor.client.client.time", clock)
        device = Client(path.collector_url, tmp_path / "device", delay=7.0)
        assert device.answer({"colour": "red", "many": 3}).sent == 2
        device.close()
    mine = [seconds for seconds in slept if seconds > 0.05]
    assert len(set(mine)) == 2
    assert all(0 < seconds < 7 for seconds in mine)
