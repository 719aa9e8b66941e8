"""Estimates of keys and sets once more: counts to numbers by plain formulas, loops and roots.

Everything is key by key here, densities are written out, and each end of an interval is put into
the equation that it solves.
"""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.core.types import Vector
from rumor.estimators.frequency.posterior import CountTable
from rumor.estimators.frequency.priors import Noise, make_grid
from rumor.kinds.keyvalue.fit.linear import LinearKeys
from rumor.kinds.keyvalue.fit.pooled import (
    KNOTS,
    MODELS,
    KeyGrid,
    LogitGrid,
    MeanCurve,
    Prior,
    learned,
    log_likelihood,
    posterior_means,
)
from rumor.kinds.keyvalue.fit.published import (
    calibrate,
    frequencies_and_means,
    responsibilities,
    state_em,
)
from rumor.kinds.keyvalue.intervals import FewMeans, KeyIntervals
from rumor.kinds.set.fit import beta_laws, pair_shares, pareto_laws, posterior_shares, with_trials
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.mechanisms.sets import PairCounts, pair_weights
from rumor.mechanisms.support import ItemCounts
from rumor.results.counts import bounded_ends
from rumor.results.intervals import Tails

NORMAL = NormalDist()
RATES = KeyRates(miss=0.3, gain=0.5, sign_gain=0.4)
COUNTS = KeyCounts(
    np.array([260, 90, 20, 40]), np.array([140, 100, 25, 2]), np.array([600, 500, 120, 60])
)


def outputs(f: Any, m: Any) -> Any:
    """The chances of +, - and nothing."""
    seen, tilt = RATES.miss + RATES.gain * f, RATES.sign_gain * f * m
    return np.stack([(seen + tilt) / 2, (seen - tilt) / 2, 1 - seen + 0 * tilt])


def seen_of(key: int) -> Vector:
    plus, minus, trials = (int(c[key]) for c in (COUNTS.plus, COUNTS.minus, COUNTS.trials))
    return np.array([plus, minus, trials - plus - minus], dtype=float)


# Linear estimates


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_linear_estimates_solve_both_lines(prior: float) -> None:
    found = LinearKeys.of(COUNTS, RATES, prior)
    for key in range(4):
        counts = seen_of(key)
        n = counts.sum()
        # What each of the three outputs adds to f and to s.
        adds = np.array([[1 - RATES.miss, 1 - RATES.miss, -RATES.miss], [1.0, -1.0, 0.0]])
        adds /= np.array([[RATES.gain], [RATES.sign_gain]])
        np.testing.assert_allclose([found.f[key], found.s[key]], adds @ counts / n)
        chances = (counts + prior) / (n + 3 * prior)
        covariance = adds @ (np.diag(chances) - np.outer(chances, chances)) @ adds.T / n
        told = [
            [found.var_f[key], found.covariance[key]],
            [found.covariance[key], found.var_s[key]],
        ]
        np.testing.assert_allclose(told, covariance, atol=1e-12)
        # The variance of a ratio, to first order.
        ratio = np.clip(found.s[key] / found.f[key], -1, 1)
        slope = np.array([-ratio, 1.0]) / found.f[key]
        assert found.mean_variance()[key] == pytest.approx(slope @ covariance @ slope)
    some = found.rows(np.array([3, 1]))
    np.testing.assert_array_equal(some.var_s, found.var_s[[3, 1]])
    nobody = LinearKeys.of(KeyCounts(*(np.zeros(1, int),) * 3), RATES)
    assert np.isnan(nobody.f[0])
    assert np.isnan(nobody.s[0])


