"""Withdrawals at a collector that takes few requests: the device waits, and loses nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.collector.http.limits import Limits
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from tests.impostor import Heard, Told, impostor
from tests.javascript import collection, parsed, steps

THREE = collection(*({"kind": "choice", "labels": ["x", "y"], "epsilon": 1.0} for _ in range(3)))
ANSWERS = {"a": "x", "b": "y", "c": "x"}


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[str]:
    """A collector that takes one request a second."""
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(THREE)
    with background(Service(store, "series", limits=Limits(requests_per_second=1))) as url:
        yield url


def test_a_device_waits_as_it_is_told(tmp_path: Path, slow: str) -> None:
    with Respondent(tmp_path / "device", collector=slow) as device:
        device.prepare(THREE, ANSWERS)
    with Client(slow, tmp_path / "device", THREE) as client:
        done = client.withdraw()
        assert (done.absent, done.left, done.problem) == (3, 0, None)
        assert client.waiting() == []


def test_a_browser_waits_as_it_is_told(slow: str) -> None:
    found = steps(
        parsed(THREE, collector=slow),
        {"step": "open"},
        {"step": "prepare", "answers": ANSWERS},
        {"step": "withdraw", "url": slow},
        {"step": "sent"},
    )
    assert found[3] == {"withdrawn": 0, "absent": 3, "left": 0, "problem": None, "refusal": None}
    assert found[4] == 0


def busy(seconds: int) -> Told:
    """What a collector says that takes nothing for so long."""
    problem = {"type": "urn:rumor:problem:rate", "detail": "too many requests"}
    return 429, problem, {"Retry-After": str(seconds)}


@pytest.mark.parametrize(("seconds", "requests"), [(0, 5), (3600, 3)])
def test_patience_ends(tmp_path: Path, seconds: int, requests: int) -> None:
    """Three tries of the first request, one of each other; a long pause is never made."""
    with impostor(lambda heard: busy(seconds)) as here:
        with Respondent(tmp_path, collector=here.url) as device:
            device.prepare(THREE, ANSWERS)
        with Client(here.url, tmp_path, THREE) as client:
            start = time.monotonic()
            done = client.withdraw()
            assert time.monotonic() - start < 20
            assert (done.left, done.problem, len(client.waiting())) == (3, "too many requests", 3)
        assert len(here.heard) == requests
    with impostor(lambda heard: busy(seconds)) as here:
        found = steps(
            parsed(THREE, collector=here.url),
            {"step": "open"},
            {"step": "prepare", "answers": ANSWERS},
            {"step": "withdraw", "url": here.url},
            {"step": "sent"},
        )
        assert (found[3]["left"], found[3]["problem"], found[4]) == (3, "too many requests", 3)
        assert len(here.heard) == requests


def test_no_pause_is_shorter_than_the_collector_asks_for(tmp_path: Path) -> None:
    times: list[float] = []

    def once_busy(heard: Heard) -> Told:
        times.append(time.monotonic())
        if len(times) % 2:
            return busy(1)
        return 200, {"withdrawn": 0, "absent": len(json.loads(heard.body)["keys"])}, {}

    with impostor(once_busy) as here:
        with Respondent(tmp_path, collector=here.url) as device:
            device.prepare(THREE, {"a": "x"})
        with Client(here.url, tmp_path, THREE) as client:
            assert client.withdraw().absent == 1
        found = steps(
            parsed(THREE, collector=here.url),
            {"step": "open"},
            {"step": "prepare", "answers": {"a": "x"}},
            {"step": "withdraw", "url": here.url},
        )
        assert found[3]["absent"] == 1
    assert all(after - before > 0.99 for before, after in zip(times[::2], times[1::2], strict=True))
