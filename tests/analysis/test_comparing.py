"""Comparing stored reports: files, groups, periods, and who may not be compared."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.analysis.compare.method import compare_reports
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.estimators.multiple_testing import holm
from rumor.kinds import KINDS, NAMES, kind_of
from rumor.mechanisms.summary import Summary
from tests.flow import home_pages, made_reports, write_days, write_toml
from tests.laws.test_every_kind import collection_of

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")
Outputs = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_toml(tmp_path)
    contract = home_pages()
    asked = contract.question("homepage")
    mechanism = asked.mechanism.without_labels()
    days = {day: made_reports(asked, 2000, seed) for seed, day in enumerate(DAYS)}
    days[DAYS[2]] = mechanism.privatize(np.zeros(2000, dtype=int), random=rumor.Seeded(9))
    write_days(tmp_path / "r.parquet", contract, asked, days, ["DE", "FR", "IT"])
    for day in DAYS:
        write_days(tmp_path / f"{day}.parquet", contract, asked, {day: days[day]})
    return tmp_path


def test_files_summaries_days_and_periods_say_the_same(work: Path, capsys: Outputs) -> None:
    contract = home_pages()
    by_day = compare_reports(contract, "r.parquet", question="homepage", by="day")
    assert [(p.first, p.second) for p in by_day.pairs] == [
        (DAYS[0], DAYS[1]),
        (DAYS[0], DAYS[2]),
        (DAYS[1], DAYS[2]),
    ]
    files = compare_reports(contract, f"{DAYS[0]}.parquet", f"{DAYS[2]}.parquet")
    np.testing.assert_array_equal(files.difference, by_day.pairs[1].difference)
    windows = [(datetime.date.fromisoformat(d), datetime.date.fromisoformat(d)) for d in DAYS]
    periods = compare_reports(contract, "r.parquet", periods=[windows[0], windows[2]])
    np.testing.assert_array_equal(files.difference, periods.difference)
    assert list(periods.groups.items()) == [(DAYS[0], 2000), (DAYS[2], 2000)]
    for day in DAYS:
        status = main(
            ["estimate", "collection.toml", f"{day}.parquet", "--save-summary", f"{day}.rumor"]
        )
        assert status == 0
    saved = compare_reports(contract, f"{DAYS[0]}.rumor", f"{DAYS[2]}.rumor")
    np.testing.assert_array_equal(files.difference, saved.difference)
    # And so does Python, from summaries that know nothing of files.
    parts = [Summary.load(f"{DAYS[i]}.rumor") for i in (0, 2)]
    plain = rumor.compare(contract.question("homepage").mechanism, *parts)
    np.testing.assert_array_equal(files.difference, plain.difference)
    capsys.readouterr()
    # Everybody changed to the first answer on the last day, and nothing before that.
    assert files.difference[0] == pytest.approx(0.8, abs=0.1)
    assert files.pairs[0].overall is not None
    assert files.pairs[0].overall.p_value < 1e-12
    assert by_day.pairs[0].overall is not None
    assert by_day.pairs[0].overall.p_value > 1e-3
    np.testing.assert_allclose(by_day.adjusted, holm(by_day.p_value))


def test_groups_in_all_pairs_or_against_one(work: Path) -> None:
    contract = home_pages()
    every = compare_reports(contract, "r.parquet", by="country")
    against = compare_reports(contract, "r.parquet", by="country", against="FR")
    assert [(p.first, p.second) for p in every.pairs] == [("DE", "FR"), ("DE", "IT"), ("FR", "IT")]
    assert [(p.first, p.second) for p in against.pairs] == [("FR", "DE"), ("FR", "IT")]
    np.testing.assert_allclose(against.pairs[0].difference, -every.pairs[0].difference)
    # Fewer rows are tested, so each is worth more.
    assert (against.adjusted[5:] <= every.adjusted[10:] + 1e-12).all()


def test_another_mechanism_may_answer_the_second(work: Path) -> None:
    one = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    two = rumor.SubsetSelection(domain=3, epsilon=4.0)
    rng = np.random.default_rng(4)
    first = one.privatize(rng.choice(3, 20_000, p=[0.6, 0.3, 0.1]), random=rumor.Seeded(1))
    second = two.privatize(rng.choice(3, 20_000, p=[0.4, 0.3, 0.3]), random=rumor.Seeded(2))
    found = rumor.compare(one, first, second, other=two)
    low, high = found.interval(0.999)
    assert ((low < [-0.2, 0, 0.2]) & (high > [-0.2, 0, 0.2])).all()
    assert found.epsilon == two.epsilon
    with pytest.raises(InputError, match="the same answers to choose from; got different ones"):
        rumor.compare(
            one, first, two.privatize([0]), other=rumor.SubsetSelection(domain=4, epsilon=4.0)
        )


def test_hashed_reports_are_compared_by_label() -> None:
    hashed = rumor.LocalHashing(domain=["a", "b", "c"], epsilon=1.0)
    reports = [hashed.privatize(["a", "b"] * 20, random=rumor.Seeded(seed)) for seed in (1, 2)]
    assert list(rumor.compare(hashed, *reports).values) == ["a", "b", "c"]


def test_tables_files_and_pictures(work: Path, capsys: Outputs) -> None:
    arguments = ["compare", "collection.toml", "r.parquet", "--by", "day", "-q", "homepage"]
    assert main([*arguments, "--plot", "x.svg", "--csv", "x.csv", "--top", "2"]) == 0
    table = capsys.readouterr().out
    assert "2026-03-03 (2,000 reports) less 2026-03-01 (2,000 reports)" in table
    assert "3 less significant values not shown" in table
    assert "on average at least 95% of those shown contain the true difference" in table
    assert "<svg" in Path("x.svg").read_text()
    assert len(Path("x.csv").read_text().splitlines()) == 1 + 3 * 2
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["estimates"]) == 15
    assert told["tests"][1]["p_value"] < 1e-12
    found = compare_reports(home_pages(), "r.parquet", by="day")
    assert found.to_arrow().column_names == list(told["estimates"][0])
    # All at once is wider than one by one, and a few that came first are in between.
    one, every = found.interval(), found.interval(simultaneous=True)
    assert (every[0] < one[0]).all()
    some = found.columns(rows=2, order="estimate")
    first = int(np.argsort(found.pairs[0].p_value)[0])
    assert every[0][first] < some["low"][0] < one[0][first]


def memoised(reports: int, epsilon: bool = False) -> Collection:
    mechanism = {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}
    asked: dict[str, Any] = {"id": "asked", "kind": "choice", "text": "?", "labels": ["a", "b"]}
    asked |= {"epsilon": 1.0} if epsilon else {"mechanism": mechanism}
    asked["reports_per_person"] = reports
    wish = {"name": "n", "series": "s", "contact": "c@d.example", "questions": [asked]}
    return Collection.resolve(wish)


def test_memoised_answers_of_the_same_people_are_refused(tmp_path: Path) -> None:
    contract = memoised(5)
    asked = contract.question()
    days = {day: made_reports(asked, 300, seed) for seed, day in enumerate(DAYS[:2])}
    both, second = tmp_path / "both.parquet", tmp_path / "second.parquet"
    write_days(both, contract, asked, days, ["DE", "FR"])
    write_days(second, contract, asked, {DAYS[1]: days[DAYS[1]]})
    window = (datetime.date(2026, 3, 1), datetime.date(2026, 3, 1))
    every: list[dict[str, Any]] = [
        {"by": "day"},
        {"periods": [window, (datetime.date(2026, 3, 2), None)]},
        {"second": second},
    ]
    for ways in every:
        with pytest.raises(InputError, match="memoised answers of the same person share their"):
            compare_reports(contract, both, **ways)
        said = compare_reports(contract, both, different_people=True, **ways)
        assert said.notes == ()
    groups = compare_reports(contract, both, by="country")
    assert "choose one day" in groups.notes[0]
    # Fresh noise is independent though people are not: that is said, and once a person is nothing.
    for contract, told in ((memoised(5, epsilon=True), 1), (memoised(1), 0)):
        asked = contract.question()
        reports = {day: made_reports(asked, 300, seed) for seed, day in enumerate(DAYS[:2])}
        path = tmp_path / f"{told}.parquet"
        write_days(path, contract, asked, reports)
        assert len(compare_reports(contract, path, by="day").notes) == told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["r.parquet"],
            "of two files, of groups (--by) or of periods (--period, twice or more); got 0",
        ),
        (["r.parquet", "2026-03-01.parquet", "--by", "day"], "got 2 of these"),
        (["r.parquet", "./r.parquet"], "groups must be different files; got 'r.parquet' twice"),
        (["r.parquet", "--by", "country", "--against", "XX"], "must be one of them; got 'XX'"),
        (["r.parquet", "--period", ".."], "days written FIRST..LAST; got '..'"),
        (["r.parquet", "--period", "2026-03-01"], "needs two groups or more"),
        (
            ["r.parquet", "--by", "day", "--other", "collection.toml"],
            "another collection needs a second file",
        ),
        (["2026-03-01.parquet", "--by", "country"], "groups must be a public column"),
        (["r.parquet", "--by", "day", "--plot", "x.pdf"], "must end in .html, .png, .svg"),
        (["r.parquet", "--by", "day", "--csv", "r.parquet"], "must not replace what is read"),
    ],
)
def test_what_is_refused(work: Path, capsys: Outputs, arguments: list[str], sentence: str) -> None:
    assert main(["compare", "collection.toml", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert sentence in said.err


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_is_compared_or_says_that_it_is_not(name: str) -> None:
    kind = KINDS[name]
    mechanism = collection_of(kind).question("asked").mechanism
    typed = [kind.parse_answer(mechanism, text) for text in kind.example().typed_answers] * 60
    data = [
        [mechanism.report(one, random=rumor.Seeded(seed + i)) for i, one in enumerate(typed)]
        for seed in (1, 10_000)
    ]
    options: dict[str, Any] = {}
    if kind.example().words is not None:
        options["candidates"] = kind.example().words
    if name == "text":
        options["decoys"] = 2000  # not all of them: this is no test of what is found
    if not kind_of(mechanism)._has("compare"):
        with pytest.raises(InputError, match=r"questions of kind .* cannot be compared"):
            rumor.compare(mechanism, *data, **options)
        assert name not in ("choice", "ordered", "text", "words", "number", "keyvalue")
        return
    found = rumor.compare(mechanism, *data, **options)
    assert found.table()
    assert len(found.values) == len(found.p_value)
    # The same people, other noise: nothing differs.
    assert found.adjusted.min() > 0.01
    assert found.picture(rumor.View(), None, None).to_dict()


def test_open_words_are_compared_by_name_alone() -> None:
    kind = KINDS["words"]
    mechanism = collection_of(kind).question("asked").mechanism
    reports = [mechanism.report("cat", random=rumor.Seeded(i)) for i in range(20)]
    with pytest.raises(InputError, match=r"words named in advance \(--candidates\)"):
        rumor.compare(mechanism, reports, reports)
