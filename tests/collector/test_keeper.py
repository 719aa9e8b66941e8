"""The housekeeper: it counts at every turn, deletes once a day, and forgets what was used."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rumor.collector.periodic import StoreMaintenance
from rumor.collector.store.base import StoreUnavailableError
from rumor.collector.store.dialects.sqlite import Sqlite
from rumor.collector.store.sql import SqlStore
from tests.collector.tools import batch, collection

DAY = datetime.date(2026, 3, 1)


class Watched(SqlStore):
    """A store that notes what it is asked to do, and may fail at it."""

    def __init__(self, path: Path) -> None:
        super().__init__(Sqlite(path))
        self.asked: list[tuple[str, object]] = []
        self.failing = ""

    def _note(self, what: str, how: object = None) -> None:
        self.asked.append((what, how))
        if what == self.failing:
            raise StoreUnavailableError("not now")

    def summarize(self) -> int:
        self._note("count")
        return super().summarize()

    def forget_tokens(self, *, thorough: bool = False) -> None:
        self._note("forget", thorough)
        super().forget_tokens(thorough=thorough)

    def expire(self, today: datetime.date) -> int:
        self._note("expire", today)
        return super().expire(today)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Watched]:
    opened = Watched(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture
def keeper(store: Watched, monkeypatch: pytest.MonkeyPatch) -> StoreMaintenance:
    """One whose turns are taken by the test."""
    monkeypatch.setattr(StoreMaintenance, "_run", lambda self: None)
    return StoreMaintenance(store)


def test_it_counts_always_and_deletes_once_a_day(store: Watched, keeper: StoreMaintenance) -> None:
    entry = store.register(collection())
    later = DAY + datetime.timedelta(days=1)
    for day in (DAY, DAY, later, later):
        store.write([batch(entry, "colour", [0])])
        keeper.run_once(day)
    assert store.summary(entry, "colour").reports == 4
    first = [("count", None), ("forget", True), ("expire", DAY)]
    again: list[tuple[str, object]] = [("count", None), ("forget", False)]
    second = [("count", None), ("forget", True), ("expire", later)]
    assert store.asked == [*first, *again, *second, *again]


def test_a_day_whose_deletion_failed_is_tried_again(
    store: Watched, keeper: StoreMaintenance
) -> None:
    store.failing = "expire"
    with pytest.raises(StoreUnavailableError):
        keeper.run_once(DAY)
    store.failing = ""
    keeper.run_once(DAY)
    assert store.asked.count(("expire", DAY)) == 2


def test_a_store_that_comes_back_is_taken_up(
    store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.failing = "count"
    turns: list[Any] = []
    turn = StoreMaintenance.run_once

    def noting(self: StoreMaintenance, day: datetime.date) -> None:
        turns.append(day)
        if len(turns) == 3:
            store.failing = ""
        turn(self, day)

    monkeypatch.setattr(StoreMaintenance, "run_once", noting)
    keeper = StoreMaintenance(store, seconds=0.001)
    while not any(what == "expire" for what, _ in store.asked):
        assert keeper._thread.is_alive()
        time.sleep(0.001)
    keeper.stop()
    assert len(turns) >= 3
    assert not keeper._thread.is_alive()