def test_linear_estimates_are_unbiased_exactly() -> None:
    """All outcomes of four reports, with their chances."""
    f, m, n = 0.6, -0.3, 4
    chances = outputs(np.array(f), np.array(m))
    total = np.zeros(5)
    for plus, minus in itertools.product(range(n + 1), repeat=2):
        if plus + minus <= n:
            chance = stats.multinomial.pmf([plus, minus, n - plus - minus], n, chances)
            counts = KeyCounts(*(np.array([c]) for c in (plus, minus, n)))
            found = LinearKeys.of(counts, RATES)
            e, s = found.f[0] - f, found.s[0] - f * m
            total += chance * np.array([e, s, e * e, s * s, e * s])
    np.testing.assert_allclose(total[:2], 0, atol=1e-12)
    many = LinearKeys.of(
        KeyCounts(*(np.rint(c * 1e9).astype(int)[None] for c in (*chances[:2], 1.0))), RATES
    )
    wanted = [v[0] * 1e9 / n for v in (many.var_f, many.var_s, many.covariance)]
    np.testing.assert_allclose(total[2:], wanted, rtol=1e-6)


# Published estimators


def test_calibration_as_it_was_printed() -> None:
    mechanism = rumor.PrivKV(keys=4, epsilon=3.0)
    p1, p2 = mechanism.key_truth / 2**64, mechanism.value_truth / 2**64
    frequency, mean = calibrate(mechanism, COUNTS)
    for key in range(4):
        plus, minus, _ = seen_of(key)
        seen, trials = plus + minus, COUNTS.trials[key]
        assert frequency[key] == pytest.approx((seen / trials - (1 - p1)) / (2 * p1 - 1))
        up = min(max((seen * (p2 - 1) + plus) / (2 * p2 - 1), 0), seen)
        down = min(max((seen * (p2 - 1) + minus) / (2 * p2 - 1), 0), seen)
        assert mean[key] == pytest.approx((up - down) / (up + down))


def test_em_moves_by_bayes_rule() -> None:
    channel = np.array([[0.6, 0.1, 0.3], [0.1, 0.6, 0.3], [0.15, 0.15, 0.7]])
    shares, start = np.array([[0.4, 0.2, 0.4], [0.1, 0.1, 0.8]]), np.array([0.5, 0.3, 0.2])
    moved, rounds = state_em(channel, shares, threshold=1e-9, start=start, most=1)
    assert rounds == 1
    for row, seen in enumerate(shares):
        joint = start[:, None] * channel  # state by output
        wanted = (joint / joint.sum(axis=0)) @ seen
        np.testing.assert_allclose(moved[row], wanted)
    np.testing.assert_allclose(responsibilities(channel, start), (joint / joint.sum(axis=0)).T)
    # Every row stops by itself: a run of both is a run of each.
    both, most = state_em(channel, shares, threshold=1e-4)
    alone = [state_em(channel, row[None], threshold=1e-4) for row in shares]
    np.testing.assert_allclose(both, np.concatenate([one for one, _ in alone]))
    assert most == max(rounds for _, rounds in alone)
    frequency, mean = frequencies_and_means(np.array([[0.3, 0.1, 0.6]]))
    assert (frequency[0], mean[0]) == pytest.approx((0.4, 0.5))


# Posterior means


def test_the_grid_of_a_key_spans_five_deviations() -> None:
    grid = KeyGrid.of(COUNTS, RATES)
    linear = LinearKeys.of(COUNTS, RATES, prior=0.5)
    f, m = linear.f[0], 0.0
    plain = LinearKeys.of(COUNTS, RATES)
    f, m = plain.f[0], plain.s[0] / plain.f[0]  # inside of the triangle: the likeliest point
    assert abs(m) < 1
    sd = math.sqrt(linear.var_f[0])
    ends = max(f - 5 * sd, 0.0), min(f + 5 * sd, 1.0)
    step = (ends[1] - ends[0]) / 25
    np.testing.assert_allclose(grid.f[0], ends[0] + step * (np.arange(25) + 0.5))
    base = max(f, sd)
    sd_m = math.sqrt(linear.var_s[0] + m**2 * linear.var_f[0]) / base
    span = max(m - 5 * sd_m, -1.0), min(m + 5 * sd_m, 1.0)
    each = (span[1] - span[0]) / 31
    np.testing.assert_allclose(grid.m[0], span[0] + each * (np.arange(31) + 0.5))
    assert grid.cell[0] == pytest.approx(math.log(step * each))
    for key in range(4):
        cells = outputs(grid.f[key][:, None], grid.m[key][None])
        logs = np.tensordot(seen_of(key), np.log(cells), axes=1)
        np.testing.assert_allclose(grid.likelihood[key], logs - logs.max(), atol=1e-9)
    picked = grid.take(np.array([2]))
    np.testing.assert_array_equal(picked.m, grid.m[[2]])
    whole = log_likelihood(COUNTS, RATES, grid.f, grid.m)
    np.testing.assert_allclose(whole, grid.likelihood)


