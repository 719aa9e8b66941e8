"""A fault at some of the writes of a store's and a device's life; `make soak` takes them all.

With --slow, a run that writes a folder of parts is killed at every one of its writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.faults.shim import MODES
from tests.faults.strikes import Striker, some, striker

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a library is preloaded as Linux does it"
)
STRIKES = 4
"""For each kind of fault, spread over the scenario."""
KILLS = 12
"""For each way to be killed, in the scenario that is about it."""


@pytest.fixture(scope="module")
def ready() -> Iterator[Striker]:
    with striker() as made:
        yield made


def test_what_a_store_acknowledged_survives_a_fault_at_any_write(ready: Striker) -> None:
    total = ready.store_calls()
    assert total > 200
    for mode in MODES:
        for at in some(total, STRIKES, mode):
            ready.strike_store(at, mode)


def test_what_a_device_made_survives_a_fault_at_any_write(ready: Striker) -> None:
    total = ready.device_calls()
    assert total > 100
    for mode in MODES:
        for at in some(total, STRIKES, mode):
            ready.strike_device(at, mode)


def test_no_answer_becomes_two_reports_whatever_stops_a_run(ready: Striker) -> None:
    total = ready.parts_calls()
    assert total > 60
    for mode in MODES:
        for at in some(total, KILLS if mode.startswith("killed") else STRIKES, mode):
            ready.strike_parts(at, mode)


@pytest.mark.slow
def test_no_answer_becomes_two_reports_wherever_a_run_is_killed(ready: Striker) -> None:
    for at in range(1, ready.parts_calls() + 1):
        ready.strike_parts(at, "killed before")
