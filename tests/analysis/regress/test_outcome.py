"""A public outcome explained by private answers: laws, known coefficients, coverage, refusals."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import rumor
from rumor import SurveyDesign
from rumor.analysis.regress.covariate import _Mixture, fit_odds
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.errors import InputError
from rumor.mechanisms import BY_NAME

Outputs = pytest.CaptureFixture[str]
LABELS = ["no", "yes"]
TRUTH = {"odds": [-0.3, 0.4, 0.8], "mean": [1.0, 0.4, 0.8]}


def people(kind: str, n: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """A column, an outcome that it and the answers move, and the answers, which depend on it."""
    rng = np.random.default_rng(seed)
    age = rng.integers(-2, 3, n)
    held = (rng.random(n) < expit(-0.8 + 0.5 * age)).astype(int)
    own = 0.4 * age + 0.8 * held
    if kind == "odds":
        ill = np.where(rng.random(n) < expit(-0.3 + own), "yes", "no")
        return {"age": age, "out": ill}, np.array(LABELS)[held]
    # No normal distribution: least squares need none.
    return {"age": age, "out": own + rng.exponential(size=n)}, np.array(LABELS)[held]


def regressed(kind: str, n: int, seed: int, epsilon: float = 2.0, **more: Any) -> rumor.Regression:
    coin = rumor.RandomizedResponse(domain=LABELS, epsilon=epsilon)
    columns, answers = people(kind, n, seed)
    reports = coin.privatize(answers, random=rumor.Seeded(seed))
    return rumor.regress(coin, reports, columns, "out ~ held + age", private="held", **more)


def test_gradients_are_those_of_the_likelihood() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(50), 3 + rng.normal(size=50)])
    channel = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    chances, outcome = channel.T[rng.integers(0, 3, 50)], rng.integers(0, 2, 50).astype(float)
    model = _Mixture(x, chances, outcome, rng.integers(1, 4, 50).astype(float))
    at, step = rng.normal(size=model.size), 1e-6
    slopes = [
        (model.loss(at + step * e)[0] - model.loss(at - step * e)[0]) / 2 / step
        for e in np.eye(model.size)
    ]
    np.testing.assert_allclose(model.loss(at)[1], slopes, atol=1e-7)
    there = [model.scores(at + step * e)[0] for e in np.eye(model.size)]
    here, moved = model.scores(at)
    np.testing.assert_allclose(moved, (np.array(there) - here).T / step, atol=1e-4)


@pytest.mark.parametrize("name", ["randomized-response", "unary", "hadamard", "local-hashing"])
@pytest.mark.parametrize("kind", ["odds", "mean"])
def test_every_mechanism_of_a_choice_finds_the_coefficients(name: str, kind: str) -> None:
    mechanism: Any = BY_NAME[name](domain=LABELS, epsilon=3.0)  # type: ignore[call-arg]
    columns, answers = people(kind, 8000, 2)
    reports = mechanism.privatize(answers, random=rumor.Seeded(3))
    found = rumor.regress(mechanism, reports, columns, "out ~ age + held", private="held")
    assert found.terms == ["Intercept", "age", "held[T.yes]"]
    away = np.abs(found.coefficients[:, 0] - TRUTH[kind])
    assert (away < 4 * found.stderr[:, 0]).all()
    assert found.tests[0].term == "held"
    assert found.tests[0].p_value < 1e-3
    assert ("odds_ratio" in found.columns()) == (kind == "odds")


@pytest.mark.parametrize("kind", ["odds", "mean"])
def test_without_noise_coefficients_are_those_of_known_answers(kind: str) -> None:
    """At epsilon 30 reports are answers: compare with the plain regression of the columns."""
    found = regressed(kind, 4000, 4, epsilon=30.0)
    columns, answers = people(kind, 4000, 4)
    x = np.column_stack([np.ones(4000), columns["age"], answers == "yes"])
    if kind == "mean":
        expected = np.linalg.lstsq(x, columns["out"], rcond=None)[0]
        left = columns["out"] - x @ expected
        inverse = np.linalg.inv(x.T @ x)
        errors = np.sqrt(np.diag(inverse @ (x.T * left**2) @ x @ inverse))
        np.testing.assert_allclose(found.coefficients[:, 0], expected, atol=1e-6)
        np.testing.assert_allclose(found.stderr[:, 0], errors, rtol=1e-4)
        return
    share = expit(x @ found.coefficients[:, 0])
    slope = x.T @ ((columns["out"] == "yes") - share)
    assert np.abs(slope).max() < 3  # what the penalty pulls
    information = (x.T * (share * (1 - share))) @ x
    np.testing.assert_allclose(
        found.stderr[:, 0], np.sqrt(np.diag(np.linalg.inv(information))), rtol=0.01
    )


def test_without_columns_log_odds_are_those_of_the_inverted_table() -> None:
    """Outcomes by reports, times the inverse of the channel, are outcomes by answers."""
    coin = rumor.RandomizedResponse(domain=LABELS, epsilon=1.0)
    columns, answers = people("odds", 40_000, 9)
    reports = coin.privatize(answers, random=rumor.Seeded(9))
    found = rumor.regress(coin, reports, columns, "out ~ held", private="held")
    said = reports[:, 0].astype(int)
    table = np.array([np.bincount(said[columns["out"] == out], minlength=2) for out in LABELS])
    channel = np.array([[1 - coin.miss, coin.miss], [coin.miss, 1 - coin.miss]])
    held = table @ np.linalg.inv(channel)
    odds = np.log(held[1] / held[0])
    expected = [odds[0], odds[1] - odds[0]]
    np.testing.assert_allclose(found.coefficients[:, 0], expected, atol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["odds", "mean"])
def test_intervals_cover(kind: str) -> None:
    """300 trials of 2,500 people at epsilon 1: within 4 standard deviations (5 %) of 95 %."""
    covered = np.zeros(3)
    for trial in range(300):
        low, high = regressed(kind, 2500, 1000 + trial, epsilon=1.0).interval()
        covered += (low[:, 0] <= TRUTH[kind]) & (high[:, 0] >= TRUTH[kind])
    assert covered.min() / 300 > 0.90


def test_intervals_of_few_reports_are_by_profile() -> None:
    """At both ends of the private answer's interval the objective falls by z^2 / 2."""
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(400), 3 + rng.normal(size=400)])
    held = (rng.random(400) < 0.4).astype(int)
    channel = np.full((2, 2), 0.25) + 0.5 * np.eye(2)
    said = np.where(rng.random(400) < 0.75, held, 1 - held)
    outcome = (rng.random(400) < expit(-1 + 2 * held)).astype(float)
    found = fit_odds(x, channel.T[said], outcome, np.ones(400))
    full = found.likely
    assert full is not None
    model: Any = full.model
    low, high = full.profile(1.8)
    assert high[2, 0] - found.coefficients[2] > 1.05 * (found.coefficients[2] - low[2, 0])
    for at in range(3):
        row = model.unscaling[at]
        for end in (low[at, 0], high[at, 0]):
            held_there = {"type": "eq", "fun": lambda u, r=row, e=end: r @ u - e}
            best = minimize(
                lambda u: -model.objective(u), full.scaled, method="SLSQP", constraints=held_there
            )
            fallen = 2 * (model.objective(full.scaled) + best.fun)
            assert fallen == pytest.approx(1.8**2, abs=5e-3)
    # Without the answer, its coefficient is 0, and those that nobody sees are fitted again.
    assert full.loss_without([2]) == pytest.approx(full.signed_roots()[2, 0] ** 2, abs=1e-5)


