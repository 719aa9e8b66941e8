"""Withdrawals of reports that are still at a relay: few, for a while, and signed where blind."""

from __future__ import annotations

import base64
import datetime
import json
import secrets
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rumor.client.transport import Transport, Unreachable
from rumor.collector import clock
from rumor.collector.admission import accepted_turn
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.gateway import Gateway
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.server import background
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import PeriodicTask, StoreMaintenance
from rumor.collector.relay.release import Releaser
from rumor.collector.relay.service import OUTCOMES
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.service import Service
from rumor.collector.store import ingest, withdrawal
from rumor.collector.store.base import (
    BatchAccepted,
    EarlyWithdrawalsRefused,
    ReportBatch,
    Store,
    StoredCollection,
    open_store,
    today,
)
from rumor.collector.store.sql import SqlStore
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.issuing import new_opening, token_id, token_message
from rumor.contract.relay import turn_at
from rumor.core.blind_rsa import blind, blind_sign, finalize
from rumor.core.reports import Reports
from tests.collector.tools import Answer, batch, call, collection, rows, stored
from tests.issuers import KEYS, blind_wish, invite
from tests.relay.test_blind import whole_path
from tests.relay.test_devices import client, delivered, released
from tests.relay.tools import PRIVATE, PUBLIC, envelopes, kind_of, relayed

DAY = datetime.date(2026, 3, 1)


def named(*ids: bytes) -> Reports:
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16)


def kept_rows(store: Store) -> int:
    assert isinstance(store, SqlStore)
    with store.database.reading() as run:
        ((ids,),) = run("SELECT COUNT(*) FROM report WHERE report IS NULL")
        ((early,),) = run("SELECT COUNT(*) FROM early_withdrawal")
    assert ids >= early
    return int(ids)


def take_back(url: str, contract: Collection, keys: Sequence[bytes], token: str = "") -> Answer:
    body = {"question": "colour", "keys": [base64.b64encode(key).decode() for key in keys]}
    headers = {"Content-Type": "application/json", "Rumor-Collection": contract.digest}
    if token:
        headers["Rumor-Token"] = token
    return call(url, "/v1/withdrawals", json.dumps(body).encode(), headers)


class TestStore:
    @pytest.fixture
    def entry(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> StoredCollection:
        monkeypatch.setattr(ingest, "today", lambda: DAY)
        monkeypatch.setattr(withdrawal, "today", lambda: DAY)
        return store.register(relayed(days=3))

    def test_they_go_when_the_relay_has_dropped_everything(
        self, store: Store, entry: StoredCollection
    ) -> None:
        ids = [secrets.token_bytes(16) for _ in range(50)]
        assert store.withdraw(entry, "colour", named(*ids)) == 0
        assert kept_rows(store) == 50
        assert len(store.early_withdrawals(entry, "colour")) == 50
        store.expire(DAY + datetime.timedelta(days=12))
        assert kept_rows(store) == 50  # three days, seven to deliver in, and two to spare
        store.expire(DAY + datetime.timedelta(days=13))
        assert kept_rows(store) == 0

    def test_the_housekeeper_forgets_them(self, tmp_path: Path) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(relayed(days=3))
        store.withdraw(entry, "colour", named(secrets.token_bytes(16)))
        today = datetime.datetime.now(datetime.UTC).date()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StoreMaintenance, "_run", lambda self: None)
            StoreMaintenance(store).run_once(today + datetime.timedelta(days=13))
        assert kept_rows(store) == 0
        store.close()

    def test_one_whose_report_arrived_stays(self, store: Store, entry: StoredCollection) -> None:
        """A relay that hands the same envelope over later cannot make it count."""
        part = batch(entry, "colour", [0])
        assert store.withdraw(entry, "colour", part.rows[:, :16]) == 0
        assert store.write([part]) == [BatchAccepted(0, 1)]
        assert store.early_withdrawals(entry, "colour") == {}
        store.expire(DAY + datetime.timedelta(days=30))
        assert store.write([part]) == [BatchAccepted(0, 1)]
        assert stored(store, entry, "colour") == {}

    def test_there_is_room_for_so_many_of_a_collection(
        self, store: Store, entry: StoredCollection
    ) -> None:
        here = batch(entry, "colour", [0, 1, 2])
        store.write([here])
        some = [secrets.token_bytes(16) for _ in range(8)]
        assert store.withdraw(entry, "colour", named(*some[:5]), most_early=6) == 0
        assert store.withdraw(
            entry, "many", named(*some[5:7]), most_early=6
        ) == EarlyWithdrawalsRefused(0, 2)
        assert kept_rows(store) == 5
        assert store.withdraw(entry, "many", named(some[7]), most_early=6) == 0
        # What is there can always be withdrawn, and asking again needs no room.
        first = here.rows[:1, :16]
        assert store.withdraw(entry, "colour", first, most_early=6) == 1
        mixed = named(bytes(here.rows[1, :16]), some[5])
        assert store.withdraw(entry, "colour", mixed, most_early=6) == EarlyWithdrawalsRefused(1, 1)
        assert store.withdraw(entry, "colour", named(*some[:5]), most_early=6) == 0
        assert len(stored(store, entry, "colour")) == 1
        store.summarize()
        assert store.summary(entry, "colour").reports == 1

    def test_without_a_relay_nothing_is_kept(self, store: Store) -> None:
        entry = store.register(collection())
        assert store.withdraw(entry, "colour", named(secrets.token_bytes(16))) == 0
        assert kept_rows(store) == 0

    def test_a_closed_collection_keeps_none(self, store: Store, entry: StoredCollection) -> None:
        store.withdraw(entry, "colour", named(secrets.token_bytes(16)))
        store.close_collection(entry.collection.digest)
        store.withdraw(entry, "colour", named(secrets.token_bytes(16)))
        assert kept_rows(store) == 0
        assert store.early_withdrawals(entry, "colour") == {}

    def test_they_go_out_and_come_back_with_their_day(
        self, store: Store, entry: StoredCollection, tmp_path: Path
    ) -> None:
        part = batch(entry, "colour", [0])
        store.withdraw(entry, "colour", part.rows[:, :16])
        export_collection(store, entry.collection.digest, tmp_path / "out")
        store.delete_collection(entry.collection.digest)
        assert kept_rows(store) == 0
        import_collection(store, tmp_path / "out")
        back = store.find(entry.collection.digest)
        assert kept_rows(store) == len(store.early_withdrawals(back, "colour")) == 1
        store.expire(DAY + datetime.timedelta(days=13))
        assert kept_rows(store) == 0


