"""Regression: closed forms, derivatives, coverage, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rumor.analysis.regress.fit import FittedModel, LikelihoodModel, Likelihoods, fit
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.groups import chi_squared_tail

NOISE = np.array([[0.8, 0.2], [0.25, 0.75]])
THREE = np.full((3, 3), 0.15) + 0.55 * np.eye(3)


def people(n: int, law: Vector, channel: Vector, rng: np.random.Generator) -> Vector:
    """The output of each person, whose values have these chances."""
    seen = law @ channel
    drawn = (rng.random((n, 1)) > np.cumsum(seen, axis=1)).sum(axis=1)
    return np.asarray(drawn.clip(max=channel.shape[1] - 1))


def softmax(x: Vector, b: Vector) -> Vector:
    scores = np.column_stack([np.zeros(len(x)), x @ b])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def test_two_groups_have_the_log_odds_of_their_inverted_shares() -> None:
    """With a coefficient for each group nothing is left to fit: shares are inverted counts.

    There are so many people that the penalty says nothing.
    """
    counts = np.array([[620, 380], [450, 550]]) * 10_000_000
    x = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    outputs = np.array([0, 1, 0, 1])
    answers = Likelihoods(NOISE.T[outputs], counts.reshape(-1).astype(float), NOISE)
    found = fit(x, answers)
    seen, gain = counts[:, 1] / 1e10, 0.75 - 0.2
    shares = (seen - 0.2) / gain
    odds = np.log(shares / (1 - shares))
    np.testing.assert_allclose(found.coefficients[:, 0], [odds[0], odds[1] - odds[0]], rtol=1e-6)
    errors = np.sqrt(seen * (1 - seen) / 1e10) / gain / (shares * (1 - shares))
    expected = errors[0], math.hypot(*errors)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), expected, rtol=1e-6)
    likelihood = float((counts * np.log(np.column_stack([1 - seen, seen]))).sum())
    assert found.log_likelihood == pytest.approx(likelihood)
    # Against the other value every sign changes, and nothing else.
    back = fit(x, answers, reference=1)
    np.testing.assert_allclose(back.coefficients, -found.coefficients, rtol=1e-6)


def test_units_and_places_of_columns_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(800), rng.normal(size=800), rng.integers(0, 2, 800)])
    outputs = people(800, softmax(x, np.array([[0.3], [0.5], [-0.4]])), NOISE, rng)
    answers = Likelihoods(NOISE.T[outputs], np.ones(800), NOISE)
    found = fit(x, answers)
    turned = np.array([[1.0, 7.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 50.0]])
    other = fit(x @ turned, answers)
    np.testing.assert_allclose(turned @ other.coefficients, found.coefficients, rtol=1e-5)
    np.testing.assert_allclose(
        turned @ other.covariance @ turned.T, found.covariance, rtol=1e-5, atol=1e-12
    )
    assert other.log_likelihood == pytest.approx(found.log_likelihood)


@pytest.mark.parametrize("listed", [True, False])
def test_slopes_are_those_of_the_likelihood(listed: bool) -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(60), rng.normal(size=60)])
    outputs = rng.integers(0, 3, 60)
    weights = rng.integers(1, 5, 60).astype(float)
    model = LikelihoodModel(x, Likelihoods(THREE.T[outputs], weights, THREE if listed else None), 0)
    at, step = rng.normal(size=4), 1e-5

    def moved(i: int, by: float) -> Vector:
        return np.asarray(at + by * np.eye(4)[i])

    slope = [
        (model.objective(moved(i, step)) - model.objective(moved(i, -step))) / (2 * step)
        for i in range(4)
    ]
    np.testing.assert_allclose(model.gradient(at), slope, rtol=1e-6)
    bend = np.array(
        [
            (model.gradient(moved(i, step)) - model.gradient(moved(i, -step))) / (2 * step)
            for i in range(4)
        ]
    )
    if not listed:
        np.testing.assert_allclose(model.information(at), -bend, rtol=1e-5, atol=1e-6)
        return
    # Expected: every output of every row, weighted by its chance, observed.
    shares = model.shares(at)
    rows = np.repeat(np.arange(60), 3)
    every = np.tile(np.arange(3), 60)
    chance = (shares @ THREE).reshape(-1) * np.repeat(weights, 3)
    whole = LikelihoodModel(x[rows], Likelihoods(THREE.T[every], chance), 0)
    whole.x = model.x[rows]
    np.testing.assert_allclose(model.information(at), whole.information(at), rtol=1e-8)


def _trials(law: Vector, channel: Vector, n: int, trials: int, seed: int) -> list[FittedModel]:
    rng, found = np.random.default_rng(seed), []
    for _ in range(trials):
        x = np.column_stack([np.ones(n), rng.integers(-2, 3, n), rng.integers(0, 2, n)])
        outputs = people(n, softmax(x, law), channel, rng)
        rows = np.column_stack([x, outputs])
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
        answers = Likelihoods(channel.T[outputs[first]], counts.astype(float), channel)
        found.append(fit(x[first].astype(float), answers))
        less = fit(x[first][:, :2].astype(float), answers)
        found.append(less)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "channel"),
    [
        (np.array([[-0.5], [0.4], [0.0]]), NOISE),
        (np.array([[-0.5, 0.2], [0.4, -0.3], [0.0, 0.0]]), THREE),
    ],
    ids=["logistic", "multinomial"],
)
def test_intervals_cover_and_tests_err_as_they_say(law: Vector, channel: Vector) -> None:
    """300 trials of 1,500 people: within 4 standard deviations (5 %) of 95 and 5 per cent."""
    found = _trials(law, channel, 1500, 300, 11)
    covered, profiles, rejected = np.zeros(law.shape), np.zeros(law.shape), 0
    for full, less in zip(found[::2], found[1::2], strict=True):
        errors = np.sqrt(np.diag(full.covariance)).reshape(law.T.shape).T
        covered += np.abs(full.coefficients - law) < 1.96 * errors
        low, high = full.profile(1.96)
        profiles += (low <= law) & (law <= high)
        statistic = 2 * (full.log_likelihood - less.log_likelihood)
        rejected += int(chi_squared_tail(statistic, law.shape[1]) < 0.05)
    assert profiles.min() / 300 > 0.90
    assert covered.min() / 300 > 0.90
    assert covered.max() / 300 <= 1.0
    assert rejected / 300 < 0.10
    assert rejected > 0


def test_columns_that_tell_answers_apart_have_finite_coefficients() -> None:
    x = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    told = np.repeat([0, 1], 20)
    found = fit(x, Likelihoods(NOISE.T[told], np.ones(40), NOISE))
    assert 2 < found.coefficients[1, 0] < 20
    assert (np.diag(found.covariance) > 0).all()
    low, high = found.profile(1.96)
    assert 0 < low[1, 0] < found.coefficients[1, 0] < high[1, 0] < 100


def test_reports_that_contradict_the_model_take_few_steps() -> None:
    """Unbiased shares are below 0 here: Fisher scoring alone takes 34 steps."""
    rng = np.random.default_rng(1)
    law = np.append(0.9, np.full(11, 0.1 / 11))
    channel = (1 + np.eye(12)) / 13
    outputs = rng.choice(12, 600, p=law @ channel)
    x = np.column_stack([np.ones(600), rng.normal(size=600)])
    assert (np.bincount(outputs, minlength=12) / 600 < 1 / 13).any()
    model = LikelihoodModel(x, Likelihoods(channel.T[outputs], np.ones(600), channel), 0)
    found, _ = model.climb(np.zeros(22))
    assert model.steps < 12
    assert np.abs(model.gradient(found)).max() < 1e-6


def test_the_penalty_is_half_a_person_for_each_answer() -> None:
    """Of known answers without columns, the shares are those of Jeffreys' prior."""
    counts = np.array([3.0, 0.0, 7.0])
    found = fit(np.ones((3, 1)), Likelihoods(np.eye(3), counts, np.eye(3)))
    expected = np.log((counts[1:] + 0.5) / (counts[0] + 0.5))
    np.testing.assert_allclose(found.coefficients[0], expected, atol=1e-6)


