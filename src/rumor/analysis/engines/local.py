"""The local engine: threads, each reading and folding one partition at a time.

Reading Parquet and the heavy loops release the interpreter's lock, so threads are enough.
Memory stays bounded whatever the size of the source: only a few parts are under way at any
moment, and a part is read in batches.
"""

from __future__ import annotations

import operator
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rumor.analysis.engines.base import (
    Batch,
    Fold,
    Join,
    M,
    P,
    Partition,
    R,
    ReportSource,
    S,
    Split,
)
from rumor.analysis.engines.kept import BatchSource, PreparedSource, merge_batches
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.types import Progress

_MAX_WORKERS = 1024


class LocalEngine:
    """An engine that folds over threads of this process; by default one for each processor."""

    def __init__(self, workers: int | None = None) -> None:
        count = (os.cpu_count() or 1) if workers is None else workers
        self.workers = checked_size("workers", count, 1, _MAX_WORKERS)

    def fold(
        self, source: ReportSource, fold: Fold[S, M], on_progress: Progress | None = None
    ) -> M:
        """Return the merged results; see `rumor.analysis.engines.base.Engine`."""
        parts = source.parts()
        total_rows, done_rows, total = sum(part.rows for part in parts), 0, fold.empty
        for part, found in self.each(parts, fold.of_part):
            total = fold.merge(total, found)
            done_rows += part.rows
            if on_progress is not None:
                on_progress(done_rows, total_rows)
        return total

    def each(
        self, parts: Sequence[Partition], function: Callable[[Partition], R]
    ) -> Iterator[tuple[Partition, R]]:
        """Yield the result of `function` for every partition, in order; it runs in threads."""
        # Twice as many partitions as workers wait or run: none idles while the oldest is merged.
        under_way: deque[tuple[Partition, Future[R]]] = deque()
        left = iter(parts)
        with ThreadPoolExecutor(self.workers, thread_name_prefix="rumor") as pool:
            try:
                while True:
                    while len(under_way) < 2 * self.workers:
                        part = next(left, None)
                        if part is None:
                            break
                        under_way.append((part, pool.submit(function, part)))
                    if not under_way:
                        return
                    part, future = under_way.popleft()
                    yield part, future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    @contextmanager
    def keep(
        self, source: ReportSource, prepare: Callable[[Batch], Batch]
    ) -> Iterator[ReportSource]:
        """Yield the prepared batches in memory, or read anew at every fold if they are too many."""
        parts = source.parts()
        first = next((batch for part in parts for batch in part.batches()), None)
        width = 0 if first is None else first.reports.shape[1]
        if sum(part.rows for part in parts) * width > _memory() // 4:
            yield PreparedSource(source, prepare)
            return
        listed = Fold(lambda batch, _: [prepare(batch)], None, operator.add, list[Batch]())
        batches = self.fold(source, listed)
        yield BatchSource(merge_batches(batches))

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """Regroup through a file for each bucket, so that only one bucket is in memory."""
        with tempfile.TemporaryDirectory(prefix="rumor-") as folder:
            places = [Path(folder) / str(number) for number in range(buckets)]
            for part in parts:
                for place, piece in zip(places, split(part, buckets), strict=True):
                    with place.open("ab") as file:
                        file.write(piece)
            return [join([place.read_bytes()] if place.exists() else []) for place in places]


@contextmanager
def open_engine(master: str | None, on_status: object) -> Iterator[LocalEngine]:
    """Yield the engine, as commands start it by its name."""
    check_no_master(master, "local")
    yield LocalEngine()


def check_no_master(master: str | None, name: str) -> None:
    """Refuse the address of a cluster for an engine of this machine."""
    if master is not None:
        raise InputError(f"a master is for the Spark engine; got {format_value(master)} for {name}")


def _memory() -> int:
    """Return the bytes of memory that the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 << 30
