"""Turns: one report of a person in a batch, bound into the envelope, and kept to by all three."""

from __future__ import annotations

import datetime
import logging
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli import main
from rumor.client import respondent
from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.collector import clock
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.store.base import StoreDamagedError, open_store
from rumor.contract.admission import admission_keys, new_invitation
from rumor.contract.collection import Collection
from rumor.contract.envelope import AdmittedReport
from rumor.contract.relay import Relay
from tests.client.test_asked import TO_VERSION_7
from tests.collector.tools import Answer, call, stored
from tests.issuers import invite
from tests.javascript import node, parsed, refusals, steps
from tests.relay import hpke
from tests.relay.test_blind import whole_path
from tests.relay.test_devices import client, delivered
from tests.relay.test_envelope import INFO, VECTORS
from tests.relay.test_gateway import hand_over, outcomes
from tests.relay.tools import PRIVATE, PUBLIC, SECRET, Path3, envelopes, kind_of, relayed, running

HOUR = 3600
START = 1_800_000_000
"""The time at which turn 20,833 of 24 hours is 8 hours old."""


@dataclass
class Time:
    """The clock of relay, gateway and devices, in seconds since 1970."""

    seconds: float = START

    def pass_hours(self, hours: float) -> None:
        self.seconds += hours * HOUR

    @property
    def turn(self) -> int:
        """The turn of 24 hours."""
        return int(self.seconds // (24 * HOUR))

    @property
    def day(self) -> float:
        """The days since 1970, as a browser's client is given them here."""
        return self.seconds / 86_400


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Time:
    found = Time()
    monkeypatch.setattr(clock, "now", lambda: found.seconds)
    monkeypatch.setattr(
        respondent,
        "_utc_now",
        lambda: datetime.datetime.fromtimestamp(found.seconds, datetime.UTC),
    )
    return found


@pytest.fixture
def path(tmp_path: Path, now: Time, store_url: str) -> Iterator[Path3]:
    # The period is longer than the test, so that a test releases when it wants to.
    with running(tmp_path, store_url, crowd=3, turn_hours=24) as found:
        yield found


def post(path: Path3, sealed: bytes, turn: object = "", question: str = "colour") -> Answer:
    named = "" if turn == "" else f"/{turn}"
    where = f"/v1/relay/{path.collection.digest}/{question}{named}"
    return call(path.relay_url, where, sealed)


class TestEnvelope:
    def test_it_opens_in_its_own_turn_alone(self) -> None:
        contract = relayed(turn_hours=24)
        sealed = kind_of(contract, turn=7).seal(b"i" * 16, None, b"\x01")
        assert kind_of(contract, turn=7).open(PRIVATE, sealed, contract) == (
            AdmittedReport(b"i" * 16), b"\x01",
        )  # fmt: skip
        for other in (6, 8, 0, 2**40):
            assert kind_of(contract, turn=other).open(PRIVATE, sealed, contract) is None

    def test_the_info_is_what_the_page_says(self) -> None:
        contract = relayed(turn_hours=24)
        turn, digest = (20_833).to_bytes(8, "big"), bytes.fromhex(contract.digest)
        info = b"rumor envelope 2" + digest + turn + b"colour"
        assert kind_of(contract, turn=20_833).info == info
        ours = hpke.seal(hpke.P256, b"\x07" * 32, bytes.fromhex(PUBLIC), info, b"i" * 16 + b"\x02")
        opened = kind_of(contract, turn=20_833).open(PRIVATE, ours, contract)
        assert opened == (AdmittedReport(b"i" * 16), b"\x02")

    def test_a_contract_with_turns_has_no_envelope_without_and_the_other_way_round(self) -> None:
        for contract, turn in ((relayed(turn_hours=24), None), (relayed(), 7)):
            with pytest.raises(rumor.InputError, match="an envelope must name its turn where"):
                kind_of(contract, turn=turn).seal(b"i" * 16, None, b"\x01")

    def test_python_and_javascript_open_what_the_other_seals(self) -> None:
        contract = relayed(turn_hours=24)
        kind, body = kind_of(contract, turn=20_833), b"j" * 16 + b"\x02"
        enc, public = VECTORS["A.3.1"][2], VECTORS["A.3.1"][4]
        joint = hpke.P256.exchange(bytes.fromhex(VECTORS["A.3.1"][1]), bytes.fromhex(public))
        found = node(
            "relay.mjs",
            given={
                "secret": SECRET.hex(),
                "receiver": PUBLIC,
                "digest": contract.digest,
                "question": "colour",
                "plain": body.hex(),
                "turn": 20_833,
                "sealed": kind.seal(b"i" * 16, None, b"\x01").hex(),
                "vector": {"joint": joint.hex(), "enc": enc, "receiver": public, "info": INFO},
            },
        )
        assert found["info"] == kind.info.hex()
        assert found["opened"] == (b"i" * 16 + b"\x01").hex()
        opened = kind.open(PRIVATE, bytes.fromhex(found["sealed"]), contract)
        assert opened == (AdmittedReport(b"j" * 16), b"\x02")


class TestRelay:
    def test_it_takes_the_current_turn_and_the_last_one(self, path: Path3, now: Time) -> None:
        (sealed,) = envelopes(path.collection, 1, turn=now.turn)
        for turn in (now.turn, now.turn - 1):
            assert post(path, sealed, turn).status == 202
        rule = (
            f"envelopes of a contract with turns must name turn {now.turn}, which is the current "
            f"one, or turn {now.turn - 1}; got "
        )
        bad = {now.turn + 1, now.turn - 2, "07", "x", "-1", "9" * 40, f"{now.turn}.0"}
        for other in bad:
            answer = post(path, sealed, other)
            assert (answer.status, answer.problem) == (409, "wrong-turn")
            assert answer.json()["detail"].startswith(rule)
        answer = post(path, sealed)
        assert (answer.problem, answer.json()["detail"]) == ("wrong-turn", f"{rule}none")

    def test_a_contract_without_turns_has_none(self, tmp_path: Path, now: Time) -> None:
        with running(tmp_path) as plain:
            (sealed,) = envelopes(plain.collection, 1)
            answer = post(plain, sealed, now.turn)
            assert (answer.status, answer.problem) == (409, "wrong-turn")
            assert answer.json()["detail"] == (
                f"envelopes of a contract without turns must name no turn; got '{now.turn}'"
            )
            assert post(plain, sealed).status == 202
            answer = hand_over(plain, [sealed], **{"Rumor-Turn": str(now.turn)})
            assert (answer.status, answer.problem) == (409, "wrong-turn")

    def test_two_turns_never_share_a_batch(self, path: Path3, now: Time) -> None:
        for turn in (now.turn, now.turn - 1):
            for sealed in envelopes(path.collection, 2, turn=turn):
                assert post(path, sealed, turn).status == 202
        path.release()
        # Four of them wait, and no three are of one turn.
        assert path.relay.store.batches_under_way() == []
        (more,) = envelopes(path.collection, 1, turn=now.turn - 1)
        post(path, more, now.turn - 1)
        path.release()
        assert len(delivered(path, 3)) == 3
        assert path.relay.store.waiting(path.batch(turn=str(now.turn))) == 2
        assert outcomes(path) == {"accepted": 3}

    def test_what_never_fills_is_dropped_when_its_turn_is_over_and_that_is_said(
        self, path: Path3, now: Time, caplog: pytest.LogCaptureFixture
    ) -> None:
        turn, batch = now.turn, path.batch(turn=str(now.turn))
        for sealed in envelopes(path.collection, 2, turn=turn):
            post(path, sealed, turn)
        with caplog.at_level(logging.WARNING, "rumor.relay"):
            now.pass_hours(16 + 23.9)
            time.sleep(0.2)
            assert path.relay.store.waiting(batch) == 2
            now.pass_hours(0.2)
            wait_for(lambda: path.relay.metrics.reports["dropped"] == 2)
        assert path.relay.store.waiting(batch) == 0
        assert caplog.messages == [
            f"dropped 2 envelopes of question 'colour' ({path.collection.digest[:16]}..., turn "
            f"{turn}): too few or too late when it was over (the contract waits for 3)"
        ]
        assert 'outcome="dropped"} 2' in call(path.relay_url, "/metrics").body.decode()

    def test_what_is_not_delivered_in_time_is_dropped_and_that_is_said(
        self, tmp_path: Path, now: Time, caplog: pytest.LogCaptureFixture
    ) -> None:
        with running(tmp_path, crowd=3, turn_hours=24) as path:
            path.relay.token = lambda: "a word that the gateway does not know"
            path.relay._task._token = path.relay.token  # type: ignore[union-attr]
            turn = now.turn
            for sealed in envelopes(path.collection, 3, turn=turn):
                post(path, sealed, turn)
            path.release()
            with caplog.at_level(logging.WARNING, "rumor.relay"):
                now.pass_hours(48)
                wait_for(lambda: path.relay.metrics.reports["dropped"] == 3)
            assert "not delivered before it was over" in caplog.text
            assert outcomes(path) == {}

    def test_a_turn_that_the_disk_changed_is_not_handed_over(
        self, tmp_path: Path, now: Time
    ) -> None:
        contract = relayed(crowd=3, turn_hours=24)
        kept = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
        kept.register(contract)
        made = envelopes(contract, 3, turn=now.turn)
        kept.keep([ArrivedEnvelope(1, each, now.turn) for each in made])
        now.pass_hours(16 + 12)
        kept.release_turns(now.seconds)
        with sqlite3.connect(tmp_path / "relay.db") as database:
            database.execute("UPDATE envelope SET turn = turn - 1")
        database.close()
        (batch,) = kept.batches_under_way()[:1]
        with pytest.raises(StoreDamagedError, match="an envelope does not fit its checksum"):
            kept.under_way(batch, 9)
        kept.close()

    def test_any_period_may_be_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A period is about contracts without turns, so none is too long for a turn."""
        relayed(turn_hours=6).save(tmp_path / "contract.json")
        (tmp_path / "token").write_text("two words")
        given = ["relay", str(tmp_path / "contract.json"), "--gateway", "http://127.0.0.1:9"]
        given += ["--token-file", str(tmp_path / "token"), "--every"]
        for every, said in (("24", "must hold the one token"), ("0", "--every must be above 0")):
            assert main([*given, every]) == 2
            assert said in " ".join(capsys.readouterr().err.split())

    def test_a_turn_goes_at_two_moments_through_service_and_gateway(
        self, path: Path3, now: Time
    ) -> None:
        """At half of the following turn, and once more for whoever came since."""
        turn, counts = now.turn, path.relay.metrics.reports
        now.pass_hours(16)
        for hours, waits in ((11.9, True), (0.1, False), (10.7, True), (0.1, False)):
            if waits:
                for sealed in envelopes(path.collection, 3, turn=turn):
                    assert post(path, sealed, turn).status == 202
            before = counts["delivered"]
            now.pass_hours(hours)
            if waits:
                time.sleep(0.2)
                assert counts["delivered"] == before
            else:
                wait_for(lambda before=before: counts["delivered"] == before + 3)
        assert outcomes(path) == {"accepted": 6}
        # Whoever comes after the second moment is dropped, and never said to be released.
        for sealed in envelopes(path.collection, 5, turn=turn):
            assert post(path, sealed, turn).status == 202
        time.sleep(0.2)
        now.pass_hours(1.3)
        wait_for(lambda: counts["dropped"] == 5)
        assert (counts["released"], counts["delivered"]) == (6, 6)


class TestGateway:
    def test_it_takes_the_current_turn_and_the_last_one(self, path: Path3, now: Time) -> None:
        for turn in (now.turn, now.turn - 1):
            batch = envelopes(path.collection, 3, turn=turn)
            answer = hand_over(path, batch, **{"Rumor-Turn": str(turn)})
            assert (answer.status, answer.body) == (200, b'{"taken":3}')
        assert outcomes(path) == {"accepted": 6}
        for turn in (now.turn + 1, now.turn - 2):
            batch = envelopes(path.collection, 3, turn=turn)
            answer = hand_over(path, batch, **{"Rumor-Turn": str(turn)})
            assert (answer.status, answer.problem) == (409, "wrong-turn")
        assert hand_over(path, batch).problem == "wrong-turn"
        assert outcomes(path) == {"accepted": 6}

    def test_an_envelope_of_another_turn_is_dropped(self, path: Path3, now: Time) -> None:
        """A relay that hands it over in the turn after next cannot say that it is of that one."""
        batch = envelopes(path.collection, 3, turn=now.turn)
        now.pass_hours(48)
        assert hand_over(path, batch, **{"Rumor-Turn": str(now.turn)}).body == b'{"taken":3}'
        assert outcomes(path) == {"dropped": 3}
        assert stored(path.store, path.entry, "colour") == {}


class TestDevice:
    def test_it_makes_one_report_per_question_and_turn(self, tmp_path: Path, now: Time) -> None:
        contract = relayed(turn_hours=24)
        with Respondent(tmp_path) as device:
            device.prepare(contract, {"colour": "red"})
            spent = device.spent
            for hours in (0, 1, -5, -48):
                now.pass_hours(hours)
                for answers in ({"colour": "blue"}, {"many": 3, "colour": "blue"}):
                    with pytest.raises(rumor.InputError) as said:
                        device.prepare(contract, answers)
                    assert str(said.value) == (
                        "question 'colour' takes one report of a person every 24 hours, and this "
                        "device has made one; the next turn begins at 2027-01-16 00:00 UTC"
                    )
                    with pytest.raises(rumor.InputError, match="the next turn begins at"):
                        device.check_assigned(contract, ["colour"])
                assert (device.spent, len(device.pending())) == (spent, 1)
            now.seconds = START + 16 * HOUR
            device.prepare(contract, {"colour": "blue", "many": 3})
            assert len(device.pending()) == 3

    def test_an_earlier_ledger_sends_what_waits_in_it(self, tmp_path: Path) -> None:
        with running(tmp_path) as path:
            with Respondent(tmp_path / "device") as person:
                (made,) = person.prepare(path.collection, {"colour": "red"})
                person._ledger._database.executescript(f"{TO_VERSION_7} PRAGMA user_version = 7")
            with client(path, tmp_path / "device") as device:
                device.collection()
                assert device.waiting() == [made]
                assert device.flush().sent == 1
            assert path.relay.store.waiting(path.batch()) == 1

    def test_many_at_once_make_one_report_in_a_turn(self, tmp_path: Path, now: Time) -> None:
        contract = relayed(turn_hours=24)
        Respondent(tmp_path).close()

        def attempt(_: int) -> bool:
            with Respondent(tmp_path) as device:
                try:
                    device.prepare(contract, {"colour": "red"})
                except rumor.InputError:
                    return False
                return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(16))) == 1
        with Respondent(tmp_path) as device:
            assert len(device.pending()) == 1
        opened = [{"step": "open", "as": who, "store": "one"} for who in ("a", "b", "c")]
        race = {"step": "race", "by": ["a", "b", "c"], "answers": {"colour": "red"}}
        *_, found = steps(parsed(contract), *opened, race)
        assert sorted(map(str, found)) == ["True", "turn", "turn"]

    def test_it_says_the_turn_and_the_relay_takes_it(self, path: Path3, tmp_path: Path) -> None:
        with client(path, tmp_path / "device") as device:
            assert device.answer({"colour": "red"}).sent == 1
            with pytest.raises(rumor.InputError, match="the next turn begins"):
                device.answer({"colour": "red"})

    def test_what_waits_too_long_is_never_sent(
        self, path: Path3, tmp_path: Path, now: Time
    ) -> None:
        with Respondent(tmp_path / "device") as person:
            person.prepare(path.collection, {"colour": "red"})
            spent = person.spent
        with client(path, tmp_path / "device") as device:
            device.collection()
            now.pass_hours(48)
            receipt = device.flush()
            assert (receipt.sent, receipt.waiting, receipt.dropped) == (0, 0, 1)
            assert receipt.problem == (
                "reports dropped, at no refund, because their turn was over before they could be "
                "sent: 1"
            )
            assert device.spent == spent
            assert device.flush().dropped == 0
            # It may have arrived all the same, and can be taken back.
            assert len(device._respondent.withdrawable()) == 1
        assert path.relay.metrics.reports["kept"] == 0

    def test_a_turn_that_ends_while_it_is_tried_is_seen(
        self, path: Path3, tmp_path: Path, now: Time, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device = Client(path.collector_url, tmp_path / "device", delay=0.1)
        with device:
            device._respondent.prepare(device.collection(), {"colour": "red"})
            monkeypatch.setattr("rumor.client.client.time.sleep", lambda _: now.pass_hours(48))
            receipt = device.flush()
        assert (receipt.sent, receipt.dropped, receipt.waiting) == (0, 1, 0)
        assert path.relay.metrics.reports["kept"] == 0

    def test_one_that_is_ahead_waits_for_the_relay(
        self, path: Path3, tmp_path: Path, now: Time
    ) -> None:
        now.pass_hours(48)
        with Respondent(tmp_path / "device") as person:
            person.prepare(path.collection, {"colour": "red"})
        now.pass_hours(-48)
        with client(path, tmp_path / "device") as device:
            device.collection()
            receipt = device.flush()
            assert (receipt.sent, receipt.refused, receipt.waiting) == (0, 1, 1)
            now.pass_hours(48)
            assert device.flush().sent == 1

    def test_a_browser_keeps_to_turns_and_drops_what_is_over(self, path: Path3, now: Time) -> None:
        answer = {"step": "prepare", "answers": {"colour": "red"}}
        send = {"step": "send", "url": path.collector_url, "delay": 0}
        _, *found = steps(
            {"step": "fetch", "url": f"{path.collector_url}/v1/collection"},
            {"step": "day", "is": now.day},
            {"step": "open"},
            answer,
            answer,
            send,
            {"step": "day", "is": now.day - 2},
            answer,
            {"step": "day", "is": now.day + 1},
            answer,
            {"step": "state"},
            {"step": "day", "is": now.day + 3},
            send,
            {"step": "pending"},
            {"step": "spent"},
        )
        rule = (
            "question 'colour' takes one report of a person every 24 hours, and this device has "
            "made one; the next turn begins at 2027-01-16 00:00 UTC"
        )
        assert refusals([found[3], found[6]]) == [rule, rule]
        assert (found[4]["accepted"], found[4]["pending"]) == (1, 0)
        (waiting,) = found[9]["pending"]
        assert (waiting["turn"], waiting["expires"]) == (now.turn + 1, 24 * (now.turn + 3))
        ends = {"series": "series", "question": "colour", "ends": 24 * (now.turn + 2)}
        assert found[9]["turns"] == [ends]
        assert (found[11]["accepted"], found[11]["dropped"], found[11]["pending"]) == (0, 1, 0)
        assert found[11]["problem"] == (
            "reports dropped, at no refund, because their turn was over before they could be "
            "sent: 1"
        )
        assert found[12] == []
        assert found[13] > 1.9
        assert path.relay.metrics.reports["kept"] == 1

    def test_what_is_over_is_dropped_though_nobody_is_reached(self, now: Time) -> None:
        for seed in range(3):  # whichever of the two has the smaller id
            found = steps(
                parsed(relayed(turn_hours=24)),
                {"step": "day", "is": now.day + seed},
                {"step": "open"},
                {"step": "prepare", "answers": {"colour": "red"}},
                {"step": "day", "is": now.day + seed + 3},
                {"step": "prepare", "answers": {"many": 3}},
                {"step": "send", "url": "http://127.0.0.1:9", "delay": 0, "attempts": 1},
            )
            assert (found[-1]["dropped"], found[-1]["pending"]) == (1, 1)
            assert (
                "because their turn was over before they could be sent: 1; "
                in (found[-1]["problem"])
            )
            assert "127.0.0.1:9" in found[-1]["problem"]


class TestPairs:
    def test_answers_of_many_people_and_turns_arrive(self, path: Path3, now: Time) -> None:
        """Three people, two turns, both languages: each turn is a batch, and all are counted."""
        folder = Path(path.relay.store._dialect._given).parent
        for turn in range(2):
            for number in range(2):
                with client(path, folder / f"device-{number}") as device:
                    assert device.answer({"colour": "red"}).sent == 1
            _, *found = steps(
                {"step": "fetch", "url": f"{path.collector_url}/v1/collection"},
                {"step": "day", "is": now.day},
                {"step": "open"},
                {"step": "prepare", "answers": {"colour": "red"}},
                {"step": "send", "url": path.collector_url, "delay": 0},
            )
            assert found[3]["accepted"] == 1
            now.pass_hours(24)
            path.release()
            assert len(delivered(path, 3 * turn + 3)) == 3 * turn + 3
        assert outcomes(path) == {"accepted": 6}

    def test_invited_people(self, tmp_path: Path, now: Time) -> None:
        with running(tmp_path, crowd=2, turn_hours=24, admission="invited") as path:
            codes = [new_invitation() for _ in range(2)]
            for code in codes:
                path.store.admit("series", admission_keys(path.collection, code))
            for turn in range(2):
                for number, code in enumerate(codes):
                    with client(path, tmp_path / f"device-{number}", invitation=code) as device:
                        assert device.answer({"colour": "red"}).sent == 1
                path.release()
                assert len(delivered(path, 2 * turn + 2)) == 2 * turn + 2
                now.pass_hours(24)

    def test_blind_tokens(self, tmp_path: Path, now: Time) -> None:
        with whole_path(tmp_path, crowd=2, turn_hours=24) as (path, people):
            codes = [invite(people)[0] for _ in range(2)]
            for turn in range(2):
                for number, code in enumerate(codes):
                    with client(path, tmp_path / f"device-{number}", invitation=code) as device:
                        assert device.answer({"colour": "red"}).sent == 1
                        with pytest.raises(rumor.InputError, match="the next turn begins"):
                            device.answer({"colour": "red"})
                path.release()
                assert len(delivered(path, 2 * turn + 2)) == 2 * turn + 2
                now.pass_hours(24)
            assert outcomes(path) == {"accepted": 4}

    def test_an_invitation_on_two_devices_is_one_report_in_a_turn(
        self, tmp_path: Path, now: Time
    ) -> None:
        """Both use the token of the first report: the gateway takes one of them."""
        with running(tmp_path, crowd=2, turn_hours=24, admission="invited") as path:
            code = new_invitation()
            path.store.admit("series", admission_keys(path.collection, code))
            for name in ("phone", "laptop"):
                with client(path, tmp_path / name, invitation=code) as device:
                    assert device.answer({"colour": "red"}).sent == 1
            path.release()
            assert len(delivered(path, 1)) == 1
            wait_for(lambda: outcomes(path) == {"accepted": 1, "dropped": 1})

    def test_a_report_is_taken_back_while_it_is_at_the_relay(
        self, path: Path3, tmp_path: Path
    ) -> None:
        for name in ("sorry", "glad", "merry"):
            with client(path, tmp_path / name) as device:
                device.answer({"colour": "red"})
                if name == "sorry":
                    assert device.withdraw().absent == 1
        path.release()
        assert len(delivered(path, 2)) == 2

    def test_a_sampling_design(self, path: Path3, tmp_path: Path, now: Time) -> None:
        contract = relayed(turn_hours=24, ask={"questions": 1})
        with Respondent(tmp_path / "device") as device:
            (id,) = device.assignment(contract).questions
            value = {"colour": "red", "many": 3}[id]
            device.prepare(contract, {id: value})
            with pytest.raises(rumor.InputError, match="the next turn begins"):
                device.prepare(contract, {id: value})
            now.pass_hours(24)
            device.prepare(contract, {id: value})

    def test_a_memo_of_a_period(self, tmp_path: Path, now: Time) -> None:
        rappor = {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1}
        week = {
            "id": "week",
            "kind": "choice",
            "labels": ["well", "unwell"],
            "mechanism": rappor,
            "memo": "period",
            "period_days": 7,
            "reports_per_person": 9,
        }
        contract = relayed(turn_hours=24, questions=[week])
        now.seconds = 604_800.0 * 3000
        with Respondent(tmp_path) as device:
            (first,) = device.prepare(contract, {"week": "well"})
            with pytest.raises(rumor.InputError, match="the next turn begins"):
                device.prepare(contract, {"week": "unwell"})
            now.pass_hours(24)
            (second,) = device.prepare(contract, {"week": "unwell"})
            assert first.report == second.report
            assert first.turn != second.turn

    def test_linked_questions(self, tmp_path: Path, now: Time) -> None:
        once = {"kind": "choice", "labels": ["a", "b"], "epsilon": 1.0}
        once |= {"mechanism": "randomized-response"}
        contract = relayed(
            turn_hours=24,
            linked=["one", "two"],
            questions=[{**once, "id": "one"}, {**once, "id": "two"}],
        )
        with Respondent(tmp_path) as device:
            made = device.prepare(contract, {"one": "a", "two": "b"})
            assert {each.turn for each in made} == {now.turn}

    def test_a_revision_keeps_turns(self, tmp_path: Path, now: Time) -> None:
        first = relayed(turn_hours=24)
        later: dict[str, Any] = {"revision": 2, "previous": first.digest}
        with Respondent(tmp_path) as device:
            device.prepare(first, {"colour": "red"})
            now.pass_hours(24)
            for hours in (None, 12):
                with pytest.raises(
                    rumor.InputError, match="one report per question every 24 hours"
                ):
                    device.prepare(
                        relayed(turn_hours=hours, crowd=1001, **later), {"colour": "red"}
                    )
            # A longer turn that began before the last report's ended takes none.
            longer = relayed(turn_hours=72, **later)
            hours = (-int(now.seconds // HOUR)) % 72
            now.seconds = (now.seconds // HOUR + hours) * HOUR
            device.prepare(longer, {"colour": "red"})


class TestBatchSize:
    SENTENCE = (
        "question 'colour': reports_per_person must be below the relay's crowd, 5, or the relay "
        "must say turn_hours, so that one person's reports never fill a batch; got 5"
    )

    def contract(self) -> Collection:
        """A contract that was made before this was refused."""
        good = relayed(crowd=6)
        assert good.relay is not None
        relay = Relay(good.relay.url, good.relay.key, 5, 3)
        return replace(good, relay=relay)

    def test_a_toml_collection_is_refused(self) -> None:
        text = f"""
            name = "n"
            series = "s"
            contact = "x"
            relay = {{url = "https://x", key = "{PUBLIC}", crowd = 5, days = 3}}
            [[questions]]
            id = "colour"
            kind = "choice"
            labels = ["a", "b"]
            epsilon = 1.0
            reports_per_person = 5
        """
        with pytest.raises(rumor.InputError) as said:
            Collection.from_toml(text)
        assert str(said.value) == self.SENTENCE
        Collection.from_toml(text.replace("days = 3", "days = 3, turn_hours = 24"))
        Collection.from_toml(text.replace("crowd = 5", "crowd = 6"))

    def test_a_collector_registers_no_new_one_and_keeps_serving_an_old_one(
        self, tmp_path: Path, store_url: str
    ) -> None:
        contract = self.contract()
        store = open_store(store_url)
        with pytest.raises(rumor.InputError) as said:
            store.register(contract)
        assert str(said.value) == self.SENTENCE
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Collection, "check_batch_size", lambda self: None)
            store.register(contract)
        store.close()
        store = open_store(store_url)
        assert store.register(contract).collection == contract
        store.close()

    def test_a_device_refuses_it_in_both_languages(self, tmp_path: Path) -> None:
        contract = self.contract()
        with Respondent(tmp_path) as device:
            for work in (device.prepare, device.check_assigned):
                with pytest.raises(rumor.InputError) as said:
                    work(contract, {"colour": "red"})
                assert str(said.value) == self.SENTENCE
            assert device.spent == 0
        found = steps(
            parsed(contract),
            {"step": "open"},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "spent"},
        )
        assert refusals([found[2]]) == [self.SENTENCE]
        assert found[3] == 0


def wait_for(ready: object) -> None:
    """Look until something is so."""
    assert callable(ready)
    deadline = time.monotonic() + 20
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.02)
