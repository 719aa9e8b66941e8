"""Diagnostics of counts: noise, smallest detectable frequency, and a test of evenness.

They are functions of the counts and hold for every method.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.support import ItemCounts

# A value is detectable when a one-sided test of it alone, wrong on this share of absent
# values, finds it with this power.
TEST_LEVEL = 0.05
POWER = 0.9
# The least variance. At equal frequencies that are impossible (a block of values that nobody holds)
# the formula is negative; a smaller bound would let squares of deviations overflow.
_LEAST_SPREAD = 1e-30
_NORMAL = NormalDist()


def deviation(oracle: FrequencyOracle, frequency: float, reports: int) -> float:
    """Return the mean standard error, over values, of a value with this `frequency`."""
    return math.sqrt(float(np.mean(oracle.variance(frequency, reports))))


def detectable(oracle: FrequencyOracle, reports: int) -> float | None:
    """Return the smallest frequency that is found with the power above; None if there is none."""
    threshold = _NORMAL.inv_cdf(1 - TEST_LEVEL) * deviation(oracle, 0.0, reports)
    quantile = _NORMAL.inv_cdf(POWER)

    def found(frequency: float) -> bool:
        return frequency - quantile * deviation(oracle, frequency, reports) >= threshold

    if not found(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def evenness(items: ItemCounts) -> float:
    """Return a p-value for the hypothesis that all values are equally frequent.

    Two tests together: the sum of squared deviations for many small differences, the largest
    deviation for a single one.
    """
    size = items.counts.size
    support = items.miss + items.gain / size
    spread = np.maximum(support * (1 - items.dispersion * support), _LEAST_SPREAD) / items.trials
    deviation = (items.counts / items.trials - support) / np.sqrt(spread)
    # The sum of frequencies is known, so what all counts have in common says nothing.
    deviation = deviation - deviation.mean()
    freedom = size - 1
    # Wilson and Hilferty: the cube root of a chi-square is nearly normal.
    cube = (float(deviation @ deviation) / freedom) ** (1 / 3)
    common = _NORMAL.cdf((1 - 2 / (9 * freedom) - cube) / math.sqrt(2 / (9 * freedom)))
    single = 2 * _NORMAL.cdf(-float(np.abs(deviation).max()) * math.sqrt(size / freedom))
    largest = -math.expm1(size * math.log1p(-min(single, 1 - 1e-12)))
    return min(1.0, 2 * min(common, largest))
