"""Regression of stored reports: formulas, mechanisms, tables, and what is refused."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rumor
from rumor import SurveyDesign
from rumor.analysis.regress.formula import column_names, design
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.errors import InputError
from rumor.kinds.choice import regress as chances
from rumor.mechanisms import BY_NAME, FrequencyOracle

Outputs = pytest.CaptureFixture[str]
COLUMNS = {
    "age": np.array([20.0, 30, 40, 50]),
    "country": np.array(["DE", "FR", "DE", "IT"]),
    "old": np.array([False, False, True, True]),
}


def crowd(n: int, seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    age, country = rng.integers(2, 7, n), rng.choice(["DE", "FR"], n)
    odds = np.exp(-2 + 0.4 * age + 0.5 * (country == "FR"))
    return {"age": age, "country": country}, (rng.random(n) < odds / (1 + odds)).astype(int)


def test_formulas() -> None:
    found = design("y ~ age + country + old", COLUMNS)
    assert found.names == ["Intercept", "age", "country[T.FR]", "country[T.IT]", "old[T.True]"]
    assert {term: list(places) for term, places in found.terms.items()} == {
        "age": [1],
        "country": [2, 3],
        "old": [4],
    }
    np.testing.assert_array_equal(found.matrix[:, 3], [0, 0, 0, 1])
    assert design("1 + C(age)", COLUMNS).names[1] == "C(age)[T.30.0]"
    assert column_names("y ~ age + age2", ["age", "country"]) == ["age"]
    for formula, sentence in (
        ("y ~ agee", "got 'agee' \\(did you mean 'age'\\?\\)"),
        ("~", "is written ANSWER ~ COLUMN"),
        ("y ~ 1", "must name a column at least"),
    ):
        with pytest.raises(InputError, match=sentence):
            design(formula, COLUMNS)


def test_columns_that_say_nothing_new_are_left_out_by_name() -> None:
    columns = {
        **COLUMNS,
        "one": np.array(["DE", "DE", "DE", "DE"]),
        "seven": np.full(4, 7.0),
        "months": 12 * COLUMNS["age"],
        "sum": COLUMNS["age"] / 3 + COLUMNS["old"],
    }
    found, notes = design("age + one + seven + months + old + sum", columns).independent()
    assert found.names == ["Intercept", "age", "old[T.True]"]
    assert {term: list(places) for term, places in found.terms.items()} == {"age": [1], "old": [2]}
    assert notes == [
        "column 'one' is the same for everyone: left out.",
        "column 'seven' is the same for everyone: left out.",
        "column 'months' follows from those before it: left out.",
        "column 'sum' follows from those before it: left out.",
    ]
    # The first of two equal columns stays, whatever their units.
    assert design("months + age", columns).independent()[0].names == ["Intercept", "months"]
    with pytest.raises(InputError, match="needs a column that varies; got one, seven"):
        design("one + seven", columns).independent()


def test_rare_answers_are_folded_and_said() -> None:
    rng = np.random.default_rng(8)
    labels = ["no", "yes", "no answer"]
    mechanism = rumor.RandomizedResponse(domain=labels, epsilon=1.0)
    columns = {"age": rng.integers(2, 7, 2500)}
    answers = rng.choice(labels, 2500, p=[0.6, 0.395, 0.005])
    reports = mechanism.privatize(answers, random=rumor.Seeded(5))
    found = rumor.regress(mechanism, reports, columns)
    assert found.rare == ("no answer",)
    table = " ".join(found.table().split())
    assert "'no answer' is too rare: its coefficients are mostly the prior's" in table
    assert "no answer coefficient" not in table
    assert "yes coefficient" in table
    told = found.to_dict()
    assert told["rare"] == ["no answer"]
    assert {row["value"] for row in told["estimates"]} == {"yes", "no answer"}  # type: ignore[attr-defined]
    back = rumor.regress(mechanism, reports, columns, reference="no answer")
    assert "'no answer' is too rare for a reference" in back.table()


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_few_reports_are_no_reason_to_give_up(epsilon: float) -> None:
    """500 people: without a penalty more than one draw in four was refused at epsilon 0.5."""
    mechanism = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=epsilon)
    for seed in range(12):
        columns, answers = crowd(500, seed)
        reports = mechanism.privatize(np.array(["no", "yes"])[answers], random=rumor.Seeded(seed))
        found = rumor.regress(mechanism, reports, columns)
        low, high = found.interval()
        assert np.isfinite([low, high, found.stderr]).all()
        assert (low < found.coefficients).all()
        assert (found.coefficients < high).all()


def test_many_coefficients_have_walds_intervals_and_a_note() -> None:
    mechanism = rumor.RandomizedResponse(domain=8, epsilon=3.0)
    rng = np.random.default_rng(3)
    columns = {f"x{k}": rng.normal(size=400) for k in range(8)}
    reports = mechanism.privatize(rng.integers(0, 8, 400), random=rumor.Seeded(2))
    found = rumor.regress(mechanism, reports, columns)
    assert "63 coefficients are too many for profiles" in " ".join(found.table().split())
    wald = found.coefficients + 1.959964 * found.stderr
    np.testing.assert_allclose(found.interval()[1], wald, atol=1e-5)
    np.testing.assert_allclose(found.roots, found.coefficients / found.stderr)


def test_tiny_units_are_shown_by_the_standard_deviation() -> None:
    columns, answers = crowd(3000)
    mechanism = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=3.0)
    reports = mechanism.privatize(np.array(["no", "yes"])[answers], random=rumor.Seeded(2))
    cents = {"age": columns["age"] * 1e7}
    found = rumor.regress(mechanism, reports, cents)
    assert "age (per 1.4" in found.table()
    assert "0.0000" not in found.table()
    assert found["yes", "age"].coefficient < 1e-6


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("age * old", ["Intercept", "age", "old", "age:old"]),
        ("y ~ age + I(age**2)", ["Intercept", "age", "I(age ** 2)"]),
        ("log(age) - 1", ["log(age)"]),
        (
            "y ~ C(country):age - 1",
            ["C(country)[DE]:age", "C(country)[FR]:age", "C(country)[IT]:age"],
        ),
    ],
)
def test_richer_formulas_are_read_by_formulaic(formula: str, names: list[str]) -> None:
    found = design(formula, COLUMNS)
    assert list(found.names) == names
    assert found.matrix.shape == (4, len(names))
    assert sorted(i for places in found.terms.values() for i in places) == [
        i for i, name in enumerate(names) if name != "Intercept"
    ]


def test_without_formulaic_formulas_are_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(InputError, match="unless the package formulaic is installed"):
        design("age * country", COLUMNS)


@pytest.mark.parametrize(
    "formula", ["agee * country", "age **", "age + {1/0}", "np.nothing(age) * age"]
)
def test_what_formulaic_cannot_read_is_one_sentence(formula: str) -> None:
    with pytest.raises(InputError, match="a formula must be one that formulaic reads"):
        design(formula, COLUMNS)


@pytest.mark.parametrize("formula", ["age + country", "age * country"])
@pytest.mark.parametrize(("name", "hole"), [("age", np.nan), ("country", None)])
def test_nobody_is_left_out_in_silence(formula: str, name: str, hole: object) -> None:
    columns = {
        **COLUMNS,
        name: np.array([*COLUMNS[name][:2], hole, COLUMNS[name][3]], dtype=object),
    }
    if name == "age":
        columns[name] = columns[name].astype(np.float64)
    with pytest.raises(InputError, match=rf"{name} has none in row 3 \(1 in all\)"):
        design(formula, columns)
    with pytest.raises(InputError, match="must be finite numbers"):
        design("log(age - 20)", COLUMNS)


@pytest.mark.parametrize("name", ["randomized-response", "unary", "hadamard", "local-hashing"])
def test_every_mechanism_of_a_choice_finds_the_law(name: str) -> None:
    mechanism = BY_NAME[name](domain=["no", "yes"], epsilon=3.0)  # type: ignore[call-arg]
    assert isinstance(mechanism, FrequencyOracle)
    columns, answers = crowd(8000)
    reports = mechanism.privatize(np.array(["no", "yes"])[answers], random=rumor.Seeded(3))
    found = rumor.regress(mechanism, reports, columns, "age + country")
    assert found.terms == ["Intercept", "age", "country[T.FR]"]
    assert (found.values, found.reference) == (["yes"], "no")
    # Four standard errors: 12 such comparisons are all met but once in a thousand seeds.
    assert (np.abs(found.coefficients[:, 0] - [-2, 0.4, 0.5]) < 4 * found.stderr[:, 0]).all()
    assert found.tests[0].p_value < 1e-6
    assert found.overall.freedom == 2
    back = rumor.regress(mechanism, reports, columns, reference="yes")
    np.testing.assert_allclose(back.coefficients, -found.coefficients, rtol=1e-4)


def test_unlisted_outputs_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's steps on what reports support, and Fisher's on the channel, end in one place."""
    mechanism = rumor.UnaryEncoding(domain=3, epsilon=2.0)
    columns, answers = crowd(3000)
    reports = mechanism.privatize(answers + (columns["age"] > 5), random=rumor.Seeded(3))
    listed = rumor.regress(mechanism, reports, columns)
    monkeypatch.setattr(chances, "_LISTED", 0)
    found = rumor.regress(mechanism, reports, columns)
    np.testing.assert_allclose(found.coefficients, listed.coefficients, rtol=1e-4, atol=1e-5)
    assert (listed.whole_likelihood, found.whole_likelihood) == (True, False)
    both: list[Any] = [listed, found]
    ratio = [one.log_likelihood - one.null_log_likelihood for one in both]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-6)
    # Expected and observed information differ; the likelihood, and what it falls by, do not.
    for one, other in zip(found.interval(), listed.interval(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    asked = {"id": "asked", "kind": "choice", "text": "Do you?", "labels": ["no", "yes"]}
    wish = {"name": "n", "series": "s", "contact": "c@d.example"}
    contract = Collection.resolve({**wish, "questions": [{**asked, "epsilon": 2.0}]})
    Path("c.json").write_bytes(contract.canonical())
    question = contract.question()
    columns, answers = crowd(3000)
    ages = [None if i < 5 else str(a) for i, a in enumerate(columns["age"])]
    schema = pa.schema([("age", pa.string()), ("country", pa.string())])
    with write_reports(
        "r.parquet", contract, question, strata=schema, random=rumor.Seeded(1)
    ) as file:
        for day, part in ((1, slice(0, 2000)), (2, slice(2000, 3000))):
            reports = question.mechanism.without_labels().privatize(
                answers[part], random=rumor.Seeded(day)
            )
            kept = {"age": pa.array(ages[part]), "country": pa.array(columns["country"][part])}
            file.write(reports, datetime.date(2026, 3, day), kept)
    return tmp_path


def test_the_command(work: Path, capsys: Outputs) -> None:
    arguments = ["regress", "c.json", "r.parquet", "asked ~ age + country"]
    assert main([*arguments, "--plot", "x.svg", "--csv", "x.csv"]) == 0
    table = capsys.readouterr().out
    assert "asked: Do you?\nasked ~ age + country\n\nyes " in table
    assert "log-odds of the true answers against 'no'" in table
    assert "5 respondents with a missing column were left out" in table
    assert "<svg" in Path("x.svg").read_text()
    assert Path("x.csv").read_text().startswith("value,term,coefficient,stderr,z,p_value,low,high")
    assert main([*arguments, "--json", "--to", "2026-03-01", "--level", "0.5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["reports"], told["left_out"]) == (1995, 5)
    age = told["estimates"][1]
    # Numbers in a table of text are numbers; half of the normal law is within .6745.
    assert age["term"] == "age"
    assert age["high"] - age["coefficient"] == pytest.approx(0.67449 * age["stderr"], rel=0.02)
    assert [test["term"] for test in told["tests"]] == ["age", "country"]
    assert main(["estimate", "c.json", "r.parquet", "--save-summary", "s.rumor"]) == 0
    capsys.readouterr()
    for rest, sentence in (
        (["r.parquet", "asked ~ wealth"], "public columns of the reports (age, country)"),
        (["s.rumor", "asked ~ age"], "'s.rumor' is a summary"),
        (["r.parquet", "asked ~ age", "--reference", "maybe"], "must be one of the answers"),
        (["r.parquet", "~"], "is written ANSWER ~ COLUMN"),
        (["r.parquet", "y ~ age", "--from", "2027-01-01"], "at least one report; got none"),
    ):
        assert main(["regress", "c.json", *rest]) == 2
        said = capsys.readouterr()
        assert said.err.count("\n") == 1
        assert sentence in said.err


def test_what_is_refused() -> None:
    mechanism = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    reports = mechanism.privatize([0, 1, 0], random=rumor.Seeded(1))
    with pytest.raises(InputError, match="a row for each of the 3 reports; 'age' has 2"):
        rumor.regress(mechanism, reports, {"age": [1, 2]})
    with pytest.raises(InputError, match="columns must be a table or a mapping"):
        rumor.regress(mechanism, reports, [1, 2, 3])
    with pytest.raises(InputError, match="one respondent without missing columns; got none"):
        rumor.regress(mechanism, reports, {"age": [None, None, None]})
    words = BY_NAME["rappor"].examples()[0]
    with pytest.raises(InputError, match="a regression explains a choice, a set, a number or"):
        rumor.regress(words, [b""], {"age": [1]})


def test_a_weight_of_two_counts_a_person_twice() -> None:
    mechanism = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=2.0)
    columns, answers = crowd(2000)
    reports = mechanism.privatize(np.array(["no", "yes"])[answers], random=rumor.Seeded(4))
    twice = np.arange(2000) % 3 == 0
    design = SurveyDesign(np.where(twice, 2.0, 1.0))
    found = rumor.regress(mechanism, reports, columns, design=design)
    again = np.concatenate([np.arange(2000), np.flatnonzero(twice)])
    known = rumor.regress(mechanism, reports[again], {n: c[again] for n, c in columns.items()})
    # Weights have a mean of 1, so that the penalty counts for a little more.
    np.testing.assert_allclose(found.coefficients, known.coefficients, rtol=0.02, atol=0.01)
    # Repeated people are no further ones.
    assert (found.stderr > known.stderr).all()


def test_equal_weights_have_the_errors_of_the_model() -> None:
    mechanism = rumor.RandomizedResponse(domain=3, epsilon=3.0)
    columns, answers = crowd(6000)
    reports = mechanism.privatize(answers + (columns["age"] > 4), random=rumor.Seeded(4))
    plain = rumor.regress(mechanism, reports, columns)
    found = rumor.regress(mechanism, reports, columns, design=SurveyDesign())
    np.testing.assert_allclose(found.coefficients, plain.coefficients, rtol=1e-9)
    np.testing.assert_allclose(found.stderr, plain.stderr, rtol=0.15)
    for one, other in zip(
        [*found.tests, found.overall], [*plain.tests, plain.overall], strict=True
    ):
        assert (one.term, one.freedom) == (other.term, other.freedom)
        # Wald's statistic falls behind the likelihood's where an effect is very large.
        assert (one.p_value < 1e-3) == (other.p_value < 1e-3)


def test_people_of_a_cluster_are_alike() -> None:
    """Reports that are repeated in clusters of five have the errors of a fifth of them."""
    mechanism = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=2.0)
    columns, answers = crowd(1000)
    reports = mechanism.privatize(np.array(["no", "yes"])[answers], random=rumor.Seeded(4))
    alone = rumor.regress(mechanism, reports, columns, design=SurveyDesign())
    five = np.repeat(np.arange(1000), 5)
    crowded = {name: column[five] for name, column in columns.items()}
    found = rumor.regress(mechanism, reports[five], crowded, design=SurveyDesign(clusters=five))
    np.testing.assert_allclose(found.stderr, alone.stderr, rtol=0.1)
    few = rumor.regress(mechanism, reports, columns, design=SurveyDesign(clusters=five[:1000]))
    assert "clusters are few" not in few.table()
    some = SurveyDesign(clusters=np.arange(1000) % 20)
    few = rumor.regress(mechanism, reports, columns, design=some)
    assert "20 clusters are few for a regression" in few.table()


def test_the_command_takes_a_survey_design(work: Path, capsys: Outputs) -> None:
    arguments = ["regress", "c.json", "r.parquet", "asked ~ age", "--json"]
    assert main([*arguments, "--strata", "country"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "weighted likelihood"
    assert any(note.startswith("design effect of the weights 1:") for note in told["notes"])
    assert main([*arguments, "--cluster", "village"]) == 2
    assert "--cluster must be a public column" in capsys.readouterr().err


def test_the_most_chances_that_are_written_out() -> None:
    """2^26 reports times values are taken, though not by this test: one report more is not."""
    oracle = rumor.UnaryEncoding(domain=1 << 13, epsilon=1.0)
    one = oracle.privatize([0], random=rumor.Seeded(1))
    many = np.broadcast_to(one, ((1 << 13) + 1, one.shape[1]))
    with pytest.raises(InputError, match="at most 67,108,864 reports times values; got 8,193 rep"):
        chances.report_likelihoods(oracle, many)


def test_a_work_limit_is_met_at_its_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = rumor.UnaryEncoding(domain=6, epsilon=1.0)
    reports = oracle.privatize([0, 1, 2, 3, 4, 5, 0], random=rumor.Seeded(1))
    monkeypatch.setattr(chances, "_LISTED", 0)
    wanted, _, _ = chances.report_likelihoods(oracle, reports)
    monkeypatch.setattr(chances, "_MAX_CELLS", 42)
    np.testing.assert_array_equal(chances.report_likelihoods(oracle, reports)[0], wanted)
    monkeypatch.setattr(chances, "_MAX_CELLS", 41)
    with pytest.raises(InputError, match="at most 41 reports times values; got 7 reports of 6"):
        chances.report_likelihoods(oracle, reports)
