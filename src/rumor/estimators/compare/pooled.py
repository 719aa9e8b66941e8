"""Several sources of one quantity, in one likelihood.

Sources differ in their epsilon or mechanism. Each has the weight that its variance gives it *at
the common truth*: weights by the number of reports let the noisiest source decide, and weights by
each source's own estimate divide by nothing where one happens to lie at an end. The interval holds
every truth at which the weighted mean is not too surprising.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.compare.few_groups import few_ends
from rumor.estimators.compare.sample import Bounds, Sample

_ROUNDS = 6
_DOUBLINGS = 60
_HALVINGS = 60


@dataclass(frozen=True)
class Pooled:
    """The same quantities from several samples of different people."""

    samples: Sequence[Sample]

    @property
    def mean(self) -> Vector:
        """The weighted mean, its weights those at itself."""
        people = sum(s.reports for s in self.samples)
        found = np.asarray(sum(s.mean * s.reports for s in self.samples) / people)
        for _ in range(_ROUNDS):
            found = self._weighted(found)
        return found

    def _weighted(self, truth: Vector) -> Vector:
        """The mean with the weights of a truth, or that truth where no sample says anything."""
        weights = self._weights(truth)
        added = sum(w * s.mean for w, s in zip(weights, self.samples, strict=True))
        total = np.asarray(sum(weights))
        return np.asarray(np.divide(added, total, out=truth.copy(), where=total > 0))

    def _weights(self, truth: Vector) -> list[Vector]:
        return [1 / s.variance(s.plausible(truth)) for s in self.samples]

    @property
    def stderr(self) -> Vector:
        """Of the weighted mean; infinite where no sample says anything."""
        total = np.asarray(sum(self._weights(self.mean)))
        nothing = np.full(total.shape, np.inf)
        return np.asarray(np.divide(1, np.sqrt(total), out=nothing, where=total > 0))

    def bounds(self, z: float) -> Bounds:
        """Every truth whose own weighted mean is within z of its standard errors.

        Where reports are few, the ends are stretched to exact ones (few_groups.py).
        """
        known = np.isfinite(self.stderr)
        if not known.all():
            low, high = np.full(known.shape, -np.inf), np.full(known.shape, np.inf)
            rows = np.flatnonzero(known)
            low[rows], high[rows] = Pooled([s.at(rows) for s in self.samples]).bounds(z)
            return low, high
        middle, step = self.mean, self.stderr

        def surprise(truth: Vector) -> Vector:
            weights = self._weights(truth)
            added = sum(
                w * (s.mean - truth) for w, s in zip(weights, self.samples, strict=True)
            ) / np.sqrt(sum(weights))
            return np.abs(added)

        low, high = _edge(surprise, middle, -step, z), _edge(surprise, middle, step, z)
        return np.minimum(low, self._few(low, z)[0]), np.maximum(high, self._few(high, z)[1])

    def _few(self, truth: Vector, z: float) -> Bounds:
        """Return exact ends of few reports, with the weights of the `truth` that is in question.

        At an estimate of 0, sources of little noise would have all the weight, however few their
        reports.
        """
        weights = np.array(self._weights(truth))
        return few_ends(self.samples, weights / weights.sum(axis=0), z)


def _edge(surprise: Callable[[Vector], Vector], middle: Vector, step: Vector, z: float) -> Vector:
    """The last truth on one side that is not more surprising than z."""
    inside, outside = middle.copy(), middle + max(z, 1.0) * step
    for _ in range(_DOUBLINGS):
        fits = surprise(outside) <= z
        if not fits.any():
            break
        inside = np.where(fits, outside, inside)
        outside = np.where(fits, middle + 2 * (outside - middle), outside)
    for _ in range(_HALVINGS):
        half = (inside + outside) / 2
        fits = surprise(half) <= z
        inside, outside = np.where(fits, half, inside), np.where(fits, outside, half)
    return np.asarray(inside)
