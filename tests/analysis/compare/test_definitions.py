"""What compares and combines groups, against its definitions: equations, closed tests, matrices.

Samples are made by hand with variances that differ at every candidate, so that a variance that is
taken at another one, a weight of another group or the other end is seen.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import rumor
from rumor.analysis.compare.quantities import Differences, Sum, WeightedMean
from rumor.analysis.trend import line as module
from rumor.analysis.trend.line import find_change, smooth
from rumor.core.reports import Mask
from rumor.core.types import Rows, Vector
from rumor.estimators.groups import (
    PooledSamples,
    Sample,
    chi_squared,
    chi_squared_tail,
    two_sided_p_value,
)
from rumor.estimators.multiple_testing import benjamini_hochberg, holm
from rumor.estimators.power import PowerPlan
from rumor.mechanisms import BY_NAME, FrequencyOracle

NORMAL = NormalDist()
Z = 1.3
ORACLES = [
    mechanism.examples()[0]
    for mechanism in BY_NAME.values()
    if issubclass(mechanism, FrequencyOracle)
]


def sample(mean: list[float], scale: float, reports: float) -> Sample:
    """Shares whose variance is `scale` times a square that differs from row to row."""
    rows = np.arange(len(mean))
    spread: Any = (
        scale * (0.3 + 0.1 * rows),
        scale * (0.2 - 0.05 * rows),
        np.full(rows.size, -0.1),
    )
    return Sample(np.array(mean), spread, reports, (0.0, 1.0))


ONE, OTHER = sample([0.2, 0.5, 0.95], 1.0, 40.0), sample([0.35, 0.45, 1.05], 2.0, 90.0)


def variance(of: Sample, f: Any) -> Any:
    v0, v1, v2 = of.spread
    return (v0 + v1 * f + v2 * f**2) / of.reports


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
@pytest.mark.parametrize("of", ["population", "people"])
def test_a_samples_ends_are_the_roots_of_its_equation(oracle: FrequencyOracle, of: Any) -> None:
    """(mean - f)^2 = z^2 variance(f), where the variance is the oracle's own at that share."""
    tally = np.random.default_rng(1).integers(20, 60, oracle.tally_size)
    score = oracle.score(tally, 500)
    found = Sample.of_score(score, 500, of)
    np.testing.assert_allclose(found.mean, score.excess / score.gain)
    assert found.limits == (0.0, 1.0)
    for end in found.bounds(Z):
        v0, v1, v2 = score.spread[of]
        each = (v0 + v1 * end + v2 * end**2) / score.gain**2 / 500
        np.testing.assert_allclose((found.mean - end) ** 2, Z**2 * each, rtol=1e-7, atol=1e-12)
    low, high = found.bounds(Z)
    assert (low < high).all()
    inside = np.clip(found.mean, 0, 1)
    np.testing.assert_allclose(found.stderr**2, variance(found, inside), rtol=1e-12)


@dataclass(frozen=True)
class KnownEnds:
    """Ends that are given; of the rows from `many` on there are many reports."""

    within: tuple[Vector, Vector]
    many: int

    @property
    def trials(self) -> Vector:
        return np.full(self.within[0].size, 9.0)

    def is_few(self, rows: Rows) -> Mask:
        return np.asarray(rows < self.many)

    def quantile_ends(self, rows: Rows, z: Vector) -> tuple[Vector, Vector]:
        np.testing.assert_allclose(z, np.full(rows.size, Z))
        return self.within[0][rows], self.within[1][rows]


def test_samples_by_hand() -> None:
    known = Sample.known(np.array([3.0, 5.0]), np.array([0.5, 2.0]))
    np.testing.assert_allclose(known.bounds(Z), [[3 - Z / 2, 5 - 2 * Z], [3 + Z / 2, 5 + 2 * Z]])
    assert known.limits == (-math.inf, math.inf)
    # A share of coins s, on the line from -2 to 4: a report's variance is 36 s (1 - s).
    coins = Sample.coins(1.0, (-2.0, 4.0), 50)
    for mean in (-1.0, 1.0, 3.5):
        share = (mean + 2) / 6
        assert coins.variance(mean)[0] == pytest.approx(36 * share * (1 - share) / 50)
    picked = ONE.at(np.array([2, 0]))
    np.testing.assert_allclose(picked.mean, [0.95, 0.2])
    np.testing.assert_allclose(picked.variance(0.3), ONE.variance(0.3)[[2, 0]])
    # Few reports: the ends that must be held stretch each side, and go with their rows.
    ends = np.array([0.1, 0.0, 0.99]), np.array([0.21, 0.99, 1.0])
    few = Sample(ONE.mean, ONE.spread, ONE.reports, ONE.limits, KnownEnds(ends, len(ends[0]) - 1))
    low, high = few.bounds(Z)
    wanted = np.minimum(ONE.bounds(Z)[0], ends[0]), np.maximum(ONE.bounds(Z)[1], ends[1])
    np.testing.assert_allclose([low[:2], high[:2]], [wanted[0][:2], wanted[1][:2]])
    # Of the last row there are many reports.
    np.testing.assert_allclose([low[2], high[2]], [end[2] for end in ONE.bounds(Z)])
    np.testing.assert_array_equal(few.few, [True, True, False])
    np.testing.assert_allclose(few.at(np.array([2, 1])).bounds(Z), [low[[2, 1]], high[[2, 1]]])
    np.testing.assert_allclose(
        two_sided_p_value(np.array([0.0, -1.0, 2.5])), 2 * stats.norm.sf([0, 1, 2.5])
    )


