"""Counting with Spark beside counting with threads, and how both grow with the reports.

Both engines read the same Parquet files from the page cache. Seconds are the processor time of
this process and of all that it started: Java and the Python workers. Spark runs already and has
run a few jobs: starting it is not counted, planning and scheduling each job is. A file of many
reports is a folder in which one smaller file has many names.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.harness import Contender, Row, Scale, fact, growth, race
from benchmarks.streaming import collection, write
from rumor.analysis.counting import Totals, summarize
from rumor.analysis.engines.base import Engine
from rumor.analysis.engines.kept import KeptReports
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.sources import ParquetSource
from rumor.contract.collection import Collection
from rumor.estimators.frequency.likelihood import oracle_likelihood
from rumor.mechanisms import FrequencyOracle

_BASE = 1_000_000
_PROCESSORS = 2
_AT_LEAST = 0.4
_WARM_JOBS = 25


def run(scale: Scale) -> Iterable[Row]:
    """Races at 1e7 reports, a pass of the Bayesian update, and growth from 1e5 on."""
    missing = _missing()
    if missing is not None:
        return [fact("counting with Spark", "left out", 0.0, missing)]
    from rumor.analysis.engines.spark.engine import SparkEngine

    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rumor-bench-")))
        engine = stack.enter_context(SparkEngine.start(f"local[{_PROCESSORS}]"))
        _warm_up(place, engine)
        few = Scale(turns=scale.turns or scale.pick(5, 3))
        rows: list[Row] = []
        wide = _Case(place / "wide", "unary", 1000)
        rows += _races(wide, engine, 10_000_000, few, _AT_LEAST)
        rows += _passes(wide, engine, few)
        narrow = _Case(place / "narrow", "unary", 128)
        rows += _races(narrow, engine, 10_000_000, few, _AT_LEAST)
        rows += _growths(narrow, engine, few, quick=scale.quick)
        # Two bytes each: ten million are a fortieth of a second, and a job has a fixed price of two
        # fortieths (planning, scheduling, a result from each task), whatever it does. So there is
        # no target for them; ten times as many show what is left without that price.
        least = _Case(place / "least", "randomized-response", 1000)
        rows += _races(least, engine, 10_000_000, few)
        if not scale.quick:
            rows += _races(least, engine, 100_000_000, few, _AT_LEAST)
        return rows


def _warm_up(place: Path, engine: Engine) -> None:
    """Jobs until Java has compiled what it compiles."""
    case = _Case(place / "warm", "unary", 128)
    count = case.count(100_000, engine)
    for _ in range(_WARM_JOBS):
        count()


class _Case:
    """Reports files of one mechanism in any size."""

    def __init__(self, place: Path, mechanism: str, domain: int) -> None:
        self.place, self.name = place, f"{mechanism}, D = {domain}"
        self.contract: Collection = collection(mechanism, domain)
        place.mkdir()

    def folder(self, count: int) -> Path:
        """A folder of so many reports: a file of at most a million, under many names."""
        folder = self.place / str(count)
        if not folder.exists():
            folder.mkdir()
            size = min(count, _BASE)
            base = self.place / f"{size}.base"
            if not base.exists():
                write(base, self.contract, size)
            for number in range(count // size):
                (folder / f"{number:04}.parquet").symlink_to(base)
        return folder

    def count(self, count: int, engine: Engine) -> Callable[[], Totals]:
        """What `rumor estimate` does before it estimates."""
        folder = self.folder(count)

        def run() -> Totals:
            source = ParquetSource(folder, self.contract)
            return summarize(source, source.question.mechanism, engine=engine)

        return run


def _races(
    case: _Case, engine: Engine, count: int, scale: Scale, at_least: float | None = None
) -> Iterable[Row]:
    spark, local = case.count(count, engine), case.count(count, LocalEngine(_PROCESSORS))
    assert spark() == local()
    yield from race(
        f"counting {count:,} reports, {case.name}",
        "/s",
        Contender("Spark", spark, count),
        [Contender("local engine", local, count)],
        scale,
        {} if at_least is None else {"local engine": at_least},
        tree_seconds,
    )
    # And by the clock on the wall, which others on the machine slow down.
    seconds = [min(_elapsed(run) for _ in range(3)) for run in (spark, local)]
    yield fact(
        f"counting {count:,} reports, {case.name}",
        f"by the wall clock, {_PROCESSORS} processors; local engine {seconds[1]:.2f} s",
        seconds[1] / seconds[0],
        f"{seconds[0]:.2f} s ({seconds[1] / seconds[0]:.2f}x)",
    )


def _growths(case: _Case, engine: Engine, scale: Scale, quick: bool) -> Iterable[Row]:
    largest = {"local": 7 if quick else 8, "Spark": 6 if quick else 7}
    for name, runner in (("local", LocalEngine(_PROCESSORS)), ("Spark", engine)):
        sizes = [10**power for power in range(5, largest[name] + 1)]
        row = growth(
            f"growth of counts, {name} engine, {case.name}",
            "n",
            sizes,
            functools.partial(_counting, case, runner),
            scale,
            at_most=1.1,
            clock=time.process_time if name == "local" else tree_seconds,
        )
        yield row
        # A job has a price, and so has a report; each size weighs the same.
        seconds = np.array([row.detail[f"seconds at {size}"] for size in sizes])
        terms = np.stack([1 / seconds, np.array(sizes) / seconds], axis=1)
        fixed, each = np.linalg.lstsq(terms, np.ones(len(sizes)), rcond=None)[0]
        yield fact(
            row.benchmark,
            "a job, and each report",
            each,
            f"{fixed * 1e3:.3g} ms + {each * 1e9:.3g} ns",
        )


def _counting(case: _Case, engine: Engine, count: int) -> Callable[[], Totals]:
    return case.count(count, engine)


def _passes(case: _Case, engine: Engine, scale: Scale) -> Iterable[Row]:
    """One Bayesian update over kept reports."""
    count = _BASE
    source = ParquetSource(case.folder(count), case.contract)
    oracle = source.question.mechanism
    assert isinstance(oracle, FrequencyOracle)
    h = np.full(oracle.domain, 1 / oracle.domain)
    with ExitStack() as stack:
        updates = []
        for runner in (engine, LocalEngine(_PROCESSORS)):
            kept = stack.enter_context(KeptReports(runner, source, oracle))
            likelihood = oracle_likelihood(oracle, kept.passes(None, count), None)
            updates.append(functools.partial(likelihood.update, h))
        return race(
            f"Bayesian update over {count:,} kept reports, {case.name}",
            "/s",
            Contender("Spark", updates[0], count),
            [Contender("local engine", updates[1], count)],
            scale,
            clock=tree_seconds,
        )


def tree_seconds() -> float:
    """Processor time of this process and of all below it, the ended ones included."""
    import psutil

    own = psutil.Process()
    ended = own.cpu_times()
    total: float = time.process_time() + ended.children_user + ended.children_system
    for process in own.children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _elapsed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _missing() -> str | None:
    """Why Spark cannot be measured here, if it cannot."""
    for package in ("pyspark", "psutil"):
        try:
            __import__(package)
        except ModuleNotFoundError:
            return f"{package} is not installed"
    return None if shutil.which("java") else "no Java is on the path"
