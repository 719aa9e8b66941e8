"""The housekeeper: a thread that counts what is new, and deletes what is past its day or used.

It retries at its next turn whatever the store refuses now, so a database that comes back is
taken up without a hand.
"""

from __future__ import annotations

import datetime
import logging
import threading

from rumor.collector.store.base import Store, StoreUnavailable, today

_log = logging.getLogger("rumor.collector")


class Keeper:
    """Counts new reports every few seconds, and deletes old ones once a day."""

    def __init__(self, store: Store, seconds: float = 10.0) -> None:
        self._store, self._seconds = store, seconds
        self._stop = threading.Event()
        self._expired: datetime.date | None = None
        self._thread = threading.Thread(target=self._run, name="rumor-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the turn that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.turn(today())
            except StoreUnavailable as problem:
                _log.warning("reports could not be counted now: %s", problem)
            except Exception:
                _log.exception("reports could not be counted")
            self._stop.wait(self._seconds)

    def turn(self, day: datetime.date) -> None:
        """What is to be done on this day."""
        self._store.summarize()
        self._store.forget_tokens(thorough=self._expired != day)
        if self._expired != day:
            self._store.expire(day)
            self._expired = day
