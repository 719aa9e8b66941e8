"""A table from two answers that were randomised apart, where reports of one person are known.

With each answer by randomised response, a pair of reports is one of A times B outputs, and its
channel is the product of the two. So the inverse is, and x = (M^-1 (x) M^-1) o is unbiased, o being
how often each pair of outputs came. Its covariance is that of the outputs, which are multinomial.
"""

from __future__ import annotations

import numpy as np

from rumor.core.types import Tally
from rumor.estimators.frequency.simplex import project
from rumor.estimators.joint.coordinates import Matrix
from rumor.estimators.joint.linear import Moments

Rates = tuple[tuple[float, float], tuple[float, float]]
"""Hit and miss of either mechanism."""


def linked_table(counts: Tally, rates: Rates) -> Moments:
    """Return the table from `counts` of pairs of outputs of mechanisms with these `rates`."""
    people = float(counts.sum())
    inverse = linked_inverse(counts.shape, rates)
    mean = inverse @ (counts.ravel() / people)
    expected = np.kron(*_channels(counts.shape, rates)) @ project(mean)
    noise = (np.diag(expected) - np.outer(expected, expected)) / people
    return Moments(mean, np.asarray(inverse @ noise @ inverse.T))


def linked_inverse(sizes: tuple[int, ...], rates: Rates) -> Matrix:
    """Return what a pair of outputs (columns) adds to the estimate of each cell (rows)."""
    return np.kron(*(np.linalg.inv(channel) for channel in _channels(sizes, rates)))


def _channels(sizes: tuple[int, ...], rates: Rates) -> list[Matrix]:
    return [_channel(size, *own) for size, own in zip(sizes, rates, strict=True)]


def _channel(size: int, hit: float, miss: float) -> Matrix:
    return np.full((size, size), miss) + (hit - miss) * np.eye(size)
