"""Evidence at any look: against integrals, formulas of one change point, and simulated worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from rumor.analysis.trend.scores import exact_scores, hypergeometric_tail, standardised
from rumor.core.mixture import PLANNED_RATIO, log_mixture, mixture_quantile
from rumor.core.reports import Mask
from rumor.core.types import Rows, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.sequential import (
    ChangeEvidence,
    Scores,
    flat_weights,
    watched_need,
)
from rumor.mechanisms.support import ItemCounts
from rumor.results.counts import ExactIntervals


def counted(chance: Vector, reports: int, rng: np.random.Generator) -> Sample:
    """Counts of coins with these chances, as the sample of shares that a kind makes of them."""
    counts, ones = rng.binomial(reports, chance), np.ones(chance.size)
    items = ItemCounts(counts, float(reports), 1.0, 0.0, 0.0)
    spread = 0 * ones, ones, -ones
    return Sample(counts / reports, spread, reports, (0.0, 1.0), ExactIntervals(items))


def normal(seen: Vector) -> list[Sample]:
    """Periods with noise of variance 1."""
    ones = np.ones(seen.shape[1])
    return [Sample(row, (ones, 0 * ones, 0 * ones), 1) for row in seen]


def test_the_mixture_is_an_average_over_its_prior() -> None:
    for z, ratio in ((0.0, 1.0), (1.3, 0.2), (-4.0, 1.0), (3.0, 40.0)):

        def likelihood(shift: float, z: float = z, ratio: float = ratio) -> float:
            prior = stats.norm.pdf(shift, scale=math.sqrt(ratio))
            return float(np.exp(shift * z - shift**2 / 2) * prior)

        wanted, _ = integrate.quad(likelihood, -60, 60, points=[0.0, z], limit=200)
        assert np.exp(log_mixture(np.array([z]), ratio))[0] == pytest.approx(wanted, rel=1e-8)
        for alpha in (0.05, 1e-6):
            edge = mixture_quantile(ratio, alpha)
            assert log_mixture(edge, ratio) == pytest.approx(-math.log(alpha))
    assert mixture_quantile(0.0, 0.05) == math.inf


def test_evidence_is_that_of_the_difference_before_and_after() -> None:
    """E_k = sqrt(V / (V + T)) exp(D^2 T / (2 V (V + T))), whatever the level and the sizes."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(50, 900, 9)
    sigma, shift = 2.0, rng.normal(size=3) * 5
    mean = shift + rng.normal(size=(9, 3)) * sigma / np.sqrt(sizes)[:, None]
    ones = np.ones(3)
    samples = [
        Sample(row, (sigma**2 * ones, 0 * ones, 0 * ones), int(n))
        for row, n in zip(mean, sizes, strict=True)
    ]
    seen = standardised(samples, sizes.tolist())
    evidence = ChangeEvidence(seen.scores, flat_weights(np.ones(8), 52))
    np.testing.assert_allclose(seen.per_report, sigma**2)
    for look in (1, 4, 8):
        wanted = np.empty((look, 3))
        for k in range(1, look + 1):
            first, second = sizes[:k].sum(), sizes[k : look + 1].sum()
            before = (sizes[:k, None] * mean[:k]).sum(axis=0) / first
            after = (sizes[k : look + 1, None] * mean[k : look + 1]).sum(axis=0) / second
            v, t = sigma**2 * (1 / first + 1 / second), sigma**2 * k / first
            square = (after - before) ** 2
            wanted[k - 1] = np.log(v / (v + t)) / 2 + square * t / (2 * v * (v + t))
        np.testing.assert_allclose(evidence.log_by_change(look), wanted, rtol=1e-9, atol=1e-9)
        mixed = np.log((np.exp(wanted).sum(axis=0) + 51 - look) / 51)
        np.testing.assert_allclose(evidence.log_at(look), mixed, rtol=1e-9)
        np.testing.assert_allclose(evidence.log_by_look()[look], mixed, rtol=1e-9)
    # Two scores that agree: half of the prior upwards and half downwards are the whole.
    split = Scores(seen.scores.low, seen.scores.low.copy(), seen.scores.precision)
    np.testing.assert_allclose(
        ChangeEvidence(split, evidence.weights).log_by_look(), evidence.log_by_look(), atol=1e-9
    )


def test_a_missing_period_has_its_share_of_the_prior() -> None:
    np.testing.assert_allclose(flat_weights(np.array([1.0, 3.0, 1.0]), 11), [0.1, 0.3, 0.1])
    # What lies beyond the horizon is not looked for.
    np.testing.assert_allclose(flat_weights(np.array([1.0, 3.0, 1.0]), 4), [1 / 3, 2 / 3, 0.0])


def test_the_evidence_has_mean_one_without_a_change() -> None:
    """At the second and third period its variance is finite; sizes and values do not matter."""
    rng = np.random.default_rng(2)
    evidence = ChangeEvidence(
        standardised(normal(rng.normal(size=(2, 200_000))), [1, 1]).scores, np.ones(1)
    )
    found = np.exp(evidence.log_at(1))
    assert found.mean() == pytest.approx(1, abs=4 * found.std() / math.sqrt(found.size))