class TestTheWorstCase:
    """Whatever a relay may still hand over finds that its report was withdrawn."""

    @pytest.mark.parametrize(
        ("days", "every", "turn_hours"),
        [(1, 24, None), (3, 360, None), (7, 24, None), (30, 1, None), (2, 24, 24), (7, 24, 720)],
    )
    def test_a_withdrawn_report_never_counts(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        days: int,
        every: int,
        turn_hours: int | None,
    ) -> None:
        """It is withdrawn at once, and handed over at the last moment at which that can be."""
        start = 1_800_000_000 // (3600 * 720) * (3600 * 720) + 3600.0
        now, down = [start], [True]
        monkeypatch.setattr(clock, "now", lambda: now[0])
        monkeypatch.setattr(PeriodicTask, "_run", lambda self: None)
        contract = relayed(crowd=5, days=days, turn_hours=turn_hours)
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(contract)
        relay = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
        relay.register(contract)
        add_token(tmp_path / "relays", "relay")
        gateway = Gateway({PUBLIC: PRIVATE}, Tokens(tmp_path / "relays"))
        new: list[int] = []

        class Desk(Transport):
            def hand_over(
                self, digest: str, question: str, envelopes: bytes, count: int, token: str,
                turn: int | None = None,
            ) -> None:  # fmt: skip
                if down[0]:
                    raise Unreachable("gone")
                accepted_turn(turn_hours, None if turn is None else str(turn))
                batches, bad = gateway.open_envelopes(entry, contract.questions[0], envelopes, turn)
                taken = [each for each in store.write(batches) if isinstance(each, BatchAccepted)]
                new.append(sum(each.new for each in taken))
                assert len(taken) == len(batches)
                assert bad == 0

        metrics = Metrics(OUTCOMES, "envelopes")
        work = Releaser(relay, Desk("http://127.0.0.1:9"), lambda: "t", metrics, every * 3600)
        turn = None if turn_hours is None else turn_at(start, turn_hours)
        mine = report_id(new_key())
        report = contract.questions[0].mechanism.without_labels().privatize([0])[0].tobytes()
        sealed = kind_of(contract, "colour", turn).seal(mine, None, report)
        work.run_once(today())
        others = envelopes(contract, 9, "colour", turn)
        relay.keep([ArrivedEnvelope(1, each, turn) for each in (sealed, *others)])
        assert store.withdraw(entry, "colour", named(mine)) == 0
        # The collector is back a look before the relay gives up, if that comes.
        last = (days + 8) * 24 if turn_hours is None else 2 * turn_hours
        for hour in range(1, max(last, every) + 48):
            now[0] = start + hour * 3600
            down[0] = hour < last - 24 if turn_hours is None else hour < last - 2
            store.expire(today())
            work.run_once(today())
        counts = metrics.reports
        assert counts["delivered"] + counts["dropped"] == 10
        if every < 24 * days or turn_hours is not None:
            assert new == [9]
            assert counts["delivered"] == 10
        store.summarize()
        assert store.summary(entry, "colour").reports == sum(new)
        assert mine not in stored(store, entry, "colour")
        relay.close()
        store.close()


