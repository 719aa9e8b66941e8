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
from collections.abc import Callable, Sequence, Sized
from typing import Generic, TypeVar

from rumor.collector.http.problems import Problem, unavailable
from rumor.collector.metrics import Metrics
from rumor.collector.store.base import StoreUnavailableError

Item = TypeVar("Item", bound=Sized)
Result = TypeVar("Result")

# Enough for the cost of a commit to vanish; the time it takes is the answer's delay.
_MOST_ROWS = 5_000

_log = logging.getLogger("rumor.collector")

_Waiting = tuple[Sequence[Item], "asyncio.Future[list[Result]]"]


class Writer(Generic[Item, Result]):
    """The one thread that writes to a store, by a function that makes many items durable."""

    def __init__(
        self,
        write: Callable[[Sequence[Item]], Sequence[Result]],
        metrics: Metrics,
        most_waiting: int,
    ) -> None:
        self._write, self._metrics, self._most_waiting = write, metrics, most_waiting
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting[Item, Result] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rumor-writer", daemon=True)
        self._thread.start()

    def submit(self, *items: Item) -> asyncio.Future[list[Result]]:
        """Queue `items` for one commit; the future holds their outcomes once they are durable."""
        size = _size(items)
        if self._metrics.waiting + size > self._most_waiting:
            raise unavailable("the collector has too much waiting to be written; try again")
        self._metrics.waiting += size
        answer: asyncio.Future[list[Result]] = self._loop.create_future()
        self._queue.put((items, answer))
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
            group, rows = [first], _size(first[0])
            while rows < _MOST_ROWS:
                try:
                    more = self._queue.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    going = False
                    break
                group.append(more)
                rows += _size(more[0])
            self._commit(group)

    def _commit(self, group: Sequence[_Waiting[Item, Result]]) -> None:
        start = time.perf_counter()
        outcomes: Sequence[Result] | Exception
        try:
            outcomes = self._write([item for items, _ in group for item in items])
        except Exception as problem:
            outcomes = problem
        seconds = time.perf_counter() - start
        self._loop.call_soon_threadsafe(self._answer, group, outcomes, seconds)

    def _answer(
        self,
        group: Sequence[_Waiting[Item, Result]],
        outcomes: Sequence[Result] | Exception,
        seconds: float,
    ) -> None:
        self._metrics.waiting -= sum(_size(items) for items, _ in group)
        if isinstance(outcomes, Exception):
            self._metrics.commit_failed()
            _log.warning("a commit failed: %s", outcomes)
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(_as_problem(outcomes))
            return
        self._metrics.committed(seconds)
        rest = iter(outcomes)
        for items, answer in group:
            mine = [next(rest) for _ in items]
            if not answer.done():
                answer.set_result(mine)


def _size(items: Sequence[Sized]) -> int:
    return sum(map(len, items))


def _as_problem(problem: Exception) -> Problem:
    if isinstance(problem, StoreUnavailableError):
        return unavailable("the store cannot be written to just now; try again")
    return Problem("failed", "the collector made a mistake; its log says more")
