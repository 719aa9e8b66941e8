"""Faults at some of the calls of an app's host; with --slow at all of them, and pairs of faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from tests.engines import quickjs
from tests.faults import app_scenario
from tests.faults.strikes import some
from tests.machine.contracts import SERIES, contracts
from tests.machine.front import Front
from tests.needs import needs

needs("node")
quickjs()
STRIKES = 40


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[tuple[Front, Store]]:
    store = open_store(f"sqlite:///{tmp_path / 'collector.db'}")
    store.register(contracts()[0])
    front = Front()
    with background(Service(store, SERIES)) as url, front.listening():
        front.targets = [url]
        yield front, store


def test_what_an_app_made_survives_faults_of_its_host(collector: tuple[Front, Store]) -> None:
    front, store = collector
    single = app_scenario.every_fault(front.url)
    assert len(single) > 150
    known = {fault for each in app_scenario.FAULTS.values() for fault in each}
    assert {fault for each in single for fault in each.values()} == known
    for place in sorted(set(some(len(single), STRIKES, "app"))):
        with named(single[place - 1]):
            app_scenario.strike(single[place - 1], front, store)


@pytest.mark.slow
def test_a_thousand_faults_make_no_second_report_and_lose_no_charge(
    collector: tuple[Front, Store],
) -> None:
    front, store = collector
    single = app_scenario.every_fault(front.url)
    lives = [*single, *app_scenario.some_pairs(single, 450)]
    assert sum(map(len, lives)) > 1000
    for faults in lives:
        with named(faults):
            app_scenario.strike(faults, front, store)


@contextmanager
def named(faults: Mapping[int, str]) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        problem.add_note(str(faults))
        raise