def curve_at(curve: MeanCurve, a: float) -> tuple[float, float]:
    """Centre and variance of b where the logit of a share is a."""
    inside = min(max(a, KNOTS[0]), KNOTS[-1])
    basis = np.array([np.interp(inside, KNOTS, row) for row in np.eye(KNOTS.size)])
    return float(basis @ curve.heights), float(curve.scatter + basis @ curve.covariance @ basis)


def normal_log(x: Any, mean: Any, variance: Any) -> Any:
    """The logarithm of the normal density."""
    return -((x - mean) ** 2 / variance + np.log(2 * math.pi * variance)) / 2


def cell_weights(grid: KeyGrid, key: int, prior: Prior) -> tuple[Vector, float]:
    """A key's posterior over its cells, and its evidence, density by density."""
    f, m = grid.f[key][:, None], grid.m[key][None]
    a, b = np.log(f / (1 - f)), 2 * np.arctanh(m)
    logs = grid.likelihood[key] - math.log(2.0)
    if prior.share is not None:
        logs = logs + normal_log(a, *prior.share) - np.log(f * (1 - f))
    if prior.curve is not None:
        known = np.array([curve_at(prior.curve, float(x)) for x in a.ravel()])
        logs = (
            logs
            + math.log(2.0)
            + normal_log(b, known[:, :1], known[:, 1:])
            + np.log(2 / (1 - m * m))
        )
    total = np.logaddexp.reduce(logs.ravel())
    return np.exp(logs - total), float(total + grid.cell[key])


CURVE = MeanCurve(np.array([0.5, -0.2, 0.3, 0.1, 0.4, -1.0]), 0.7, 0.02 * np.eye(6) + 0.01)
PRIORS = (Prior(), Prior((-0.4, 1.3)), Prior((-0.4, 1.3), CURVE))


@pytest.mark.parametrize("prior", PRIORS, ids=("flat", "shares", "curve"))
def test_posteriors_are_products_of_densities(prior: Prior) -> None:
    grid = KeyGrid.of(COUNTS, RATES)
    weights, evidence = LogitGrid(grid).posterior(prior)
    for key in (0, 3):
        wanted, total = cell_weights(grid, key, prior)
        np.testing.assert_allclose(weights[key], wanted, atol=1e-12)
        assert evidence[key] == pytest.approx(total, abs=1e-9)


