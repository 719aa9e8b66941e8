"""From an unbiased estimate to frequencies: three ways onto the simplex.

An unbiased estimate has negative entries and need not sum to one. Which way it is mended
matters as much as which mechanism was used.
"""

from __future__ import annotations

import numpy as np

from rumor.core.types import Vector


def clip_and_rescale(estimate: Vector) -> Vector:
    """Negatives to zero, the rest divided by their sum: the papers' convention, and a weak one."""
    kept = np.maximum(estimate, 0.0)
    total = kept.sum()
    return kept / total if total > 0 else np.full(estimate.size, 1.0 / estimate.size)


def project(estimate: Vector) -> Vector:
    """The nearest point of the simplex: subtract one amount from all, then clip at zero."""
    # Only differences matter, and whoever is 1 below the largest ends at zero: without these
    # two steps an estimate of 1e17 (tiny epsilon, few reports) would drown the 1 in rounding.
    estimate = np.maximum(estimate - estimate.max(), -1.0)
    ordered = np.sort(estimate)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, estimate.size + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    frequency = np.maximum(estimate - excess[kept], 0.0)
    return np.asarray(frequency / frequency.sum())


def norm_sub(estimate: Vector) -> Vector:
    """Norm-Sub of Wang et al. 2020: clip negatives, spread the excess over the positives, repeat.

    It ends at the same point as the projection; kept as published, by its own iteration,
    so that the two can be held to each other.
    """
    frequency = np.maximum(estimate - estimate.max(), -1.0)  # as above: rounding
    positive = np.ones(frequency.size, dtype=np.bool_)
    while True:
        shift = (1.0 - frequency[positive].sum()) / positive.sum()
        frequency[positive] += shift
        negative = positive & (frequency < 0)
        if not negative.any():
            break
        positive &= ~negative
        frequency[negative] = 0.0
    return np.asarray(frequency / frequency.sum())
