"""Collectors' stores of older schema versions, in both databases: upgraded, and gone on with."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.collector.store.base import BatchAccepted, RepairResult, ReportBatch, Store, open_store
from rumor.core.exact import PLANNED
from tests.collector.tools import batch
from tests.old.kept import HERE, copied, store_in
from tests.old.make_old import contents

STORES = sorted((HERE / "stores").glob("v*"))


@pytest.fixture(params=STORES, ids=lambda path: path.name)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of a store's folder, and what the version that made it said of it."""
    return copied(request.param, tmp_path / "old")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, old: tuple[Path, dict[str, Any]]) -> Iterator[Store]:
    with closing(open_store(store_in(old[0], request))) as opened:
        yield opened


def test_there_is_a_store_of_every_older_schema() -> None:
    assert [path.name for path in STORES] == ["v1", "v2", "v3", "v5", "v6"]


def test_older_stores_go_on(store: Store, old: tuple[Path, dict[str, Any]]) -> None:
    """All that was taken is there and counted; nothing is taken twice; new reports are."""
    told = old[1]
    assert contents(store) == told["collections"]
    assert store.admissions("club") == told["admissions"]
    assert store.repair() == RepairResult(0, 0)
    (entry, *_) = store.collections()
    assert entry.users == PLANNED
    gone = store.dropped_reports(entry, "colour")
    before = 0 if gone is None else gone.reports
    said = told["collections"][entry.collection.digest]["questions"]["colour"]
    known = [bytes.fromhex(id + report) for id, (_, report) in said["reports"].items()]
    spent = [bytes.fromhex(id) + b"\x00" for id in said["spent"]]
    assert known
    assert spent
    flat = b"".join([*known, *spent])
    rows = np.frombuffer(flat, np.uint8).reshape(len(known) + len(spent), -1)
    number = entry.questions["colour"]
    assert store.write([ReportBatch(number, rows)]) == [BatchAccepted(0, len(rows))]
    assert store.write([batch(entry, "colour", [0])]) == [BatchAccepted(1, 0)]
    assert store.withdraw(entry, "colour", rows[:1, :16].copy()) == 1
    store.summarize()
    assert store.summary(entry, "colour").reports == said["counted"]
    # A month later the others of that day are deleted: too few to keep their counts, only
    # their number.
    days = [
        day
        for collection in told["collections"].values()
        for day, _ in collection["questions"]["colour"]["reports"].values()
    ]
    withdrawn = next(iter(said["reports"].values()))[0]
    old_ones = days.count("2026-11-10") - (withdrawn == "2026-11-10")
    assert store.expire(datetime.date(2026, 12, 11)) == old_ones > 0
    dropped = store.dropped_reports(entry, "colour")
    assert dropped is not None
    left = store.summary(entry, "colour").reports
    assert left + dropped.reports - before == said["counted"]
