"""Group commit: one thread writes whatever is waiting, and answers when it is durable.

While one commit is under way the next requests gather, so the busier the collector is the
more reports share a commit.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Sequence

from rumor.collector.http.problems import Problem, unavailable
from rumor.collector.metrics import Metrics
from rumor.collector.store.base import Batch, Outcome, Store, StoreUnavailable

# Enough for the cost of a commit to vanish; the time it takes is the answer's delay.
_MOST_ROWS = 5_000

_log = logging.getLogger("rumor.collector")

_Waiting = tuple[Batch, "asyncio.Future[Outcome]"]


class Writer:
    """The one thread that writes to a store."""

    def __init__(self, store: Store, metrics: Metrics, most_waiting: int) -> None:
        self._store, self._metrics, self._most_waiting = store, metrics, most_waiting
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rumor-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> asyncio.Future[Outcome]:
        """What becomes of a batch, once it is durable."""
        if self._metrics.waiting + len(batch) > self._most_waiting:
            raise unavailable("the collector has too much waiting to be written; try again")
        self._metrics.waiting += len(batch)
        answer: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue.put((batch, answer))
        return answer

    async def stop(self) -> None:
        """Write what is waiting, then end."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        going = True
        while going:
            first = self._queue.get()
            if first is None:
                return
            group, rows = [first], len(first[0])
            while rows < _MOST_ROWS:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    going = False
                    break
                group.append(more)
                rows += len(more[0])
            self._commit(group)

    def _commit(self, group: Sequence[_Waiting]) -> None:
        start = time.perf_counter()
        outcomes: Sequence[Outcome] | Exception
        try:
            outcomes = self._store.write([batch for batch, _ in group])
        except Exception as problem:
            outcomes = problem
        seconds = time.perf_counter() - start
        self._loop.call_soon_threadsafe(self._answer, group, outcomes, seconds)

    def _answer(
        self, group: Sequence[_Waiting], outcomes: Sequence[Outcome] | Exception, seconds: float
    ) -> None:
        self._metrics.waiting -= sum(len(batch) for batch, _ in group)
        if isinstance(outcomes, Exception):
            self._metrics.commit_failed()
            _log.warning("a commit failed: %s", outcomes)
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(_as_problem(outcomes))
            return
        self._metrics.committed(seconds)
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if not answer.done():
                answer.set_result(outcome)


def _as_problem(problem: Exception) -> Problem:
    if isinstance(problem, StoreUnavailable):
        return unavailable("the store cannot be written to just now; try again")
    return Problem("failed", "the collector made a mistake; its log says more")
