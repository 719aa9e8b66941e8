"""One job on Spark: run it, watch it, and stop it when somebody asks to.

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

from rumor.analysis.engines.spark.session import SPARK_ERRORS, sentence

T = TypeVar("T")

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Status:
    """How far a job is."""

    stages: int
    tasks: int
    tasks_done: int
    tasks_running: int
    tasks_failed: int
    reports: int
    """How many reports have been gone through, of `all_reports` (0: not known)."""
    all_reports: int
    bytes_read: int
    seconds: float

    @property
    def reports_per_second(self) -> float:
        """Since the job began."""
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
    """What a worker tells of a part that it is done with."""

    job: str
    part: int
    rows: int
    bytes_read: int
    problem: str | None = None


class _Gather(AccumulatorParam[list[Done]]):
    """Lists put together."""

    def zero(self, value: list[Done]) -> list[Done]:
        return []

    def addInPlace(self, value1: list[Done], value2: list[Done]) -> list[Done]:  # noqa: N802
        value1 += value2
        return value1


class Watch:
    """What is known of a running job; tells it to others, and when to stop."""

    def __init__(self, context: SparkContext, rows: int) -> None:
        self.job = uuid.uuid4().hex
        self.told = context.accumulator(list[Done](), _Gather())
        self._context, self._rows, self._began = context, rows, time.monotonic()

    @property
    def done(self) -> dict[int, Done]:
        """The parts that are done; one that was done twice counts once."""
        return {item.part: item for item in list(self.told.value) if item.job == self.job}

    @property
    def decided(self) -> bool:
        """Whether a part was refused and all before it are done: nothing can change that."""
        done = self.done
        refused = [part for part, item in done.items() if item.problem is not None]
        return bool(refused) and all(part in done for part in range(min(refused)))

    def status(self) -> Status:
        """How far the job is, by Spark's status tracker and by what workers told."""
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
    """What the action gives; None if it was stopped because its outcome was decided.

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
        raise sentence(problem) from None if isinstance(problem, SPARK_ERRORS) else problem
    if on_status is not None:
        on_status(watch.status())
    return found[0]


def _engineering(number: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.3g} {prefix}"
    return f"{number:.3g}"
