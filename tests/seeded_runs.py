"""Many seeded runs of the inversion estimate: is it unbiased, and do its intervals cover?

Most of this follows from sums without any sampling (test_expected_tallies.py and the laws); what
is left to samples runs in tests/estimators/test_statistics.py, and everything in `make soak`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import rumor
from rumor.mechanisms import FrequencyOracle

DOMAIN, PEOPLE = 24, 2000

# A few frequent values, many rare ones, and one that nobody holds.
TRUTH = np.append(1 / np.arange(1.0, DOMAIN) ** 1.2, 0.0)
TRUTH /= TRUTH.sum()


def mean_is_the_truth(oracle: FrequencyOracle, runs: int) -> None:
    """Within 5 standard errors (exact ones) for every item, and so is the variance of the runs.

    Of 24 items a correct oracle exceeds 5 somewhere with probability 1e-5.
    """
    draw, source = np.random.default_rng(401), rumor.Seeded(401)
    people = draw.choice(DOMAIN, PEOPLE, p=TRUTH)
    held = np.bincount(people, minlength=DOMAIN) / PEOPLE
    estimates = np.array(
        [
            oracle.unbiased(oracle.tally(oracle.privatize(people, random=source)), PEOPLE)
            for _ in range(runs)
        ]
    )
    error = np.sqrt(oracle.variance(held, PEOPLE, "people") / runs)
    deviations = (estimates.mean(axis=0) - held) / error
    assert np.abs(deviations).max() < 5
    # The variance of the runs, over all items, is known to sqrt(2 / (runs * 24)).
    ratio = estimates.var(axis=0, ddof=1) / (error**2 * runs)
    assert ratio.mean() == pytest.approx(1, abs=5 * math.sqrt(2 / (runs * DOMAIN)))


def intervals_cover(oracle: FrequencyOracle, runs: int) -> None:
    """95 % intervals cover as often on average over the items, to 5 standard errors, or more.

    The average of runs * 24 coverings, nearly independent, has one of
    sqrt(0.95 * 0.05 / (24 runs)). Intervals of counts with a variance below 400 are exact, so
    they may cover more often, but not always.
    """
    draw, source = np.random.default_rng(402), rumor.Seeded(402)
    covered = {"population": np.zeros(DOMAIN), "people": np.zeros(DOMAIN)}
    everywhere = 0
    for _ in range(runs):
        people = draw.choice(DOMAIN, PEOPLE, p=TRUTH)
        target = {
            "population": TRUTH,
            "people": np.bincount(people, minlength=DOMAIN) / PEOPLE,
        }
        reports = oracle.privatize(people, random=source)
        result = rumor.estimate(oracle, reports, method="inversion")
        for of, truth in target.items():
            low, high = result.interval(0.95, of=of)
            covered[of] += (low <= truth) & (truth <= high)
        low, high = result.interval(0.95, simultaneous=True)
        everywhere += bool(((low <= TRUTH) & (high >= TRUTH)).all())
    one = math.sqrt(0.95 * 0.05 / runs)  # the standard error of a single item's coverage
    for of, counts in covered.items():
        coverage = counts / runs
        room = 5 * one / math.sqrt(DOMAIN)
        assert 0.95 - room < coverage.mean() < 0.995, f"of the {of}: {coverage.mean():.4f}"
        # No single item may be far off and hide in the average.
        assert coverage.min() >= 0.95 - 5 * one, f"of the {of}: {coverage}"
    # All at once, at least as often as asked, less 3 standard errors.
    assert everywhere / runs >= 0.95 - 3 * one
