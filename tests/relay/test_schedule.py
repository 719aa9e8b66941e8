"""A relay's schedule: whatever happens to its clock and its period, releases go on."""

from __future__ import annotations

import datetime
import logging
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rumor.client.transport import Transport
from rumor.collector import clock
from rumor.collector.http.server import background
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import PeriodicTask
from rumor.collector.relay.release import Releaser
from rumor.collector.relay.release_times import last_moment
from rumor.collector.relay.service import OUTCOMES, RelayService
from rumor.collector.relay.store import ArrivedEnvelope, EnvelopeBatch, LastRelease, RelayStore
from rumor.contract.relay import turn_at
from tests.collector.tools import call
from tests.relay.tools import envelopes, relayed, running

DAY = datetime.date(2026, 3, 1)
HOUR = 3600.0
START = 1_800_000_000.0
"""A time at which a turn of any length that divides 24 hours begins a moment ago."""


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[RelayStore]:
    store = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
    store.register(relayed(crowd=3))
    yield store
    store.close()


def fill(kept: RelayStore, count: int = 3) -> None:
    """Envelopes of the first class."""
    kept.keep([ArrivedEnvelope(1, each) for each in envelopes(relayed(crowd=3), count)])


def count(found: object) -> int:
    assert isinstance(found, list)
    return sum(each.released for each in found)


class TestRelease:
    def test_the_first_look_starts_the_schedule(self, kept: RelayStore) -> None:
        fill(kept)
        assert kept.release(START + 5, HOUR, DAY) is None
        assert kept.last_release() == LastRelease(START, HOUR)
        assert kept.release(START + HOUR - 1, HOUR, DAY) == []
        assert count(kept.release(START + HOUR, HOUR, DAY)) == 3

    def test_a_period_that_is_raised_does_not_stop_it(self, kept: RelayStore) -> None:
        """The number of a longer period is smaller, and used to count as long past."""
        kept.release(START, HOUR, DAY)
        fill(kept)
        assert kept.release(START + 10, 24 * HOUR, DAY) is None
        assert count(kept.release(START + 24 * HOUR, 24 * HOUR, DAY)) == 3

    def test_a_period_that_is_lowered_starts_it_anew(self, kept: RelayStore) -> None:
        kept.release(START, 24 * HOUR, DAY)
        fill(kept)
        assert kept.release(START + 10, HOUR, DAY) is None
        assert count(kept.release(START + HOUR, HOUR, DAY)) == 3

    def test_a_clock_that_was_ahead_does_not_stop_it(self, kept: RelayStore) -> None:
        kept.release(START, HOUR, DAY)
        assert count(kept.release(START + 1000 * 24 * HOUR, HOUR, DAY)) == 0
        fill(kept)
        assert kept.release(START + 10, HOUR, DAY) is None
        assert count(kept.release(START + HOUR, HOUR, DAY)) == 3

    def test_a_relay_that_was_away_releases_once_when_it_is_back(self, kept: RelayStore) -> None:
        kept.release(START, HOUR, DAY)
        fill(kept)
        assert count(kept.release(START + 7.5 * HOUR, HOUR, DAY)) == 3
        fill(kept)
        assert kept.release(START + 7.9 * HOUR, HOUR, DAY) == []

    def test_a_quotient_that_is_rounded_up_is_no_clock_that_went_back(
        self, kept: RelayStore
    ) -> None:
        for every in (0.1, 0.3, 0.7, 1 / 3):
            for number in range(1, 200):
                now = number * every
                if kept.release(now, every, DAY) is not None:
                    assert kept.release(now, every, DAY) == []

    def test_an_earlier_store_goes_on(self, tmp_path: Path) -> None:
        from rumor.collector.relay import store as module
        from tests.relay.earlier import make_first_version

        contract = relayed(crowd=3)
        made = envelopes(contract, 4)
        path = tmp_path / "earlier.db"
        make_first_version(path, contract, made, DAY, turn=20_000)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "today", lambda: DAY)
            opened = RelayStore(f"sqlite:///{path}")
            opened.register(contract)
            (kind,) = [each for each in opened.classes() if each.question == "colour"]
            assert kind.turn_hours is None
            assert opened.waiting(EnvelopeBatch(kind)) == 4
            # The same bytes are still known, and new ones are added to them.
            assert opened.keep([ArrivedEnvelope(kind.number, made[0])]) == [False]
            opened.release(START, HOUR, DAY)
            assert count(opened.release(START + HOUR, HOUR, DAY)) == 4
            assert opened.under_way(EnvelopeBatch(kind), 9) == sorted(made)
            opened.close()

    def test_the_version_before_on_the_same_file_loses_and_releases_nothing(
        self, tmp_path: Path
    ) -> None:
        """Both may run for a moment: the earlier one refuses, so that devices keep theirs."""
        import sqlite3

        from tests.relay.earlier import INSERT, RELEASE, make_first_version

        contract = relayed(crowd=3)
        made = envelopes(contract, 4)
        path = tmp_path / "earlier.db"
        make_first_version(path, contract, made[:3], DAY, turn=1)
        RelayStore(f"sqlite:///{path}").close()
        with sqlite3.connect(path) as earlier:
            for statement in (INSERT, RELEASE):
                with pytest.raises(sqlite3.OperationalError):
                    earlier.execute(
                        statement, (1, b"n" * 16, 1, made[3], b"c" * 4)[: statement.count("?")]
                    )
        earlier.close()
        opened = RelayStore(f"sqlite:///{path}")
        assert opened.waiting(EnvelopeBatch(opened.classes()[0])) == 3
        opened.close()