class TestCollector:
    def test_strangers_do_not_fill_the_disk(self, store: Store) -> None:
        entry = store.register(relayed())
        limits = Limits(early_withdrawals=2_500, early_withdrawals_at_once=1_000_000)
        with background(Service(store, "series", limits=limits)) as url:
            answers = [
                take_back(url, entry.collection, [new_key() for _ in range(1_000)])
                for _ in range(6)
            ]
            assert [answer.status for answer in answers] == [200, 200, 429, 429, 429, 429]
            assert answers[-1].problem == "rate"
            assert answers[-1].headers["retry-after"] == "3600"
            assert "at most 2,500 withdrawals" in answers[-1].json()["detail"]
        assert kept_rows(store) == 2_000

    def test_unknown_ids_are_charged_one_by_one(self, store: Store) -> None:
        """One request of a thousand keys is no cheaper than a thousand of one."""
        entry = store.register(relayed())
        contract = entry.collection
        limits = Limits(early_withdrawals_per_second=0.01, early_withdrawals_at_once=1_000)
        service = Service(store, "series", limits=limits)
        with background(service) as url:
            first = [new_key() for _ in range(600)]
            assert take_back(url, contract, first).status == 200
            # Asking again costs nothing, nor does a report that has arrived.
            assert take_back(url, contract, first).status == 200
            here = [new_key() for _ in range(3)]
            width = contract.question("colour").mechanism.width
            raw = b"".join(report_id(key) + bytes(width) for key in here)
            part = np.frombuffer(raw, np.uint8).reshape(3, -1)
            store.write([ReportBatch(entry.questions["colour"], part)])
            many = take_back(url, contract, [here[0], *(new_key() for _ in range(500))])
            assert (many.status, many.problem) == (429, "rate")
            assert many.json()["detail"] == (
                "at most 0.01 withdrawals a second of reports that have not arrived yet are "
                "taken; got 500, try again later"
            )
            # 100 of the 500 lack a token, and each takes 100 seconds.
            assert 9_900 < int(many.headers["retry-after"]) <= 10_000
            assert kept_rows(store) == 601  # none of them, and the one that had arrived
            assert len(stored(store, entry, "colour")) == 2
            assert service.metrics.reports["withdrawn"] == 1
            assert take_back(url, contract, [new_key() for _ in range(400)]).status == 200
            assert take_back(url, contract, [new_key()]).problem == "rate"
            assert take_back(url, contract, here[1:]).json() == {"withdrawn": 2, "absent": 0}

    def test_a_bucket_of_a_thousand_that_fills_slowly(self) -> None:
        now = [0.0]
        bucket = RateLimiter(10, lambda: now[0], burst=1_000)
        assert bucket.take_all(1_000) == 0
        assert bucket.take_all(500) == 50
        now[0] = 49.0
        assert bucket.take_all(500) == pytest.approx(1)
        now[0] = 50.0
        assert bucket.take_all(500) == 0
        now[0] = 10_000.0
        assert bucket.take_all(1_001) == pytest.approx(0.1)
        assert bucket.take_all(1_000) == 0

    def test_withdrawals_have_a_rate_of_their_own(self, store: Store) -> None:
        entry = store.register(collection())
        limits = Limits(withdrawals_per_second=1)
        with background(Service(store, "series", limits=limits)) as url:
            # A token of the bucket, and what one address is heard beyond it in each second.
            answers = [take_back(url, entry.collection, [new_key()])]
            assert answers[0].status == 200
            while answers[-1].status == 200 and len(answers) < 100:
                answers.append(take_back(url, entry.collection, [new_key()]))
            assert answers[-1].problem == "rate"
            assert answers[-1].headers["retry-after"] == "1"
            assert "at most 1 withdrawals a second" in answers[-1].json()["detail"]
            one = rows(entry, "colour", [0]).tobytes()
            headers = {
                "Content-Type": "application/vnd.rumor.reports",
                "Rumor-Collection": entry.collection.digest,
                "Rumor-Question": "colour",
            }
            assert call(url, "/v1/reports", one, headers).status == 200

    def test_the_default_is_bounded(self) -> None:
        assert Limits().early_withdrawals == 100_000
        assert Limits().withdrawals_per_second == 100
        assert Limits().early_withdrawals_per_second == 10
        # A whole request fits, so that nobody is refused for ever.
        assert Limits().early_withdrawals_at_once == Limits().json_reports == 1_000