def test_sums_are_squares_of_their_parts() -> None:
    """MOVER: each side is the root of the squared distances to the ends on that side."""
    weights = (-0.5, 2.0)
    found = Sum((ONE, OTHER), weights)
    np.testing.assert_allclose(found.mean, 2 * OTHER.mean - 0.5 * ONE.mean)
    np.testing.assert_allclose(found.stderr**2, 0.25 * ONE.stderr**2 + 4 * OTHER.stderr**2)
    (low, high), (least, most) = ONE.bounds(Z), OTHER.bounds(Z)
    below = np.sqrt((0.5 * (high - ONE.mean)) ** 2 + (2 * (OTHER.mean - least)) ** 2)
    above = np.sqrt((0.5 * (ONE.mean - low)) ** 2 + (2 * (most - OTHER.mean)) ** 2)
    np.testing.assert_allclose(found.bounds(Z), [found.mean - below, found.mean + above])


def test_a_weighted_mean_has_one_score_interval() -> None:
    """(mean - f)^2 = z^2 sum of w^2 variance(f), each group's variance at the mean itself."""
    found = WeightedMean((ONE, OTHER), (0.3, 0.7))
    np.testing.assert_allclose(found.mean, 0.3 * ONE.mean + 0.7 * OTHER.mean)
    for end in found.bounds(Z):
        each = 0.09 * variance(ONE, end) + 0.49 * variance(OTHER, end)
        np.testing.assert_allclose((found.mean - end) ** 2, Z**2 * each, rtol=1e-9)
    unknown = Sample.known(np.array([1.0, 2.0, 3.0]), np.array([0.1, math.inf, 0.3]))
    low, high = WeightedMean((unknown, unknown), (0.5, 0.5)).bounds(Z)
    assert (low[1], high[1]) == (-math.inf, math.inf)
    assert (low[2], high[2]) == pytest.approx(
        (3 - Z * 0.3 / math.sqrt(2), 3 + Z * 0.3 / math.sqrt(2))
    )


def test_sources_have_the_weights_of_the_common_truth() -> None:
    found = PooledSamples((ONE, OTHER))
    truth = np.clip(found.mean, 0, 1)
    weights = [1 / variance(one, truth) for one in (ONE, OTHER)]
    own = (weights[0] * ONE.mean + weights[1] * OTHER.mean) / sum(weights)
    np.testing.assert_allclose(found.mean, own, atol=1e-6)
    np.testing.assert_allclose(found.stderr, 1 / np.sqrt(sum(weights)), rtol=1e-6)
    for end in found.bounds(Z):
        at = [1 / variance(one, np.clip(end, 0, 1)) for one in (ONE, OTHER)]
        pulled = (at[0] * (ONE.mean - end) + at[1] * (OTHER.mean - end)) / np.sqrt(sum(at))
        np.testing.assert_allclose(np.abs(pulled), Z, rtol=1e-9)
    low, high = found.bounds(Z)
    assert ((low < found.mean) & (found.mean < high)).all()
    nothing = Sample.known(np.array([1.0, 2.0]), np.array([math.inf, 0.5]))
    alone = PooledSamples((nothing, nothing))
    assert alone.stderr.tolist() == [math.inf, pytest.approx(0.5 / math.sqrt(2))]
    low, high = alone.bounds(Z)
    assert (low[0], high[0]) == (-math.inf, math.inf)
    assert high[1] == pytest.approx(2 + Z * 0.5 / math.sqrt(2))


def test_a_p_value_takes_both_variances_at_the_common_share() -> None:
    found = Differences.between(ONE, OTHER)
    np.testing.assert_allclose(found.mean, OTHER.mean - ONE.mean)
    common = np.clip(PooledSamples((ONE, OTHER)).mean, 0, 1)
    z = found.mean / np.sqrt(variance(ONE, common) + variance(OTHER, common))
    np.testing.assert_allclose(found.p_value, 2 * stats.norm.sf(np.abs(z)))