def test_a_prior_is_learned_by_its_moments() -> None:
    """One round: the moments of all keys' posteriors, with four pseudo-keys of variance 1."""
    grid = KeyGrid.of(COUNTS, RATES)
    keys, start = LogitGrid(grid), Prior((-0.4, 1.3), CURVE)
    found = learned(keys, 2.0, 1, start)
    mass, total_b, total_b2, points = [], [], [], []
    for key in range(4):
        weights, _ = cell_weights(grid, key, start)
        b = 2 * np.arctanh(grid.m[key])
        mass.append(weights.sum(axis=1))
        total_b.append(weights @ b)
        total_b2.append(weights @ b**2)
        points.append(np.log(grid.f[key] / (1 - grid.f[key])))
    w, first, second, a = (np.array(x) for x in (mass, total_b, total_b2, points))
    mu = (w * a).sum() / 4
    assert found.share is not None
    assert found.share == pytest.approx((mu, ((w * (a - mu) ** 2).sum() + 4) / (4 + 4)))
    basis = np.array(
        [[np.interp(np.clip(x, -4, 3.5), KNOTS, row) for row in np.eye(6)] for x in a.ravel()]
    )
    gram = basis.T @ (basis * w.reshape(-1, 1))
    bend = np.diff(np.eye(6), 2, axis=0)
    precision = 2.0 * bend.T @ bend + 0.15 * np.eye(6)
    heights = np.linalg.solve(gram + precision * max(CURVE.scatter, 0.3), basis.T @ first.ravel())
    assert found.curve is not None
    np.testing.assert_allclose(found.curve.heights, heights, rtol=1e-8)
    around = second.sum() - 2 * first.ravel() @ basis @ heights + heights @ gram @ heights
    scatter = (max(around, 0.0) + 4) / (4 + 4)
    assert found.curve.scatter == pytest.approx(scatter)
    known = np.clip(1 - (second.sum(axis=1) - first.sum(axis=1) ** 2) / scatter, 0, 1)
    informed = basis.T @ (basis * (w * known[:, None]).reshape(-1, 1))
    spread = np.linalg.inv(informed / scatter + precision * max(scatter, 0.3) / scatter)
    np.testing.assert_allclose(found.curve.covariance, spread, rtol=1e-7)
    # Without a start, shares begin at the mean of what a flat prior gives, with a variance of 3.
    flat = [cell_weights(grid, key, Prior())[0].sum(axis=1) @ points[key] for key in range(4)]
    assert learned(keys, None, 0).share == pytest.approx((np.mean(flat), 3.0))


def test_answers_are_averaged_by_what_models_predict() -> None:
    names = tuple(MODELS)
    found = posterior_means(COUNTS, RATES, names)
    order = np.argsort(-(COUNTS.plus + COUNTS.minus) / COUNTS.trials, kind="stable")
    grid = KeyGrid.of(
        KeyCounts(*(c[order] for c in (COUNTS.plus, COUNTS.minus, COUNTS.trials))), RATES
    )
    stiff = {"shares": None, "line": 30.0, "curve": 2.0, "bend": 0.5}
    odds = {"apart": 0.0, "shares": 0.0, "line": -2.5, "curve": -3.5, "bend": -5.0}
    priors = {n: learned(LogitGrid(grid), s, 25) for n, s in stiff.items()} | {"apart": Prior()}
    for fold in range(4):
        others = LogitGrid(grid.take(np.array([k for k in range(4) if k % 5 != fold])))
        own = LogitGrid(grid.take(np.array([fold])))
        for name in names:
            prior = Prior() if name == "apart" else learned(others, stiff[name], 6, priors[name])
            odds[name] += float(own.posterior(prior)[1].sum())
    raw = {name: math.exp(score - max(odds.values())) for name, score in odds.items()}
    weights = {name: w / sum(raw.values()) for name, w in raw.items()}
    assert found.weights == pytest.approx(weights)
    whole = KeyGrid.of(COUNTS, RATES)
    for key in range(4):
        f = m = 0.0
        for name in names:
            cells, _ = cell_weights(whole, key, priors[name])
            f += weights[name] * float(cells.sum(axis=1) @ whole.f[key])
            m += weights[name] * float(cells.sum(axis=0) @ whole.m[key])
        assert (found.frequency[key], found.mean[key]) == pytest.approx((f, m))
        cells, _ = cell_weights(whole, key, Prior())
        by_f, by_m = cells.sum(axis=1), cells.sum(axis=0)
        var_f = by_f @ whole.f[key] ** 2 - (by_f @ whole.f[key]) ** 2
        var_m = by_m @ whole.m[key] ** 2 - (by_m @ whole.m[key]) ** 2
        assert found.frequency_known[key] == (var_f < 0.8 / 12)
        assert found.mean_known[key] == (var_m < 0.8 / 3)