def test_an_outcome_has_profiles_unless_people_have_weights() -> None:
    found = regressed("odds", 600, 11, epsilon=1.0)
    low, high = found.interval()
    known = found.stderr[2, 0] * 1.959964
    apart = [found.coefficients[2, 0] - low[2, 0], high[2, 0] - found.coefficients[2, 0]]
    assert np.abs(np.array(apart) - known).max() > 1e-3
    weighted = regressed("odds", 600, 11, epsilon=1.0, design=SurveyDesign())
    low, high = weighted.interval()
    assert high[2, 0] + low[2, 0] == pytest.approx(2 * weighted.coefficients[2, 0])


def test_many_answers_have_no_profiles_and_say_so() -> None:
    coin = rumor.RandomizedResponse(domain=21, epsilon=5.0)
    rng = np.random.default_rng(4)
    held, age = rng.integers(0, 21, 1500), rng.normal(size=1500)
    out = np.where(rng.random(1500) < expit(age), "yes", "no")
    reports = coin.privatize(held, random=rumor.Seeded(4))
    columns = {"age": age, "out": out}
    for design, told in ((None, ["62 coefficients are too many"]), (SurveyDesign(), [])):
        found = rumor.regress(
            coin, reports, columns, "out ~ held + age", private="held", design=design
        )
        assert [note[:28] for note in found.notes if "profiles" in note] == told
        low, high = found.interval()
        np.testing.assert_allclose(low + high, 2 * found.coefficients)


