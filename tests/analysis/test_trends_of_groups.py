"""`rumor trend --by`: the trend of each group, tested among all, drawn with the same axes."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rumor
from rumor.analysis.compare.method import ReportSelection
from rumor.analysis.trend.grouped import _small_line
from rumor.analysis.trend.method import follow_groups
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.reports import Reports
from rumor.estimators.multiple_testing import holm

Outputs = pytest.CaptureFixture[str]
TOML = """
name = "App"
series = "app"
contact = "nobody"

[[questions]]
id = "page"
kind = "choice"
labels = ["a", "b", "c"]
epsilon = 2.0
"""
DAYS = [datetime.date(2026, 3, 2) + datetime.timedelta(days=i) for i in range(8)]
EACH = 600


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Reports]]:
    """Write eight days of three countries: DE changes on the fifth day, IT has two days only."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(TOML)
    collection = Collection.load("c.toml")
    chance = np.random.default_rng(4)
    found: dict[str, dict[str, Reports]] = {}
    strata = pa.schema([("country", pa.string())])
    with write_reports(
        "r.parquet", collection, collection.question(), strata=strata, random=rumor.Seeded(2)
    ) as writer:
        for number, day in enumerate(DAYS):
            for country in ("DE", "FR", "IT")[: 3 if number < 2 else 2]:
                law = [0.2, 0.5, 0.3] if country == "DE" and number >= 4 else [0.5, 0.2, 0.3]
                answers = chance.choice(3, EACH, p=law)
                mechanism = collection.question().mechanism.without_labels()
                made = mechanism.privatize(answers, random=rumor.Seeded(len(found)))
                writer.write(made, day, {"country": pa.array([country] * EACH)})
                found.setdefault(country, {})[str(day)] = made
    return found


def test_a_group_has_the_trend_of_its_own_reports(
    reports: dict[str, dict[str, Reports]], capsys: Outputs
) -> None:
    mechanism = Collection.load("c.toml").question().mechanism
    alone = {name: rumor.trend(mechanism, days) for name, days in reports.items() if name != "IT"}
    assert main(["trend", "c.toml", "r.parquet", "--by", "country", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [row for trend in alone.values() for row in trend.to_dict()["estimates"]]  # type: ignore[attr-defined]
    assert [{k: v for k, v in row.items() if k != "stratum"} for row in found["estimates"]] == rows
    assert [row["stratum"] for row in found["estimates"]] == ["DE"] * 24 + ["FR"] * 24
    # Changes are tested among all values of all groups.
    changes = [change for one in found["strata"] for change in one["changes"]]
    wanted = holm(np.concatenate([trend.p_value for trend in alone.values()]))
    assert [change["adjusted"] for change in changes] == pytest.approx(wanted)
    assert [change["from"] for change in changes][:2] == ["2026-03-06"] * 2
    assert max(change["adjusted"] for change in changes[:2]) < 0.001
    assert min(change["adjusted"] for change in changes[3:]) > 0.05
    (note,) = found["notes"]
    assert note.startswith("'IT' is left out: it has reports in 2 of the 3 days or more")


def test_a_table_has_a_small_line_for_each_value_and_group(capsys: Outputs) -> None:
    assert main(["trend", "c.toml", "r.parquet", "--by", "country"]) == 0
    said = capsys.readouterr().out
    body = [line.split() for line in said.splitlines() if line.startswith(("DE ", "FR "))]
    assert [row[:3] for row in body] == [
        [name, "share", value] for value in "abc" for name in ("DE", "FR")
    ]
    falling, steady = body[0][3], body[1][3]
    assert (len(falling), falling[-1]) == (8, "▁")
    assert "▁" not in steady  # one scale for both
    assert "reports: DE 4,800, FR 4,800; epsilon 2 per report" in said


def test_charts_of_groups_have_the_same_axes(capsys: Outputs) -> None:
    found = follow_groups(ReportSelection("c.toml", "r.parquet"), "country", "day")
    chart = found.plot().to_dict()
    assert chart["facet"]["field"] == "group"
    # Three beside one another, with their axes, are as wide as a page.
    assert chart["columns"] == 720 // (chart["spec"]["width"] + 40) == 3
    assert "resolve" not in chart  # nothing is resolved apart
    (data,) = chart["datasets"].values()
    assert {(row["group"], row["series"]) for row in data} == {
        (group, f"share: {value}") for group in ("DE", "FR") for value in "abc"
    }
    assert {row["changed"] for row in data if row["group"] == "FR"} == {None}
    assert {row["changed"] for row in data if row["group"] == "DE"} == {None, "2026-03-06"}
    for name in ("t.html", "t.png"):
        line = ["trend", "c.toml", "r.parquet", "--by", "country", "--plot", name]
        assert main(line) == 0
        assert Path(name).stat().st_size > 5_000


def test_groups_that_are_few_or_are_periods_are_refused(capsys: Outputs) -> None:
    for more, sentence in (
        (["--by", "country", "--to", "2026-03-03"], "3 days with reports or more in one of them"),
        (["--by", "country,week"], "since --every says its periods; got 'week'"),
        (["--by", "town"], "'town'"),
    ):
        assert main(["trend", "c.toml", "r.parquet", *more]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())


def test_a_small_line_has_eight_heights_and_gaps() -> None:
    line = np.array([0.0, 0.5, np.nan, 1.0])
    assert _small_line(line, (0.0, 1.0)) == "▁▅ █"
    assert _small_line(line, (0.0, 0.0)).replace(" ", "") == "▅▅▅"
    assert len(_small_line(np.linspace(0, 1, 1000), (0.0, 1.0))) == 40
