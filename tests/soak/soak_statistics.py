"""Seeded runs of every oracle: the estimate is unbiased and its intervals cover (`make soak`)."""

from __future__ import annotations

import pytest

from rumor.mechanisms import REGISTRY, FrequencyOracle
from tests.seeded_runs import DOMAIN, intervals_cover, mean_is_the_truth

ORACLES = [
    pytest.param(kind(domain=DOMAIN, epsilon=epsilon), id=f"{kind.name}-{epsilon}")  # type: ignore[call-arg]
    for kind in REGISTRY
    if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON
    for epsilon in (1.0, 3.0)
]


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_mean_of_many_estimates_is_the_truth(oracle: FrequencyOracle) -> None:
    mean_is_the_truth(oracle, runs=200)


@pytest.mark.parametrize("oracle", ORACLES)
def test_intervals_cover_as_often_as_they_say(oracle: FrequencyOracle) -> None:
    intervals_cover(oracle, runs=500)