# Many tests at once


@pytest.mark.parametrize("seed", range(4))
def test_holm_is_the_closed_test_of_bonferroni(seed: int) -> None:
    """A p-value is worth the largest of Bonferroni's over all sets of tests it belongs to."""
    p_values = np.random.default_rng(seed).uniform(0, 0.4, 5) ** 2
    p_values[3] = p_values[1]  # ties
    wanted = np.zeros(5)
    for size in range(1, 6):
        for group in itertools.combinations(range(5), size):
            worth = min(1.0, size * p_values[list(group)].min())
            wanted[list(group)] = np.maximum(wanted[list(group)], worth)
    np.testing.assert_allclose(holm(p_values), wanted)
    np.testing.assert_allclose(holm(p_values[::-1]), wanted[::-1])


@pytest.mark.parametrize("level", [0.05, 0.2, 0.9])
def test_discoveries_are_those_of_the_step_up_rule(level: float) -> None:
    """Benjamini and Hochberg, by trying every number of discoveries."""
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 30):
        for _ in range(20):
            p_values = np.round(rng.uniform(0, 1, size) ** 2, 2)
            most = max(r for r in range(size + 1) if (p_values <= level * r / size).sum() >= r)
            wanted = p_values <= level * most / size if most else np.zeros(size, bool)
            assert benjamini_hochberg(p_values, level).tolist() == wanted.tolist()


def test_all_at_once_is_the_quadratic_form_on_the_contrasts() -> None:
    rng = np.random.default_rng(2)
    root = rng.normal(size=(4, 4))
    covariance, difference = root @ root.T, rng.normal(size=4)
    found = chi_squared(difference, covariance)
    basis = np.linalg.qr(np.column_stack([np.ones(4), rng.normal(size=(4, 3))]))[0][:, 1:]
    away = basis.T @ difference
    statistic = away @ np.linalg.solve(basis.T @ covariance @ basis, away)
    assert found.statistic == pytest.approx(float(statistic))
    assert found.freedom == 3
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, 3))
    np.testing.assert_allclose(chi_squared(difference + 7, covariance).statistic, statistic)
    assert chi_squared_tail(2.0, 5) == pytest.approx(stats.chi2.sf(2.0, 5))
    assert chi_squared_tail(2.0, 0) == 1.0


# How often a difference is noticed


@pytest.mark.parametrize(("start", "difference"), [(0.1, 0.2), (0.6, -0.25)])
@pytest.mark.parametrize("rows", [1, 6])
def test_the_power_of_a_plan_is_that_of_its_test(
    start: float, difference: float, rows: int
) -> None:
    """The normal law of the difference, beyond the limit of a test at the share in the middle."""
    between = PowerPlan(start, power=0.85, level=0.1, rows=rows)

    def each(share: float) -> float:
        return 0.4 + 0.7 * share - 0.5 * share**2

    people = between.people(each, difference)
    limit = NORMAL.inv_cdf(1 - 0.1 / rows / 2) * math.sqrt(
        2 * each(start + difference / 2) / people
    )
    spread = math.sqrt((each(start) + each(start + difference)) / people)
    assert stats.norm.sf(limit, abs(difference), spread) == pytest.approx(0.85)


def test_the_power_of_a_plan_is_that_of_all_counts() -> None:
    """Two groups as large as planned: the counts at which the test notices, with their chances."""
    oracle, start, difference = rumor.RandomizedResponse(domain=2, epsilon=2.0), 0.3, 0.25
    between = PowerPlan(start)
    people = math.ceil(between.people(lambda f: float(oracle.variance(f, 1)), difference))
    counts = np.arange(people + 1)
    gain = oracle.hit - oracle.miss
    mean = (counts / people - oracle.miss) / gain
    laws = [
        stats.binom.pmf(counts, people, oracle.miss + gain * (start + d)) for d in (0, difference)
    ]
    first, second = (grid.ravel() for grid in np.meshgrid(mean, mean, indexing="ij"))
    ends = -oracle.miss / gain, (1 - oracle.miss) / gain
    one = Sample.coins(0.0, ends, people)
    spread: Any = tuple(np.full(first.size, float(v[0])) for v in one.spread)
    sides = [Sample(side, spread, people, (0.0, 1.0)) for side in (first, second)]
    noticed = (Differences.between(*sides).p_value < 0.05).reshape(people + 1, -1)
    assert laws[0] @ noticed @ laws[1] == pytest.approx(0.8, abs=0.02)