def signed_token(question: str = "colour") -> tuple[bytes, str]:
    """The opening of a token, and the token in hexadecimal."""
    key, opening = KEYS.secrets[question], new_opening()
    message = token_message(opening)
    hidden = blind(key.public, message)
    signature = finalize(key.public, message, blind_sign(key, hidden.message), hidden.inverse)
    return opening, (message + signature).hex()


class TestBlind:
    @pytest.fixture
    def entry(self, store: Store) -> StoredCollection:
        wish = blind_wish()
        return store.register(
            relayed(admission="blind", issuer=wish["issuer"], questions=wish["questions"])
        )

    def test_a_stranger_keeps_no_row(self, store: Store, entry: StoredCollection) -> None:
        contract = entry.collection
        opening, token = signed_token()
        forged = token[:-2] + ("00" if token[-2:] != "00" else "01")
        other_question = signed_token("home")
        with background(Service(store, "series")) as url:
            bare = take_back(url, contract, [new_opening() for _ in range(1_000)])
            assert (bare.status, bare.problem) == (403, "not-admitted")
            assert "needs its token" in bare.json()["detail"]
            for keys, shown in (
                ([opening], forged),
                ([new_opening()], token),
                ([opening, new_opening()], token),
                ([other_question[0]], other_question[1]),
                ([opening], "zz"),
            ):
                refused = take_back(url, contract, keys, shown)
                assert (refused.status, refused.problem) == (403, "not-admitted")
            assert kept_rows(store) == 0
            done = take_back(url, contract, [opening], token)
            assert done.json() == {"withdrawn": 0, "absent": 1}
        assert kept_rows(store) == 1

    def test_an_older_device_withdraws_what_has_arrived(
        self, store: Store, entry: StoredCollection
    ) -> None:
        """It shows keys alone, several at once."""
        openings = [new_opening() for _ in range(3)]
        width = entry.collection.question("colour").mechanism.width
        ids = [report_id(opening) for opening in openings]
        assert ids[0] == token_id(token_message(openings[0]))
        here = np.frombuffer(b"".join(id + bytes(width) for id in ids[:2]), np.uint8)
        store.write([ReportBatch(entry.questions["colour"], here.reshape(2, -1))])
        with background(Service(store, "series")) as url:
            some = take_back(url, entry.collection, openings[:1])
            assert some.json() == {"withdrawn": 1, "absent": 0}
            # One that has not arrived: the device keeps its key, and comes back later.
            rest = take_back(url, entry.collection, openings[1:])
            assert (rest.status, rest.problem) == (403, "not-admitted")
        assert stored(store, entry, "colour") == {}
        assert kept_rows(store) == 2

    def test_the_whole_way_from_a_device(self, tmp_path: Path, store_url: str) -> None:
        """Of two reports at the relay one is withdrawn, in a request with its token."""
        with whole_path(tmp_path, store_url, crowd=2) as (path, people):
            (code,) = invite(people)
            with client(path, tmp_path / "device", invitation=code) as device:
                device.answer({"colour": "red"})
                (made,) = device._respondent.withdrawable()
                assert made.token is not None
                taken = device.withdraw()
                assert (taken.withdrawn, taken.absent, taken.left) == (0, 1, 0)
                assert device._respondent.withdrawable() == []
                rows = device._respondent._ledger._database.execute("SELECT * FROM sent_token")
                assert rows.fetchall() == []
            assert kept_rows(path.store) == 1
            (code,) = invite(people)
            with client(path, tmp_path / "other", invitation=code) as device:
                device.answer({"colour": "red"})
            released(path)
            assert len(delivered(path, 1)) == 1

    def test_an_older_collector_takes_a_request_with_a_token(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It reads the body alone: keys, and nothing that it does not know."""
        entry = store.register(collection())
        with background(Service(store, "series")) as url:
            opening, token = signed_token()
            found = Transport(url).withdraw(
                entry.collection.digest, "colour", [opening], bytes.fromhex(token)
            )
        assert found == 0
