"""Take people from a table to an estimate, stage by stage, and hold growth and memory.

    python -m benchmarks.scale [--people 1e6 1e7 1e8] [--parquet] [--spark] [--out FILE]

The stages are those of an analyst: `privatize` makes a folder of report files of a CSV (or, with
--parquet, Parquet) table, `store` takes them into SQLite, `count` makes a summary of the files,
`estimate` the shares. With --spark the count runs on Spark with four executors of one processor
each on this machine. Each stage is a process of its own on two processors, which may have 1 GB of
data (RLIMIT_DATA; Java takes more in advance than it uses, so Spark is measured only). Its peak
memory is the kernel's high-water mark, mapped files included; with Spark that of the largest of
all processes.

Time is processor time, of all threads and processes of a stage. Its growth is the exponent between
the two largest sizes; starting Python hides some of it below a million people. Beside a stage
stands what share of its time the limits of the machine alone would take, measured in the same run:
the keystream of its random bytes, the copy of its reports in memory, the disk that its files are
written to, and one processor that is busy all the time. The run fails where the time grows faster
than people to the power of 1.1, where a stage takes more than 1 GB, and where the estimates are
not those of the people in the table.

1e8 people take about 16 GB in the folder for temporary files (TMPDIR).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.harness import Row, Scale, as_ratio, ceiling, fact, take_turns
from benchmarks.limits import keystream
from benchmarks.memory import run_script

if TYPE_CHECKING:
    from rumor.analysis.engines.base import Engine

MAX_MEMORY = 1_000_000_000
MAX_EXPONENT = 1.1
_PROCESSORS = 2
_EXECUTORS = "local-cluster[4,1,1024]"  # executors, processors of each, megabytes of each
_LABELS = [f"page-{number:02}" for number in range(20)]
_PIECE = 1_000_000
_RANDOM_BYTES = 24  # of a report: its id (16) and one draw of randomised response (8)
_MAX_DEVIATION = 6.0  # standard errors between an estimate and the share in the table
_TRIAL_BYTES = 64 << 20

_SCRIPT = """
    from pathlib import Path
    from benchmarks.scale import run_stage
    run_stage({stage!r}, Path({place!r}))
