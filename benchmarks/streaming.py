"""Counting a Parquet file of reports, against pyarrow merely reading it.

Both read only the column of reports, in batches, one thread. Rumor opens the file, checks its
metadata, validates every report and counts. The file is read from the page cache. Memory is
that of a fresh process which streams a file of 16-byte reports: it should not grow with it.

Reports of two bytes are a special case: reading one is a copy of two bytes, some 0.7 ns, and
adding one to a counter takes as long (two or three cycles, since the counter that the last report
raised must be there again). Checking, opening and reading come on top, so that a third of the rate
of a mere reader is what can be had; half of it, the target of wider reports, is not.
"""

from __future__ import annotations

import datetime
import functools
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.harness import Contender, Row, Scale, ceiling, growth, race
from benchmarks.memory import peak_bytes, run_script
from benchmarks.privatize import people
from rumor.analysis.counting import summarize
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.sources import ParquetSource
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.mechanisms import FrequencyOracle

_PIECE = 1_000_000


def run(scale: Scale) -> Iterable[Row]:
    """Races for unary and k-RR, growth with n, and peak memory."""
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder:
        place = Path(folder)
        yield from _race("unary", scale.pick(1_000_000, 400_000), place, scale, 0.5)
        many = scale.pick(20_000_000, 4_000_000)
        yield from _race("randomized-response", many, place, scale, 0.3)
        yield _growth(place, scale)
        yield from _memory(place, scale)


def collection(mechanism: str, domain: int) -> Collection:
    """One question, asked with this mechanism."""
    question = {
        "id": "q",
        "kind": "choice",
        "domain": domain,
        "epsilon": 1.0,
        "mechanism": mechanism,
    }
    wish = {
        "name": "Bench",
        "series": "bench",
        "contact": "bench@example.org",
        "users": 1_000_000,
        "questions": [question],
    }
    return Collection.resolve(wish)


def write(path: Path, contract: Collection, count: int) -> None:
    """A reports file of this many answers."""
    question = contract.questions[0]
    oracle = question.mechanism
    assert isinstance(oracle, FrequencyOracle)
    with write_reports(path, contract, question) as writer:
        for start in range(0, count, _PIECE):
            values = people(min(_PIECE, count - start), oracle.domain)
            writer.write(oracle.privatize(values), datetime.date(2026, 1, 1))


def count_reports(path: Path, contract: Collection) -> object:
    """What `rumor estimate` does before it estimates."""
    source = ParquetSource(path, contract)
    return summarize(source, source.question.mechanism, engine=LocalEngine(workers=1))


def read_batches(path: Path, *columns: str) -> None:
    """Only read the file."""
    with pq.ParquetFile(path) as parquet:
        for _ in parquet.iter_batches(1 << 16, columns=list(columns), use_threads=False):
            pass


def _race(mechanism: str, count: int, place: Path, scale: Scale, at_least: float) -> Iterable[Row]:
    contract, path = collection(mechanism, 1000), place / f"{mechanism}.parquet"
    write(path, contract, count)
    yield from race(
        f"streaming counts, {mechanism}, D = 1000",
        "/s",
        Contender("Rumor", lambda: count_reports(path, contract), count),
        [
            Contender("pyarrow reads the reports", lambda: read_batches(path, "report"), count),
            Contender("pyarrow reads all columns", functools.partial(_read_all, path), count),
        ],
        scale,
        {"pyarrow reads the reports": at_least},
    )
    path.unlink()


def _read_all(path: Path) -> None:
    read_batches(path, "id", "report", "day")


def _growth(place: Path, scale: Scale) -> Row:
    contract, sizes = collection("unary", 128), [1_000_000, 2_000_000, 4_000_000]
    for size in sizes:
        write(place / f"{size}.parquet", contract, size)
    return growth(
        "growth of streaming counts",
        "n",
        sizes,
        lambda n: lambda: count_reports(place / f"{n}.parquet", contract),
        scale,
        at_most=1.15,
    )


_WRITE = """
    from pathlib import Path
    from benchmarks.streaming import collection, write
    write(Path({path!r}), collection("unary", 128), {count})
"""

_STREAM = """
    from pathlib import Path
    from benchmarks.streaming import collection, count_reports
    count_reports(Path({path!r}), collection("unary", 128))
"""


def _memory(place: Path, scale: Scale) -> Iterable[Row]:
    for count in (1_000_000, 10_000_000, *([100_000_000] if scale.full else [])):
        path = str(place / "memory.parquet")
        run_script(_WRITE.format(path=path, count=count))
        peak = peak_bytes(_STREAM.format(path=path))
        yield ceiling(
            "streaming 16-byte reports", f"peak memory of {count:,}", peak / 1e6, "MB", 1000
        )
