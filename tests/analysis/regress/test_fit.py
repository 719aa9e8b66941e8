"""Regression: closed forms, derivatives, coverage, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor.analysis.regress.fit import FittedModel, Likelihoods, _Model, fit
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
    """With a coefficient for each group nothing is left to fit: shares are inverted counts."""
    counts = np.array([[620, 380], [450, 550]])
    x = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    outputs = np.array([0, 1, 0, 1])
    answers = Likelihoods(NOISE.T[outputs], counts.reshape(-1).astype(float), NOISE)
    found = fit(x, answers)
    seen, gain = counts[:, 1] / 1000, 0.75 - 0.2
    shares = (seen - 0.2) / gain
    odds = np.log(shares / (1 - shares))
    np.testing.assert_allclose(found.coefficients[:, 0], [odds[0], odds[1] - odds[0]], rtol=1e-6)
    errors = np.sqrt(seen * (1 - seen) / 1000) / gain / (shares * (1 - shares))
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
    model = _Model(x, Likelihoods(THREE.T[outputs], weights, THREE if listed else None), 0)
    at, step = rng.normal(size=(2, 2)), 1e-5

    def moved(i: int, by: float) -> Vector:
        flat = at.T.reshape(-1).copy()
        flat[i] += by
        return flat.reshape(2, 2).T

    slope = [
        (model.log_likelihood(moved(i, step)) - model.log_likelihood(moved(i, -step))) / (2 * step)
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
    whole = _Model(x[rows], Likelihoods(THREE.T[every], chance), 0)
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
    covered, rejected = np.zeros(law.shape), 0
    for full, less in zip(found[::2], found[1::2], strict=True):
        errors = np.sqrt(np.diag(full.covariance)).reshape(law.T.shape).T
        covered += np.abs(full.coefficients - law) < 1.96 * errors
        statistic = 2 * (full.log_likelihood - less.log_likelihood)
        rejected += int(chi_squared_tail(statistic, law.shape[1]) < 0.05)
    assert covered.min() / 300 > 0.90
    assert covered.max() / 300 <= 1.0
    assert rejected / 300 < 0.10
    assert rejected > 0


def test_what_is_refused() -> None:
    x = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    told = np.repeat([0, 1], 20)
    with pytest.raises(InputError, match="must leave the answers uncertain"):
        fit(x, Likelihoods(NOISE.T[told], np.ones(40), NOISE))
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
    found, said = None, ""
    try:
        found = fit(columns, answers)
    except InputError as refused:
        said = str(refused)
    assert (found is None) == ("the reports are too few" in said)
    assert found is None or (np.diag(found.covariance) > 0).all()
