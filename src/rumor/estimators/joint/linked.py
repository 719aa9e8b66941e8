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


def linked_table(counts: Tally, rates: tuple[tuple[float, float], tuple[float, float]]) -> Moments:
    """The table from counts of pairs of outputs; `rates` are hit and miss of either mechanism."""
    people = float(counts.sum())
    channels = [_channel(size, *own) for size, own in zip(counts.shape, rates, strict=True)]
    inverse = np.kron(*(np.linalg.inv(channel) for channel in channels))
    mean = inverse @ (counts.ravel() / people)
    expected = np.kron(*channels) @ project(mean)
    noise = (np.diag(expected) - np.outer(expected, expected)) / people
    return Moments(mean, np.asarray(inverse @ noise @ inverse.T))


def _channel(size: int, hit: float, miss: float) -> Matrix:
    return np.full((size, size), miss) + (hit - miss) * np.eye(size)
