"""One job on Spark: run it, watch it, and stop it on request.

The job runs in a thread of its own, so that this one can ask Spark's status tracker how far
it is, and can cancel it: on an interrupt, or when its outcome is known before its end.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pyspark import InheritableThread, SparkContext
from pyspark.accumulators import AccumulatorParam

from rumor.analysis.engines.spark.session import SPARK_ERRORS, spark_error

T = TypeVar("T")

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Status:
    """The progress of a job."""

    stages: int
    tasks: int
    tasks_done: int
    tasks_running: int
    tasks_failed: int
    reports: int
    """The number of reports processed, of `all_reports` (0: not known)."""
    all_reports: int
    bytes_read: int
    seconds: float

    @property
    def reports_per_second(self) -> float:
        """The rate since the job began."""
        return self.reports / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        stages = f"{self.stages} stage{'' if self.stages == 1 else 's'}"
        failed = f" ({self.tasks_failed} failed)" if self.tasks_failed else ""
        return (
            f"{stages}, {self.tasks_done}/{self.tasks} tasks{failed}, "
            f"{_engineering(self.reports_per_second)} reports/s, "
            f"{_engineering(float(self.bytes_read))}B"
        )


@dataclass(frozen=True)
class Done:
    """A worker's message about a partition that it has processed."""

    job: str
    part: int
    rows: int
    bytes_read: int
    problem: str | None = None


class _Gather(AccumulatorParam[list[Done]]):
    """An accumulator that joins lists."""

    def zero(self, value: list[Done]) -> list[Done]:
        return []

    def addInPlace(self, value1: list[Done], value2: list[Done]) -> list[Done]:  # noqa: N802
        value1 += value2
        return value1


class Watch:
    """The state of a running job: its progress, and whether its outcome is decided."""

    def __init__(self, context: SparkContext, rows: int) -> None:
        self.job = uuid.uuid4().hex
        self.progress = context.accumulator(list[Done](), _Gather())
        self._context, self._rows, self._began = context, rows, time.monotonic()

    @property
    def done(self) -> dict[int, Done]:
        """The partitions that are done; one that was done twice counts once."""
        return {item.part: item for item in list(self.progress.value) if item.job == self.job}

    @property
    def decided(self) -> bool:
        """Whether a partition was refused and all before it are done: the outcome is fixed."""
        done = self.done
        refused = [part for part, item in done.items() if item.problem is not None]
        return bool(refused) and all(part in done for part in range(min(refused)))

    def status(self) -> Status:
        """Return the progress of the job, from Spark's status tracker and from workers."""
        tracker, stages = self._context.statusTracker(), []
        for job in tracker.getJobIdsForGroup(self.job):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info is not None else ():
                found = tracker.getStageInfo(stage)
                if found is not None:
                    stages.append(found)
        done = list(self.done.values())
        return Status(
            stages=len(stages),
            tasks=sum(stage.numTasks for stage in stages),
            tasks_done=sum(stage.numCompletedTasks for stage in stages),
            tasks_running=sum(stage.numActiveTasks for stage in stages),
            tasks_failed=sum(stage.numFailedTasks for stage in stages),
            reports=sum(item.rows for item in done),
            all_reports=self._rows,
            bytes_read=sum(item.bytes_read for item in done),
            seconds=time.monotonic() - self._began,
        )


def run(
    context: SparkContext,
    description: str,
    action: Callable[[], T],
    watch: Watch,
    on_status: Callable[[Status], None] | None = None,
) -> T | None:
    """Return the result of `action`; None if it was stopped because its outcome was decided.

    Failures of Spark come out as one sentence each.
    """
    found: list[T] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            context.setJobGroup(watch.job, description, interruptOnCancel=True)
            found.append(action())
        except BaseException as problem:
            problems.append(problem)

    thread = InheritableThread(target=work)
    thread.start()
    stopped = False
    try:
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            if thread.is_alive() and on_status is not None:
                on_status(watch.status())
            if thread.is_alive() and not stopped and watch.decided:
                stopped = True
                context.cancelJobGroup(watch.job)
    except BaseException:
        context.cancelJobGroup(watch.job)
        raise
    if stopped and problems:
        return None
    if problems:
        problem = problems[0]
        raise spark_error(problem) from None if isinstance(problem, SPARK_ERRORS) else problem
    if on_status is not None:
        on_status(watch.status())
    return found[0]


def _engineering(number: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.3g} {prefix}"
    return f"{number:.3g}"