def test_the_reference_and_the_outcome_turn_signs() -> None:
    found = regressed("odds", 3000, 5)
    back = regressed("odds", 3000, 5, reference="yes")
    assert back.terms[-1] == "held[T.no]"
    assert back.coefficients[2, 0] == pytest.approx(-found.coefficients[2, 0], abs=0.02)
    assert (found.values, found.reference) == (["yes"], "no")


@pytest.mark.parametrize("kind", ["odds", "mean"])
def test_survey_designs_give_the_errors(kind: str) -> None:
    plain = regressed(kind, 4000, 6)
    found = regressed(kind, 4000, 6, design=SurveyDesign())
    np.testing.assert_allclose(found.coefficients, plain.coefficients, atol=1e-6)
    np.testing.assert_allclose(found.stderr, plain.stderr, rtol=0.1)
    uneven = SurveyDesign(np.where(np.arange(4000) % 4, 1.0, 6.0))
    assert (regressed(kind, 4000, 6, design=uneven).stderr > found.stderr).all()


@pytest.mark.parametrize(("kind", "penalty"), [("odds", 0.01), ("mean", 1e-9)])
def test_a_weight_of_two_counts_a_person_twice(kind: str, penalty: float) -> None:
    """Weights have a mean of 1, so that the penalty is that of fewer people."""
    coin = rumor.RandomizedResponse(domain=LABELS, epsilon=2.0)
    columns, answers = people(kind, 3000, 12)
    reports = coin.privatize(answers, random=rumor.Seeded(12))
    twice = np.arange(3000) % 3 == 0
    asked: dict[str, Any] = {"formula": "out ~ held + age", "private": "held"}
    design = SurveyDesign(np.where(twice, 2.0, 1.0))
    found = rumor.regress(coin, reports, columns, **asked, design=design)
    rows = np.concatenate([np.arange(3000), np.flatnonzero(twice)])
    again = {name: column[rows] for name, column in columns.items()}
    known = rumor.regress(coin, reports[rows], again, **asked)
    np.testing.assert_allclose(found.coefficients, known.coefficients, atol=penalty)
    plain = rumor.regress(coin, reports, columns, **asked)
    assert np.abs(found.coefficients - plain.coefficients).max() > 2 * penalty
    assert (found.stderr > 1.02 * known.stderr).all()
    who = {"held": ["yes"], "age": [1]}
    [row], [same] = found.predict(who), known.predict(who)
    assert row["estimate"] == pytest.approx(same["estimate"], abs=penalty)
    assert row["stderr"] > same["stderr"]


