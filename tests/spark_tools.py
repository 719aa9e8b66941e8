"""What the tests of the Spark engine share: one Spark at a time, and sources for its workers.

Everything here can be imported by Spark's workers, which know nothing of pytest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from pyspark import SparkContext

from rumor.analysis.engines.base import Batch
from rumor.analysis.engines.spark.engine import SparkEngine
from rumor.analysis.engines.spark.session import start_context
from rumor.core.errors import InputError
from rumor.core.reports import Reports

_ROOT = Path(__file__).resolve().parent.parent
# Workers find this tree and the tests' own functions; Java does not compile what runs for seconds.
ENVIRONMENT = {
    "PYTHONPATH": f"{_ROOT / 'src'}{os.pathsep}{_ROOT}",
    "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class OneSpark:
    """The Spark of the tests: a context at a time, all in one Java process."""

    def __init__(self) -> None:
        self._context: SparkContext | None = None
        self._master = ""

    def engine(self, master: str) -> SparkEngine:
        if self._context is None or self._master != master:
            self.stop()
            self._context, self._master = start_context(master), master
        return SparkEngine(self._context)

    def stop(self) -> None:
        if self._context is not None:
            self._context.stop()
            self._context = None


@dataclass(frozen=True)
class SlowPart:
    """Reports that take a while to read; it leaves a mark in a folder when it begins."""

    marks: Path
    index: int
    reports: Reports
    seconds: float

    @property
    def rows(self) -> int:
        return len(self.reports)

    def batches(self) -> Iterator[Batch]:
        (self.marks / f"{self.index}-{os.getpid()}").touch()
        time.sleep(self.seconds)
        yield Batch(self.reports)


@dataclass(frozen=True)
class SlowSource:
    slow_parts: tuple[SlowPart, ...]

    def parts(self) -> Sequence[SlowPart]:
        return self.slow_parts


def slow_source(
    marks: Path, reports: Reports, count: int, seconds: float, bad: int | None = None
) -> SlowSource:
    """Reports in so many parts; those of the bad one are invalid."""
    marks.mkdir()
    pieces = [np.array(piece) for piece in np.array_split(reports, count)]
    if bad is not None:
        pieces[bad][:] = 255
    return SlowSource(
        tuple(SlowPart(marks, index, piece, seconds) for index, piece in enumerate(pieces))
    )


def executors() -> list[psutil.Process]:
    """The executors of a local cluster, as processes below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def break_down(batch: Batch, state: object) -> int:
    raise ZeroDivisionError("no reports, no shares")


def refuse(batch: Batch, state: object) -> int:
    raise InputError(f"a state must be a colour; got {state!r}")


def count_rows(batch: Batch, state: int) -> int:
    return len(batch.reports) * state


def add(one: int, other: int) -> int:
    return one + other


def unchanged(batch: Batch) -> Batch:
    return batch