"""

_COLLECTION = {
    "name": "Scale",
    "series": "scale",
    "contact": "bench@example.org",
    "questions": [
        {
            "id": "page",
            "kind": "choice",
            "labels": _LABELS,
            "epsilon": 1.0,
            "mechanism": "randomized-response",
        }
    ],
}


@dataclass(frozen=True)
class Cost:
    """The time of a stage, its memory, and the seconds that each limit alone would take."""

    seconds: float
    elapsed: float
    peak: float
    limits: Mapping[str, float]


class StageError(Exception):
    """A stage that ended without its result, such as for want of memory."""


def run(scale: Scale) -> Iterable[Row]:
    """Yield the rows of two sizes, or with `scale.full` of 1e6, 1e7 and 1e8 people."""
    if scale.full:
        return measure([10**6, 10**7, 10**8])
    return measure([scale.pick(10**5, 10**4), scale.pick(10**6, 10**5)])


def measure(sizes: Sequence[int], *, parquet: bool = False, spark: bool = False) -> Iterator[Row]:
    """Run all stages for each of the `sizes`, and yield their rows; a stage that fails ends it."""
    if not Path("/proc/self/status").exists():
        return
    stages = ("privatize", "store", "count with Spark" if spark else "count", "estimate")
    costs: dict[str, dict[int, Cost]] = {stage: {} for stage in stages}
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder:
        rates = limit_rates(Path(folder))
    for name, rate in rates.items():
        yield fact("scale", f"limit: {name}", rate, f"{rate / 1e6:,.0f} MB/s")
    for people in sorted(sizes):
        with tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder:
            place = Path(folder)
            _write_inputs(place, people, parquet=parquet)
            for stage in stages:
                try:
                    said = run_stage_alone(stage, place)
                except StageError as problem:
                    name = f"scale, {stage}"
                    yield Row(name, str(problem), f"{people:,} people", "", 0.0, "", "ends", False)
                    return
                written = _stage_bytes(place, people)[stage]
                costs[stage][people] = Cost(
                    said["seconds"],
                    said["elapsed"],
                    said["peak"],
                    {name: size / rates[name] for name, size in written.items()},
                )
    for stage in stages:
        yield from stage_rows(stage, costs[stage])


def stage_rows(stage: str, costs: Mapping[int, Cost]) -> Iterator[Row]:
    """Yield time, nearest limit and memory of a `stage` at each size, and growth in `costs`."""
    name = f"scale, {stage}"
    for people, cost in costs.items():
        shares = {limit: seconds / cost.elapsed for limit, seconds in cost.limits.items()}
        shares["one processor"] = cost.seconds / cost.elapsed
        nearest = max(shares, key=lambda limit: shares[limit])
        shown = ", ".join(f"{limit} {share:.2g}" for limit, share in shares.items())
        yield Row(
            name,
            f"{cost.seconds:.3g} s",
            f"{people:,} people",
            f"{cost.elapsed:.3g} s by the clock; share of its limits: {shown}",
            shares[nearest],
            as_ratio(shares[nearest]),
            detail={"seconds": cost.seconds, "elapsed": cost.elapsed, **shares},
        )
    for people, cost in costs.items():
        what = f"peak memory of {people:,}"
        yield ceiling(name, what, cost.peak / 1e6, "MB", MAX_MEMORY / 1e6)
    if len(costs) < 2:
        return
    small, large = sorted(costs)[-2:]
    exponent = math.log(costs[large].seconds / costs[small].seconds) / math.log(large / small)
    yield Row(
        name,
        f"{costs[small].seconds:.3g} to {costs[large].seconds:.3g} s",
        f"people = {small:,} to {large:,}",
        "",
        exponent,
        f"n^{exponent:.2f}",
        f"<= n^{MAX_EXPONENT:.2f}",
        exponent <= MAX_EXPONENT,
    )


def limit_rates(place: Path) -> dict[str, float]:
    """Return the bytes per second of keystream, of a copy in memory, and of the disk of `place`."""
    block = np.ones(_TRIAL_BYTES, np.uint8)
    copy = np.empty_like(block)

    def write() -> None:
        with (place / "trial").open("wb") as file:
            file.write(block.data)
            file.flush()
            os.fsync(file.fileno())

    runs: dict[str, Callable[[], object]] = {
        "keystream": keystream(_TRIAL_BYTES),
        "memory copy": lambda: np.copyto(copy, block),
        "disk": write,
    }
    # By the clock: a disk takes no time of a processor.
    seconds = take_turns(list(runs.values()), 3, time.perf_counter)
    return {name: _TRIAL_BYTES / min(times) for name, times in zip(runs, seconds, strict=True)}


def run_stage_alone(stage: str, place: Path) -> dict[str, float]:
    """Run a `stage` in a process of its own; return its seconds, by the clock too, and its peak."""
    start = time.perf_counter()
    try:
        said = run_script(_SCRIPT.format(stage=stage, place=str(place)))
    except subprocess.CalledProcessError as problem:
        lines = str(problem.stderr).strip().splitlines() or [f"exit status {problem.returncode}"]
        raise StageError(lines[-1]) from None
    costs: dict[str, float] = json.loads(said.splitlines()[-1])
    return {**costs, "elapsed": time.perf_counter() - start}


def run_stage(stage: str, place: Path) -> None:
    """Run a `stage` in this process under its limits, and print what it took as JSON."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_PROCESSORS])
    if stage != "count with Spark":
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    print(json.dumps(_STAGES[stage](place)))


def _privatize(place: Path) -> dict[str, float]:
    table = next(place.glob("table.*"))
    _command("privatize", place / "contract.json", table, "--out", f"{place}/reports/")
    return _own_costs()


def _store(place: Path) -> dict[str, float]:
    contract, url = place / "contract.json", f"sqlite:///{place}/reports.db"
    _command("import", place / "reports", "--collection", contract, "--store", url)
    return _own_costs()


def _count(place: Path) -> dict[str, float]:
    from rumor.analysis.engines.local import LocalEngine

    _save_summary(place, LocalEngine(_PROCESSORS))
    return _own_costs()


def _count_with_spark(place: Path) -> dict[str, float]:
    import psutil

    from benchmarks.spark import tree_seconds
    from rumor.analysis.engines.spark.engine import SparkEngine

    with SparkEngine.start(_EXECUTORS) as engine:
        _save_summary(place, engine)
        processes = [os.getpid(), *(each.pid for each in psutil.Process().children(recursive=True))]
        return {"seconds": tree_seconds(), "peak": max(map(_peak_bytes, processes))}


def _save_summary(place: Path, engine: Engine) -> None:
    from rumor.analysis.counting import summarize
    from rumor.analysis.sources import ParquetSource
    from rumor.contract.collection import Collection

    collection = Collection.load(place / "contract.json")
    question = collection.questions[0]
    totals = summarize(
        ParquetSource(place / "reports", collection),
        question.mechanism,
        contract=collection.digest,
        question=question.id,
        engine=engine,
    )
    (summary,) = totals.summaries.values()
    summary.save(place / "summary")


def _estimate(place: Path) -> dict[str, float]:
    said = _command("estimate", place / "contract.json", place / "summary", "--json")
    costs = _own_costs()
    check_estimate(json.loads(said), json.loads((place / "truth.json").read_text()))
    _check_store(place)
    return costs


