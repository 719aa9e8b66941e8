"""A thread that does its work every few seconds, and tries again what it could not do."""

from __future__ import annotations

import abc
import datetime
import logging
import threading
from typing import ClassVar

from rumor.collector.store.base import StoreUnavailable, today

_log = logging.getLogger("rumor.collector")


class Turns(abc.ABC):
    """Whatever the store refuses now is done at the next turn, without a hand."""

    what: ClassVar[str]
    """What the log says could not be done."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rumor-keeper", daemon=True)
        self._thread.start()

    @abc.abstractmethod
    def turn(self, day: datetime.date) -> None:
        """What is to be done on this day."""

    def stop(self) -> None:
        """End after the turn that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.turn(today())
            except StoreUnavailable as problem:
                _log.warning("%s now: %s", self.what, problem)
            except Exception:
                _log.exception("%s", self.what)
            self._stop.wait(self._seconds)
