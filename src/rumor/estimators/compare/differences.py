"""The difference of two groups of different people: intervals, tests, many at once.

The interval is MOVER's (Zou and Donner, Statistics in Medicine 27, 2008): each side of it is made
of the two groups' own score intervals, so it is as long as they are where shares are rare or
reports are few. The test takes both variances at the share that both groups would have if they did
not differ. Of many tests the smallest p-value is the luckiest: Holm's (1979) are what they
are worth together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.compare.pooled import Pooled
from rumor.estimators.compare.sample import Bounds, Sample, two_sided


@dataclass(frozen=True)
class Sum:
    """A weighted sum of the same quantities of several samples of different people."""

    samples: Sequence[Sample]
    weights: Sequence[float]

    @property
    def mean(self) -> Vector:
        """The weighted sum: unbiased, as its parts are."""
        return np.asarray(sum(w * s.mean for w, s in zip(self.weights, self.samples, strict=True)))

    @property
    def stderr(self) -> Vector:
        """Variances of different people add up."""
        parts = zip(self.weights, self.samples, strict=True)
        return np.sqrt(sum(w * w * s.stderr**2 for w, s in parts))

    def bounds(self, z: float) -> Bounds:
        """The distances from the estimates to the ends of their intervals, squared and added."""
        below = above = np.zeros(self.samples[0].mean.shape)
        for weight, sample in zip(self.weights, self.samples, strict=True):
            low, high = sample.bounds(z)
            ends = weight * (low - sample.mean), weight * (high - sample.mean)
            below = below + np.minimum(*ends) ** 2
            above = above + np.maximum(*ends) ** 2
        return self.mean - np.sqrt(below), self.mean + np.sqrt(above)


@dataclass(frozen=True)
class Differences(Sum):
    """The second sample less the first."""

    @classmethod
    def between(cls, first: Sample, second: Sample) -> Differences:
        """From the first group to the second."""
        return cls((first, second), (-1.0, 1.0))

    @property
    def p_value(self) -> Vector:
        """How often chance alone gives such a difference, each quantity by itself."""
        common = Pooled(self.samples).mean
        variance = sum(s.variance(s.plausible(common)) for s in self.samples)
        return two_sided(self.mean / np.sqrt(variance))


def holm(p_values: Vector) -> Vector:
    """p-values that hold for all tests together: one below 5% is false in 5% of families."""
    order = np.argsort(p_values, kind="stable")
    left = np.arange(p_values.size, 0, -1)
    raised = np.minimum(np.maximum.accumulate(p_values[order] * left), 1.0)
    found = np.empty(p_values.size)
    found[order] = raised
    return found
