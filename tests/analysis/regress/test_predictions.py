"""Predictions and marginal effects: closed forms, derivatives, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

import rumor
from rumor import SurveyDesign
from rumor.analysis.regress.fit import expect_shares
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.core.types import Vector

Outputs = pytest.CaptureFixture[str]
YES_NO = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=2.0)


def two_groups(people: int = 100_000) -> tuple[dict[str, Any], np.ndarray]:
    """Groups of equal size, of which 30 and 60 in a hundred say yes."""
    group = np.repeat(["a", "b"], people // 2)
    rng = np.random.default_rng(3)
    answers = rng.random(people) < np.where(group == "a", 0.3, 0.6)
    reports = YES_NO.privatize(np.array(["no", "yes"])[answers.astype(int)], random=rumor.Seeded(2))
    return {"group": group}, reports


def inverted(reports: np.ndarray) -> tuple[float, float]:
    """The share of yes and its standard error, by hand."""
    seen = float(reports[:, 0].mean())
    share = (seen - YES_NO.miss) / YES_NO.gain
    return share, math.sqrt(seen * (1 - seen) / len(reports)) / YES_NO.gain


def test_groups_have_the_shares_of_their_inverted_reports() -> None:
    columns, reports = two_groups()
    found = rumor.regress(YES_NO, reports, columns)
    told = found.predict({"group": ["b", "a", "b"]})
    halves = [inverted(reports[columns["group"] == name]) for name in "bab"]
    rows = list(told)
    assert [(row["row"], row["group"], row["answer"]) for row in rows] == [
        (1, "b", "yes"),
        (2, "a", "yes"),
        (3, "b", "yes"),
    ]
    for row, (share, error) in zip(rows, halves, strict=True):
        assert row["estimate"] == pytest.approx(share, abs=1e-4)
        assert row["stderr"] == pytest.approx(error, rel=1e-3)
        told_share, told_error = row["estimate"], row["stderr"]
        reach = 1.959964 * told_error / (told_share * (1 - told_share))
        ends = expit(logit(told_share) - reach), expit(logit(told_share) + reach)
        assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-8)


def test_the_effect_of_a_group_is_the_difference_of_its_shares() -> None:
    columns, reports = two_groups()
    found = rumor.regress(YES_NO, reports, columns).margins()
    (first, error), (second, other) = (inverted(reports[columns["group"] == name]) for name in "ab")
    [row] = found
    assert (row["column"], row["change"], row["answer"]) == ("group", "b against a", "yes")
    assert row["effect"] == pytest.approx(second - first, abs=1e-4)
    assert row["stderr"] == pytest.approx(math.hypot(error, other), rel=1e-3)
    assert row["z"] == pytest.approx(row["effect"] / row["stderr"])
    assert row["high"] - row["effect"] == pytest.approx(1.959964 * row["stderr"], rel=1e-5)
    assert row["p_value"] < 1e-12


def test_derivatives_of_shares_are_those_of_the_model() -> None:
    rng = np.random.default_rng(1)
    x, b = rng.normal(size=(5, 2)), rng.normal(size=(2, 2))
    shares, slopes = expect_shares(x, b, 1, 3)
    assert shares.sum(axis=1) == pytest.approx(np.ones(5))
    step = 1e-6
    for place in range(4):
        moved = b.T.reshape(-1) + step * np.eye(4)[place]
        there, _ = expect_shares(x, moved.reshape(2, 2).T, 1, 3)
        np.testing.assert_allclose(slopes[:, :, place], (there - shares) / step, atol=1e-5)


def numbers(people: int = 4000) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(5)
    age, place = rng.integers(2, 7, people), rng.choice(["x", "y", "z"], people)
    yes = rng.random(people) < expit(-1 + 0.4 * (age - 4) + 0.5 * (place == "y"))
    labels = np.array(["no", "yes"])[yes.astype(int)]
    return {"age": age, "place": place}, YES_NO.privatize(labels, random=rumor.Seeded(8))


def _by_hand(found: rumor.Regression, columns: dict[str, Any], people: Vector) -> tuple[float, Any]:
    """The mean slope of a probability with age, and its derivatives by the coefficients."""
    dummies = [(columns["place"] == name).astype(float) for name in "yz"]
    x = np.column_stack([np.ones(len(people)), columns["age"], *dummies])
    b = found.coefficients[:, 0]
    share = expit(x @ b)
    bend = share * (1 - share)
    slope = bend * (1 - 2 * share) * b[1]
    by_each = x * slope[:, None] + np.outer(bend, [0, 1, 0, 0])
    return float(people @ (b[1] * bend) / people.sum()), people @ by_each / people.sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_effect_of_a_number_is_its_mean_slope(weighted: bool) -> None:
    columns, reports = numbers()
    weights = np.where(columns["age"] > 4, 3.0, 1.0) if weighted else np.ones(len(reports))
    design = SurveyDesign(weights) if weighted else None
    found = rumor.regress(YES_NO, reports, columns, design=design)
    age, *places = found.margins()
    assert (age["column"], age["change"]) == ("age", "per unit")
    effect, slopes = _by_hand(found, columns, weights)
    assert age["effect"] == pytest.approx(effect, rel=1e-6)
    assert age["stderr"] == pytest.approx(math.sqrt(slopes @ found.covariance @ slopes), rel=1e-5)
    assert [row["change"] for row in places] == ["y against x", "z against x"]
    if weighted:  # Student's quantile
        assert age["high"] - age["effect"] > 1.959964 * age["stderr"]


def test_three_answers_have_a_row_each_and_their_changes_cancel() -> None:
    columns, _ = numbers()
    mechanism = rumor.RandomizedResponse(domain=["a", "b", "c"], epsilon=3.0)
    rng = np.random.default_rng(2)
    reports = mechanism.privatize(rng.choice(list("abc"), 4000), random=rumor.Seeded(1))
    found = rumor.regress(mechanism, reports, columns, "age + place", reference="b")
    rows = list(found.predict({"age": [3], "place": ["z"]}))
    assert [row["answer"] for row in rows] == ["a", "b", "c"]
    assert sum(row["estimate"] for row in rows) == pytest.approx(1)
    effects = list(found.margins())
    assert len(effects) == 9
    for start in (0, 3, 6):
        assert sum(row["effect"] for row in effects[start : start + 3]) == pytest.approx(0)


@pytest.mark.parametrize(
    "formula",
    ["age + place", "C(age) + place", "poly(age, 2) * place", "age + C(place) + age:place"],
)
def test_predictions_are_those_of_the_columns_that_were_fitted(formula: str) -> None:
    columns, reports = numbers()
    found = rumor.regress(YES_NO, reports, columns, formula)
    told = found.predict(columns)
    x = found.response.design.matrix
    np.testing.assert_allclose(told.mean, expit(x @ found.coefficients[:, 0]), atol=1e-10)
    # Text of numbers, as a CSV file has them, is taken for numbers.
    text = {name: column.astype(str) for name, column in columns.items()}
    np.testing.assert_allclose(found.predict(text).mean, told.mean, atol=1e-12)
    changes = [row["change"] for row in found.margins()]
    assert changes[0] == ("3 against 2" if formula.startswith("C") else "per unit")
    assert changes[-2:] == ["y against x", "z against x"]
    with pytest.raises(InputError, match=r"rows to predict must have values of .*place"):
        found.predict({"age": [3], "place": ["w"]})


def test_a_column_that_the_model_left_out_has_no_effect() -> None:
    columns, reports = numbers()
    found = rumor.regress(YES_NO, reports, {**columns, "months": 12 * columns["age"]})
    assert {row["column"] for row in found.margins()} == {"age", "place"}


def test_what_cannot_be_predicted_gets_a_sentence() -> None:
    columns, reports = numbers()
    columns["old"] = columns["age"] > 4
    found = rumor.regress(YES_NO, reports, columns)
    good = {"age": ["3"], "place": ["x"], "old": ["TRUE"]}
    assert len(list(found.predict(good))) == 1
    for changed, sentence in (
        ({"age": ["three"]}, "must have numbers in column 'age'; got 'three'"),
        ({"old": ["maybe"]}, "must have true or false in column 'old'; got 'maybe'"),
        ({"place": [""]}, "must have no missing value; 'place' has none in row 1"),
        ({"age": []}, "a row at least; got none"),
    ):
        given = {**good, **changed} if changed != {"age": []} else {name: [] for name in good}
        with pytest.raises(InputError, match=sentence):
            found.predict(given)
    with pytest.raises(
        InputError, match=r"the columns of the formula \(age, place, old\); got age"
    ):
        found.predict({"age": [1]})


def test_the_command_predicts_a_table_and_prints_effects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Outputs
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        'name = "n"\nseries = "s"\ncontact = "a@b.example"\n\n[[questions]]\nid = "saves"\n'
        'kind = "choice"\ntext = "Do you?"\nlabels = ["no", "yes"]\nepsilon = 2.0\n'
    )
    rows = "\n".join(f"{'yes' if i % 3 else 'no'},{i % 5},{'xy'[i % 2]}" for i in range(600))
    Path("t.csv").write_text(f"saves,age,place\n{rows}\n")
    kept = ["--keep", "age", "--keep", "place"]
    assert main(["privatize", "c.toml", "t.csv", "-o", "r.parquet", *kept]) == 0
    Path("p.csv").write_text("place,age,more\nx,4,1\ny,0,2\n")
    capsys.readouterr()
    arguments = ["regress", "c.toml", "r.parquet", "saves ~ age + place"]
    assert main([*arguments, "--predict", "p.csv", "--plot", "p.svg", "--csv", "q.csv"]) == 0
    table = " ".join(capsys.readouterr().out.split())
    assert "row age place answer probability 95% interval 1 4 x yes " in table
    assert "<svg" in Path("p.svg").read_text()
    assert Path("q.csv").read_text().startswith("row,age,place,answer,estimate,stderr,low,high\n1,")
    assert main([*arguments, "--margins", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["column"] for row in told["estimates"]] == ["age", "place"]
    assert told["formula"] == "saves ~ age + place"
    assert main([*arguments, "--margins", "--plot", "m.svg"]) == 0
    assert "average marginal effects" in capsys.readouterr().out
    Path("bad.csv").write_text("age\n4\n")
    for rest, sentence in (
        (["--predict", "bad.csv"], "must have a column 'place'"),
        (["--predict", "none.csv"], "none.csv"),
        (["--predict", "p.csv", "--csv", "p.csv"], "--csv must not replace what is read"),
    ):
        assert main([*arguments, *rest]) == 2
        said = capsys.readouterr().err
        assert sentence in " ".join(said.split())
        assert said.count("\n") == 1
