"""People, operators and misfortunes in any order: a short run; `make soak` has the long one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collector.postgres import Postgres
from tests.machine.machine import machine
from tests.machine.nursery import Nursery
from tests.machine.world import Tally

SHORT = settings(
    max_examples=5,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
    # A run takes seconds: what failed is reported as it was, not made smaller.
    phases=[Phase.generate],
)


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    started = Nursery(tmp_path_factory.mktemp("nursery"))
    yield started
    started.close()


def test_what_was_acknowledged_stays_on_sqlite(nursery: Nursery) -> None:
    tally = Tally()
    over = machine(lambda folder: f"sqlite:///{folder / 'store.db'}", nursery, tally)
    run_state_machine_as_test(over, settings=SHORT)
    assert tally.acknowledged > 100, tally
    print(tally)


def test_what_was_acknowledged_stays_on_postgresql(nursery: Nursery) -> None:
    server, tally = Postgres.shared(), Tally()
    try:
        over = machine(lambda folder: server.clean_database(), nursery, tally)
        run_state_machine_as_test(over, settings=SHORT)
    finally:
        server.release()
    assert tally.acknowledged > 100, tally
    print(tally)
