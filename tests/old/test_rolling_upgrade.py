"""Two versions of the collector on one PostgreSQL, under load, while one takes the other's place.

The older version is the source of the commit that wrote the artefacts of 0.1.0, run in processes
of its own with the packages of today.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import os
import random
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from rumor.client.client import Client
from rumor.collector.store.base import RepairResult, open_store
from rumor.contract.collection import Collection
from rumor.contract.deletion import KEY_BYTES, report_id
from tests.collector.postgres import Postgres
from tests.collector.tools import Answer, call, send, stored
from tests.old.kept import HERE, unpacked

PRESENT = HERE.parent.parent / "src"
RUNNER = HERE / "run_collector.py"
SENDERS, REPORTS, WITHDRAWN = 3, 5, 2
_ANSWER = """
import sys
from rumor import Client
with Client(sys.argv[1], sys.argv[2], attempts=3) as client:
    sent = client.answer({"colour": "red"}).sent
    print(sent, client.withdraw().withdrawn)
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the older version's package."""
    place = tmp_path_factory.mktemp("older")
    return unpacked(place)


class Running:
    """A collector in a process of its own, of the version that lies in `source`."""

    def __init__(self, source: Path, url: str, contract: Path, *, wait: bool = True) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", RUNNER, url, contract],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        if not wait:
            return
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), "the collector did not start"

    def kill(self) -> None:
        """End it between two of its instructions."""
        with self.process:  # which closes its pipes
            self.process.kill()


