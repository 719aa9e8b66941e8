"""Trends: lines against the normal law itself, changes that are found, and false alarms."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import rumor
from rumor.analysis.trend import line as module
from rumor.analysis.trend.line import find_change, smooth
from rumor.cli import main
from rumor.core.errors import InputError
from tests.analysis.test_comparing import memoised
from tests.flow import home_pages, made_reports, write_days, write_toml

Outputs = pytest.CaptureFixture[str]


def test_the_line_is_that_of_the_normal_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step alone: the line is what conditioning a random walk on all days gives."""
    rng = np.random.default_rng(1)
    days, variance = np.array([0, 1, 2, 5, 6]), np.array([1.0, 0.5, 2.0, 1.0, 0.7])
    seen = rng.normal(size=5)
    step = 0.3 * variance.mean()
    monkeypatch.setattr(module, "_candidates", lambda days: np.array([0.3]))
    line = smooth(seen[:, None], variance[:, None], np.diff(days).astype(float))
    # A walk that begins anywhere: a prior of 1e5 stands for it, to five digits.
    prior = 1e5 + step * np.minimum.outer(days, days)
    gain = prior @ np.linalg.inv(prior + np.diag(variance))
    np.testing.assert_allclose(line.mean[:, 0], gain @ seen, atol=1e-4)
    known = np.diag(prior - gain @ prior)
    np.testing.assert_allclose(line.deviation[:, 0] ** 2, known, rtol=1e-4)


def test_the_smoothness_is_chosen_by_evidence() -> None:
    """Nothing moves: nearly the mean of all days. Everything moves: nearly each day's own."""
    rng, ones = np.random.default_rng(2), np.ones((60, 200))
    still = rng.normal(size=(60, 200))
    line = smooth(still, ones, np.ones(59))
    # A mean of 60 days has a squared error of 1/60.
    assert np.mean(line.mean**2) < 3 / 60
    wild = np.cumsum(5 * rng.normal(size=(60, 200)), axis=0)
    followed = smooth(wild + still, ones, np.ones(59))
    assert np.mean((followed.mean - wild) ** 2) == pytest.approx(1.0, abs=0.1)
    assert followed.step.mean() > 10 * line.step.mean()
    # Both bands hold what is behind the days.
    assert np.mean(np.abs(line.mean) < 1.96 * line.deviation) > 0.9
    assert np.mean(np.abs(followed.mean - wild) < 1.96 * followed.deviation) > 0.9


def test_p_values_have_no_floor() -> None:
    """Draws end at 5e-5; beyond, the p-value goes on falling and stays above the truth."""
    ones = np.ones((10, 1))
    found = []
    for jump in (4.0, 6.0, 9.0, 14.0, 60.0):
        days = np.where(np.arange(10) < 5, 0.0, jump)[:, None]
        found.append(float(find_change(days, ones).p_value[0]))
    assert all(later < before for before, later in itertools.pairwise(found))
    assert found[1] < 1e-15
    assert found[-1] > 0
    # One split: the p-value is that of one difference, exactly, where draws are too few.
    two = find_change(np.array([[0.0], [10.0]]), np.ones((2, 1)))
    assert two.p_value[0] == pytest.approx(2 * ndtr(-10 / math.sqrt(2)), rel=1e-9)
    # With many values, a large jump passes Holm.
    many = np.random.default_rng(5).normal(size=(12, 1200))
    many[6:, 17] += 30
    p_values = find_change(many, np.ones((12, 1200))).p_value
    assert p_values[17] * 1200 < 1e-12
    assert np.sort(p_values)[1] > 1e-5


