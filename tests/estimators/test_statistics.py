"""What only samples show of the inversion estimate, in seeded runs.

Local hashing is unbiased over its seeds and not for each; the intervals of Hadamard response
look at the reports of a whole block. Every other oracle's mean, variance and coverage are
summed exactly elsewhere; `make soak` samples them all the same.
"""

from __future__ import annotations

import pytest

import rumor
from rumor.mechanisms import FrequencyOracle
from tests.seeded_runs import DOMAIN, intervals_cover, mean_is_the_truth

# At epsilon 3 Hadamard response has several blocks, and values of a block share their noise.
HADAMARD = rumor.HadamardResponse(domain=DOMAIN, epsilon=3.0)
HASHING = rumor.LocalHashing(domain=DOMAIN, epsilon=1.0)


@pytest.mark.parametrize("oracle", [HASHING, HADAMARD], ids=lambda oracle: oracle.name)
def test_the_mean_of_many_estimates_is_the_truth(oracle: FrequencyOracle) -> None:
    mean_is_the_truth(oracle, runs=150)


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say() -> None:
    assert HADAMARD.blocks > 1
    intervals_cover(HADAMARD, runs=150)
