"""Groups of reports by periods and by several columns, against groups that are counted by hand."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rumor.analysis.estimate import count
from rumor.analysis.grouping import Grouping, is_over_time
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.day_columns import period_starts
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded

Outputs = pytest.CaptureFixture[str]
TOML = """
name = "App"
series = "app"
contact = "nobody"

[[questions]]
id = "page"
kind = "choice"
labels = ["a", "b"]
epsilon = 1.0
reports_per_person = 9
"""
ROWS = 4_000


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[datetime.date, str]]:
    """Write reports of 60 days and two countries; return how many there are of each pair."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(TOML)
    collection = Collection.load("c.toml")
    chance = np.random.default_rng(1)
    days = np.datetime64("2026-01-20") + chance.integers(0, 60, ROWS)
    countries = np.array(["DE", "FR"])[chance.integers(0, 2, ROWS)]
    mechanism = collection.question().mechanism.without_labels()
    reports = mechanism.privatize(chance.integers(0, 2, ROWS), random=Seeded(1))
    strata = pa.schema([("country", pa.string())])
    with write_reports(
        "r.parquet", collection, collection.question(), strata=strata, random=Seeded(2)
    ) as writer:
        writer.write(reports, days, {"country": pa.array(countries)})
    return Counter(zip(days.tolist(), countries.tolist(), strict=True))


def counted(by: str) -> dict[object, int]:
    with count(Collection.load("c.toml"), "r.parquet", by=by) as found:
        return {name: one.reports for name, one in found.totals.summaries.items()}


def test_periods_and_pairs_are_those_of_the_calendar(
    work: Counter[tuple[datetime.date, str]],
) -> None:
    wanted: Counter[str] = Counter()
    months: Counter[str] = Counter()
    for (day, country), n in work.items():
        monday = day - datetime.timedelta(days=day.weekday())
        wanted[f"{monday}, {country}"] += n
        months[str(day)[:7]] += n
    found = counted("week,country")
    assert found == wanted
    assert list(found) == sorted(wanted)
    assert counted("month") == months
    assert sum(counted("day, country").values()) == ROWS
    assert len(counted("day,country")) == len(work)


@pytest.mark.parametrize("by", ["week,week", "week,", "nothing", "week,report", "id,week"])
def test_what_is_no_group_is_refused(work: object, by: str) -> None:
    with pytest.raises(InputError, match="groups must be"):
        counted(by)


def test_a_column_of_a_periods_name_is_that_column() -> None:
    assert Grouping.read("week", ["day", "week"]).columns == ["week"]
    assert Grouping.read("a,b", ["day", "a,b"]).columns == ["a,b"]
    assert Grouping.read("week,day,c", ["day", "c"]).columns == ["day", "c"]
    assert is_over_time("country, week")
    assert not is_over_time("country")


def test_weeks_begin_on_monday_and_before_1970_too() -> None:
    days = np.arange(np.datetime64("1965-01-01"), np.datetime64("1975-01-01"))
    starts = period_starts(days, "week").tolist()
    assert all(
        start == day - datetime.timedelta(days=day.weekday())
        for day, start in zip(days.tolist(), starts, strict=True)
    )


def test_commands_take_periods(work: object, capsys: Outputs) -> None:
    assert main(["estimate", "c.toml", "r.parquet", "--by", "month,country", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["stratum"] for one in facts["strata"]][:2] == ["2026-01, DE", "2026-01, FR"]
    assert main(["compare", "c.toml", "r.parquet", "--by", "week"]) == 0
    assert "people may be in several of the days" in capsys.readouterr().out
    assert main(["trend", "c.toml", "r.parquet", "--every", "week"]) == 0