def test_a_change_is_found_and_alarms_are_as_rare_as_said() -> None:
    rng, days, trials = np.random.default_rng(3), 30, 4000
    variance = rng.uniform(0.5, 3, (days, 1)) * np.ones((1, trials))
    still = rng.normal(size=(days, trials)) * np.sqrt(variance)
    found = find_change(still, variance)
    # 4 standard deviations of 4,000 trials, and that of the 20,000 draws of the null law.
    assert np.mean(found.p_value < 0.05) == pytest.approx(
        0.05, abs=4 * math.sqrt(0.05 * 0.95 * (1 / trials + 1 / 20_000))
    )
    moved = still[:, :200] + 3.0 * (np.arange(days) >= 12)[:, None]
    found = find_change(moved, variance[:, :200])
    assert np.mean(found.p_value < 0.01) > 0.99
    assert np.mean(np.abs(found.day - 12) <= 1) > 0.9
    assert (found.after - found.before).mean() == pytest.approx(3.0, abs=0.2)
    assert (found.statistic > 0).mean() > 0.99


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_toml(tmp_path)
    contract = home_pages()
    asked = contract.question("homepage")
    plain = asked.mechanism.without_labels()
    rng, days = np.random.default_rng(4), {}
    for number in range(21):
        day = datetime.date(2026, 3, 2) + datetime.timedelta(days=number)
        law = [0.2] * 5 if number < 10 else [0.4, 0.2, 0.2, 0.1, 0.1]
        values = rng.choice(5, 400, p=law)
        days[day.isoformat()] = plain.privatize(values, random=rumor.Seeded(number))
    write_days(tmp_path / "r.parquet", contract, asked, days)
    return tmp_path


def test_the_command(work: Path, capsys: Outputs) -> None:
    arguments = ["trend", "collection.toml", "r.parquet", "-q", "homepage"]
    assert main([*arguments, "--csv", "x.csv", "--plot", "x.svg"]) == 0
    table = capsys.readouterr().out
    assert "21 periods from 2026-03-02 to 2026-03-22; 8,400 reports" in table
    assert len(Path("x.csv").read_text().splitlines()) == 1 + 5 * 21
    assert "<svg" in Path("x.svg").read_text()
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first = told["changes"][0]
    assert first["value"] == "blank"
    assert abs((datetime.date.fromisoformat(first["from"]) - datetime.date(2026, 3, 12)).days) <= 1
    assert first["adjusted"] < 0.01
    assert first["after"] - first["before"] == pytest.approx(0.2, abs=0.07)
    assert told["changes"][1]["adjusted"] > 0.05
    assert main([*arguments, "--every", "week", "--json"]) == 0
    weeks = json.loads(capsys.readouterr().out)
    assert weeks["periods"] == ["2026-03-02", "2026-03-09", "2026-03-16"]
    assert weeks["estimates"][0]["reports"] == 2800
    for rest, sentence in (
        (["--every", "month"], "every must be one of day, week; got 'month'"),
        (["--to", "2026-03-03"], "a trend needs 3 days with reports or more; got 2"),
    ):
        assert main([*arguments, *rest]) == 2
        assert sentence in capsys.readouterr().err


def test_from_python_and_what_is_refused(tmp_path: Path) -> None:
    mechanism = rumor.Harmony(low=0, high=10, epsilon=2.0)
    days = {
        datetime.date(2026, 3, day): mechanism.privatize(
            [8.0 if day > 6 else 2.0] * 500, random=rumor.Seeded(day)
        )
        for day in range(1, 13)
    }
    found = rumor.trend(mechanism, days)
    assert found.periods[found.change[0]] == "2026-03-07"
    assert found.adjusted[0] < 1e-3
    assert "largest change" in found.table()
    assert found.picture(rumor.View(), None, None).to_dict()
    assert len(found.to_arrow()) == 12
    with pytest.raises(InputError, match="written YYYY-MM-DD; got 'today'"):
        rumor.trend(mechanism, {"today": days[datetime.date(2026, 3, 1)]})
    contract = memoised(5)
    asked = contract.question()
    path = tmp_path / "r.parquet"
    reports = {f"2026-03-0{day}": made_reports(asked, 50, day) for day in (1, 2, 3)}
    write_days(path, contract, asked, reports)
    (tmp_path / "c.json").write_bytes(contract.canonical())
    assert main(["trend", str(tmp_path / "c.json"), str(path)]) == 2
    assert main(["trend", str(tmp_path / "c.json"), str(path), "--different-people"]) == 0
