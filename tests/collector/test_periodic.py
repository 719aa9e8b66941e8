"""What services do by themselves: their own threads run through days of a clock that is ours.

No test calls a task. A service is started as a command starts it, its threads look as often as
they say, and between two looks the clock moves on by just that time.
"""

from __future__ import annotations

import asyncio
import datetime
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rumor.client.transport import Refused, Unreachable
from rumor.collector import clock, periodic
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import StoreMaintenance
from rumor.collector.relay.release import Releaser, ReleaseWatch
from rumor.collector.relay.release_times import last_moment
from rumor.collector.relay.service import OUTCOMES, RelayService
from rumor.collector.relay.store import (
    ArrivedEnvelope,
    BatchRelease,
    EnvelopeBatch,
    ExpiredTurn,
    LastRelease,
    QuestionQueue,
    RelayStore,
    _last_due,
)
from rumor.collector.service import Service
from rumor.collector.store.base import StoreUnavailableError, open_store
from rumor.contract.collection import Collection
from rumor.contract.relay import DAYS_TO_DELIVER
from tests.collector.tools import batch, collection
from tests.recorded import Notebook, Spy
from tests.relay.tools import envelopes, relayed

HOUR, DAY = 3600.0, 86_400.0
MONDAY = datetime.date(2026, 3, 2)
MIDNIGHT = datetime.datetime(2026, 3, 2, tzinfo=datetime.UTC).timestamp()


class Clock:
    """A wall clock that moves only while a thread waits for its next look."""

    def __init__(self, looks: int) -> None:
        self.now, self.looks = MIDNIGHT, looks
        self.waited: list[float] = []
        self.on_look: Callable[[int], None] = lambda look: None

    def event(self) -> Any:
        """What a thread waits on: it passes the time at once, and is set after the last look."""
        held = self

        class Passing:
            def __init__(self) -> None:
                self.over = threading.Event()

            def is_set(self) -> bool:
                return self.over.is_set() or len(held.waited) >= held.looks

            def set(self) -> None:
                self.over.set()

            def wait(self, seconds: float) -> None:
                held.waited.append(seconds)
                held.now += seconds
                held.on_look(len(held.waited))

        return Passing()


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Clock]:
    """A clock for as many looks as are asked for, which all threads of a service share."""

    def made(looks: int) -> Clock:
        found = Clock(looks)
        threads = type("Threads", (), {"Event": found.event, "Thread": threading.Thread})
        monkeypatch.setattr(periodic, "threading", threads)
        monkeypatch.setattr(clock, "now", lambda: found.now)
        monkeypatch.setattr("rumor.collector.relay.release.time.monotonic", lambda: found.now)
        return found

    return made


def spied(store: Any) -> tuple[Any, Notebook]:
    """A store whose calls are noted."""
    book = Notebook()
    return Spy(store, "store", book), book


