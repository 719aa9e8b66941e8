"""A fault at every write: all kinds, at all calls of the scenarios."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.shim import MODES
from tests.faults.strikes import Striker, striker
from tests.soak.numbers import done


@pytest.fixture(scope="module")
def ready() -> Iterator[Striker]:
    with striker() as made:
        yield made


def test_every_write_of_a_store(ready: Striker) -> None:
    total = ready.store_calls()
    for mode in MODES:
        for at in range(1, total + 1):
            ready.strike_store(at, mode)
    _say("store", total)


def test_every_write_of_a_device(ready: Striker) -> None:
    total = ready.device_calls()
    for mode in MODES:
        for at in range(1, total + 1):
            ready.strike_device(at, mode)
    _say("device", total)


def test_every_write_of_a_folder_of_parts(ready: Striker) -> None:
    total = ready.parts_calls()
    for mode in MODES:
        for at in range(1, total + 1):
            ready.strike_parts(at, mode)
    _say("folder of parts", total)


def _say(what: str, total: int) -> None:
    faults = total * len(MODES)
    done(
        f"faults of a {what}: {len(MODES)} kinds at each of {total} writes, {faults:,} in all",
        faults=faults,
    )