class TestOverdue:
    def test_a_gateway_that_never_answers_makes_a_release_overdue(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        contract = relayed(crowd=3)
        store = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
        store.register(contract)
        store.keep([ArrivedEnvelope(1, each) for each in envelopes(contract, 3)])
        with socket.create_server(("127.0.0.1", 0)) as silent, caplog.at_level(logging.ERROR):
            gateway = f"http://127.0.0.1:{silent.getsockname()[1]}"
            service = RelayService(store, gateway, lambda: "t", 0.3, 0.02, overdue_seconds=0.5)
            service._gateway = Transport(gateway, 4.0)
            with background(service) as url:
                assert call(url, "/healthz").status == 200
                deadline = time.monotonic() + 20
                while call(url, "/healthz").status == 200:
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
                answer = call(url, "/healthz")
                assert answer.problem == "unavailable"
                assert answer.json()["detail"] == (
                    "releases must keep to their schedule; one is overdue"
                )
        said = [record.message for record in caplog.records if record.name == "rumor.relay"]
        assert said == ["a release is overdue: none within 0.5 s after it was due; envelopes wait"]

    def test_a_relay_that_keeps_to_its_schedule_is_healthy(self, tmp_path: Path) -> None:
        with running(tmp_path, every=0.1) as path:
            for _ in range(30):
                assert call(path.relay_url, "/healthz").status == 200
                time.sleep(0.02)

    def test_a_clock_that_jumps_starts_the_schedule_anew_and_says_so(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [START]
        monkeypatch.setattr(clock, "now", lambda: now[0])
        with running(tmp_path, every=HOUR, crowd=3) as path, caplog.at_level(logging.WARNING):
            for jump in (30 * 24 * HOUR, -30 * 24 * HOUR, 0.0):
                now[0] += jump
                time.sleep(0.2)
            assert path.relay.store.last_release() == LastRelease(START, HOUR)
            assert call(path.relay_url, "/healthz").status == 200
        assert "the schedule of releases starts anew" in caplog.text

    def test_a_moment_of_a_turn_that_has_not_come_is_overdue(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The schedule goes on; a turn whose release fails is noticed all the same."""
        now = [START // (24 * HOUR) * 24 * HOUR]
        monkeypatch.setattr(clock, "now", lambda: now[0])
        monkeypatch.setattr(RelayStore, "release_turns", lambda self, now: [])
        store = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
        store.register(relayed(crowd=3, turn_hours=24))
        service = RelayService(store, "http://127.0.0.1:9", lambda: "t", 1e9, 0.02)
        service.overdue_seconds = 0.3
        with background(service) as url:
            for part, status in ((0.4, 200), (0.5, 503), (0.95, 503), (1.1, 200)):
                now[0] = (START // (24 * HOUR) + part) * 24 * HOUR
                time.sleep(0.8)
                assert call(url, "/healthz").status == status, part


class TestMoments:
    """Full turns get through whatever the period is, which is about contracts without turns."""

    def test_the_two_moments_of_a_turn(self) -> None:
        for hours in (1, 6, 24, 8_760):
            length = hours * 3600
            start = int(START) // length * length
            for part, due in ((0, None), (0.49, None), (0.5, 0.5), (0.94, 0.5), (0.95, 0.95)):
                found = last_moment(start + round(part * length), hours)
                assert found == (None if due is None else start + round(due * length))
            assert last_moment(start + length - 1, hours) == start + length * 19 // 20
            assert length // 20 >= 180  # seconds to deliver in

    @pytest.mark.parametrize("every", [0.5, 12.0, 168.0])
    def test_an_old_contract_with_shorter_turns_is_served(
        self, tmp_path: Path, every: float
    ) -> None:
        day = relayed(crowd=3, turn_hours=24)
        assert day.relay is not None
        week = replace(
            day, revision=2, previous=day.digest, relay=replace(day.relay, turn_hours=168)
        )
        store = RelayStore(f"sqlite:///{tmp_path / 'relay.db'}")
        for contract in (day, week):
            store.register(contract)
        start, got, lost = START // (168 * HOUR) * 168 * HOUR, 0, 0
        for half_hour in range(2 * 24 * 22):
            now = start + half_hour * HOUR / 2
            for contract, hours in ((day, 24), (week, 168)):
                if now % (hours * HOUR) == 3 * HOUR and now < start + 168 * HOUR:
                    (kind,) = [
                        each
                        for each in store.classes()
                        if (each.digest, each.question) == (contract.digest, "colour")
                    ]
                    turn = turn_at(now, hours)
                    made = envelopes(contract, 5, turn=turn)
                    store.keep([ArrivedEnvelope(kind.number, each, turn) for each in made])
            store.release(now, every * HOUR, DAY)
            store.release_turns(now)
            lost += sum(each.waiting + each.under_way for each in store.drop_over(now))
            for batch in store.batches_under_way():
                some = store.under_way(batch, 99)
                assert not some or batch.turn == turn_at(now, batch.kind.turn_hours or 0) - 1
                got += len(some)
                store.delivered(batch, some, DAY)
        store.close()
        assert (got, lost) == (8 * 5, 0)

    def test_a_restart_repeats_no_moment(self, tmp_path: Path) -> None:
        contract, url = relayed(crowd=3, turn_hours=24), f"sqlite:///{tmp_path / 'relay.db'}"
        start = START // (24 * HOUR) * 24 * HOUR
        turn = turn_at(start, 24) - 1
        released = []
        for part in (0.4, 0.5, 0.6, 0.7, 0.94, 0.95, 0.96, 0.99):
            store = RelayStore(url)
            store.register(contract)
            made = envelopes(contract, 3, turn=turn)
            store.keep([ArrivedEnvelope(1, each, turn) for each in made])
            found = store.release_turns(start + part * 24 * HOUR)
            released.append(sum(each.released for each in found))
            store.close()
        assert released == [0, 6, 0, 0, 0, 12, 0, 0]


class Desk(Transport):
    """A gateway that takes turns as ours does, and remembers every batch."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9")
        self.taken: list[tuple[int | None, list[bytes]]] = []

    def hand_over(
        self, digest: str, question: str, envelopes: bytes, count: int, token: str,
        turn: int | None = None,
    ) -> None:  # fmt: skip
        size = len(envelopes) // count
        each = [envelopes[at : at + size] for at in range(0, len(envelopes), size)]
        self.taken.append((turn, each))


CROWD, TURN_HOURS = 3, 6
MOVES = (0.01, 0.2, 0.5, 1.0, 2.7, 3.0, 6.0, 7.0, 12.0, 24.0, 1000.0)


class ScheduleMachine(RuleBasedStateMachine):
    """A relay whose clock goes forwards and backwards, that is away, with one period or another.

    `done` is a model of the rule for turns: a turn is released at the first look after half, and
    after 95 %, of the turn that follows it, and at no other look.
    """

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.now, self.every = START, HOUR
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(clock, "now", lambda: self.now)
        self.patch.setattr(PeriodicTask, "_run", lambda self: None)
        self.folder = tempfile.TemporaryDirectory(prefix="rumor-schedule-")
        self.contracts = (relayed(crowd=CROWD), relayed(crowd=CROWD, turn_hours=TURN_HOURS))
        self.store = RelayStore(f"sqlite:///{Path(self.folder.name) / 'relay.db'}")
        for contract in self.contracts:
            self.store.register(contract)
        self.kinds = [each for each in self.store.classes() if each.question == "colour"]
        self.desk, self.metrics = Desk(), Metrics(OUTCOMES, "envelopes")
        self.sent: dict[bytes, int | None] = {}
        self.done: tuple[int, float] | None = None
        self.start()

    @initialize()
    def begin(self) -> None:
        self.look()

    def start(self) -> None:
        self.releaser = Releaser(self.store, self.desk, lambda: "token", self.metrics, self.every)

    def look(self) -> None:
        day = datetime.datetime.fromtimestamp(self.now, datetime.UTC).date()
        kind, last = self.kinds[1], turn_at(self.now, TURN_HOURS) - 1
        turns = {turn for turn in self.sent.values() if turn is not None and turn >= last} | {last}
        expected = {turn: self.store.waiting(EnvelopeBatch(kind, turn)) for turn in turns}
        if self.is_moment(last) and expected[last] >= CROWD:
            expected[last] = 0
        dropped, over = self.metrics.reports["dropped"], self.waiting_before(last)
        plain = self.store.waiting(EnvelopeBatch(self.kinds[0]))
        self.releaser.run_once(day)
        assert {turn: self.store.waiting(EnvelopeBatch(kind, turn)) for turn in turns} == expected
        assert self.waiting_before(last) == 0  # nothing of a turn that is over stays
        assert dropped + over <= self.metrics.reports["dropped"] <= dropped + over + plain

    def is_moment(self, last: int) -> bool:
        """Whether this look must release the last turn."""
        passed = self.now % (TURN_HOURS * HOUR) / (TURN_HOURS * HOUR)
        part = 0.95 if passed >= 0.95 else 0.5 if passed >= 0.5 else None
        if self.done is not None and self.done > (last, passed):  # the clock went backwards
            self.done = None
        if part is None or self.done == (last, part):
            return False
        self.done = (last, part)
        return True

    def waiting_before(self, turn: int) -> int:
        """How many envelopes of earlier turns are there."""
        earlier = {each for each in self.sent.values() if each is not None and each < turn}
        return sum(self.store.waiting(EnvelopeBatch(self.kinds[1], each)) for each in earlier)

    @rule(place=st.sampled_from([0, 1]), many=st.integers(1, 4), late=st.booleans())
    def send(self, place: int, many: int, late: bool) -> None:
        """Devices hand in envelopes of the current turn, or of the one before it."""
        kind = self.kinds[place]
        turn = None if place == 0 else turn_at(self.now, TURN_HOURS) - late
        made = envelopes(self.contracts[place], many, turn=turn)
        self.store.keep([ArrivedEnvelope(kind.number, each, turn) for each in made])
        self.sent |= dict.fromkeys(made, turn)

    @rule(hours=st.sampled_from(MOVES))
    def forwards(self, hours: float) -> None:
        self.now += hours * HOUR
        self.look()

    @rule(hours=st.sampled_from(MOVES))
    def backwards(self, hours: float) -> None:
        self.now = max(HOUR, self.now - hours * HOUR)
        self.look()

    @rule(hours=st.sampled_from(MOVES))
    def be_away(self, hours: float) -> None:
        """Time passes while the relay does not run."""
        self.now += hours * HOUR

    @rule(parts=st.sets(st.sampled_from([0.5, 0.6, 0.95, 0.999]), min_size=1), back=st.booleans())
    def run_in_the_second_half(self, parts: set[float], back: bool) -> None:
        """A full turn gets through if the relay runs some time in that half, from any state."""
        turn = turn_at(self.now, TURN_HOURS)
        for _ in range(1 + back):
            self.now = (turn + 0.2) * TURN_HOURS * HOUR
            self.look()
            before, moments = set(self.sent), set[bool]()
            self.send(1, CROWD, late=False)
            for part in sorted(parts):
                self.now = float(round((turn + 1 + part) * TURN_HOURS * HOUR))
                if moments != {part >= 0.95}:
                    self.send(1, CROWD, late=True)  # before the look that releases
                moments = {part >= 0.95}
                self.look()
                taken = {each for _, batch in self.desk.taken for each in batch}
                assert set(self.sent) - before <= taken

    @rule(hours=st.sampled_from([0.5, 1.0, 3.0, 6.0, 24.0, 168.0]))
    def change_period(self, hours: float) -> None:
        """The relay is started again with another period."""
        self.every = hours * HOUR
        self.start()
        self.look()

    @rule()
    def one_period_on(self) -> None:
        """Within one period from any state, whatever is a crowd is released."""
        kind = self.kinds[0]
        waits = self.store.waiting(EnvelopeBatch(kind))
        self.now = (self.now // self.every + 1) * self.every
        self.look()
        left = self.store.waiting(EnvelopeBatch(kind))
        assert left == 0 if waits >= CROWD else left in (0, waits)

    @invariant()
    def books_balance(self) -> None:
        """What was sent is waiting, taken once or dropped, in batches of one turn and a crowd."""
        taken = [each for _, batch in self.desk.taken for each in batch]
        assert len(set(taken)) == len(taken)
        for turn, batch in self.desk.taken:
            assert len(batch) >= CROWD
            assert {self.sent[each] for each in batch} == {turn}
        waiting = sum(
            self.store.waiting(EnvelopeBatch(kind, turn))
            for kind in self.kinds
            for turn in {None, *self.sent.values()}
        )
        counts = self.metrics.reports
        assert counts["delivered"] == len(taken)
        assert len(self.sent) == waiting + len(taken) + counts["dropped"]

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()
        self.patch.undo()


TestScheduleMachine = ScheduleMachine.TestCase
TestScheduleMachine.settings = settings(
    max_examples=60,  # tests/soak/soak_relay.py has hundreds
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
