"""A relay and a gateway under load that are killed again and again, and books that must balance.

Senders behave as devices do: an envelope that was not acknowledged is sent again, byte for byte,
until it is; one that was acknowledged never again. In the end the collector holds the report of
each of them, once.
"""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from rumor.collector.gateway import add_key
from rumor.collector.http.server import free_port
from rumor.collector.store.base import Store, open_store
from rumor.collector.tokens import add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from tests.collector.chaos import Serving
from tests.collector.tools import call, stored
from tests.relay.tools import kind_of, relayed

CROWD = 5
_QUESTIONS = ("colour", "many")


@dataclass
class Sending:
    """What was sent and acknowledged, by question and id."""

    collection: Collection
    url: str
    acknowledged: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    repeated: int = 0
    stopping: bool = False

    def work(self, seed: int) -> None:
        """Send envelopes until told to stop, each until it is acknowledged."""
        chance = random.Random(seed)
        while not self.stopping:
            self.one(chance.choice(_QUESTIONS))

    def one(self, question: str) -> None:
        """One envelope, however often it takes."""
        mechanism = self.collection.question(question).mechanism.without_labels()
        id, report = report_id(new_key()), mechanism.privatize([1]).tobytes()
        sealed = kind_of(self.collection, question).seal(id, None, report)
        where = f"/v1/relay/{self.collection.digest}/{question}"
        while not self._acknowledged(where, sealed):
            self.repeated += 1
            time.sleep(0.02)
        self.acknowledged[question, id] = report

    def _acknowledged(self, where: str, sealed: bytes) -> bool:
        try:
            answer = call(self.url, where, sealed)
        except (OSError, http.client.HTTPException):
            return False
        assert answer.status in (202, 503), answer.body
        return answer.status == 202


class Parties:
    """A relay and a collector in processes, with all that they need in a folder."""

    def __init__(self, folder: Path, store_url: str) -> None:
        self._folder, self.store_url = folder, store_url
        key = add_key(folder / "gateway.pem")
        (folder / "token").write_text(add_token(folder / "relays", "relay"))
        self._ports = [str(free_port()) for _ in range(2)]
        url = f"http://127.0.0.1:{self._ports[0]}"
        self.collection = relayed(key=key, url=url, crowd=CROWD)
        self.collection.save(folder / "contract.json")
        self.said: list[str] = []
        self.collector, self.relay = self._collect(), self._relay()

    def _collect(self) -> Serving:
        return Serving(
            *("serve", str(self._folder / "contract.json"), "--store", self.store_url),
            *("--port", self._ports[1], "--gateway-key", str(self._folder / "gateway.pem")),
            *("--relay-token-file", str(self._folder / "relays")),
        )

    def _relay(self) -> Serving:
        return Serving(
            *("relay", str(self._folder / "contract.json"), "--every", str(0.2 / 3600)),
            *("--store", f"sqlite:///{self._folder / 'relay.db'}", "--port", self._ports[0]),
            *("--gateway", f"http://127.0.0.1:{self._ports[1]}"),
            *("--token-file", str(self._folder / "token")),
        )

    def kill(self, which: str) -> None:
        """End one of them at once, and start it again."""
        if which == "relay":
            self.relay.kill()
            self.said += self.relay.said
            self.relay = self._relay()
        else:
            self.collector.kill()
            self.said += self.collector.said
            self.collector = self._collect()

    def stop(self) -> None:
        """End both in order."""
        for each in (self.relay, self.collector):
            assert each.kill(signal.SIGTERM) == 0, each.said
            self.said += each.said
        assert not any("Traceback" in line for line in self.said), self.said


def kill_both_again_and_again(
    folder: Path, store_url: str, kills: int, seed: int = 1, count: int = 3
) -> tuple[int, int]:
    """Kill one of the two so many times under load; how many reports, and how many repeats."""
    parties, chance = Parties(folder, store_url), random.Random(seed)
    sending = Sending(parties.collection, parties.relay.url)
    threads = [threading.Thread(target=sending.work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        for number in range(kills):
            before, deadline = len(sending.acknowledged), time.monotonic() + 60
            while len(sending.acknowledged) <= before + CROWD:
                assert time.monotonic() < deadline, parties.said
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.4))
            parties.kill(("relay", "gateway")[number % 2])
    finally:
        sending.stopping = True
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    try:
        with closing(open_store(store_url)) as store:
            _balance(store, parties, sending)
    except BaseException:
        parties.relay.kill()
        parties.collector.kill()
        raise
    parties.stop()
    return len(sending.acknowledged), sending.repeated


def _balance(store: Store, parties: Parties, sending: Sending) -> None:
    """Wait until the collector holds all, and see that it holds nothing else, and once."""
    entry, most, deadline = store.find(parties.collection.digest), 0, 0.0
    topped_up = time.monotonic()
    while True:
        held = {
            (question, id): report
            for question in _QUESTIONS
            for id, report in stored(store, entry, question).items()
        }
        if len(held) >= len(sending.acknowledged):
            break
        # As long as there are more every minute, however slow the machine.
        if not deadline or len(held) > most:
            most, deadline = len(held), time.monotonic() + 60
        assert time.monotonic() < deadline, (most, len(sending.acknowledged), parties.said)
        # Whoever still waits for a full batch gets company: one at a time, since a batch may be
        # released after any of them, and only where somebody waits, or others would wait next.
        if time.monotonic() > topped_up + 1:
            topped_up = time.monotonic()
            for question in {question for question, _ in sending.acknowledged.keys() - held}:
                sending.one(question)
        time.sleep(0.1)
    assert held == sending.acknowledged
    store.summarize()
    for question in _QUESTIONS:
        expected = sum(1 for each, _ in held if each == question)
        assert store.summary(entry, question).reports == expected
