"""Two versions of the collector on one PostgreSQL, under load, while one takes the other's place.

The older version is the source of the commit that wrote the artefacts of 0.1.0, run in processes
of its own with the packages of today.
"""

from __future__ import annotations

import http.client
import os
import secrets
import subprocess
import sys
import tarfile
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from rumor.client.client import Client
from rumor.collector.store.base import RepairResult, open_store
from rumor.contract.collection import Collection
from tests.collector.postgres import Postgres
from tests.collector.tools import send, stored
from tests.old.kept import HERE

PRESENT = HERE.parent.parent / "src"
RUNNER = HERE / "run_collector.py"
SENDERS, REPORTS = 3, 5
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
    with tarfile.open(HERE / "0.1.0" / "source.tar.xz") as packed:
        packed.extractall(place, filter="data")
    return place / "src"


class Running:
    """A collector in a process of its own, of the version that lies in `source`."""

    def __init__(self, source: Path, url: str, contract: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", RUNNER, url, contract],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), "the collector did not start"

    def kill(self) -> None:
        """End it between two of its instructions."""
        with self.process:  # which closes its pipes
            self.process.kill()


class Load:
    """Senders of reports that go on until told, each body to whichever collector is there."""

    def __init__(self, contract: Collection) -> None:
        self.contract, self.urls = contract, list[str]()
        self.acknowledged: dict[bytes, bytes] = {}
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
        mechanism, turn = self.contract.question("colour").mechanism.without_labels(), first
        while not self._over.is_set():
            reports = mechanism.privatize([n % 3 for n in range(REPORTS)])
            ids = np.frombuffer(secrets.token_bytes(16 * REPORTS), np.uint8).reshape(-1, 16)
            rows = {id.tobytes(): report.tobytes() for id, report in zip(ids, reports, strict=True)}
            self.offered |= rows.keys()
            body = b"".join(id + report for id, report in rows.items())
            for _ in range(600):
                turn += 1
                try:
                    answer = send(self.urls[turn % len(self.urls)], self.contract, "colour", body)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)
                    continue
                if answer.status == 200:
                    self.acknowledged |= rows
                    break
                if answer.status not in (429, 503):
                    self.wrong.append((answer.status, answer.body))
                    return
                time.sleep(0.05)
            time.sleep(0.01)


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
