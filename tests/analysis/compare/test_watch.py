"""A watch: changes that it finds and dates, what it says, and what it refuses."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.kinds import KINDS, NAMES
from rumor.results.sequences import ONE_LOOK, AnyLook
from rumor.results.view import View
from tests.analysis.test_comparing import memoised
from tests.flow import home_pages, made_reports, write_days, write_toml
from tests.results.made import mechanism_of, options_of, reports_of

Outputs = pytest.CaptureFixture[str]
MONDAY = datetime.date(2026, 3, 2)
STILL, MOVED = [0.3, 0.3, 0.2, 0.1, 0.1], [0.2, 0.4, 0.2, 0.1, 0.1]


def weeks_of(
    laws: Mapping[int, list[float]], weeks: int, people: int = 2000, epsilon: float = 2.0
) -> tuple[rumor.SubsetSelection, dict[str, Reports]]:
    """Reports of each Monday, by the law that is the last to begin."""
    mechanism, rng, found = rumor.SubsetSelection(domain=5, epsilon=epsilon), None, {}
    rng = np.random.default_rng(1)
    for week in range(weeks):
        law = laws[max(start for start in laws if start <= week)]
        day = (MONDAY + datetime.timedelta(weeks=week)).isoformat()
        values = rng.choice(5, people, p=law)
        found[day] = mechanism.privatize(values, random=rumor.Seeded(week))
    return mechanism, found


def test_a_change_is_found_dated_and_measured() -> None:
    mechanism, days = weeks_of({0: STILL, 12: MOVED}, 20)
    found = rumor.watch(mechanism, days)
    assert [change.index for change in found.changes] == [0, 1]
    for change, size in zip(found.changes, (-0.1, 0.1), strict=True):
        assert change.began == 12
        assert change.alarm >= 12
        low, high = change.interval(0.95)
        assert low < size < high
        assert (low > 0) == (high > 0)
        assert change.difference == pytest.approx(size, abs=4 * change.stderr)
        wider = change.interval(0.99)
        assert wider[0] < low < high < wider[1]
        assert 12 in change.after_period[change.possible(0.95)]
    assert (found.adjusted[2:] > 0.05).all()
    np.testing.assert_allclose(found.p_value, np.minimum(1, 1 / found.evidence))
    # An alarm stays: it was there with the reports so far, and is when others follow.
    first = found.changes[1].alarm
    early = rumor.watch(mechanism, dict(list(days.items())[: first + 1]))
    assert early.changes[-1].alarm == first
    before = rumor.watch(mechanism, dict(list(days.items())[:first]))
    assert 1 not in [change.index for change in before.changes]
    # What comes back later has been an alarm, with its size up to then.
    back = {0: STILL, 12: [0.2, 0.4, 0.2, 0.1, 0.1], 16: STILL}
    again = rumor.watch(*weeks_of(back, 45))
    assert {change.index for change in again.changes} == {0, 1}
    assert all(change.began == 12 and change.look <= 17 for change in again.changes)


def test_what_it_says(tmp_path: Path) -> None:
    mechanism, days = weeks_of({0: STILL, 8: MOVED}, 14)
    found = rumor.watch(mechanism, days, horizon=26, false_alarms=0.1)
    text = found.table()
    assert "Checked every week since 2026-03-02: 2 of 5 values changed." in text
    promise = "If nothing changes, an alarm comes in at most 10% of stretches of 26 weeks"
    assert promise in text
    assert text.count("none") == 3
    assert "14 weeks from 2026-03-02 to 2026-06-01; 28,000 reports, epsilon" in text
    told = json.loads(json.dumps(found.to_dict()))
    assert told["looks"] == "any"
    assert told["watch"] == {
        "every": "week",
        "since": "2026-03-02",
        "horizon": 26,
        "false_alarms": 0.1,
        "alarms": 2,
        "tested": 5,
        "finding": found.finding,
        "promise": found.promise,
    }
    row, change = told["estimates"][1], found.changes[1]
    assert (row["alarm"], row["from"]) == (found.periods[change.alarm], "2026-04-27")
    assert row["earliest"] <= row["from"] <= row["latest"]
    assert row["difference"] == pytest.approx(row["after"] - row["before"])
    assert [row["low"], row["high"]] == pytest.approx(change.interval(0.95))
    assert told["estimates"][2]["alarm"] is None
    read = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [line["alarm"] != "" for line in read] == [True, True, False, False, False]
    assert found[("share", 1)]["from"] == "2026-04-27"
    ranked = found.to_dict(View(order="estimate", rows=2))["estimates"]
    assert {row["value"] for row in ranked} == {0, 1}  # type: ignore[attr-defined]
    assert "4 less significant values not shown" in found.table(rows=1)
    spec = found.plot(tmp_path / "w.svg").to_dict(validate=False)
    rows = [row for data in spec["datasets"].values() for row in data]
    assert {(row["panel"], row["changed"]) for row in rows if row["changed"]} == {
        ("share: 0", "2026-04-27"),
        ("share: 1", "2026-04-27"),
    }
    assert len(rows) == 5 * 14


def test_nothing_changes() -> None:
    found = rumor.watch(*weeks_of({0: STILL}, 9))
    assert found.changes == ()
    assert found.finding == "Checked every week since 2026-03-02: no change so far."
    assert "alarm  " not in found.table()
    assert "valid at any look" not in found.table()
    one = rumor.watch(*weeks_of({0: STILL}, 1))
    assert one.finding == "Not tested: a change needs reports of two weeks or more; got 1."
    assert one.to_dict()["watch"]["tested"] == 0  # type: ignore[index]
    assert "p-value" not in one.table()
    assert "1 week; 2,000 reports" in one.table()


def test_a_watch_begins_anew_after_its_horizon() -> None:
    mechanism, days = weeks_of({0: STILL, 6: MOVED}, 16)
    found = rumor.watch(mechanism, days, horizon=12)
    assert found.periods[0] == "2026-05-25"
    assert found.restarts == 12
    assert found.changes == ()
    assert "a watch begins anew after 12 weeks: 12 earlier ones are left out" in found.table()
    # Weeks without reports count towards the horizon.
    gone = {day: some for day, some in days.items() if not "2026-03-23" <= day <= "2026-04-20"}
    assert rumor.watch(mechanism, gone, horizon=12).periods == found.periods


def test_late_reports_and_order_do_not_matter() -> None:
    """A watch is of the counts as they stand: late reports make the counts they would have made."""
    mechanism, days = weeks_of({0: STILL, 5: MOVED}, 9)
    in_time = rumor.watch(mechanism, days)
    late = {}
    for day, reports in reversed(days.items()):
        monday = datetime.date.fromisoformat(day)
        late[monday + datetime.timedelta(days=4)] = reports[1200:]
        late[monday] = reports[:1200]
    found = rumor.watch(mechanism, late)
    assert found.to_dict() == in_time.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_watched(name: str) -> None:
    kind, laws = KINDS[name], ((4, 3, 2, 1), (1, 2, 3, 4))
    days = {
        MONDAY + datetime.timedelta(days=k): reports_of(name, laws[k >= 3], k) for k in range(6)
    }
    found = rumor.watch(mechanism_of(kind), days, every="day", false_alarms=0.5, **options_of(kind))
    assert len(found.values) == len(found.p_value) == len(found.columns()["value"])
    assert np.isfinite(found.evidence).all()
    assert (found.p_value > 0).all()
    json.dumps(found.to_dict())
    assert found.promise in found.table()
    for change in found.changes:
        low, high = change.interval()
        assert low <= change.difference <= high


def test_means_of_few_reports() -> None:
    """Reports that are all alike have no variance to speak of, and raise no alarm."""
    mechanism = rumor.Harmony(low=0, high=10, epsilon=2.0)
    for people in (1, 3, 20):
        days = {
            MONDAY + datetime.timedelta(days=k): mechanism.privatize(
                [5.0] * people, random=rumor.Seeded(k)
            )
            for k in range(30)
        }
        found = rumor.watch(mechanism, days, every="day")
        assert found.changes == ()
        assert np.isfinite(found.evidence).all()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_toml(tmp_path)
    contract = home_pages()
    asked = contract.question("homepage")
    plain = asked.mechanism.without_labels()
    rng, days = np.random.default_rng(4), {}
    for number in range(21):
        day = MONDAY + datetime.timedelta(days=number)
        law = [0.2] * 5 if number < 10 else [0.4, 0.2, 0.2, 0.1, 0.1]
        values = rng.choice(5, 400, p=law)
        days[day.isoformat()] = plain.privatize(values, random=rumor.Seeded(number))
    write_days(tmp_path / "r.parquet", contract, asked, days)
    return tmp_path


def test_the_command(work: Path, capsys: Outputs) -> None:
    arguments = ["trend", "collection.toml", "r.parquet", "-q", "homepage", "--watch"]
    assert main([*arguments, "--every", "day", "--csv", "x.csv", "--plot", "x.svg"]) == 0
    table = capsys.readouterr().out
    assert "Checked every day since 2026-03-02: " in table
    assert "of stretches of 52 days" in table
    assert len(Path("x.csv").read_text().splitlines()) == 1 + 5
    assert "<svg" in Path("x.svg").read_text()
    assert main([*arguments, "--every", "day", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first = told["estimates"][0]
    assert first["value"] == "blank"
    assert abs((datetime.date.fromisoformat(first["from"]) - datetime.date(2026, 3, 12)).days) <= 1
    assert first["low"] < 0.2 < first["high"]
    assert main([*arguments, "--horizon", "26", "--false-alarms", "0.01", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["watch"]
    assert (told["every"], told["horizon"], told["false_alarms"]) == ("week", 26, 0.01)
    assert main([*arguments, "--to", "2026-03-03"]) == 0
    assert "Not tested: a change needs reports of two weeks or more; got 1." in (
        capsys.readouterr().out
    )
    without = arguments[:-1]
    for line, sentence in (
        ([*arguments, "--false-alarms", "1"], "above 0 and below 1; got 1.0"),
        ([*arguments, "--horizon", "1"], "must be a whole number from 2 on; got '1'"),
        ([*arguments, "--horizon", "99999"], "from 2 to 10,000; got 99,999"),
        ([*arguments, "--every", "month"], "every must be one of day, week; got 'month'"),
        ([*arguments, "--from", "2027-03-03"], "needs at least one report; got none"),
        ([*without, "--horizon", "9"], "need --watch; got --horizon alone"),
        ([*without, "--false-alarms", "0.1"], "need --watch; got --false-alarms alone"),
    ):
        assert main(line) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
    # One look says so.
    assert main(without) == 0
    assert "p-values are valid for one look at the reports" in capsys.readouterr().out


def test_days_must_be_of_different_people(tmp_path: Path) -> None:
    contract = memoised(5)
    asked = contract.question()
    path = tmp_path / "r.parquet"
    reports = {f"2026-03-0{day}": made_reports(asked, 50, day) for day in (1, 2, 3)}
    write_days(path, contract, asked, reports)
    (tmp_path / "c.json").write_bytes(contract.canonical())
    line = ["trend", str(tmp_path / "c.json"), str(path), "--watch"]
    assert main(line) == 2
    assert main([*line, "--different-people"]) == 0
    with pytest.raises(InputError, match="a watch needs reports; got none"):
        rumor.watch(asked.mechanism, {})


def test_a_comparison_is_valid_at_any_look() -> None:
    """Looks while two groups grow: the p-values of one look are small at some of them too often."""
    rng, people = np.random.default_rng(8), np.arange(50, 2050, 50)
    steps = rng.normal(size=(people.size, 1000)) * np.sqrt(50)
    z = np.cumsum(steps, axis=0) / np.sqrt(people)[:, None]
    one = 2 * special.ndtr(-np.abs(z))
    any_ = np.array(
        [AnyLook(int(n), 1000).p_values(row) for n, row in zip(people, one, strict=True)]
    )
    assert (one <= 0.05).any(axis=0).mean() > 0.25
    assert (any_ <= 0.05).any(axis=0).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)
    # The p-value is the tail at which the interval ends at no difference.
    look = AnyLook(700, 1000)
    for p_value in (0.01, 1e-6):
        (found,) = look.p_values(np.array([p_value]))
        assert look.quantile(found / 2) == pytest.approx(-special.ndtri(p_value / 2))
    np.testing.assert_array_equal(ONE_LOOK.p_values(one), one)


def test_a_watched_comparison() -> None:
    mechanism = rumor.SubsetSelection(domain=5, epsilon=2.0)
    rng = np.random.default_rng(2)
    groups = {
        name: mechanism.privatize(rng.choice(5, 3000, p=law), random=rumor.Seeded(seed))
        for seed, (name, law) in enumerate({"a": STILL, "b": MOVED}.items())
    }
    found = rumor.compare(mechanism, groups)
    one, every = found.to_dict(), found.to_dict(looks="any", users=6000)
    assert (one["looks"], every["looks"]) == ("one", "any")
    rows = zip(one["estimates"], every["estimates"], strict=True)  # type: ignore[call-overload]
    for now, ever in rows:
        assert ever["difference"] == now["difference"]
        assert ever["p_value"] > now["p_value"]
        assert 1.4 < (ever["high"] - ever["low"]) / (now["high"] - now["low"]) < 1.7
    assert [ever["adjusted"] < 0.05 for ever in every["estimates"]] == [True, True, *[False] * 3]  # type: ignore[attr-defined]
    assert every["tests"] == [{"first": "a", "second": "b", "test": None}]
    assert "omnibus test" in found.table()
    text = found.table(looks="any")
    assert "omnibus test" not in text
    assert "intervals and p-values are valid at any look" in text
    assert "intervals and p-values are valid for one look" in found.table()
    # A small group beside a large one tells as much as two small ones.
    pair = found.pairs[0]
    unlike = dataclasses.replace(found, groups={"a": 10**9, "b": 3000})
    view = View(looks="any")
    assert unlike._pair_look(pair, view) == AnyLook(12_000)
    assert found._pair_look(pair, view) == AnyLook(6000)
    people = rumor.compare(mechanism, groups, of="people")
    with pytest.raises(InputError, match="valid for one look"):
        people.table(looks="any")


def test_the_command_of_a_watched_comparison(work: Path, capsys: Outputs) -> None:
    days = ["--period", "2026-03-02..2026-03-11", "--period", "2026-03-12.."]
    line = ["compare", "collection.toml", "r.parquet", "-q", "homepage", *days]
    assert main([*line, "--watch", "--users", "8000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["looks"] == "any"
    assert told["estimates"][0]["adjusted"] < 0.001
    assert main([*line, "--watch"]) == 0
    assert "valid at any look" in capsys.readouterr().out
    for more, sentence in (
        (["--users", "8000"], "--users is for --watch; got it for one look"),
        (["--watch", "--of", "people"], 'of the "population" only'),
    ):
        assert main([*line, *more]) == 2
        assert sentence in capsys.readouterr().err
