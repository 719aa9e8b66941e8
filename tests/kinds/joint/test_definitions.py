"""Associations of joint answers against their definitions, on tables of numbers by hand.

Gradients are differences of the function itself, Fieller's ends roots of his equation, models of
tables conditioned by plain formulas of the normal law.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, stats

import rumor
from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.joint.fit.association import (
    beyond_margins,
    cramers_v,
    fieller,
    independence_test,
    odds_ratio,
    ratio_to_independence,
)
from rumor.kinds.joint.fit.bayes import margins, nearest_table, table_posterior, weight_of_model
from rumor.kinds.joint.fit.linear import (
    Moments,
    ObservedTable,
    TableCoordinates,
    linear,
    linked_table,
)
from rumor.mechanisms.summary import Summary

SIZES = (2, 3)
TABLE = np.array([[0.30, 0.15, 0.05], [0.10, 0.10, 0.30]])
Z = 1.4


def known(people: float = 900.0, table: Vector = TABLE) -> Moments:
    """The table of so many people without noise: multinomial shares."""
    flat = table.ravel()
    return Moments(flat, (np.diag(flat) - np.outer(flat, flat)) / people)


def slope(function: Callable[[Vector], float], at: Vector) -> Vector:
    """The gradient by differences."""
    steps = 1e-6 * np.eye(at.size)
    return np.array([(function(at + s) - function(at - s)) / 2e-6 for s in steps])


def beyond(flat: Vector) -> Vector:
    square = flat.reshape(SIZES)
    return np.asarray((square - np.outer(square.sum(axis=1), square.sum(axis=0))).ravel())


def test_what_is_beyond_the_margins_and_its_covariance() -> None:
    found, table = beyond_margins(known(), SIZES), known()
    np.testing.assert_allclose(found.mean, beyond(table.mean))
    change = np.array([slope(lambda x, i=i: float(beyond(x)[i]), table.mean) for i in range(6)])  # type: ignore[misc]
    np.testing.assert_allclose(found.covariance, change @ table.covariance @ change.T, atol=1e-10)


def test_the_test_of_independence_is_walds() -> None:
    found = independence_test(known(), SIZES)
    one = beyond_margins(known(), SIZES)
    statistic = one.mean @ np.linalg.pinv(one.covariance, rcond=1e-9) @ one.mean
    assert found.statistic == pytest.approx(float(statistic))
    assert found.degrees == 2
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, 2))


@pytest.mark.parametrize(("above", "below"), [(0.3, 0.5), (0.02, 0.4), (0.3, 0.05), (-0.1, 0.3)])
def test_fiellers_ends_are_the_roots_of_his_equation(above: float, below: float) -> None:
    noise = (0.004, 0.006, 0.002)

    def rejected(ratio: float) -> float:
        spread = noise[0] - 2 * ratio * noise[2] + ratio**2 * noise[1]
        return (above - ratio * below) ** 2 - Z**2 * spread

    low, high = fieller(above, below, noise, Z)
    tried = np.concatenate([np.linspace(0, 5, 50_001), np.geomspace(5, 1e4, 2000)])
    kept = tried[np.array([rejected(x) <= 0 for x in tried])]
    if not kept.size:
        assert (low, high) == (0.0, 0.0)
        return
    assert low == pytest.approx(kept.min(), abs=2e-4)
    assert high == (math.inf if kept.max() > 9e3 else pytest.approx(kept.max(), abs=2e-3))
    if low > 0:
        assert rejected(low) == pytest.approx(0.0, abs=1e-12)


def test_ratios_have_the_noise_of_both_parts() -> None:
    """Above and below the line, by the gradients of both."""
    table = known()
    parts: dict[
        str, tuple[tuple[float, float], Callable[[Vector], float], Callable[[Vector], float]]
    ]
    parts = {}
    for cell in range(6):
        row, column = divmod(cell, 3)
        parts[f"cell {cell}"] = (
            ratio_to_independence(table, SIZES, cell, Z),
            lambda x, c=cell: float(x[c]),  # type: ignore[misc]
            lambda x, r=row, c=column: float(  # type: ignore[misc]
                x.reshape(SIZES)[r].sum() * x.reshape(SIZES)[:, c].sum()
            ),
        )
    for j, k in itertools.permutations(range(3), 2):
        parts[f"odds {j} {k}"] = (
            odds_ratio(table, SIZES, (0, 1, j, k), Z),
            lambda x, j=j, k=k: float(x.reshape(SIZES)[0, j] * x.reshape(SIZES)[1, k]),  # type: ignore[misc]
            lambda x, j=j, k=k: float(x.reshape(SIZES)[0, k] * x.reshape(SIZES)[1, j]),  # type: ignore[misc]
        )
    for name, (ends, above, below) in parts.items():
        gradients = np.array([slope(above, table.mean), slope(below, table.mean)])
        noise = gradients @ table.covariance @ gradients.T
        wanted = fieller(
            above(table.mean), below(table.mean), (noise[0, 0], noise[1, 1], noise[0, 1]), Z
        )
        assert ends == pytest.approx(wanted, rel=1e-6), name
        assert ends[0] < above(table.mean) / below(table.mean) < ends[1]


def strength(flat: Vector) -> float:
    """The sum of squares beyond the margins, over the product of these."""
    square = flat.reshape(SIZES)
    expected = np.outer(square.sum(axis=1), square.sum(axis=0))
    return float(((square - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("people", [60.0, 900.0])
def test_cramers_v_and_its_ends(level: float, people: float) -> None:
    """V takes the noise out of the squares; its ends have a tail each of a scaled chi-squared."""
    table = known(people)
    v = cramers_v(table, SIZES, TABLE.ravel(), level)
    square = TABLE
    scale = 1 / np.sqrt(np.outer(square.sum(axis=1), square.sum(axis=0)).ravel())
    one = beyond_margins(table, SIZES)
    noise = one.covariance * np.outer(scale, scale)
    first, second = np.trace(noise), (noise**2).sum()
    seen = strength(table.mean)
    assert v.value == pytest.approx(math.sqrt(max(seen - first, 0.0)))
    steep = slope(strength, table.mean)
    along = steep @ table.covariance @ steep / (4 * seen)

    def above(true: float) -> float:
        b = (2 * second + 4 * true * along) / (2 * first + 4 * true)
        return float(stats.ncx2.sf(seen / b, first / b, true / b))

    tail = (1 - level) / 2
    for end, chance in ((v.low, tail), (v.high, 1 - tail)):
        if 0 < end < 1 and end != v.value:
            assert above(end**2) == pytest.approx(chance, rel=1e-5)
    assert v.low <= v.value <= v.high
    if people == 900.0:
        assert 0 < v.low < v.high < 1


# Estimates of all tables together


def test_tables_seen_apart_are_averaged_by_their_precision() -> None:
    """Generalised least squares over all free shares, margins asked alone among them."""
    alone = np.array([0.45, 0.55])
    seen = [
        ObservedTable((0, 1), known(300.0)),
        ObservedTable((0,), Moments(alone, (np.diag(alone) - np.outer(alone, alone)) / 500.0)),
    ]
    found = linear(SIZES, seen)
    # Free cells: all but the last, which is 1 less the others.
    design = np.vstack([np.eye(5), -np.ones((1, 5))])
    last = np.array([0.0] * 5 + [1.0])
    to_rows = np.kron(np.eye(2), np.ones((1, 3)))[:1]
    blocks = []
    for maps, one in ((np.eye(6)[:5], seen[0].table), (to_rows, seen[1].table)):
        own = one.mean[: len(maps)]
        spread = one.covariance[: len(maps), : len(maps)]
        blocks.append((maps @ design, own - maps @ last, np.linalg.inv(spread)))
    precision = sum(a.T @ w @ a for a, _, w in blocks)
    cells = np.linalg.solve(precision, sum(a.T @ w @ y for a, y, w in blocks))
    table = found.pair((0, 1))
    np.testing.assert_allclose(table.mean, last + design @ cells)
    np.testing.assert_allclose(table.covariance, design @ np.linalg.inv(precision) @ design.T)
    np.testing.assert_allclose(table.deviation**2, np.diag(table.covariance))
    sums = np.kron(np.ones((1, 2)), np.eye(3))
    np.testing.assert_allclose(found.margin(1).mean, sums @ table.mean)
    np.testing.assert_allclose(found.margin(1).covariance, sums @ table.covariance @ sums.T)
    assert TableCoordinates((2, 3, 4)).count == 1 + 2 + 3 + 2 + 3 + 6


def test_a_mixed_mechanism_is_inverted_with_its_covariance() -> None:
    mechanism = rumor.Mixed(parts=[2, 3], epsilon=2.0)
    people = np.array([[0, 0]] * 120 + [[1, 2]] * 80 + [[0, 1]] * 40)
    reports = mechanism.privatize(people, random=rumor.Seeded(1))
    summary = Summary.empty(mechanism).update(reports)
    counted = [one for one in mechanism.counted(summary.tally) if one.reports]
    found = rumor.estimate(mechanism, reports, method="linear")
    whole = [one for one in counted if one.component.asks == (0, 1)]
    assert len(whole) == len(counted) == 1, "both parts are asked of everybody at this epsilon"
    oracle, n = whole[0].component.oracle, whole[0].reports
    mean = oracle.unbiased(whole[0].tally, n)
    covariance = oracle.covariance(project(mean), n)
    # On shares that sum to one: what all have in common is taken out by least squares.
    basis = np.linalg.qr(np.column_stack([np.ones(6), np.eye(6)[:, :5]]))[0][:, 1:]
    own = basis.T @ mean
    np.testing.assert_allclose(found.unbiased[:6], 1 / 6 + basis @ own, atol=1e-9)
    spread = basis @ (basis.T @ covariance @ basis) @ basis.T
    np.testing.assert_allclose(found.stderr[:6], np.sqrt(np.diag(spread)), rtol=1e-6)
    sums = np.vstack([np.kron(np.eye(2), np.ones((1, 3))), np.kron(np.ones((1, 2)), np.eye(3))])
    np.testing.assert_allclose(found.unbiased[6:], sums @ found.unbiased[:6])
    np.testing.assert_allclose(
        found.stderr[6:], np.sqrt(np.diag(sums @ spread @ sums.T)), rtol=1e-6
    )


def test_linked_reports_are_inverted_by_the_product_of_channels() -> None:
    counts = np.array([[40, 25, 5], [30, 60, 40]])
    rates = ((0.8, 0.2), (0.7, 0.15))
    found = linked_table(counts, rates)
    one = np.array([[0.8, 0.2], [0.2, 0.8]])
    other = np.full((3, 3), 0.15) + 0.55 * np.eye(3)
    mean = np.linalg.inv(one) @ (counts / 200) @ np.linalg.inv(other).T
    np.testing.assert_allclose(found.mean, mean.ravel())
    table = project(mean.ravel()).reshape(2, 3)
    expected = (one @ table @ other.T).ravel()
    inverse = np.linalg.inv(np.kron(one, other))
    noise = (np.diag(expected) - np.outer(expected, expected)) / 200
    np.testing.assert_allclose(found.covariance, inverse @ noise @ inverse.T)


def models(table: Moments) -> tuple[Vector, float]:
    """Every model's posterior mean, by the formulas of the normal law, averaged by evidence."""
    rows, columns = (project(m) for m in margins(table.mean, SIZES))
    middle = np.outer(rows, columns).ravel()
    basis = np.linalg.qr(np.column_stack([np.ones(6), np.eye(6)[:, :5]]))[0][:, 1:]
    r, c = (np.diag(m) - np.outer(m, m) for m in (rows, columns))
    # Of the margins nothing is known before: a direction along them is free.
    ups = [np.kron(v, columns) for v in (np.eye(2) - 1 / 2)]
    downs = [np.kron(rows, v) for v in (np.eye(3) - 1 / 3)]
    flat = np.array([*ups, *downs]).T
    free = basis.T @ (flat @ flat.T) @ basis
    noise, away = basis.T @ table.covariance @ basis, basis.T @ (table.mean - middle)
    found, evidence = [], []
    for scale in [0.0, *(1 / (np.geomspace(1.0, 3e4, 16) + 1))]:
        prior = free + scale * basis.T @ np.kron(r, c) @ basis
        total = noise + prior
        found.append(prior @ np.linalg.solve(total, away))
        evidence.append(stats.multivariate_normal.logpdf(away, cov=total))
    weights = np.exp(np.array(evidence) - max(evidence))
    weights[0] *= 16
    weights /= weights.sum()
    return middle + basis @ (weights @ np.array(found)), float(weights[0])