def test_the_penalty_of_a_slope_is_that_of_two_people() -> None:
    """A known answer and a column of -1 and 1: log F(2, 2) is a person in either answer."""
    x = np.column_stack([np.ones(4), [-1.0, 1.0, -1.0, 1.0]])
    counts = np.array([5.0, 2.0, 2.0, 5.0])
    found = fit(x, Likelihoods(np.eye(2)[[0, 0, 1, 1]], counts, np.eye(2)))

    def slope(b: float) -> float:  # of the objective, symmetric so that the intercept is 0
        part = 1 / (1 + math.exp(-b))
        return 10 * (1 - part) - 4 * part + (1 - 2 * part)

    assert found.coefficients[0, 0] == pytest.approx(0, abs=1e-6)
    assert slope(found.coefficients[1, 0]) == pytest.approx(0, abs=1e-4)


def test_ends_of_profiles_are_where_the_objective_falls_so_far() -> None:
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(150), 3 + rng.normal(size=150)])
    outputs = people(150, softmax(x, np.array([[-2.0], [0.8]])), NOISE, rng)
    answers = Likelihoods(NOISE.T[outputs], np.ones(150), NOISE)
    found = fit(x, answers)
    for at in (0, 1):
        for end in (each[at, 0] for each in found.profile(1.5)):
            # The largest objective with this coefficient, by a search over the other.
            def highest(other: float, end: float = end, at: int = at) -> float:
                pair = np.array([end, other] if at == 0 else [other, end])
                scaled = np.linalg.solve(found.model.unscaling, pair)
                return -found.model.objective(scaled)

            best = -minimize_scalar(highest, (-3.0, 3.0)).fun
            loss = 2 * (found.model.objective(found.scaled) - best)
            assert loss == pytest.approx(1.5**2, abs=2e-3)
    assert found.signed_roots()[1, 0] ** 2 == pytest.approx(found.loss_without([1]), abs=1e-4)