# Intervals of means


@pytest.mark.parametrize("tail", [0.2, 0.01])
def test_means_are_bounded_by_fiellers_equation(tail: float) -> None:
    """Where reports are many: (s - m f)^2 = z^2 (Var s - 2 m Cov + m^2 Var f) at both ends."""
    many = KeyCounts(*(c * 400 for c in (COUNTS.plus, COUNTS.minus, COUNTS.trials)))
    rows = np.array([1, 0])
    low, high = KeyIntervals(many, RATES, 2.0, 10.0).mean(rows, Tails.alike(tail, tail, 2))
    keys, z = LinearKeys.of(many, RATES, prior=0.5), -NORMAL.inv_cdf(tail)
    for row, key in enumerate(rows):
        for end in (low[row], high[row]):
            m = (end - 6.0) / 4.0
            spread = keys.var_s[key] - 2 * m * keys.covariance[key] + m**2 * keys.var_f[key]
            assert (keys.s[key] - m * keys.f[key]) ** 2 == pytest.approx(z**2 * spread, rel=1e-6)
        middle = 6 + 4 * keys.s[key] / keys.f[key]
        assert low[row] < middle < high[row]


def test_few_reports_leave_every_mean_that_is_possible() -> None:
    few = KeyCounts(np.array([7, 30_000]), np.array([2, 9000]), np.array([12, 60_000]))
    tails = Tails(np.full(2, 0.02), np.full(2, 0.1))
    low, high = FewMeans(few, RATES).ends(np.arange(2), tails)
    assert (low[1], high[1]) == (1.0, -1.0), "of many reports nothing is said"
    possible = []
    for m in np.linspace(-1, 1, 161):
        held, absent = (1 - RATES.miss) / RATES.gain, -RATES.miss / RATES.gain
        adds = np.array(
            [1 / RATES.sign_gain - m * held, -1 / RATES.sign_gain - m * held, -m * absent]
        )
        mean = adds @ np.array([7, 2, 3]) / 12
        within = np.array([adds.min()]), np.array([adds.max()])
        ends = bounded_ends(
            np.array([mean]), np.array([12.0]), within, Tails(np.array([0.02]), np.array([0.1]))
        )
        if ends[0][0] <= 0 <= ends[1][0]:
            possible.append(m)
    assert (low[0], high[0]) == pytest.approx((possible[0] - 1 / 80, possible[-1] + 1 / 80))


def test_shares_of_keys_are_clopper_and_pearsons() -> None:
    tails = Tails(np.full(2, 0.02), np.full(2, 0.1))
    low, high = KeyIntervals(COUNTS, RATES, 0.0, 1.0).frequency(np.array([3, 1]), tails)
    for row, key in enumerate((3, 1)):
        seen, n = int(COUNTS.plus[key] + COUNTS.minus[key]), int(COUNTS.trials[key])
        ends = [RATES.miss + RATES.gain * float(end[row]) for end in (low, high)]
        assert stats.binom.sf(seen - 1, n, ends[0]) == pytest.approx(0.02)
        assert stats.binom.cdf(seen, n, ends[1]) == pytest.approx(0.1)


# Sets