def test_alarms_are_rare_and_changes_are_found() -> None:
    rng, weeks = np.random.default_rng(3), 52
    weights = flat_weights(np.ones(weeks - 1), weeks)

    def looked(seen: Vector) -> Mask:
        scores = standardised(normal(seen), [1] * weeks).scores
        return ChangeEvidence(scores, weights).log_by_look() >= math.log(20)

    # Bounded by 0.05; the research of this rule measured 0.007 of 4,000.
    alarms = looked(rng.normal(size=(weeks, 4000))).any(axis=0).mean()
    assert alarms < 0.02
    moved = rng.normal(size=(weeks, 1000)) + 1.5 * (np.arange(weeks) >= 26)[:, None]
    found = looked(moved)
    assert found.any(axis=0).mean() >= 0.95
    assert np.median(found.argmax(axis=0)[found.any(axis=0)] - 26) <= 9
    # The same whatever the level is.
    np.testing.assert_array_equal(looked(moved + 1000.0), found)


def test_hypergeometric_tails_are_scipys() -> None:
    rng = np.random.default_rng(4)
    counts, trials = rng.integers(0, 40, 200), rng.integers(40, 90, 200)
    others, total = rng.integers(20, 900, 200), counts + rng.integers(0, 20, 200)
    found = hypergeometric_tail(*(x.astype(float) for x in (counts, total, trials, others)))
    wanted = stats.hypergeom.sf(counts - 1, trials + others, total, trials)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-14)


def at_small_counts(chance: float, reports: int, seed: int, values: int = 4000) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [counted(np.full(values, chance), reports, rng) for _ in range(52)]


def all_rows(samples: list[Sample]) -> Rows:
    return np.arange(samples[0].mean.size)


@pytest.mark.parametrize(("chance", "reports"), [(0.018, 50), (0.002, 500), (0.1, 100), (0.5, 8)])
def test_small_counts_raise_no_more_alarms(chance: float, reports: int) -> None:
    """Exact scores at rare values and few reports, at levels that Holm asks of many values."""
    samples = at_small_counts(chance, reports, seed=5)
    rough = standardised(samples, [reports] * 52).scores
    exact = exact_scores(samples, rough, all_rows(samples))
    assert (exact.low <= exact.high).all()
    weights = flat_weights(np.ones(51), 52)
    top = ChangeEvidence(exact, weights).log_by_look().max(axis=0)
    for alpha in (0.05, 0.005):
        allowed = alpha + 4 * math.sqrt(alpha / top.size)
        assert (top >= -math.log(alpha)).mean() <= allowed
        assert (top >= -math.log(alpha)).mean() <= alpha / 2  # and there is room to spare


def test_exact_scores_bound_an_exactly_normal_one() -> None:
    """Given the count of all periods, `low` is below and `high` above a normal score on average."""
    samples = at_small_counts(0.1, 60, seed=6, values=20_000)[:3]
    rough = standardised(samples, [60] * 3).scores
    exact = exact_scores(samples, rough, all_rows(samples))
    for period in (1, 2):
        for z in (-1.5, 0.0, 1.0, 2.5):
            slack = 4 * math.sqrt(stats.norm.sf(z) / 20_000)
            assert (exact.low[period] > z).mean() <= stats.norm.sf(z) + slack
            assert (exact.high[period] < z).mean() <= stats.norm.cdf(z) + slack
    large = at_small_counts(0.5, 4000, seed=7, values=50)[:3]
    rough = standardised(large, [4000] * 3).scores
    kept = exact_scores(large, rough, all_rows(large))
    np.testing.assert_array_equal(kept.low, rough.low)
    np.testing.assert_array_equal(kept.high, rough.low)


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.004, 0.9)])
def test_a_watched_difference_is_found_with_its_power_and_when_it_is_said(
    alpha: float, power: float
) -> None:
    """Held against walks of normal steps that are looked at 400 times for each planned number."""
    need = watched_need(alpha, power)
    assert 1.3 < need.times < 2.0  # the widths of looks are 1.55 times those of one
    once = stats.norm.isf(alpha / 2) + stats.norm.ppf(power)
    walks, looks = 4_000, 6 * 400
    rng = np.random.default_rng(8)
    at = np.arange(1, looks + 1) / 400
    noise = np.cumsum(rng.normal(0, 1 / 20, (walks, looks)), axis=1)
    ends = np.sqrt(at) * mixture_quantile(PLANNED_RATIO * at, alpha)
    beyond = np.abs(noise + once * math.sqrt(need.times) * at) >= ends
    first = np.where(beyond.any(axis=1), at[beyond.argmax(axis=1)], 6.0)
    assert (first <= 1).mean() == pytest.approx(
        power, abs=4 * math.sqrt(power * (1 - power) / walks)
    )
    assert first.mean() == pytest.approx(need.found, abs=4 * first.std() / math.sqrt(walks))
    # Without a difference, any look at all is beyond with the chance alpha at most.
    missed = (np.abs(noise) >= ends).any(axis=1).mean()
    assert missed < alpha + 4 * math.sqrt(alpha / walks)
