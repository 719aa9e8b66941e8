"""The housekeeper: a thread that counts what is new, and deletes what is past its day or used."""

from __future__ import annotations

import datetime

from rumor.collector.store.base import Store
from rumor.collector.turns import Turns


class Keeper(Turns):
    """Counts new reports every few seconds, and deletes old ones once a day."""

    what = "reports could not be counted"

    def __init__(self, store: Store, seconds: float = 10.0) -> None:
        self._store = store
        self._expired: datetime.date | None = None
        super().__init__(seconds)

    def turn(self, day: datetime.date) -> None:
        """What is to be done on this day."""
        self._store.summarize()
        self._store.forget_tokens(thorough=self._expired != day)
        if self._expired != day:
            self._store.expire(day)
            self._expired = day
