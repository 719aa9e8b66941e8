"""Background work of a collector: periodic tasks, expiry, counting, and the store's health."""

from __future__ import annotations

import abc
import asyncio
import datetime
import logging
import math
import threading
import time
from typing import Any, ClassVar, Protocol

from rumor.collector.group_commit import Writer
from rumor.collector.store.base import Store, StoreUnavailableError, today
from rumor.core.files import Closable

_log = logging.getLogger("rumor.collector")


class PeriodicTask(abc.ABC):
    """A thread that calls `run_once` every `seconds`, and retries after a store error."""

    what: ClassVar[str]
    """The log's sentence for a failure of this task."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rumor-keeper", daemon=True)
        self._thread.start()

    @abc.abstractmethod
    def run_once(self, day: datetime.date) -> None:
        """Do the work that is due on `day`."""

    def stop(self) -> None:
        """End after the turn that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.run_once(today())
            except StoreUnavailableError as problem:
                _log.warning("%s now: %s", self.what, problem)
            except Exception:
                _log.exception("%s", self.what)
            self._stop.wait(self._seconds)


class StoreMaintenance(PeriodicTask):
    """Counts new reports every few seconds, and deletes old ones once a day."""

    what = "reports could not be counted"

    def __init__(self, store: Store, seconds: float = 10.0) -> None:
        self._store = store
        self._expired: datetime.date | None = None
        super().__init__(seconds)

    def run_once(self, day: datetime.date) -> None:
        """Do the work that is due on `day`."""
        self._store.summarize()
        self._store.forget_tokens(thorough=self._expired != day)
        if self._expired != day:
            self._store.expire(day)
            self._expired = day


_FRESH_SECONDS = 1.0


class Pingable(Protocol):
    """A store whose health can be checked."""

    def ping(self) -> object:
        """Write something small, or raise StoreUnavailableError."""


class StoreHealth:
    """The health of a store, checked at most once a second."""

    def __init__(self, store: Pingable) -> None:
        self._store = store
        self._felt, self._well = -math.inf, False

    async def takes_writes(self) -> bool:
        """Return whether the store takes writes."""
        if time.monotonic() - self._felt > _FRESH_SECONDS:
            self._felt = time.monotonic()
            try:
                await asyncio.to_thread(self._store.ping)
                self._well = True
            except StoreUnavailableError:
                self._well = False
        return self._well


class WriterService:
    """A service with a writer and periodic tasks on a store, which end before the store closes."""

    store: Closable
    _writer: Writer[Any, Any] | None = None
    _task: PeriodicTask | None = None

    async def stop(self) -> None:
        """Write what is waiting and let go."""
        if self._writer is not None:
            await self._writer.stop()
        if self._task is not None:
            await asyncio.to_thread(self._task.stop)
        await asyncio.to_thread(self.store.close)