def called(book: Notebook, *names: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls of some methods, in their order, with what they were given."""
    wanted = [f"store.{name}" for name in names]
    return [
        (name.removeprefix("store."), dict(given)) for name, given in book.calls if name in wanted
    ]


def test_a_collector_counts_at_every_look_and_deletes_once_a_day(
    tmp_path: Path, passing: Callable[[int], Clock]
) -> None:
    time = passing(6)
    real = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = real.register(collection(retention=1))
    real.write([batch(entry, "colour", [0, 1])])
    store, book = spied(real)
    keeper = StoreMaintenance(store, 8 * HOUR)
    keeper._thread.join()
    assert time.waited == [8 * HOUR] * 6
    tuesday = MONDAY + datetime.timedelta(days=1)
    usual: list[tuple[str, dict[str, Any]]] = [
        ("summarize", {}),
        ("forget_tokens", {"thorough": False}),
    ]
    first = [("summarize", {}), ("forget_tokens", {"thorough": True})]
    assert called(book, "summarize", "forget_tokens", "expire") == [
        *(*first, ("expire", {"today": MONDAY})),
        *(*usual, *usual),
        *(*first, ("expire", {"today": tuesday})),
        *(*usual, *usual),
    ]
    assert real.summary(entry, "colour").reports == 2
    real.close()


def test_what_fails_is_done_at_the_next_look(
    tmp_path: Path, passing: Callable[[int], Clock], caplog: pytest.LogCaptureFixture
) -> None:
    time = passing(3)
    real = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store, book = spied(real)
    troubles = [StoreUnavailableError("away"), ValueError("a mistake")]

    class Failing:
        def expire(self, today: datetime.date) -> int:
            store.expire(today)
            if troubles:
                raise troubles.pop(0)
            return 0

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

    StoreMaintenance(Failing(), 60.0)._thread.join()
    assert [name for name, _ in called(book, "expire")] == ["expire"] * 3
    assert [given["thorough"] for _, given in called(book, "forget_tokens")] == [True] * 3
    said = [record.getMessage() for record in caplog.records if record.name == "rumor.collector"]
    assert said == ["reports could not be counted now: away", "reports could not be counted"]
    assert time.waited == [60.0] * 3
    real.close()


def started(service: Any) -> None:
    """Start a service and stop it, in a loop of its own."""

    async def life() -> None:
        await service.start()
        await service.stop()

    asyncio.run(life())


def test_services_start_their_threads_with_their_own_periods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, dict[Any, Any]]] = []
    real, book = spied(open_store(f"sqlite:///{tmp_path / 'store.db'}"))
    real.register(collection())

    class Thread:
        def __init__(self, *given: Any) -> None:
            made.append((type(self).__name__, dict(enumerate(given))))

        def stop(self) -> None:
            made.append((f"{type(self).__name__}.stop", {}))

    for module, name in (
        ("service", "StoreMaintenance"),
        ("relay.service", "Releaser"),
        ("relay.service", "ReleaseWatch"),
    ):
        monkeypatch.setattr(f"rumor.collector.{module}.{name}", type(name, (Thread,), {}))
    started(Service(real, "series", summarize_seconds=7.5))
    assert made == [("StoreMaintenance", {0: real, 1: 7.5}), ("StoreMaintenance.stop", {})]
    made.clear()
    assert called(book, "close") == [("close", {})]
    kept, book = spied(RelayStore(f"sqlite:///{tmp_path / 'relay.db'}"))
    relay = RelayService(
        kept, "http://127.0.0.1:9", lambda: "token", 5 * HOUR, 2.5, overdue_seconds=33.0
    )
    started(relay)
    assert made == [
        (
            "Releaser",
            dict(enumerate((kept, relay._gateway, relay.token, relay.metrics, 5 * HOUR, 2.5))),
        ),
        ("ReleaseWatch", {0: kept, 1: 33.0, 2: 2.5}),
        ("ReleaseWatch.stop", {}),
        ("Releaser.stop", {}),
    ]
    assert called(book, "close") == [("close", {})]


class Gateway:
    """Takes what a relay hands over, or fails as it is told to."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []
        self.trouble: Exception | None = None

    def hand_over(
        self, digest: str, question: str, envelopes: bytes, count: int, token: str, turn: int | None
    ) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.taken.append((digest, question, envelopes, count, token, turn))


@dataclass
class Relay:
    """A relay whose store notes its calls, and whose releases a test starts."""

    contract: Collection
    store: RelayStore
    book: Notebook
    service: RelayService
    gateway: Gateway
    batch: EnvelopeBatch

    def keep(self, sealed: Sequence[bytes]) -> None:
        """Let envelopes arrive."""
        self.store.keep([ArrivedEnvelope(self.batch.kind.number, one) for one in sealed])

    def run(self) -> None:
        """Take all looks that the clock has."""
        service = self.service
        told = (service.metrics, service.every, service.look_seconds)
        spy: Any = Spy(self.store, "store", self.book)
        gateway: Any = self.gateway
        Releaser(spy, gateway, service.token, *told)._thread.join()
        self.store.close()


def relay_of(folder: Path, every: float, look: float, days: int = 2) -> Relay:
    """A relay that releases three envelopes and more."""
    contract = relayed(crowd=3, days=days)
    real = RelayStore(f"sqlite:///{folder / 'relay.db'}")
    real.register(contract)
    service = RelayService(real, "http://127.0.0.1:9", lambda: "secret", every, look)
    batch = service.batch(service.kind(contract.digest, "colour"), None)
    return Relay(contract, real, Notebook(), service, Gateway(), batch)


def test_a_relay_tidies_at_every_look_and_thoroughly_once_a_day(
    tmp_path: Path, passing: Callable[[int], Clock]
) -> None:
    passing(6)
    relay = relay_of(tmp_path, DAY, 8 * HOUR)
    relay.run()
    book = relay.book
    thorough = [given["thorough"] for _, given in called(book, "tidy")]
    assert thorough == [True, False, False, True, False, False]
    for name in ("release", "release_turns", "drop_over", "drop_undelivered", "batches_under_way"):
        assert len(called(book, name)) == 6, name
    given = [given for _, given in called(book, "release")]
    moments = [MIDNIGHT + 8 * HOUR * i for i in range(6)]
    assert [(one["now"], one["every"]) for one in given] == [(now, DAY) for now in moments]
    assert [given["now"] for _, given in called(book, "release_turns")] == moments
    assert [given["now"] for _, given in called(book, "drop_over")] == moments


def test_a_relay_releases_whole_classes_at_their_hour_and_none_before(
    tmp_path: Path, passing: Callable[[int], Clock]
) -> None:
    time = passing(9)
    relay = relay_of(tmp_path, 6 * HOUR, 2 * HOUR)
    sealed = envelopes(relay.contract, 4)
    heard: list[int] = []

    def on_look(look: int) -> None:
        heard.append(len(relay.gateway.taken))
        if look in (1, 2):
            relay.keep(sealed[2 * look - 2 : 2 * look])

    time.on_look = on_look
    relay.run()
    # The schedule starts at the first look; its first release is six hours later, with look 4.
    assert heard == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    whole = (relay.contract.digest, "colour", b"".join(sorted(sealed)), 4, "secret", None)
    assert relay.gateway.taken == [whole]
    counts = relay.service.metrics.reports
    assert (counts["released"], counts["delivered"], counts["dropped"]) == (4, 4, 0)


def test_a_relay_drops_what_is_too_old_and_says_so(
    tmp_path: Path, passing: Callable[[int], Clock], caplog: pytest.LogCaptureFixture
) -> None:
    time = passing(5)
    relay = relay_of(tmp_path, DAY, DAY)
    relay.keep(envelopes(relay.contract, 2))
    left: list[int] = []
    time.on_look = lambda look: left.append(relay.store.waiting(relay.batch))
    relay.run()
    # Two days after Monday they still wait; on the third day they go.
    assert left == [2, 2, 2, 0, 0]
    assert relay.gateway.taken == []
    assert relay.service.metrics.reports["dropped"] == 2
    said = [record.getMessage() for record in caplog.records if record.name == "rumor.relay"]
    assert len(said) == 1
    assert "dropped 2 envelopes of question 'colour'" in said[0]
    assert "not released within 2 days (the contract waits for 3)" in said[0]


@pytest.mark.parametrize("trouble", ["away", "refused", "closed"])
def test_a_relay_keeps_what_the_gateway_does_not_take(
    tmp_path: Path,
    passing: Callable[[int], Clock],
    caplog: pytest.LogCaptureFixture,
    trouble: str,
) -> None:
    time = passing(6)
    relay = relay_of(tmp_path, DAY, DAY)
    relay.keep(envelopes(relay.contract, 3))
    relay.gateway.trouble = {
        "away": Unreachable("no way"),
        "refused": Refused("wrong-turn", "not now"),
        "closed": Refused("closed", "no more"),
    }[trouble]

    def on_look(look: int) -> None:
        if look == 4:
            relay.gateway.trouble = None

    time.on_look = on_look
    relay.run()
    said = [record.getMessage() for record in caplog.records if record.name == "rumor.relay"]
    counts = relay.service.metrics.reports
    assert counts["released"] == 3
    if trouble == "closed":
        assert relay.gateway.taken == []
        assert (counts["delivered"], counts["dropped"]) == (0, 3)
        assert "the collection is closed" in said[0]
    else:
        assert [count for *_, count, _, _ in relay.gateway.taken] == [3]
        assert (counts["delivered"], counts["dropped"]) == (3, 0)
        # Once, not at every look.
        words = {"away": "cannot be reached", "refused": "refuses envelopes"}
        assert len(said) == 1
        assert words[trouble] in said[0]


def test_a_relay_gives_up_what_nobody_took_a_week_after_the_contracts_days(
    tmp_path: Path, passing: Callable[[int], Clock], caplog: pytest.LogCaptureFixture
) -> None:
    days = 2 + DAYS_TO_DELIVER
    time = passing(days + 3)
    relay = relay_of(tmp_path, DAY, DAY)
    relay.keep(envelopes(relay.contract, 3))
    relay.gateway.trouble = Unreachable("no way")
    dropped: list[int] = []
    time.on_look = lambda look: dropped.append(relay.service.metrics.reports["dropped"])
    relay.run()
    assert dropped == [0] * (days + 1) + [3, 3]
    said = [record.getMessage() for record in caplog.records if record.name == "rumor.relay"]
    assert f"not delivered within {days} days" in said[-1]


def test_a_release_that_does_not_come_makes_the_relay_ill(
    tmp_path: Path, passing: Callable[[int], Clock], caplog: pytest.LogCaptureFixture
) -> None:
    time = passing(8)
    relay = relay_of(tmp_path, HOUR, 60.0)
    relay.store.release(time.now, HOUR, MONDAY)  # the schedule begins, and nobody keeps it
    time.now += HOUR - 120
    ill: list[bool] = []
    watches: list[ReleaseWatch] = []
    time.on_look = lambda look: ill.append(watches[0].is_overdue if watches else False)
    barrier = threading.Event()
    real = time.on_look

    def on_look(look: int) -> None:
        barrier.wait(5)
        real(look)

    time.on_look = on_look
    watches.append(ReleaseWatch(relay.store, 180.0, 60.0))
    barrier.set()
    watches[0]._thread.join()
    # Due at the third look; three minutes later, at the sixth, it is overdue.
    assert ill == [False] * 5 + [True] * 3
    said = [record.getMessage() for record in caplog.records if record.name == "rumor.relay"]
    assert said == ["a release is overdue: none within 180 s after it was due; envelopes wait"]
    relay.service._watch = watches[0]
    with pytest.raises(Exception, match="one is overdue"):
        asyncio.run(relay.service.is_healthy())
    relay.store.close()


class Told:
    """A relay's store that says what a test tells it, and notes what it is asked."""

    def __init__(self, **answers: Any) -> None:
        self._answers, self.asked = answers, list[tuple[str, tuple[Any, ...]]]()

    def __getattr__(self, name: str) -> Any:
        def method(*given: Any, **named: Any) -> Any:
            self.asked.append((name, given))
            return self._answers.get(name, [])

        return method


QUEUE = QuestionQueue(1, "0123456789abcdef" * 4, "colour", 100, 2_000, 3, 6)
DIGEST = "0123456789abcdef"


def test_each_envelope_that_goes_is_counted_and_each_drop_is_said(
    passing: Callable[[int], Clock], caplog: pytest.LogCaptureFixture
) -> None:
    passing(1)
    whole, turn = EnvelopeBatch(QUEUE), EnvelopeBatch(QUEUE, 77)
    store: Any = Told(
        last_release=LastRelease(0.0, 60.0),
        release=[BatchRelease(whole, 50, 1), BatchRelease(whole, 0, 0)],
        release_turns=[BatchRelease(turn, 700, 0)],
        drop_over=[ExpiredTurn(turn, 2, 30), ExpiredTurn(turn, 0, 0)],
        drop_undelivered=[BatchRelease(whole, 0, 400)],
    )
    metrics = Metrics(OUTCOMES, "envelopes")
    gateway: Any = Gateway()
    Releaser(store, gateway, lambda: "secret", metrics, 60.0, 5.0)._thread.join()
    assert dict(metrics.reports) == {
        "kept": 0, "repeated": 0, "released": 750, "delivered": 0, "dropped": 433,
    }  # fmt: skip
    few = "too few or too late when it was over (the contract waits for 2,000)"
    one = f"envelopes of question 'colour' ({DIGEST}..."
    assert [record.getMessage() for record in caplog.records] == [
        f"dropped 1 {one}): not released within 3 days (the contract waits for 2,000)",
        f"dropped 2 {one}, turn 77): {few}",
        f"dropped 30 {one}, turn 77): not delivered before it was over",
        f"dropped 400 {one}): not delivered within {3 + DAYS_TO_DELIVER} days",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}


@pytest.mark.parametrize(
    ("last", "found", "is_said"),
    [
        (None, None, False),  # the first look of all
        (LastRelease(0.0, 60.0), None, True),
        (LastRelease(0.0, 60.0), [], False),
    ],
)
def test_a_schedule_that_starts_anew_is_said(
    passing: Callable[[int], Clock],
    caplog: pytest.LogCaptureFixture,
    last: LastRelease | None,
    found: list[BatchRelease] | None,
    is_said: bool,
) -> None:
    passing(1)
    store: Any = Told(last_release=last, release=found)
    gateway: Any = Gateway()
    Releaser(store, gateway, lambda: "", Metrics(OUTCOMES), 90.0, 5.0)._thread.join()
    sentence = (
        "the schedule of releases starts anew: its period is 90 s (it was 60 s), or the "
        "clock went backwards"
    )
    assert [record.getMessage() for record in caplog.records] == [sentence] * is_said


@pytest.mark.parametrize(
    ("size", "most"),
    [(10, 1_000), (4_194, 1_000), (4_195, 999), (1 << 20, 4), (3 << 20, 1), (5 << 20, 1)],
)
def test_a_gateway_is_handed_so_many_envelopes_and_bytes_at_a_time(
    passing: Callable[[int], Clock], size: int, most: int
) -> None:
    passing(1)
    batch = EnvelopeBatch(replace(QUEUE, size=size))
    store: Any = Told(batches_under_way=[batch])
    gateway: Any = Gateway()
    Releaser(store, gateway, lambda: "", Metrics(OUTCOMES), 60.0, 5.0)._thread.join()
    assert [given for name, given in store.asked if name == "under_way"] == [(batch, most)]


def test_a_release_is_late_from_the_moment_at_which_the_next_is_due(
    passing: Callable[[int], Clock],
) -> None:
    time = passing(1)
    late = {}
    for last, is_due in (
        (LastRelease(MIDNIGHT, 60.0), False),
        (LastRelease(MIDNIGHT + 0.5, 60.0), False),  # the clock went backwards
        (LastRelease(MIDNIGHT - 59.5, 60.0), False),
        (LastRelease(MIDNIGHT - 60.0, 60.0), False),
        (LastRelease(MIDNIGHT, 60.0), True),
        (None, False),
    ):
        time.now, time.waited = MIDNIGHT, []
        store: Any = Told(last_release=last, is_turn_due=is_due)
        watch = ReleaseWatch(store, 0.0, 5.0)
        watch._thread.join()
        late[last and last.time - MIDNIGHT, is_due] = watch.is_overdue
    assert late == {
        (0.0, False): False,
        (0.5, False): True,
        (-59.5, False): False,
        (-60.0, False): True,
        (0.0, True): True,
        (None, False): True,
    }


@pytest.mark.parametrize("hours", [1, 2, 24])
def test_a_turn_is_released_when_half_and_nearly_all_of_the_next_has_passed(hours: int) -> None:
    length = hours * 3600
    start = 77 * length
    for now, moment in (
        (start, None),
        (start + length / 2 - 0.5, None),
        (start + length / 2, start + length // 2),
        (start + length * 0.95 - 0.5, start + length // 2),
        (start + length * 0.95, start + length * 95 // 100),
        (start + length - 0.5, start + length * 95 // 100),
        (start + length, None),
    ):
        assert last_moment(now, hours) == moment


@pytest.mark.parametrize("every", [60.0, 6 * HOUR, DAY, 0.1, 0.7])
def test_a_schedule_is_of_multiples_of_its_period(every: float) -> None:
    for number in (0, 1, 7, 12_345, 2_000_003):
        for now in (number * every, number * every + every / 3, (number + 1) * every - every / 64):
            due = _last_due(now, every)
            assert due <= now < due + every
            assert abs(due / every - round(due / every)) < 1e-6
            assert round(due / every) in (number, number + 1)
    assert [_last_due(now, 60.0) for now in (119.5, 120.0, 120.5)] == [60.0, 120.0, 120.0]
