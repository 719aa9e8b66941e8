"""The difference of two groups of different people: intervals, tests, many at once.

The interval is MOVER's (Zou and Donner, Statistics in Medicine 27, 2008): each side of it is made
of the two groups' own score intervals, so it is as long as they are where shares are rare or
reports are few. The test takes both variances at the share that both groups would have if they did
not differ. Of few reports, a p-value is the largest chance of a miss at which the interval, made of
exact ones, holds no difference of 0. Of many tests the smallest p-value is the luckiest: Holm's
(1979) are what they are worth together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.reports import Mask
from rumor.core.types import Vector
from rumor.estimators.compare.few_groups import few_ends
from rumor.estimators.compare.pooled import Pooled
from rumor.estimators.compare.sample import Bounds, Sample, two_sided

_LARGEST = 12.0  # the normal quantile up to which intervals of few reports are searched
_HALVINGS = 24  # so that a quantile is found to a millionth


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

    def bounds(self, z: float | Vector) -> Bounds:
        """The distances from the estimates to the ends of their intervals, squared and added."""
        return self._around(
            [sample.mean for sample in self.samples], [sample.bounds(z) for sample in self.samples]
        )

    def _around(self, means: Sequence[Vector], bounds: Sequence[Bounds]) -> Bounds:
        """Return the ends around the weighted sum of `means`, whose own `bounds` are these."""
        below = above = middle = np.zeros(means[0].shape)
        for weight, mean, (low, high) in zip(self.weights, means, bounds, strict=True):
            ends = weight * (np.minimum(low, mean) - mean), weight * (np.maximum(high, mean) - mean)
            below = below + np.minimum(*ends) ** 2
            above = above + np.maximum(*ends) ** 2
            middle = middle + weight * mean
        return middle - np.sqrt(below), middle + np.sqrt(above)


@dataclass(frozen=True)
class WeightedMean(Sum):
    """A weighted mean: weights are positive and sum to 1."""

    def bounds(self, z: float | Vector) -> Bounds:
        """One score interval of the mean itself, as if of one sample with its variance.

        Intervals of groups of a few people are longer than their variance says, and squares of
        their distances add up to less than that of the sum: added up, they would be too short.
        Every group's variance is taken at the mean, where that of a share is largest on average.
        Where reports are few, it is stretched to hold exact ends (few_groups.py).
        """
        parts = list(zip(self.weights, self.samples, strict=True))
        people = 1 / sum(w * w / s.reports for w, s in parts)
        spread = [
            np.asarray(sum(w * w / s.reports * s.spread[k] for w, s in parts) * people)
            for k in range(3)
        ]
        known = np.isfinite(spread[0])
        rows = np.flatnonzero(known)
        low, high = np.full(known.shape, -np.inf), np.full(known.shape, np.inf)
        first, second, third = (each[rows] for each in spread)
        whole = Sample(self.mean[rows], (first, second, third), people)
        low[rows], high[rows] = whole.bounds(np.broadcast_to(z, known.shape)[rows])
        weights = np.array([np.full(known.shape, weight) for weight in self.weights])
        least, most = few_ends(self.samples, weights, z)
        return np.minimum(low, least), np.maximum(high, most)


@dataclass(frozen=True)
class Differences(Sum):
    """The second sample less the first."""

    @classmethod
    def between(cls, first: Sample, second: Sample) -> Differences:
        """From the first group to the second."""
        return cls((first, second), (-1.0, 1.0))

    def bounds(self, z: float | Vector) -> Bounds:
        """Where reports are few, hold the interval around shares that can be, too.

        Estimates of two mechanisms may lie further outside of 0 and 1, on both sides, than squares
        of distances reach.
        """
        bounds = [sample.bounds(z) for sample in self.samples]
        low, high = self._around([sample.mean for sample in self.samples], bounds)
        few = self._few
        if few.any():
            least, most = self._around([s.plausible(s.mean) for s in self.samples], bounds)
            low = np.where(few, np.minimum(low, least), low)
            high = np.where(few, np.maximum(high, most), high)
        return low, high

    @property
    def _few(self) -> Mask:
        return np.asarray(np.logical_or.reduce([sample.few for sample in self.samples]))

    @property
    def p_value(self) -> Vector:
        """How often chance alone gives such a difference, each quantity by itself."""
        common = Pooled(self.samples).mean
        variance = sum(s.variance(s.plausible(common)) for s in self.samples)
        found = two_sided(self.mean / np.sqrt(variance))
        few = np.flatnonzero(self._few)
        if few.size:
            found[few] = Differences([s.at(few) for s in self.samples], self.weights).few_p_value()
        return found

    def few_p_value(self) -> Vector:
        """Return the largest chance of a miss at which the intervals hold no difference of 0."""
        low, high = np.zeros(self.mean.size), np.full(self.mean.size, _LARGEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ends = self.bounds(middle)
            without = (ends[0] > 0) | (ends[1] < 0)
            low, high = np.where(without, middle, low), np.where(without, high, middle)
        return two_sided(low)


def holm(p_values: Vector) -> Vector:
    """p-values that hold for all tests together: one below 5% is false in 5% of families."""
    order = np.argsort(p_values, kind="stable")
    left = np.arange(p_values.size, 0, -1)
    raised = np.minimum(np.maximum.accumulate(p_values[order] * left), 1.0)
    found = np.empty(p_values.size)
    found[order] = raised
    return found
