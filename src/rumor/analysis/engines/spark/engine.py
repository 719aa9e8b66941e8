"""The Spark engine: a cluster moves partitions, states and sums, with the local loops.

A worker reads the row groups it is given with the very code of the local engine, folds them,
and sends back one small result; these are merged in the order of the parts, in two steps where
they are many. A lost worker's parts are read again by another. Reports that are gone through
many times stay near the workers, in Spark's cache.

An InputError on a worker is part of the result and not a failure: Spark would try four times.
"""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, runtime_checkable

from pyspark import RDD, Accumulator, Broadcast, SparkContext, StorageLevel

from rumor import __version__
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
from rumor.analysis.engines.kept import merge_batches
from rumor.analysis.engines.spark.job import Done, Status, Watch, run
from rumor.analysis.engines.spark.session import SPARK_ERRORS, spark_error, start_context
from rumor.core.errors import InputError, format_value
from rumor.core.types import Progress

_TASKS = 4  # per processor: enough that slow tasks even out and that progress shows
_TASK_ROWS = 2_000_000  # fewest reports of a task, which has a cost of its own
# More results than this are merged on workers first, in groups of this size.
_MERGED = 64
# A worker process has loaded what it needs after this many tasks.
_LOADING_TASKS = 2
_tasks_done = 0


@dataclass(frozen=True)
class Outcome(Generic[M]):
    """The result of one task, or why a partition of it was refused."""

    task: int
    result: M
    part: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class SentFold(Generic[M]):
    """A fold in the form that workers get it."""

    function: Callable[[Batch, Any], M]
    merge: Callable[[M, M], M]
    empty: M
    state: Broadcast[Any]
    job: str
    progress: Accumulator[list[Done]]
    version: str = __version__

    def of_parts(self, task: int, parts: Iterable[tuple[int, Partition]]) -> Iterator[Outcome[M]]:
        """Fold the partitions of one task."""
        result = self.empty
        for number, part in parts:
            read = 0
            try:
                self._require_version()
                for batch in part.batches():
                    read += batch.reports.nbytes
                    result = self.merge(result, self.function(batch, self.state.value))
            except InputError as problem:
                self.progress.add([Done(self.job, number, 0, read, str(problem))])
                yield Outcome(task, self.empty, number, str(problem))
                return
            self.progress.add([Done(self.job, number, part.rows, read)])
        yield Outcome(task, result)
        _freeze_garbage()

    def of_batches(self, task: int, batches: Iterable[Batch]) -> Iterator[Outcome[M]]:
        """Fold the batches of one task, which is a partition of its own."""
        result, rows, read = self.empty, 0, 0
        try:
            self._require_version()
            for batch in batches:
                rows, read = rows + len(batch.reports), read + batch.reports.nbytes
                result = self.merge(result, self.function(batch, self.state.value))
        except InputError as problem:
            self.progress.add([Done(self.job, task, 0, read, str(problem))])
            yield Outcome(task, self.empty, task, str(problem))
            return
        self.progress.add([Done(self.job, task, rows, read)])
        yield Outcome(task, result)
        _freeze_garbage()

    def _require_version(self) -> None:
        if self.version != __version__:
            raise InputError(
                f"workers must have the Rumor of this process, {self.version}; "
                f"got {__version__} on {socket.gethostname()}"
            )

    def join(self, outcomes: Iterable[tuple[int, Outcome[M]]]) -> Iterator[Outcome[M]]:
        """Merge the outcomes of neighbouring tasks, in their order."""
        ordered = sorted((outcome for _, outcome in outcomes), key=lambda outcome: outcome.task)
        if ordered:
            yield self.merge_outcomes(ordered)

    def merge_outcomes(self, ordered: Sequence[Outcome[M]]) -> Outcome[M]:
        """Return all outcomes merged into one; the first refusal stands for all."""
        result, task = self.empty, ordered[0].task
        for outcome in ordered:
            if outcome.problem is not None:
                return Outcome(task, self.empty, outcome.part, outcome.problem)
            try:
                result = self.merge(result, outcome.result)
            except InputError as problem:
                return Outcome(task, self.empty, outcome.part, str(problem))
        return Outcome(task, result)


@runtime_checkable
class SparkSource(Protocol):
    """Reports that already lie on a cluster."""

    @property
    def rows(self) -> int:
        """The number of reports; 0 if it is not known."""
        ...

    def parts(self) -> Sequence[Partition]:
        """Refuse: no other engine can read these reports."""
        ...

    def outcomes(self, fold: SentFold[M]) -> RDD[Outcome[M]]:
        """Return one outcome for each task."""
        ...

    def batches(self) -> RDD[Batch]:
        """Return the batches, spread over the cluster."""
        ...


