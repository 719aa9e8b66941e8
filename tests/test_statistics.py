"""The inversion estimate is unbiased and its intervals cover, in many seeded runs."""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.mechanisms import REGISTRY, FrequencyOracle

DOMAIN, PEOPLE = 24, 2000

# At epsilon 3 Hadamard response has several blocks, and values of a block share their noise.
ORACLES = [
    pytest.param(kind(domain=DOMAIN, epsilon=epsilon), id=f"{kind.name}-{epsilon}")  # type: ignore[call-arg]
    for kind in REGISTRY
    if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON
    for epsilon in (1.0, 3.0)
]

# A few frequent values, many rare ones, and one that nobody holds.
TRUTH = np.append(1 / np.arange(1.0, DOMAIN) ** 1.2, 0.0)
TRUTH /= TRUTH.sum()


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_mean_of_many_estimates_is_the_truth(oracle: FrequencyOracle) -> None:
    """Within 5 standard errors (exact ones) for every item, over 200 runs.

    24 items of 10 oracles: a correct one exceeds 5 somewhere with probability 1e-4.
    """
    runs = 200
    draw, source = np.random.default_rng(401), rumor.Seeded(401)
    people = draw.choice(DOMAIN, PEOPLE, p=TRUTH)
    held = np.bincount(people, minlength=DOMAIN) / PEOPLE
    estimates = np.array(
        [
            rumor.estimate(
                oracle, oracle.privatize(people, random=source), method="inversion"
            ).frequency
            for _ in range(runs)
        ]
    )
    error = np.sqrt(oracle.variance(held, PEOPLE, "people") / runs)
    deviations = (estimates.mean(axis=0) - held) / error
    assert np.abs(deviations).max() < 5
    # The exact standard error is also what the runs show: their variance, over all items,
    # is known to sqrt(2 / (200 * 24)) = 2 %, and 5 of those are allowed.
    ratio = estimates.var(axis=0, ddof=1) / (error**2 * runs)
    assert ratio.mean() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("oracle", ORACLES)
def test_intervals_cover_as_often_as_they_say(oracle: FrequencyOracle) -> None:
    """95 % intervals cover in 94 to 96 % of 500 runs, on average over the items.

    The average of 500 * 24 coverings, nearly independent, has a standard error of
    sqrt(0.95 * 0.05 / 12000) = 0.2 %, so 1 % is five of them.
    """
    runs = 500
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
    for of, counts in covered.items():
        coverage = counts / runs
        assert 0.94 <= coverage.mean() <= 0.96, f"of the {of}: {coverage.mean():.4f}"
        # No single item may be far off and hide in the average: 95 % less 5 errors of 1 %.
        assert coverage.min() >= 0.90, f"of the {of}: {coverage}"
    # All at once, at least as often as asked, less 3 standard errors of 500 runs.
    assert everywhere / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