def test_profiles_of_many_people_are_walds() -> None:
    rng = np.random.default_rng(6)
    x = np.column_stack([np.ones(40_000), rng.integers(0, 3, 40_000)])
    outputs = people(40_000, softmax(x, np.array([[0.2], [0.3]])), NOISE, rng)
    rows, first, counts = np.unique(
        np.column_stack([x, outputs]), axis=0, return_index=True, return_counts=True
    )
    answers = Likelihoods(NOISE.T[rows[:, 2].astype(int)], counts.astype(float), NOISE)
    found = fit(x[first], answers)
    errors = np.sqrt(np.diag(found.covariance))
    low, high = found.profile(1.96)
    np.testing.assert_allclose(high[:, 0] - found.coefficients[:, 0], 1.96 * errors, rtol=0.03)
    np.testing.assert_allclose(found.coefficients[:, 0] - low[:, 0], 1.96 * errors, rtol=0.03)
    np.testing.assert_allclose(
        found.signed_roots()[:, 0], found.coefficients[:, 0] / errors, rtol=0.03
    )


def test_a_combination_of_columns_is_refused() -> None:
    x = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    twice = np.column_stack([x, x[:, 1]])
    with pytest.raises(InputError, match="one of these is a combination"):
        fit(twice, Likelihoods(NOISE.T[np.tile([0, 1], 20)], np.ones(40), NOISE))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("extra", ["constant", "twin", "sum", "none"])
def test_singular_columns_and_few_reports_get_a_sentence(extra: str, seed: int) -> None:
    """Constant and equal columns, and ordinary data of 200 people at epsilon 1: no LinAlgError."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(200), rng.normal(size=200), rng.integers(0, 2, 200)])
    more = {
        "constant": x[:, :1] * 7,
        "twin": x[:, 1:2],
        "sum": x[:, 1:2] + x[:, 2:],
        "none": x[:, :0],
    }
    noise = np.full((3, 3), 1 / (math.e + 2)) + (math.e - 1) / (math.e + 2) * np.eye(3)
    outputs = people(200, softmax(x, np.array([[-3.0, 0.1], [0.5, 0.2], [0.3, -0.4]])), noise, rng)
    answers = Likelihoods(noise.T[outputs], np.ones(200), noise)
    columns = np.column_stack([x, more[extra]])
    if extra != "none":
        with pytest.raises(InputError, match="one of these is a combination"):
            fit(columns, answers)
        return
    found = fit(columns, answers)
    assert (np.diag(found.covariance) > 0).all()
