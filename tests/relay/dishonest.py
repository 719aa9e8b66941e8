"""A dishonest relay between real devices and a real gateway, whose clocks jump.

The relay acknowledges every envelope and then does as it likes: it drops some, hands others over
in any order, twice, in another turn than they were made in, or when their turn is long over. Books
beside it say what the gateway must hold: each report once, and only if it was handed over under
its own turn while the gateway's clock showed that turn or the next.

In the end an honest relay takes over, which is down most of the time: of each turn that is full,
every report must arrive, if that relay runs for one look in the second half of the next turn.
"""

from __future__ import annotations

import datetime
import http.server
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rumor.client import respondent
from rumor.client.client import Client
from rumor.client.transport import Refused, Transport
from rumor.collector import clock
from rumor.collector.gateway import Gateway, add_key, read_keys
from rumor.collector.http.server import background
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import PeriodicTask
from rumor.collector.relay.release import Releaser
from rumor.collector.relay.service import OUTCOMES
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import open_store, today
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.relay import turn_at
from rumor.core.errors import InputError
from tests.collector.tools import stored
from tests.listening import Quiet, listening
from tests.relay.tools import kind_of, relayed

HOUR, TURN_HOURS, CROWD, QUESTIONS = 3600, 6, 3, ("colour", "many")
START = 1_800_000_000.0
_ANSWERS: dict[str, object] = {"colour": "red", "many": 3}


@dataclass(frozen=True)
class Kept:
    """An envelope that the relay has, and the id of the report in it, which the books know."""

    question: str
    turn: int
    sealed: bytes
    id: bytes