def check_estimate(said: Mapping[str, Any], truth: Mapping[str, int]) -> None:
    """Refuse what an estimate `said` where it is not of the people whose answers `truth` counts."""
    people = sum(truth.values())
    if said["reports"] != people:
        raise StageError(f"{people:,} people must be estimated; got {said['reports']:,}")
    for row in said["estimates"]:
        share = truth[row["value"]] / people
        if abs(row["unbiased"] - share) > _MAX_DEVIATION * row["stderr"]:
            raise StageError(f"{row['value']}: share {share:.4f}; got {row['unbiased']:.4f}")


def _check_store(place: Path) -> None:
    """Refuse a store whose counts are not those of the report files."""
    from rumor.collector.store.base import open_store
    from rumor.mechanisms.summary import Summary

    store = open_store(f"sqlite:///{place}/reports.db")
    try:
        (stored,) = store.collections()
        counted = store.summary(stored, "page")
    finally:
        store.close()
    if counted != Summary.load(place / "summary"):
        raise StageError("the store and the report files have different counts")


def _command(*arguments: object) -> str:
    """Run a command of Rumor in this process, and return what it prints."""
    from rumor.cli import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([str(argument) for argument in arguments])
    return printed.getvalue()


def _own_costs() -> dict[str, float]:
    return {"seconds": time.process_time(), "peak": _peak_bytes(os.getpid())}


def _peak_bytes(process: int) -> int:
    """Return the most memory that a process held at once, 0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


_STAGES: dict[str, Callable[[Path], dict[str, float]]] = {
    "privatize": _privatize,
    "store": _store,
    "count": _count,
    "count with Spark": _count_with_spark,
    "estimate": _estimate,
}


def _stage_bytes(place: Path, people: int) -> dict[str, dict[str, float]]:
    """Return the bytes that each stage takes of each limit."""
    files = sum(file.stat().st_size for file in (place / "reports").iterdir())
    database = place / "reports.db"
    copied = {"memory copy": float(people)}
    return {
        "privatize": {"keystream": people * _RANDOM_BYTES, "disk": files},
        "store": {"disk": database.stat().st_size if database.exists() else 0},
        "count": copied,
        "count with Spark": copied,
        "estimate": {},
    }


def _write_inputs(place: Path, people: int, *, parquet: bool) -> None:
    """Write contract, table and the counts of its answers, a piece of the table at a time."""
    from rumor.contract.collection import Collection

    Collection.resolve(_COLLECTION).save(place / "contract.json")
    rng, counts = np.random.default_rng(1), np.zeros(len(_LABELS), np.int64)
    with _table(place, parquet=parquet) as write:
        for start in range(0, people, _PIECE):
            # The square of an even draw: the first labels are more frequent.
            drawn = rng.random(min(_PIECE, people - start)) ** 2 * len(_LABELS)
            values = drawn.astype(np.int64)
            counts += np.bincount(values, minlength=counts.size)
            write(values)
    truth = dict(zip(_LABELS, counts.tolist(), strict=True))
    (place / "truth.json").write_text(json.dumps(truth))


@contextlib.contextmanager
def _table(place: Path, *, parquet: bool) -> Iterator[Callable[[NDArray[np.int64]], object]]:
    """Open a table of one column, and give what writes values to it."""
    if parquet:
        import pyarrow as pa
        import pyarrow.parquet as pq

        labels = pa.array(_LABELS)
        with pq.ParquetWriter(place / "table.parquet", pa.schema({"page": pa.string()})) as file:
            yield lambda values: file.write_table(pa.table({"page": labels.take(values)}))
    else:
        lines = np.array([f"{label}\n".encode() for label in _LABELS])
        with (place / "table.csv").open("wb") as text:
            text.write(b"page\n")
            yield lambda values: text.write(lines[values].tobytes())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rows of the sizes that `arguments` name; exit status 1 where a target is missed."""
    from benchmarks.__main__ import table

    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    default = [10**6, 10**7, 10**8]
    parser.add_argument("--people", type=_people, nargs="+", default=default, metavar="N")
    parser.add_argument("--parquet", action="store_true", help="a Parquet table, not CSV")
    parser.add_argument("--spark", action="store_true", help="count with Spark, four executors")
    parser.add_argument("--out", type=Path, help="also write the rows as JSON")
    options = parser.parse_args(arguments)
    rows = list(measure(options.people, parquet=options.parquet, spark=options.spark))
    Console(width=None if sys.stdout.isatty() else 150).print(table(rows))
    if options.out is not None:
        written = json.dumps([row.to_json() for row in rows], indent=1)
        options.out.write_text(written + "\n")
    if any(row.passed is False for row in rows):
        raise SystemExit(1)


def _people(text: str) -> int:
    """Read a number of people, such as 1e6."""
    number = float(text)
    if not (number >= 1 and number.is_integer()):
        raise argparse.ArgumentTypeError(f"a size is a whole number from 1 on; got {text!r}")
    return int(number)


if __name__ == "__main__":
    main()
