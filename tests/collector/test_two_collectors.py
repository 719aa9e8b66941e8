"""Two collectors on one store: a SQLite file on one machine, or a database."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from rumor.collector.store.base import open_store
from tests.collector.chaos import Account, Collector, prepare, senders
from tests.collector.tools import call, collection, rows, send


def test_two_that_start_at_once_on_a_new_file_agree(tmp_path: Path) -> None:
    store_url = f"sqlite:///{tmp_path / 'store.db'}"
    collection().save(tmp_path / "contract.json")
    started: list[Collector] = []

    def start() -> None:
        started.append(Collector(tmp_path / "contract.json", store_url))

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(started) == 2
    store = open_store(store_url)
    (entry,) = store.collections()
    body = rows(entry, "colour", [0, 1]).tobytes()
    answers = [send(each.url, entry.collection, "colour", body).json() for each in started]
    assert answers == [{"accepted": 2, "duplicates": 0}, {"accepted": 0, "duplicates": 2}]
    store.close_collection(entry.collection.digest)
    for each in started:
        # What one process is told, the other knows with the next report.
        assert send(each.url, entry.collection, "colour", body).problem == "closed"
        assert each.kill(signal.SIGTERM) == 0
    store.close()


@pytest.mark.one_store
def test_two_under_load_lose_nothing_when_one_is_killed(tmp_path: Path, store_url: str) -> None:
    contract, account = prepare(tmp_path, store_url)
    both = [account, Account(account.entry)]
    collectors = [Collector(contract, store_url) for _ in both]
    for each, collector in zip(both, collectors, strict=True):
        each.url = collector.url
    with senders(both[0], 1), senders(both[1], 1):
        for turn in range(2):
            marks = [len(each.acknowledged) for each in both]
            deadline = time.monotonic() + 30
            while any(len(e.acknowledged) <= m for e, m in zip(both, marks, strict=True)):
                assert time.monotonic() < deadline, [c.said for c in collectors]
                time.sleep(0.01)
            collectors[turn].kill()
            collectors[turn] = Collector(contract, store_url)
            both[turn].url = collectors[turn].url
        for each in both:
            each.stopping = True
    assert all(call(each.url, "/healthz").status == 200 for each in collectors)
    for collector in collectors:
        assert collector.kill(signal.SIGTERM) == 0
        assert not any("Traceback" in line for line in collector.said), collector.said
    account.acknowledged += both[1].acknowledged
    assert account.balance(store_url) > 0