class SparkEngine:
    """An engine that folds on a Spark cluster, or on this machine's processors through Spark.

    Takes a SparkSession or a SparkContext that exists; `SparkEngine.start` makes one.
    `on_status` is called now and then with how far a job is.
    """

    def __init__(
        self, session: object, *, on_status: Callable[[Status], None] | None = None
    ) -> None:
        self.context, self.on_status = _context_of(session), on_status

    @classmethod
    @contextmanager
    def start(
        cls, master: str | None = None, *, on_status: Callable[[Status], None] | None = None
    ) -> Iterator[Self]:
        """Yield an engine on a new context, which ends with the block."""
        context = start_context(master)
        try:
            yield cls(context, on_status=on_status)
        finally:
            context.stop()

    def fold(
        self, source: ReportSource, fold: Fold[S, M], on_progress: Progress | None = None
    ) -> M:
        """Return the merged results; see `rumor.analysis.engines.base.Engine`."""
        spread = self._spread(source)
        watch = Watch(self.context, spread.rows)

        def show(status: Status) -> None:
            if on_progress is not None:
                on_progress(status.reports, status.all_reports or status.reports)
            if self.on_status is not None:
                self.on_status(status)

        broadcast = self.context.broadcast(fold.state)
        try:
            sent = SentFold(
                fold.function, fold.merge, fold.empty, broadcast, watch.job, watch.progress
            )
            quiet = on_progress is None and self.on_status is None
            outcomes = run(
                self.context,
                "rumor: fold over reports",
                lambda: _collect_outcomes(sent, spread.outcomes(sent)),
                watch,
                None if quiet else show,
            )
        finally:
            broadcast.destroy()
        if outcomes is None:
            done = watch.done
            first = min(part for part, item in done.items() if item.problem is not None)
            raise InputError(str(done[first].problem))
        if not outcomes:
            return fold.empty
        total = sent.merge_outcomes(outcomes)
        if total.problem is not None:
            raise InputError(total.problem)
        return total.result

    @contextmanager
    def keep(
        self, source: ReportSource, prepare: Callable[[Batch], Batch]
    ) -> Iterator[ReportSource]:
        """Yield the prepared batches in Spark's cache: in memory, or on disk if that is short."""
        kept = self._spread(source).batches().mapPartitions(_Prepare(prepare))
        kept.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield KeptOnSpark(kept)
        finally:
            kept.unpersist()

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """Regroup by one shuffle."""
        if not parts:
            return [join([]) for _ in range(buckets)]

        def deal(part: P) -> Iterator[tuple[int, bytes]]:
            return ((i, piece) for i, piece in enumerate(split(part, buckets)) if piece)

        def joined(pieces: Iterable[tuple[int, bytes]]) -> Iterator[R]:
            yield join([piece for _, piece in pieces])

        tasks = max(1, min(len(parts), _TASKS * self.context.defaultParallelism))
        dealt = self.context.parallelize(parts, tasks).flatMap(deal)
        together = dealt.partitionBy(buckets, _same).mapPartitions(joined)
        watch = Watch(self.context, 0)
        found = run(self.context, "rumor: regroup", together.collect, watch, self.on_status)
        assert found is not None  # only a fold is ever decided before its end
        return found

    def _spread(self, source: ReportSource) -> SparkSource:
        if isinstance(source, SparkSource):
            return source
        parts, processors = source.parts(), self.context.defaultParallelism
        worthwhile = max(processors, sum(part.rows for part in parts) // _TASK_ROWS)
        tasks = max(1, min(len(parts), worthwhile, _TASKS * processors))
        return _PartsOnSpark(self.context, parts, tasks)


@dataclass(frozen=True)
class _PartsOnSpark:
    """Partitions that workers read themselves."""

    context: SparkContext
    _parts: Sequence[Partition]
    tasks: int

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self._parts)

    def parts(self) -> Sequence[Partition]:
        return self._parts

    def outcomes(self, fold: SentFold[M]) -> RDD[Outcome[M]]:
        return self._numbered_partitions().mapPartitionsWithIndex(fold.of_parts)

    def batches(self) -> RDD[Batch]:
        return self._numbered_partitions().flatMap(_batches_of)

    def _numbered_partitions(self) -> RDD[tuple[int, Partition]]:
        return self.context.parallelize(list(enumerate(self._parts)), self.tasks)


@dataclass(frozen=True)
class KeptOnSpark:
    """Batches in Spark's cache."""

    rdd: RDD[Batch]
    rows: int = 0

    def parts(self) -> Sequence[Partition]:
        """Refuse: no other engine can read these reports."""
        raise InputError(
            "reports kept by the Spark engine are for its folds alone; got another engine"
        )

    def outcomes(self, fold: SentFold[M]) -> RDD[Outcome[M]]:
        """Return one outcome for each partition of the cache."""
        return self.rdd.mapPartitionsWithIndex(fold.of_batches)

    def batches(self) -> RDD[Batch]:
        """Return the cache itself."""
        return self.rdd


@dataclass(frozen=True)
class _Prepare:
    prepare: Callable[[Batch], Batch]

    def __call__(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        return merge_batches(map(self.prepare, batches))


def _freeze_garbage() -> None:
    """Spare a worker process from searching all that it has loaded for garbage after each task.

    Spark's workers collect garbage between tasks, which takes longer than many tasks do once
    numpy, Arrow and compiled loops are loaded. After its first tasks that is set aside.
    """
    global _tasks_done
    _tasks_done += 1
    if _tasks_done <= _LOADING_TASKS:
        gc.collect()
        gc.freeze()


def _collect_outcomes(fold: SentFold[M], outcomes: RDD[Outcome[M]]) -> list[Outcome[M]]:
    """Return the outcomes in the order of their tasks; many are merged on workers first."""
    tasks, together = outcomes.getNumPartitions(), _MERGED
    if tasks > together:
        groups = -(-tasks // together)
        keyed = outcomes.map(lambda outcome: (outcome.task // together, outcome))
        outcomes = keyed.partitionBy(groups, _same).mapPartitions(fold.join)
    return sorted(outcomes.collect(), key=lambda outcome: outcome.task)


def _batches_of(numbered: tuple[int, Partition]) -> Iterator[Batch]:
    return numbered[1].batches()


def _same(key: int) -> int:
    return key


def _context_of(session: object) -> SparkContext:
    if isinstance(session, SparkContext):
        return session
    try:
        context = getattr(session, "sparkContext", None)
    except SPARK_ERRORS as problem:  # Spark Connect has no context and raises
        raise spark_error(problem) from None
    if not isinstance(context, SparkContext):
        raise InputError(
            "the Spark engine needs a SparkSession with a SparkContext; got "
            f"{format_value(session)}"
        )
    return context
