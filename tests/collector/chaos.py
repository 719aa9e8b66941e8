"""A collector under load that is killed again and again, and the account that must balance.

Senders behave as clients do: what was not acknowledged is sent again, byte for byte, until it
is; what was acknowledged is never sent again. So a report that was acknowledged and lost would
be missing in the end, and one that was counted twice would show in the counts.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rumor.collector.store.base import StoredCollection, open_store
from rumor.core.reports import Reports
from tests.collector.tools import collection, rows, send, stored

_READY = re.compile(r"(?:serving|relaying|issuing) .* at (http://\S+)")
_QUESTIONS = ("colour", "many")


class Serving:
    """A command of Rumor's that serves, in a process of its own."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None):
        code = "import sys; from rumor.cli import main; sys.exit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.said: list[str] = []
        self._ready = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(60), self.said
        assert self.url, self.said

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if found := _READY.search(line):
                self.url = found.group(1)
                self._ready.set()
        self._ready.set()

    def kill(self, number: int = signal.SIGKILL) -> int:
        """End the process by a signal; its exit status."""
        self.process.send_signal(number)
        status = self.process.wait(60)
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


class Collector(Serving):
    """`rumor serve`, or another command with a store."""

    def __init__(
        self,
        contract: Path,
        store_url: str,
        environment: dict[str, str] | None = None,
        command: Sequence[str] = ("serve",),
        port: int = 0,
    ) -> None:
        given = (*command, str(contract), "--store", store_url, "--port", str(port))
        super().__init__(*given, environment=environment)


@dataclass
class Account:
    """What was sent: batches that were acknowledged, and those that still have to be."""

    entry: StoredCollection
    url: str = ""
    acknowledged: list[tuple[str, Reports]] = field(default_factory=list)
    refusals: dict[int, int] = field(default_factory=dict)
    stopping: bool = False

    def work(self, seed: int) -> None:
        """Send batches until told to stop, each until it is acknowledged."""
        chance = random.Random(seed)
        while not self.stopping:
            question = chance.choice(_QUESTIONS)
            values = [chance.randrange(3) for _ in range(chance.randrange(1, 40))]
            batch = rows(self.entry, question, values)
            while not self._acknowledged(question, batch):
                time.sleep(0.02)
            self.acknowledged.append((question, batch))

    def _acknowledged(self, question: str, batch: Reports) -> bool:
        try:
            answer = send(self.url, self.entry.collection, question, batch.tobytes())
        except (OSError, http.client.HTTPException):
            return False
        if answer.status == 200:
            counts = answer.json()
            assert counts["accepted"] + counts["duplicates"] == len(batch)
            return True
        self.refusals[answer.status] = self.refusals.get(answer.status, 0) + 1
        assert answer.status == 503, answer.body
        return False

    def balance(self, store_url: str) -> int:
        """Check the store against the account; how many reports there are."""
        store = open_store(store_url)
        entry = store.find(self.entry.collection.digest)
        store.summarize()
        total = 0
        for question in _QUESTIONS:
            sent = [batch for id, batch in self.acknowledged if id == question]
            expected = {bytes(row[:16]): bytes(row[16:]) for batch in sent for row in batch}
            assert stored(store, entry, question) == expected
            summary = store.summary(entry, question)
            assert summary.reports == len(expected)
            mechanism = entry.collection.question(question).mechanism
            if sent:
                reports = np.ascontiguousarray(np.concatenate(sent)[:, 16:])
                assert (summary.tally == mechanism.tally(reports)).all()
            total += len(expected)
        store.close()
        return total


@contextlib.contextmanager
def senders(account: Account, count: int = 3):  # type: ignore[no-untyped-def]
    """Senders at work; at the end all of them have had their last batch acknowledged."""
    threads = [threading.Thread(target=account.work, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        account.stopping = True
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def prepare(tmp_path: Path, store_url: str) -> tuple[Path, Account]:
    """A contract in a file, registered in the store."""
    contract = tmp_path / "contract.json"
    collection().save(contract)
    store = open_store(store_url)
    account = Account(store.register(collection()))
    store.close()
    return contract, account


def kill_again_and_again(tmp_path: Path, store_url: str, kills: int, seed: int = 1) -> int:
    """Kill a collector under load so many times; how many reports survived, all of them."""
    contract, account = prepare(tmp_path, store_url)
    chance = random.Random(seed)
    collector = Collector(contract, store_url)
    account.url = collector.url
    with senders(account):
        for _ in range(kills):
            before = len(account.acknowledged)
            deadline = time.monotonic() + 30
            while len(account.acknowledged) <= before:
                assert time.monotonic() < deadline, collector.said
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.15))
            collector.kill()
            collector = Collector(contract, store_url)
            account.url = collector.url
        account.stopping = True
    assert collector.kill(signal.SIGTERM) == 0
    assert not any("Traceback" in line for line in collector.said), collector.said
    return account.balance(store_url)
