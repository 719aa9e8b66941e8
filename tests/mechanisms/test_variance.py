"""The variance of each oracle's inversion equals its closed form, at every size.

Everyone holds value 0, so the estimates of all other values have mean 0 and the variance
of an absent value; value 0 itself has that of a frequency of 1. A mean of squares over
`runs` independent runs is compared with the closed form: it must lie within 5 standard
errors (taken over the runs, or over the values where one run has thousands of them) and
the standard error must be small enough for that to mean something (6 %).
"""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.mechanisms import REGISTRY, FrequencyOracle

ORACLES = [m for m in REGISTRY if issubclass(m, FrequencyOracle) and m.FROM_EPSILON]
EPSILONS = (0.25, 1.0, 3.0, 8.0)


def everyone_holds_zero(domain: int) -> np.ndarray:
    truth = np.zeros(domain)
    truth[0] = 1.0
    return truth


def squares(oracle: FrequencyOracle, people: int, runs: int, seed: int) -> np.ndarray:
    """For each run the squared estimation error of every value."""
    source = rumor.Seeded(seed)
    truth = everyone_holds_zero(oracle.domain)
    errors = []
    for _ in range(runs):
        reports = oracle.privatize(np.zeros(people, dtype=np.int64), random=source)
        errors.append((oracle.unbiased(oracle.tally(reports), people) - truth) ** 2)
    return np.array(errors)


def agrees(sample: np.ndarray, expected: float) -> None:
    mean, error = sample.mean(), sample.std(ddof=1) / np.sqrt(sample.size)
    assert error < 0.06 * expected
    assert abs(mean - expected) < 5 * error


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [pytest.param(2, marks=pytest.mark.slow), 10])
@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.name)
def test_variance_of_small_domains(
    kind: type[FrequencyOracle], domain: int, epsilon: float
) -> None:
    oracle = kind(domain=domain, epsilon=epsilon)  # type: ignore[call-arg]
    people = 60 if epsilon < 5 else 4000
    found = squares(oracle, people, runs=1200, seed=domain)
    truth = everyone_holds_zero(domain)
    expected = oracle.variance(truth, people, "people")
    agrees(found[:, 0], float(expected[0]))
    agrees(found[:, 1], float(expected[1]))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("domain", [1000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.name)
def test_variance_of_large_domains(
    kind: type[FrequencyOracle], domain: int, epsilon: float
) -> None:
    oracle = kind(domain=domain, epsilon=epsilon)  # type: ignore[call-arg]
    # Reports of one number are cheap, and rare outputs need many of them; hashes that share
    # a seed are only pairwise independent, so there the spread over runs is what counts.
    people, runs = (200_000, 3) if oracle.width <= 3 else (200, 40 if domain < 10_000 else 8)
    if oracle.width <= 3 and domain > 10_000:
        people = 1_000_000
    found = squares(oracle, people, runs, seed=domain)
    truth = everyone_holds_zero(domain)
    expected = oracle.variance(truth, people, "people")[1:]
    ratios = found[:, 1:] / expected
    assert ratios.std() / np.sqrt(ratios.size) < 0.06
    if isinstance(oracle, rumor.LocalHashing):
        error = ratios.mean(axis=1).std(ddof=1) / np.sqrt(runs)
    else:
        # Values on one line through the held one share its reports: as many as the field has.
        together = oracle.field if isinstance(oracle, rumor.Projective) else 1
        error = ratios.std(ddof=1) * np.sqrt(together / ratios.size)
    assert abs(ratios.mean() - 1) < 5 * error
