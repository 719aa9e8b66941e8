"""Regression of ordered labels and of numbers: derivatives, closed forms, coverage, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import rumor
from rumor import SurveyDesign
from rumor.analysis.regress.fit import Likelihoods, fit
from rumor.analysis.regress.ordinal import OrdinalModel, expect_levels, fit_ordinal
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.kinds import kind_of
from rumor.mechanisms.base import Mechanism

NOISE = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
LEVELS = ["never", "seldom", "often", "always"]


def people(n: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """Two columns, and levels whose odds they move by .5 and .7; thresholds are -.5, .5 and 1.5."""
    rng = np.random.default_rng(seed)
    age, place = rng.integers(-2, 3, n), rng.choice(["x", "y"], n)
    latent = 0.5 * age + 0.7 * (place == "y") + rng.logistic(size=n)
    return {"age": age, "place": place}, np.digitize(latent, [-0.5, 0.5, 1.5])


TRUTH = np.array([0.5, 0.7, -0.5, 0.5, 1.5])


def _rows(seed: int = 3) -> tuple[Vector, Likelihoods]:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(60), 2 + rng.normal(size=60), rng.integers(0, 2, 60)])
    outputs, weights = rng.integers(0, 4, 60), rng.integers(1, 5, 60).astype(float)
    return x, Likelihoods(NOISE.T[outputs], weights, NOISE)


def test_slopes_are_those_of_the_likelihood() -> None:
    x, answers = _rows()
    model = OrdinalModel(x, answers)
    at, step = np.array([0.3, -0.2, -1.0, 0.1, 1.3]), 1e-5

    def both_ways(function: Any) -> Vector:
        found = [(function(at + step * e) - function(at - step * e)) / 2 / step for e in np.eye(5)]
        return np.array(found)

    np.testing.assert_allclose(model.gradient(at), both_ways(model.objective), rtol=1e-6)
    # Expected information: every output of every row, by its chance, has its scores' squares.
    total = np.zeros((5, 5))
    for row, count, shares in zip(model.x, answers.people, model.shares(at), strict=True):
        for output in range(4):
            one = Likelihoods(np.repeat(NOISE.T[output][None], 60, axis=0), answers.people, NOISE)
            single = OrdinalModel(x, one)
            single.x, single.people = row[None], np.ones(1)
            single.answers = Likelihoods(NOISE.T[output][None], np.ones(1), NOISE)
            score = single._by_coefficients(single._row_slopes(at))[0]
            total += count * (shares @ NOISE[:, output]) * np.outer(score, score)
    np.testing.assert_allclose(model._information(at), total, rtol=1e-8, atol=1e-9)
    # The penalty has no reports.
    model.people = np.zeros(60)
    bend = -both_ways(model.gradient)
    np.testing.assert_allclose(model._penalty_information(at), bend, rtol=1e-5, atol=1e-8)


def test_derivatives_of_levels_are_those_of_the_model() -> None:
    x, at, step = np.random.default_rng(1).normal(size=(5, 2)), TRUTH, 1e-6
    shares, slopes = expect_levels(x, at)
    assert shares.sum(axis=1) == pytest.approx(np.ones(5))
    for place in range(5):
        there, _ = expect_levels(x, at + step * np.eye(5)[place])
        np.testing.assert_allclose(slopes[:, :, place], (there - shares) / step, atol=1e-5)
    far, _ = expect_levels(np.array([[-60.0, 0.0]]), at)
    assert (far > 0).all()


def test_two_levels_are_a_logistic_regression() -> None:
    x, answers = _rows()
    two = Likelihoods(answers.chances[:, :2], answers.people, NOISE[:2])
    known, found = fit(x, two), fit_ordinal(x, two)
    expected = [*known.coefficients[1:, 0], -known.coefficients[0, 0]]
    np.testing.assert_allclose(found.coefficients[:, 0], expected, atol=1e-5)
    assert found.log_likelihood == pytest.approx(known.log_likelihood)
    for one, other in zip(found.profile(1.96), known.profile(1.96), strict=True):
        np.testing.assert_allclose(one[:2, 0], other[1:, 0], atol=2e-3)


@pytest.mark.slow
def test_intervals_of_ordered_labels_cover() -> None:
    """300 trials of 1,500 people: within 4 standard deviations (5 %) of 95 per cent."""
    wave, covered = rumor.Wave(labels=LEVELS, epsilon=1.5), np.zeros(5)
    for trial in range(300):
        columns, levels = people(1500, 100 + trial)
        reports = wave.privatize(np.array(LEVELS)[levels], random=rumor.Seeded(trial))
        low, high = rumor.regress(wave, reports, columns).interval()
        covered += (low[:, 0] <= TRUTH) & (high[:, 0] >= TRUTH)
    assert covered.min() / 300 > 0.90


def test_ordered_labels_have_slopes_and_thresholds() -> None:
    wave = rumor.Wave(labels=LEVELS, epsilon=3.0)
    columns, levels = people(20_000, 5)
    reports = wave.privatize(np.array(LEVELS)[levels], random=rumor.Seeded(4))
    found = rumor.regress(wave, reports, columns)
    assert found.terms == [
        "age",
        "place[T.y]",
        "never | seldom",
        "seldom | often",
        "often | always",
    ]
    assert (np.abs(found.coefficients[:, 0] - TRUTH) < 4 * found.stderr[:, 0]).all()
    assert "log-odds of a higher true answer" in found.table()
    assert [test.term for test in found.tests] == ["age", "place"]
    assert found.overall.p_value < 1e-12
    told = list(found.predict({"age": [0], "place": ["x"]}))
    law = np.diff([0, *expit([-0.5, 0.5, 1.5]), 1])
    for row, level, share in zip(told, LEVELS, law, strict=True):
        assert row["answer"] == level
        assert abs(row["estimate"] - share) < 4 * row["stderr"]
    weighted = rumor.regress(wave, reports, columns, design=SurveyDesign(np.ones(20_000)))
    np.testing.assert_allclose(weighted.coefficients, found.coefficients, atol=1e-6)
    np.testing.assert_allclose(weighted.stderr, found.stderr, rtol=0.1)
    with pytest.raises(InputError, match="a reference is the answer that log-odds of a choice"):
        rumor.regress(wave, reports, columns, reference="often")


@pytest.mark.parametrize("at", range(5))
def test_ends_of_every_coefficient_are_where_the_objective_falls_so_far(at: int) -> None:
    """Slopes and thresholds: the highest objective at an end, by a search without derivatives."""
    x, answers = _rows()
    full = fit_ordinal(x, answers)
    model: Any = full.model
    row, highest = model.unscaling[at], model.objective(full.scaled)
    z = 1.5
    low, high = full.profile(z)
    assert low[at, 0] < full.coefficients[at, 0] < high[at, 0]
    for end in (low[at, 0], high[at, 0]):
        basis = np.linalg.svd(row[None])[2][1:]
        begin = full.scaled + (end - row @ full.scaled) * model.direction(at)

        def loss(along: Vector, begin: Any = begin, basis: Any = basis) -> float:
            return float(min(-model.objective(begin + along @ basis), 1e6))

        best = minimize(loss, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-7})
        assert row @ (begin + best.x @ basis) == pytest.approx(end)
        assert 2 * (highest + best.fun) == pytest.approx(z * z, abs=2e-3)
    root = full.signed_roots()[at, 0]
    assert (root > 0) == (full.coefficients[at, 0] > 0)


NUMBERS = [
    rumor.Harmony(low=0, high=10, epsilon=2.0),
    rumor.Piecewise(low=0, high=10, epsilon=2.0),
    rumor.Window(low=0, high=10, epsilon=2.0),
    rumor.Wave(low=0, high=10, bins=20, epsilon=2.0),
]


@pytest.mark.parametrize("mechanism", NUMBERS, ids=lambda one: one.name)
def test_groups_of_numbers_differ_by_their_means(mechanism: Any) -> None:
    """With a column of two values, coefficients are means of scores; errors, of two samples."""
    rng = np.random.default_rng(2)
    group = rng.choice(["x", "y"], 3000)
    answers = np.clip(rng.normal(4 + 2 * (group == "y"), 1), 0, 10)
    reports = mechanism.privatize(answers, random=rumor.Seeded(1))
    found = rumor.regress(mechanism, reports, {"group": group})
    read = kind_of(mechanism).scores(mechanism, reports).scores
    scores = ((read.hits - read.zero) / read.gain)[:, 0]
    first, second = scores[group == "x"], scores[group == "y"]
    assert found.coefficients[:, 0] == pytest.approx([first.mean(), second.mean() - first.mean()])
    errors = [part.std(ddof=1) / math.sqrt(len(part)) for part in (first, second)]
    assert found.stderr[:, 0] == pytest.approx([errors[0], math.hypot(*errors)])
    assert abs(found.coefficients[1, 0] - 2) < 4 * found.stderr[1, 0]
    assert "odds_ratio" not in found.columns()
    assert "odds ratio" not in found.table()
    [row] = found.predict({"group": ["y"]})
    assert (row["answer"], row["estimate"]) == ("mean", pytest.approx(second.mean()))
    [effect] = found.margins()
    assert effect["effect"] == pytest.approx(found.coefficients[1, 0])
    assert effect["stderr"] == pytest.approx(found.stderr[1, 0])


ABC = ["a", "b", "c"]


@pytest.mark.parametrize(
    "mechanism",
    [
        rumor.RandomizedResponse(domain=ABC, epsilon=2.0),
        rumor.UnaryEncoding(domain=ABC, epsilon=2.0),
        rumor.SetBlock(domain=ABC, epsilon=2.0, block=2),
        rumor.SetSelect(domain=ABC, epsilon=2.0, cap=1, size=1),
    ],
    ids=lambda one: one.name,
)
def test_shares_have_least_squares(mechanism: Mechanism) -> None:
    """Of a column of two values, shares are those of the groups estimated alone."""
    rng = np.random.default_rng(6)
    group = rng.choice(["x", "y"], 4000)
    answers = np.where(rng.random(4000) < 0.2 + 0.3 * (group == "y"), "c", "a")
    is_set = kind_of(mechanism).name == "set"
    held: Any = [[answer] for answer in answers] if is_set else answers
    reports = mechanism.privatize(held, random=rumor.Seeded(1))
    found = rumor.regress(mechanism, reports, {"group": group}, linear=True)
    assert found.values == ABC
    assert abs(found.coefficients[1, 2] - 0.3) < 4 * found.stderr[1, 2]
    for name, place in (("x", 0), ("y", 1)):
        alone = rumor.weigh(mechanism, {"all": reports[group == name]}, {"all": 1.0})
        share = found.coefficients[0] + place * found.coefficients[1]
        np.testing.assert_allclose(share, alone.unbiased, atol=1e-9)
    if is_set:  # the only model of sets
        again = rumor.regress(mechanism, reports, {"group": group})
        np.testing.assert_array_equal(again.coefficients, found.coefficients)


def test_weights_and_clusters_of_numbers() -> None:
    rng = np.random.default_rng(7)
    mechanism, group = NUMBERS[0], rng.choice(["x", "y"], 2000)
    reports = mechanism.privatize(rng.uniform(2, 8, 2000), random=rumor.Seeded(1))
    twice = np.arange(2000) % 3 == 0
    design = SurveyDesign(np.where(twice, 2.0, 1.0))
    found = rumor.regress(mechanism, reports, {"group": group}, design=design)
    again = np.concatenate([np.arange(2000), np.flatnonzero(twice)])
    known = rumor.regress(mechanism, reports[again], {"group": group[again]})
    np.testing.assert_allclose(found.coefficients, known.coefficients)
    assert (found.stderr > known.stderr).all()
    five = np.repeat(np.arange(2000), 5)
    crowded = SurveyDesign(clusters=five)
    found = rumor.regress(mechanism, reports[five], {"group": group[five]}, design=crowded)
    alone = rumor.regress(mechanism, reports, {"group": group}, design=SurveyDesign())
    np.testing.assert_allclose(found.stderr, alone.stderr, rtol=0.05)
    assert found.method == "weighted least squares"


def test_fewer_reports_than_columns_are_refused() -> None:
    mechanism = NUMBERS[0]
    reports = mechanism.privatize([1.0, 2.0], random=rumor.Seeded(1))
    columns = {"a": [1.0, 2.0], "b": [4.0, 1.0], "c": [0.0, 1.0]}
    found = rumor.regress(mechanism, reports, columns)  # columns that follow are left out
    assert found.terms == ["Intercept", "a"]
