"""The state machine for long: thousands of operations on each kind of store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collector.postgres import Postgres
from tests.machine.machine import machine
from tests.machine.nursery import Nursery
from tests.machine.quick import quick_folder
from tests.machine.world import Tally
from tests.old.kept import unpacked
from tests.soak.numbers import done

OPERATIONS = int(os.environ.get("RUMOR_SOAK_OPERATIONS", "10000"))
SEED = int(os.environ.get("RUMOR_SOAK_SEED", "1"))
LONG = settings(
    max_examples=10,
    stateful_step_count=100,
    derandomize=False,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with quick_folder("nursery") as folder:
        started = Nursery(folder)
        yield started
        started.close()


@pytest.fixture(scope="module")
def older(nursery: Nursery) -> Iterator[Nursery]:
    with quick_folder("older") as folder:
        started = Nursery(folder, source=unpacked(folder), clock=nursery.clock)
        yield started
        started.close()


def _soak(name: str, new_store: Callable[[Path], str], nursery: Nursery, older: Nursery) -> None:
    tally, start, number = Tally(), time.monotonic(), SEED
    while tally.operations < OPERATIONS:
        over = seed(number)(machine(new_store, nursery, tally, older))
        try:
            run_state_machine_as_test(over, settings=LONG)
        except Exception as problem:
            problem.add_note(f"seed {number} on {name}")
            raise
        number += 1
    minutes = (time.monotonic() - start) / 60
    done(
        f"state machine on {name}: {tally.operations:,} operations ({tally.commands:,} commands of "
        f"an operator, {tally.interrupted:,} of them interrupted), {tally.kills:,} kills, "
        f"{tally.upgrades:,} upgrades from the release before, "
        f"{tally.starved:,} full disks, {tally.acknowledged:,} reports acknowledged, seeds "
        f"{SEED} to {number - 1}, {minutes:.0f} minutes",
        operations=tally.operations,
        kills=tally.kills,
        upgrades=tally.upgrades,
        acknowledged=tally.acknowledged,
    )


def test_thousands_of_operations_on_sqlite(nursery: Nursery, older: Nursery) -> None:
    _soak("SQLite", lambda folder: f"sqlite:///{folder / 'store.db'}", nursery, older)


def test_thousands_of_operations_on_postgresql(nursery: Nursery, older: Nursery) -> None:
    server = Postgres(Path("/tmp") / f"rumor-postgres-machine-{os.getpid()}")
    try:
        _soak("PostgreSQL", lambda folder: server.clean_database(), nursery, older)
    finally:
        server.release()
