"""Linear estimation: invert the channel, then make the result a distribution.

An unbiased estimate has negative entries and need not sum to one. The three ways onto the simplex
(clip and rescale, projection, Norm-Sub) matter as much as the mechanism. "inversion" is unbiased
and may leave [0, 1]; the other methods start from it. Standard errors and intervals are always
those of the linear estimate, kept apart from the post-processed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.types import Vector


def clip_and_rescale(estimate: Vector) -> Vector:
    """Return negatives as zero and the rest divided by their sum, as the papers do."""
    kept = np.maximum(estimate, 0.0)
    total = kept.sum()
    return kept / total if total > 0 else np.full(estimate.size, 1.0 / estimate.size)


def project(estimate: Vector) -> Vector:
    """Return the nearest point of the simplex: subtract one amount from all, then clip at zero."""
    # Only differences matter, and whoever is 1 below the largest ends at zero: without these
    # two steps an estimate of 1e17 (tiny epsilon, few reports) would drown the 1 in rounding.
    estimate = np.maximum(estimate - estimate.max(), -1.0)
    ordered = np.sort(estimate)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, estimate.size + 1)
    kept = int(np.flatnonzero(ordered > excess)[-1])
    frequency = np.maximum(estimate - excess[kept], 0.0)
    return np.asarray(frequency / frequency.sum())


def norm_sub(estimate: Vector) -> Vector:
    """Return Norm-Sub of Wang et al. 2020: clip negatives, spread the excess, repeat.

    It ends at the point of the projection, and is kept as published, by its own iteration, so that
    tests can compare the two.
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


# With this many outputs for each input, the products of rows are far smaller than the channel.
_WIDE = 64
# The condition of those products up to which solving with them loses no more than six digits.
_WELL = 1e6


def _as_it_is(estimate: Vector) -> Vector:
    return estimate


MENDING: Mapping[str, Callable[[Vector], Vector]] = {
    "inversion": _as_it_is,
    "clip": clip_and_rescale,
    "projection": project,
    "norm-sub": norm_sub,
}


def inverse_of(channel: NDArray[np.float64]) -> Vector | None:
    """Return the least-squares inverse, outputs by inputs; None if rows depend on each other.

    Of a channel with far more outputs than inputs it is found from the products of its rows,
    where these are well enough apart: as exact, without a decomposition of the whole.
    """
    inputs, outputs = channel.shape
    if outputs > _WIDE * inputs:
        products = channel @ channel.T
        if np.linalg.cond(products) < _WELL:
            return np.asarray(np.linalg.solve(products, channel).T)
    if np.linalg.matrix_rank(channel) < inputs:
        return None
    return np.asarray(np.linalg.pinv(channel))


def invert(channel: NDArray[np.float64], seen: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """Return the inversion of any explicit channel (CSS 2020, equation 4), and its standard errors.

    With more outputs than inputs the inverse is the least-squares one; it is unbiased
    whenever the rows of the matrix are linearly independent, and refused otherwise.
    """
    inverse = inverse_of(channel)
    if inverse is None:
        raise InputError(
            f"a channel can be inverted only when its rows are linearly independent; "
            f"got rank {np.linalg.matrix_rank(channel)} for {channel.shape[0]} inputs"
        )
    return linear_estimate(inverse[seen > 0], seen[seen > 0])


def linear_estimate(inverse: Vector, seen: Vector) -> tuple[Vector, Vector]:
    """Return the estimate of `inverse` from counts above 0, and its standard errors."""
    total = float(seen.sum())
    shares = seen / total
    unbiased = shares @ inverse
    # Multinomial counts: Var = (sum_y A_yx^2 s_y - (sum_y A_yx s_y)^2) / n.
    variance = np.maximum(shares @ inverse**2 - unbiased**2, 0.0) / total
    return np.asarray(unbiased), np.sqrt(variance)


def channel_epsilon(channel: NDArray[np.float64]) -> float:
    """Return the largest log-ratio in a column of an explicit channel, infinite for 0 against p."""
    high, low = channel.max(axis=0), channel.min(axis=0)
    reached = high > 0
    if (low[reached] == 0).any():
        return float("inf")
    return float(np.log(high[reached] / low[reached]).max())