def test_differences_that_are_noticed() -> None:
    def each(share: float) -> float:
        return 0.2 + share * (1 - share)

    assert PowerPlan(0.3) == PowerPlan(0.3, power=0.8, level=0.05, groups=2, deviation=None, rows=1)
    between = PowerPlan(0.3, groups=4)
    assert between.for_rows(5).rows == 30
    for people in (60.0, 400.0):
        found = between.difference(each, people, 0.7)
        assert between.people(each, found) == pytest.approx(people, rel=1e-6)
        assert between.share_difference(each, people) == pytest.approx(found)
    assert between.difference(each, 2.0, 0.7) == 0.7
    # From a high share downwards it is the mirror image of a low one upwards.
    assert PowerPlan(0.7).share_difference(lambda f: each(1 - f), 200.0) == pytest.approx(
        PowerPlan(0.3).difference(each, 200.0, 0.7)
    )


# Trends


def exact_line(
    seen: Vector, variance: Vector, gaps: Vector, steps: Vector
) -> tuple[Vector, Vector, float]:
    """The mean of random walks that begin anywhere, averaged by their evidence: by matrices."""
    days, apart = seen.size, np.diff(np.eye(seen.size), axis=0)
    means, spreads, evidence = [], [], []
    for step in steps:
        # What is seen differs from day to day by the walk and by both days' noise.
        law = apart @ np.diag(variance) @ apart.T + np.diag(gaps * step)
        evidence.append(stats.multivariate_normal.logpdf(apart @ seen, cov=law))
        if step:
            known = np.diag(1 / variance) + apart.T @ np.diag(1 / (gaps * step)) @ apart
            spread = np.linalg.inv(known)
        else:
            spread = np.full((days, days), 1 / (1 / variance).sum())
        means.append(spread @ (seen / variance))
        spreads.append(np.diag(spread))
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    around = weights @ (np.array(spreads) + (np.array(means) - mean) ** 2)
    return mean, np.sqrt(around), float(weights @ np.sqrt(steps))


def test_a_line_is_the_average_of_walks_by_their_evidence() -> None:
    rng = np.random.default_rng(7)
    gaps = np.array([1.0, 2.0, 1.0, 5.0])
    variance, seen = rng.uniform(0.2, 2.0, (5, 2)), rng.normal(size=(5, 2))
    seen[:, 1] += [0, 0, 3, 4, 6]
    found = smooth(seen, variance, gaps)
    tried = np.concatenate([[0.0], np.geomspace(1 / 25, 16.0, 12)])
    for column in range(2):
        steps = tried * variance[:, column].mean()
        line = exact_line(seen[:, column], variance[:, column], gaps, steps)
        np.testing.assert_allclose(found.mean[:, column], line[0], rtol=1e-6)
        np.testing.assert_allclose(found.deviation[:, column], line[1], rtol=1e-6)
        assert found.step[column] == pytest.approx(line[2], rel=1e-6)


def test_the_change_is_where_both_sides_differ_most() -> None:
    rng = np.random.default_rng(8)
    seen, variance = rng.normal(size=(6, 3)), rng.uniform(0.2, 2.0, (6, 3))
    seen[:, 1] -= [0, 0, 0, 4, 4, 4]
    found = find_change(seen, variance)
    for column in range(3):
        weights, own = 1 / variance[:, column], seen[:, column]
        sides = []
        for day in range(1, 6):
            means = [
                float(np.average(own[part], weights=weights[part]))
                for part in (slice(day), slice(day, 6))
            ]
            spread = math.sqrt(1 / weights[:day].sum() + 1 / weights[day:].sum())
            sides.append(((means[1] - means[0]) / spread, day, *means))
        furthest = max(sides, key=lambda side: abs(side[0]))
        assert found.statistic[column] == pytest.approx(furthest[0])
        assert found.day[column] == furthest[1]
        assert (found.before[column], found.after[column]) == pytest.approx(furthest[2:])


def test_the_p_value_of_a_change_is_that_of_the_largest_of_two() -> None:
    """Three days have two splits: their differences are two normal numbers that go together."""
    variance = np.array([[1.0], [0.5], [2.0]])
    w = 1 / variance[:, 0]
    before = np.cumsum(w)[:-1]
    inside = before[0] * (w.sum() - before[1]) / (before[1] * (w.sum() - before[0]))
    together = math.sqrt(inside)
    for largest in (0.5, 1.4, 2.2):

        def within(x: float, end: float = largest) -> float:
            root = math.sqrt(1 - together**2)
            ends = ((end - together * x) / root, (-end - together * x) / root)
            return float(stats.norm.pdf(x) * (stats.norm.cdf(ends[0]) - stats.norm.cdf(ends[1])))

        exact = 1 - integrate.quad(within, -largest, largest)[0]
        found = module._simulated_p_value(w[:, None], np.array([largest]))[0]
        assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    bound = module._tail_bound(np.array([3.0, 50.0]), splits=2)
    assert bound[0] == pytest.approx(4 * stats.norm.sf(3.0))
    assert 0 < bound[1] < 1e-300