def test_pairs_are_inverted_with_their_own_spread() -> None:
    rates = (0.05, 0.2, 0.6)
    miss, gain = 0.25, 0.45
    counts = PairCounts(
        np.array([60, 5]), np.array([120, 40]), np.array([100, 30]), np.array([300.0, 0.0]), rates
    )
    found = pair_shares(counts, 400, miss, gain)
    # P(both) = g0 + (g1 - g0)(f1 + f2) + (g2 - 2 g1 + g0) f12, with the shares of these reports.
    f = [(c / 300 - miss) / gain for c in (120, 100)]
    pair = (60 / 300 - 0.05 - 0.15 * sum(f)) / (0.6 - 0.4 + 0.05)
    assert found.share[0] == pytest.approx(pair)
    weights = np.array(pair_weights(miss, gain, rates))
    one = 120 + 100 - 2 * 60
    chances = (np.array([300 - one - 60, one, 60]) + 0.5) / 301.5
    spread = (weights**2 @ chances - (weights @ chances) ** 2) / 300
    assert found.variance[0] == pytest.approx(spread)
    held = min(max(pair, 0.0), 1.0)
    assert found.noise[0] == pytest.approx(max(spread - held * (1 - held) / 400, spread / 100))


def test_an_option_without_reports_is_as_frequent_as_all_together() -> None:
    items = ItemCounts(np.array([30.0, 0.0, 50.0]), np.array([60.0, 0.0, 100.0]), 0.7, 0.2, 1.0)
    found = with_trials(items)
    assert found.unbiased[1] == pytest.approx((80 / 160 - 0.2) / 0.5)
    assert found.trials[1] == pytest.approx(1e-6)  # type: ignore[index]
    np.testing.assert_allclose(found.unbiased[[0, 2]], [(0.5 - 0.2) / 0.5] * 2)
    assert with_trials(found) is found
    nobody = with_trials(ItemCounts(np.zeros(2), np.zeros(2), 0.7, 0.2, 1.0))
    np.testing.assert_allclose(nobody.unbiased, 1.0)


@pytest.mark.parametrize("options", [9, 60])
def test_shares_of_options_are_averages_over_laws(options: int) -> None:
    """Beta laws around the mean and, of many options, Pareto laws: each cell's mass, by scipy."""
    shares = np.linspace(0.02, 0.6, options)
    counts = np.random.default_rng(1).binomial(500, 0.2 + 0.5 * shares)
    items = ItemCounts(counts, 500.0, 0.7, 0.2, 1.0)
    grid = make_grid(items, items.unbiased)
    edges, width = grid.edges, np.diff(grid.edges)
    error = Noise(items).sd(0.0) / math.sqrt(options)
    mean = float(items.unbiased.mean())
    columns = []
    for step in (-2, -1, 0, 1, 2):
        mu = min(max(mean + step * error, 0.1 * error), 1 - 0.1 * error)
        for kappa in np.geomspace(0.05, 3e5, 26):
            columns.append(np.diff(stats.beta.cdf(edges, mu * kappa, (1 - mu) * kappa)))
    laws = beta_laws(grid, items)
    pareto = []
    top = min(max(float(items.unbiased.max()), 2 * mean), 1.0)
    highest = min(top + 4 * Noise(items).sd(top), 1.0)
    for a, least in itertools.product((0.5, 0.7, 1.0, 1.4, 2.0, 2.8), np.geomspace(0.02, 1.0, 10)):
        inside = np.clip(edges, least * mean, highest)
        pareto.append(inside[:-1] ** -a - inside[1:] ** -a)
    both = ((laws, columns), (pareto_laws(grid, items), pareto))
    for found, wanted in both:
        assert found.shape[1] == len(wanted)
        for number, column in enumerate(wanted):
            whole = (1 - 1 / options) * np.maximum(column, 0) / column.sum() + width / options
            np.testing.assert_allclose(np.exp(found[:, number]), whole, rtol=1e-6, atol=1e-15)
    if options == 9:
        posterior = CountTable(items, grid).independent_posterior(laws)
        weights = np.exp(posterior.evidence - posterior.evidence.max())
        means = posterior.means @ (weights / weights.sum())
        share, told = posterior_shares(items)
        np.testing.assert_allclose(share, means[CountTable(items, grid).where])
        assert told["estimator"] == "empirical Bayes"