@dataclass
class Clocks:
    """The true time, and how far the clocks of gateway and devices are off, in seconds."""

    now: float = START
    gateway: float = 0.0
    device: float = 0.0

    def device_now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.now + self.device, datetime.UTC)

    @contextmanager
    def set(self) -> Iterator[None]:
        """Let gateway and devices of this process live by them."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "now", lambda: self.now + self.gateway)
            patch.setattr(respondent, "_utc_now", self.device_now)
            yield


class Play:
    """Devices, a dishonest relay, a gateway, and the books of what was done."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.key, self.token = add_key(folder / "gateway.pem"), add_token(folder / "relays", "r")
        self.keys = read_keys(folder / "gateway.pem")
        self.clocks, self.done = Clocks(), Counter[str]()
        self.heap: list[Kept] = []
        self.held: dict[str, set[bytes]] = {question: set() for question in QUESTIONS}
        self.turns: set[tuple[int, str, int]] = set()
        self.contract: Collection

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        """The relay's face: it takes everything, and says so."""
        play = self

        class Relay(Quiet, http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sealed = self.rfile.read(int(self.headers["Content-Length"]))
                *_, question, turn = self.path.split("/")
                play.keep(question, int(turn), sealed)
                self.send_response(202)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b'{"taken":1}')

        return Relay

    def keep(self, question: str, turn: int, sealed: bytes) -> None:
        kind = kind_of(self.contract, question, turn)
        opened = kind.open(self.keys[self.key], sealed, self.contract)
        assert opened is not None, "a device bound an envelope to another turn than it said"
        self.heap.append(Kept(question, turn, sealed, opened[0].id))

    def round(self, devices: Sequence[Client], gateway: Transport) -> None:
        """Time passes and clocks jump, some people answer, and the relay does as it likes."""
        chance, clocks = self.chance, self.clocks
        clocks.now += chance.choice((0.5, 2, 5, 6, 7, 13)) * HOUR
        for whose in ("gateway", "device"):
            if chance.random() < 0.2:
                setattr(clocks, whose, chance.choice((0, 0, -50, -6, -1, 1, 6, 50)) * HOUR)
                self.done["jumps of a clock"] += 1
        for who in chance.sample(range(len(devices)), len(devices) // 2):
            self.answer(who, devices[who])
        chance.shuffle(self.heap)
        for question in QUESTIONS:
            mine = [each for each in self.heap if each.question == question]
            # Those of one turn first, so that some batches are what they should be.
            turn = turn_at(clock.now(), TURN_HOURS) - chance.randint(0, 1)
            mine.sort(key=lambda each: each.turn != turn)
            self.hand_over(mine[: chance.randint(0, 12)], gateway)
        for each in [each for each in self.heap if chance.random() < 0.05]:
            self.heap.remove(each)
            self.done["envelopes lost"] += 1

    def answer(self, who: int, device: Client) -> None:
        """One answer; whatever the clock does, never a second one of a person in a turn."""
        question, before = self.chance.choice(QUESTIONS), len(self.heap)
        try:
            device.answer({question: _ANSWERS[question]})
        except InputError as refusal:
            if "the next turn begins at" not in str(refusal):
                raise
            self.done["answers refused in the same turn"] += 1
            return
        self.done["reports made"] += 1
        (new,) = self.heap[before:]
        assert (who, question, new.turn) not in self.turns, "two reports of a person in a turn"
        self.turns.add((who, question, new.turn))

    def hand_over(self, some: Sequence[Kept], gateway: Transport) -> None:
        """Some envelopes in one batch, a few of them twice, under a turn of the relay's choice."""
        if not some:
            return
        question, current = some[0].question, turn_at(clock.now(), TURN_HOURS)
        said = (*(each.turn for each in some[:3]), current, current - 1, current + 1)
        turn = self.chance.choice(said)
        batch = [*some, *(each for each in some if self.chance.random() < 0.2)]
        self.chance.shuffle(batch)
        whole, digest = b"".join(each.sealed for each in batch), self.contract.digest
        refused = None
        try:
            gateway.hand_over(digest, question, whole, len(batch), self.token, turn)
        except Refused as refusal:
            refused = refusal.type
        expected = None if turn in (current, current - 1) else "wrong-turn"
        assert refused == expected, "the gateway takes the current turn and the last one alone"
        if refused is not None:
            self.done["batches refused for their turn"] += 1
            return
        self.done["batches taken"] += 1
        for each in batch:
            if each.turn != turn:
                self.done["envelopes replayed in another turn"] += 1
            elif each.id in self.held[question]:
                self.done["envelopes handed over again"] += 1
            else:
                self.held[question].add(each.id)

    def honest_turns(self, devices: Sequence[Client], gateway: Transport, turns: int) -> None:
        """Let people answer through an honest relay that is started for one look in each turn."""
        relay = RelayStore(f"sqlite:///{self.folder / 'honest.db'}")
        relay.register(self.contract)
        numbers = {kind.question: kind.number for kind in relay.classes()}
        self.clocks.gateway = self.clocks.device = 0.0
        self.clocks.now += 200 * HOUR  # no device has made a report in a turn that is to come
        for _ in range(turns):
            turn = turn_at(self.clocks.now, TURN_HOURS) + 1
            self.clocks.now, before = (turn + 0.5) * TURN_HOURS * HOUR, len(self.heap)
            for who, device in enumerate(devices):
                self.answer(who, device)
            made, self.heap = self.heap[before:], self.heap[:before]
            part = self.chance.choice((0.5, 0.6, 0.94, 0.95, 0.99))
            self.clocks.now = float(round((turn + 1 + part) * TURN_HOURS * HOUR))
            relay.keep(
                [ArrivedEnvelope(numbers[each.question], each.sealed, each.turn) for each in made]
            )
            self.look(relay, gateway)
            for question in QUESTIONS:
                ids = {each.id for each in made if each.question == question}
                if len(ids) >= CROWD:
                    self.held[question] |= ids
                    self.done["full turns through an honest relay"] += 1
        relay.close()

    def look(self, relay: RelayStore, gateway: Transport) -> None:
        """The honest relay is started with some period, looks once, and is stopped."""
        every = self.chance.choice((1.0, 6.0, 24.0, 1000.0)) * HOUR
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PeriodicTask, "_run", lambda self: None)
            metrics = Metrics(OUTCOMES, "envelopes")
            Releaser(relay, gateway, lambda: self.token, metrics, every).run_once(today())


def play(
    folder: Path, store_url: str, rounds: int, people: int = 12, seed: int = 1
) -> Counter[str]:
    """Let a dishonest relay play so many rounds; return what was done, once the books balance."""
    game = Play(folder, seed)
    with game.clocks.set(), listening(game.handler()) as url:
        game.contract = relayed(key=game.key, url=url, crowd=CROWD, turn_hours=TURN_HOURS)
        store = open_store(store_url)
        entry = store.register(game.contract)
        gateway = Gateway(game.keys, Tokens(folder / "relays"))
        service = Service(store, "series", summarize_seconds=0.05, gateway=gateway)
        with background(service) as collector, ExitStack() as stack:
            devices = [
                stack.enter_context(
                    Client(collector, folder / f"device-{number}", attempts=1, delay=0.0)
                )
                for number in range(people)
            ]
            for _ in range(rounds):
                game.round(devices, Transport(collector))
            game.honest_turns(devices, Transport(collector), max(6, rounds // 4))
            store.summarize()
            for question in QUESTIONS:
                assert set(stored(store, entry, question)) == game.held[question]
                assert store.summary(entry, question).reports == len(game.held[question])
            counts = service.metrics.reports
            assert counts["accepted"] == sum(map(len, game.held.values()))
            assert counts["duplicate"] == game.done["envelopes handed over again"]
            assert counts["dropped"] == game.done["envelopes replayed in another turn"]
    game.done["reports stored"] = counts["accepted"]
    return game.done