class Load:
    """Senders of reports that go on until told, each body to whichever collector is there.

    Every third body comes once more, as from a sender who heard no answer. Where they withdraw,
    they take back some reports of every second body.
    """

    def __init__(self, contract: Collection, *, withdraws: bool = False) -> None:
        self.contract, self.urls, self.withdraws = contract, list[str](), withdraws
        self.acknowledged: dict[bytes, bytes] = {}
        self.withdrawn: set[bytes] = set()
        self.offered: set[bytes] = set()
        self.wrong: list[object] = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(n,)) for n in range(SENDERS)]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every sender finish its body."""
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _send(self, first: int) -> None:
        mechanism = self.contract.question("colour").mechanism.without_labels()
        turns = itertools.count(first)
        for number in itertools.count():
            if self._over.is_set():
                return
            reports = mechanism.privatize([n % 3 for n in range(REPORTS)])
            keys = [secrets.token_bytes(KEY_BYTES) for _ in range(REPORTS)]
            ids = [report_id(key) for key in keys]
            rows = {id: report.tobytes() for id, report in zip(ids, reports, strict=True)}
            self.offered |= rows.keys()
            body = b"".join(id + report for id, report in rows.items())
            for _ in range(1 if number % 3 else 2):
                if not self._until_done(turns, partial(self._hand_in, body=body)):
                    return
            back = set(ids[:WITHDRAWN] if self.withdraws and number % 2 else ())
            self.acknowledged |= {id: row for id, row in rows.items() if id not in back}
            if back:
                if not self._until_done(turns, partial(self._take_back, keys=keys[:WITHDRAWN])):
                    return
                self.withdrawn |= back
            time.sleep(0.01)

    def _hand_in(self, url: str, body: bytes) -> Answer:
        return send(url, self.contract, "colour", body)

    def _take_back(self, url: str, keys: list[bytes]) -> Answer:
        texts = [base64.b64encode(key).decode() for key in keys]
        body = json.dumps({"question": "colour", "keys": texts}).encode()
        headers = {"Content-Type": "application/json", "Rumor-Collection": self.contract.digest}
        return call(url, "/v1/withdrawals", body, headers)

    def _until_done(self, turns: Iterator[int], ask: Callable[[str], Answer]) -> bool:
        """Ask one collector after the other until one says that it is done."""
        for _ in range(600):
            try:
                answer = ask(self.urls[next(turns) % len(self.urls)])
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
                continue
            if answer.status == 200:
                return True
            if answer.status not in (429, 503):
                self.wrong.append((answer.status, answer.body))
                return False
            time.sleep(0.05)
        self.wrong.append("no collector was ever done")
        return False


@pytest.mark.slow
def test_collectors_are_upgraded_one_by_one_under_load(
    postgres: Postgres, older: Path, tmp_path: Path
) -> None:
    """Nothing acknowledged is lost or counted twice; each version serves the other's clients."""
    contract = HERE / "0.1.0" / "contracts" / "survey.json"
    collection, url = Collection.load(contract), postgres.clean_database()
    load = Load(collection)
    with ExitStack() as stack:
        running: list[Running] = []

        def start(source: Path) -> Running:
            running.append(Running(source, url, contract))
            stack.callback(running[-1].kill)
            return running[-1]

        first, second = start(older), start(older)
        load.urls = [first.url, second.url]
        load.start()
        stack.callback(load.stop)
        time.sleep(0.7)
        with Client(first.url, tmp_path / "newer", attempts=3) as client:
            assert client.answer({"colour": "red"}).sent == 1
        before = len(load.acknowledged)
        assert before > 0
        third = start(PRESENT)  # it migrates the schema while the two older ones write
        load.urls = [first.url, second.url, third.url]
        time.sleep(0.7)
        first.kill()
        fourth = start(PRESENT)
        load.urls = [second.url, third.url, fourth.url]
        time.sleep(0.7)
        second.kill()
        load.urls = [third.url, fourth.url]
        time.sleep(0.7)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _ANSWER, third.url, tmp_path / "older"],
            env={**os.environ, "PYTHONPATH": str(older)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout.split() == ["1", "1"], done.stderr[-500:]
        load.stop()
        assert load.wrong == []
        assert len(load.acknowledged) > before
    with closing(open_store(url)) as store:
        entry = store.find(collection.digest)
        held = stored(store, entry, "colour")
        assert load.acknowledged.items() <= held.items()
        # One more: the answer of the newer client. The older one took its answer back.
        assert len(held.keys() - load.offered) == 1
        store.summarize()
        assert store.summary(entry, "colour").reports == len(held)
        assert store.repair() == RepairResult(0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kills_in_an_upgrade_lose_nothing_and_count_nothing_twice(
    postgres: Postgres, older: Path, seed: int
) -> None:
    """Old ones under load, new ones while they migrate, whichever is there afterwards.

    An old one that comes too late refuses the newer store, and changes nothing.
    """
    contract = HERE / "0.1.0" / "contracts" / "survey.json"
    collection, url = Collection.load(contract), postgres.clean_database()
    load, chance = Load(collection, withdraws=True), random.Random(seed)
    with ExitStack() as stack:
        running: list[Running] = []

        def start(source: Path) -> None:
            running.append(Running(source, url, contract))
            stack.callback(running[-1].kill)
            load.urls = [each.url for each in running]

        def kill_any(*sources: Path) -> None:
            """Kill one at some moment, and start others in its place."""
            time.sleep(chance.uniform(0.05, 0.5))
            running.pop(chance.randrange(len(running))).kill()
            load.urls = [each.url for each in running]
            for source in sources:
                start(source)

        start(older)
        start(older)
        load.start()
        stack.callback(load.stop)
        kill_any(older)
        # A process needs some tenths of a second until it migrates, and hundredths for that.
        for _ in range(3):
            begun = Running(PRESENT, url, contract, wait=False)
            stack.callback(begun.kill)
            time.sleep(chance.uniform(0.2, 1.5))
            begun.kill()
        start(PRESENT)
        late = subprocess.run(
            [sys.executable, "-W", "ignore", RUNNER, url, contract],
            env={**os.environ, "PYTHONPATH": str(older)}, capture_output=True, text=True,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert late.returncode != 0
        refusal = "a store's schema must be at most version 4, which this Rumor knows; the database"
        assert refusal in late.stderr, late.stderr[-500:]
        for _ in range(6):
            kill_any(PRESENT)
        before = len(load.acknowledged), len(load.withdrawn)
        time.sleep(0.5)
        load.stop()
        assert load.wrong == []
        assert len(load.acknowledged) > before[0] > 0
        assert len(load.withdrawn) > 0 < before[1]
    with closing(open_store(url)) as store:
        entry = store.find(collection.digest)
        held = stored(store, entry, "colour")
        assert held == load.acknowledged
        assert not load.withdrawn & held.keys()
        store.summarize()
        assert store.summary(entry, "colour").reports == len(held)
        assert store.repair() == RepairResult(0, 0)
