"""One table, counted everywhere: the same tallies of each group, day and week.

A table of people becomes reports in a folder of parts. They are counted by hand in memory, from the
files on this machine and by Spark, and by both stores, which take the files in.
"""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis.engines.base import Engine
from rumor.analysis.estimate import count
from rumor.collector.reports_import import import_reports
from rumor.collector.store.base import Store
from rumor.contract import report_parts
from rumor.contract.collection import Collection
from rumor.core import table_files
from rumor.mechanisms.summary import Summary
from tests.needs import needs

LANDS = ["DE", "FR", "other"]
START, DAYS, ROWS = datetime.date(2026, 3, 2), 17, 900
COLLECTION = Collection.resolve(
    {
        "name": "App",
        "series": "app",
        "contact": "nobody",
        "groups": {"country": LANDS},
        "questions": [{"id": "page", "kind": "choice", "domain": 5, "epsilon": 1.0}],
    }
)
Tallies = dict[object, tuple[int, list[int]]]
Cells = dict[tuple[str, datetime.date], Summary]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a table's reports in several parts; Italy is in no list, so it is another country."""
    chance = np.random.default_rng(3)
    days = [START + datetime.timedelta(int(day)) for day in chance.integers(0, DAYS, ROWS)]
    table = {
        "page": chance.integers(0, 5, ROWS).tolist(),
        "day": days,
        "country": chance.choice(["DE", "FR", "IT", "other"], ROWS).tolist(),
    }
    place = tmp_path_factory.mktemp("tallies") / "reports"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "_BATCH_ROWS", 100)
        patch.setattr(report_parts, "group_rows", lambda width: 250)
        rumor.privatize(
            COLLECTION, table, place, day=rumor.DayColumn("day"), random=rumor.Seeded(1)
        )
    assert len(list(place.glob("*.parquet"))) == 3
    return str(place)


@pytest.fixture(scope="module")
def cells(folder: str) -> Cells:
    """Count by hand: a summary of each country and day."""
    empty, found = Summary.empty(COLLECTION.question().mechanism), Cells()
    for row in pq.ParquetDataset(folder).read().to_pylist():
        key = row["country"], row["day"]
        report = np.frombuffer(row["report"], dtype=np.uint8)[None, :]
        found[key] = found.get(key, empty).update(report)
    assert {country for country, _ in found} == set(LANDS)
    return found


def monday(day: datetime.date) -> datetime.date:
    return day - datetime.timedelta(day.weekday())


GROUPINGS: dict[str, Callable[[str, datetime.date], object]] = {
    "country": lambda country, day: country,
    "day": lambda country, day: str(day),
    "week": lambda country, day: str(monday(day)),
    "country,day": lambda country, day: f"{country}, {day}",
    "week,country": lambda country, day: f"{monday(day)}, {country}",
}


def tally(summary: Summary) -> tuple[int, list[int]]:
    return summary.reports, summary.tally.tolist()


def by_hand(cells: Cells, by: str) -> Tallies:
    groups: dict[object, list[Summary]] = {}
    for (country, day), summary in cells.items():
        groups.setdefault(GROUPINGS[by](country, day), []).append(summary)
    return {name: tally(reduce(lambda a, b: a + b, some)) for name, some in groups.items()}


@pytest.fixture(scope="module")
def spark() -> Iterator[Callable[[], Engine]]:
    needs("java")
    pytest.importorskip("pyspark")
    tools: Any = importlib.import_module("tests.spark_tools")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in tools.ENVIRONMENT.items():
            patch.setenv(name, value)
        held = tools.OneSpark()
        yield lambda: held.engine("local[2]")
        held.stop()


def of_files(folder: str, by: str, engine: str | Engine) -> Tallies:
    with count(COLLECTION, folder, by=by, engine=engine) as found:
        return {str(name): tally(one) for name, one in found.totals.summaries.items()}


@pytest.mark.parametrize("by", GROUPINGS)
def test_files_count_as_by_hand(folder: str, cells: Cells, by: str) -> None:
    assert of_files(folder, by, "local") == by_hand(cells, by)


@pytest.mark.parametrize("by", GROUPINGS)
def test_spark_counts_as_by_hand(
    folder: str, cells: Cells, by: str, spark: Callable[[], Engine]
) -> None:
    assert of_files(folder, by, spark()) == by_hand(cells, by)


def test_stores_count_as_by_hand(folder: str, cells: Cells, store: Store) -> None:
    import_reports(store, folder, COLLECTION)
    entry = store.find(COLLECTION.digest)
    last = START + datetime.timedelta(DAYS - 1)
    days = [START + datetime.timedelta(i) for i in range(DAYS)]
    weeks = [START + datetime.timedelta(7 * i) for i in range(3)]

    def counted(first: datetime.date, end: datetime.date, land: str | None) -> tuple[int, Any]:
        strata = None if land is None else [LANDS.index(land)]
        return tally(store.summary(entry, "page", (first, end), strata))

    assert {land: counted(START, last, land) for land in LANDS} == by_hand(cells, "country")
    assert {str(day): counted(day, day, None) for day in days} == by_hand(cells, "day")
    week = datetime.timedelta(6)
    found = {str(first): counted(first, first + week, None) for first in weeks}
    assert found == by_hand(cells, "week")
    known = by_hand(cells, "week,country")
    for first in weeks:
        for land in LANDS:
            assert counted(first, first + week, land) == known[f"{first}, {land}"]
    alone = by_hand(cells, "country,day")
    for day in days:
        for land in LANDS:
            wanted = alone.get(f"{land}, {day}", (0, [0] * 5))
            assert counted(day, day, land) == wanted