@pytest.mark.parametrize("people", [30.0, 900.0])
def test_the_drawn_table_is_the_average_of_its_models(people: float) -> None:
    table = known(people)
    found = table_posterior(table, SIZES)
    mean, independence = models(table)
    np.testing.assert_allclose(found.mean, mean, atol=1e-9)
    assert found.independence == pytest.approx(independence, rel=1e-6)


def test_the_nearest_table_minimises_its_metric() -> None:
    noisy = TABLE.ravel() + np.array([0.05, -0.2, 0.1, 0.0, -0.15, 0.2])
    table = Moments(noisy, known(50.0).covariance + 1e-4 * np.eye(6))
    found = nearest_table(table)
    basis = np.linalg.qr(np.column_stack([np.ones(6), np.eye(6)[:, :5]]))[0][:, 1:]
    metric = basis @ np.linalg.inv(basis.T @ table.covariance @ basis) @ basis.T

    def distance(x: Vector) -> float:
        return float((x - noisy) @ metric @ (x - noisy))

    best = optimize.minimize(
        distance,
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)
    assert found.sum() == pytest.approx(1.0)


def test_the_weight_of_the_drawn_table_is_that_of_its_risk() -> None:
    """Inside, the plain table is what was seen: no distance, and all five degrees of freedom."""
    plain = known(200.0)
    drawn = table_posterior(plain, SIZES)
    basis = np.linalg.qr(np.column_stack([np.ones(6), np.eye(6)[:, :5]]))[0][:, 1:]
    away = basis.T @ (plain.mean - nearest_table(drawn))
    noise = basis.T @ plain.covariance @ basis
    # How the drawn table moves with what was seen, by differences of the whole.
    freedom = float(np.trace(drawn.kept))
    risk = float(away @ np.linalg.solve(noise, away)) + 2 * freedom
    assert (nearest_table(drawn) > 1e-6).all()
    assert weight_of_model(plain, drawn) == pytest.approx(
        1 / (1 + math.exp((risk - 10) / 2)), rel=1e-4
    )
