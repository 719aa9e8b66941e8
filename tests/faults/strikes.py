"""One strike: the scenario in a child, a fault at its k-th write, then a look at what is left."""

from __future__ import annotations

import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from tests.faults import device_scenario, parts_scenario, store_scenario
from tests.faults.shim import MODES, preloaded
from tests.machine.contracts import SERIES, contracts
from tests.machine.front import Front
from tests.machine.nursery import Nursery
from tests.machine.quick import quick_folder


def some(total: int, count: int, seed: str) -> list[int]:
    """Some of all numbers of calls, spread out, the same at every run."""
    chance = random.Random(seed)
    step = total / count
    return [1 + int(step * (place + chance.random())) for place in range(count)]


@dataclass
class Striker:
    """Strikes at a store's scenario, or at a device's with a collector that goes on."""

    nursery: Nursery
    folder: Path
    front: Front
    store: Store
    strikes: int = 0

    def store_calls(self) -> int:
        """How many writes the scenario of the store makes, undisturbed."""
        return _calls(self._store(0, 0))

    def device_calls(self) -> int:
        """How many writes the scenario of the device makes, undisturbed."""
        return _calls(self._device(0, 0))

    def parts_calls(self) -> int:
        """How many writes the scenario of a folder of parts makes, undisturbed."""
        return _calls(self._parts(0, 0))

    def strike_store(self, at: int, mode: str) -> None:
        """Strike the store's scenario at one call."""
        with _named(f"{mode} call {at} of the store's scenario"):
            self._store(at, MODES[mode])
        self.strikes += 1

    def strike_device(self, at: int, mode: str) -> None:
        """Strike the device's scenario at one call."""
        with _named(f"{mode} call {at} of the device's scenario"):
            self._device(at, MODES[mode])
        self.strikes += 1

    def strike_parts(self, at: int, mode: str) -> None:
        """Strike the scenario of a folder of parts at one call."""
        with _named(f"{mode} call {at} of the parts' scenario"):
            self._parts(at, MODES[mode])
        self.strikes += 1

    def _store(self, at: int, mode: int) -> str:
        place = self.folder / f"store-{mode}-{at}"
        shutil.copytree(self._prepared(), place)
        said = self._run("tests.faults.store_scenario:run", [str(place), at, mode])
        store_scenario.verify(place, said)
        shutil.rmtree(place)
        return said

    def _parts(self, at: int, mode: int) -> str:
        place = self.folder / f"parts-{mode}-{at}"
        shutil.copytree(self._prepared(parts_scenario.prepare), place)
        said = self._run("tests.faults.parts_scenario:run", [str(place), at, mode])
        parts_scenario.verify(place, said)
        shutil.rmtree(place)
        return said

    def _prepared(self, prepare: Callable[[Path], None] = store_scenario.prepare) -> Path:
        """A folder with what every strike begins with, made once."""
        ready = self.folder / prepare.__module__
        if not ready.exists():
            ready.mkdir()
            prepare(ready)
        return ready

    def _device(self, at: int, mode: int) -> str:
        place = self.folder / f"device-{mode}-{at}"
        place.mkdir()
        self.front.drain()
        self.front.lose_requests = 1
        target = "tests.faults.device_scenario:run"
        said = self._run(target, [str(place), self.front.url, at, mode])
        self.front.lose_requests = 0
        device_scenario.verify(str(place), self.front, self.store, said)
        shutil.rmtree(place)
        return said

    def _run(self, target: str, arguments: list[object]) -> str:
        child = self.nursery.start(target, arguments, cwd=self.folder)
        status = child.wait()
        said, mode = child.out.read_text(), arguments[-1]
        assert "Traceback" not in child.said(), child.said()
        killed = isinstance(mode, int) and mode >= MODES["killed before"]
        assert status == -signal.SIGKILL if killed else status == 0, (status, child.said())
        child.out.unlink()
        child.err.unlink()
        return said


def _calls(said: str) -> int:
    found = re.search(r"calls (\d+)", said)
    assert found is not None, said
    assert "failed" not in said, said
    return int(found.group(1))


@contextmanager
def _named(strike: str) -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        problem.add_note(strike)
        raise


@contextmanager
def striker() -> Iterator[Striker]:
    """Everything that strikes need."""
    with quick_folder("faults") as folder, preloaded(folder) as nursery:
        store = open_store(f"sqlite:///{folder / 'collector.db'}")
        store.register(contracts()[0])
        front = Front()
        with background(Service(store, SERIES)) as url, front.listening():
            front.targets = [url]
            yield Striker(nursery, folder, front, store)