def test_predictions_name_the_private_answer() -> None:
    found = regressed("odds", 4000, 7)
    told = list(found.predict({"held": ["yes", "no"], "age": [1, 1]}))
    b = found.coefficients[:, 0]
    assert [row["estimate"] for row in told] == pytest.approx(
        [float(expit(b[0] + b[1] + b[2])), float(expit(b[0] + b[1]))]
    )
    gradient = np.array([1.0, 1.0, 1.0]) * told[0]["estimate"] * (1 - told[0]["estimate"])
    assert told[0]["stderr"] == pytest.approx(math.sqrt(gradient @ found.covariance @ gradient))
    [row] = regressed("mean", 4000, 7).predict({"held": ["no"], "age": [0]})
    assert row["answer"] == "mean"
    with pytest.raises(InputError, match=r"the answers to 'held' \(no, yes\); got 'perhaps'"):
        found.predict({"held": ["perhaps"], "age": [1]})
    with pytest.raises(InputError, match="whose answers to 'held' are private; predict rows"):
        found.margins()


def test_what_is_refused() -> None:
    coin = rumor.RandomizedResponse(domain=LABELS, epsilon=1.0)
    reports = coin.privatize(["no", "yes", "no", "yes"], random=rumor.Seeded(1))
    columns = {"age": [1, 2, 3, 5], "job": ["a", "b", "c", "a"], "one": [1, 1, 1, 1]}
    for formula, sentence in (
        ("age ~ job", "with the private answers as a term of their own"),
        ("age ~ held * job", "with the private answers as a term of their own"),
        ("wage ~ held", "must be a public column of the reports"),
        ("age ~ held + age", "must not explain itself; got 'age'"),
        ("job ~ held", "two values or of numbers; 'job' has 3 values"),
        ("one ~ held", "two values or of numbers; 'one' has 1 value "),
        ("", "is written ANSWER ~ COLUMN"),
    ):
        with pytest.raises(InputError, match=sentence):
            rumor.regress(coin, reports, columns, formula, private="held")
    with pytest.raises(InputError, match="other names than the private answers; got 'job'"):
        rumor.regress(coin, reports, columns, "age ~ job", private="job")
    number = rumor.Harmony(epsilon=1.0)
    with pytest.raises(InputError, match="are those to a choice; got kind 'number'"):
        rumor.regress(number, reports, columns, "age ~ held", private="held")
    # Reports of one answer alone hold no variance above the noise.
    alike = np.repeat(reports[:1], 4, axis=0)
    with pytest.raises(InputError, match="reports are too few for a private column"):
        rumor.regress(coin, alike, {"age": [1.0, 2, 3, 5]}, "age ~ held", private="held")


def test_the_command_explains_a_public_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Outputs
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {"id": "held", "kind": "choice", "text": "Do you?", "labels": LABELS, "epsilon": 2.0}
    wish = {"name": "n", "series": "s", "contact": "c@d.example"}
    contract = Collection.resolve({**wish, "questions": [asked]})
    Path("c.json").write_bytes(contract.canonical())
    columns, answers = people("odds", 2000, 8)
    mechanism = contract.question().mechanism
    reports = mechanism.without_labels().privatize(
        (answers == "yes").astype(int), random=rumor.Seeded(1)
    )
    kept = {name: pa.array(column) for name, column in columns.items()}
    schema = pa.schema([(name, column.type) for name, column in kept.items()])
    question = contract.question()
    with write_reports("r.parquet", contract, question, strata=schema) as file:
        file.write(reports, datetime.date(2026, 3, 1), kept)
    arguments = ["regress", "c.json", "r.parquet", "out ~ held + age"]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "held: Do you?\nout ~ held + age\n" in told
    assert "log-odds of 'out' yes against no, by true answers to 'held'" in " ".join(told.split())
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["estimates"]
    assert [row["term"] for row in rows] == ["Intercept", "age", "held[T.yes]"]
    Path("p.csv").write_text("age,held\n1,yes\n")
    assert main([*arguments, "--predict", "p.csv"]) == 0
    assert "row age held answer probability" in " ".join(capsys.readouterr().out.split())
    for formula, more, sentence in (
        ("out ~ age", [], "is written OUTCOME ~ held + COLUMN"),
        ("out ~ held + age", ["--margins"], "are private; predict rows instead"),
    ):
        assert main(["regress", "c.json", "r.parquet", formula, *more]) == 2
        said = capsys.readouterr().err
        assert sentence in " ".join(said.split())
        assert said.count("\n") == 1
