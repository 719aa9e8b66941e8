"""The law of a stem that nobody has, by the symmetry of its hashes.

Whatever the table of a level holds (noise, frequent words, rare ones, lies), a stem that nobody has
falls into a uniform bucket of every cohort, independently. Given the table, its support is a sum of
independent draws, one from each row: the mean is n / g, the variance is
sum_k (g sum_y C_ky^2 - n_k^2) / g^2, and the logarithm of the moment generating function is
K(t) = sum_k ln mean_y exp(t C_ky). Nothing is assumed about people.

Where supports are many the sum is normal. Where they are few it is skewed, and a normal law finds
words that are not there. So a support is turned into the normal deviate of the same tail by the
saddle point (Barndorff-Nielsen, "Inference on full or partial parameters based on the standardized
signed log likelihood ratio", 1986): with x = K'(t), w = sign(t) sqrt(2 (t x - K(t))) and
u = t sqrt(K''(t)), the deviate is w + ln(u / w) / w. A law that jumps is
met in the middle of its jumps: words are judged by sums over several levels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector

# Where the curve is worked out, in units of 1 / standard deviation: straight lines in between.
_TILTS = np.array([*np.arange(-6.0, -0.4, 0.5), *np.arange(0.5, 6.1, 0.5), *np.arange(7.0, 15.1)])


def variance(table: NDArray[np.number]) -> float:
    """The variance of the support of a stem that nobody has; exact where counts are integers."""
    buckets = table.shape[1]
    if table.dtype.kind in "iu":
        wide = table.astype(object)  # no square is too large for Python's integers
        squares = buckets * (wide**2).sum() - (wide.sum(axis=1) ** 2).sum()
        return float(int(squares) / buckets**2)
    centred = table - table.mean(axis=1, keepdims=True)
    return float((centred**2).sum() / buckets)


class NullLaw:
    """Supports as normal deviates, for stems that nobody has."""

    def __init__(self, table: NDArray[np.number]) -> None:
        centred = table - table.mean(axis=1, keepdims=True)
        self.mean = float(table.mean(axis=1).sum())
        self.deviation = math.sqrt(variance(table))
        if self.deviation == 0:
            self._supports = self._deviates = np.zeros(1)
            return
        curve = [self._point(centred, tilt / self.deviation) for tilt in _TILTS]
        self._supports, self._deviates = (np.array(part) for part in zip(*curve, strict=True))
        # At the far ends all mass is in one place, and rounding decides: keep what grows.
        grows = np.concatenate([[True], np.diff(np.maximum.accumulate(self._supports)) > 0])
        grows[1:] &= np.diff(np.maximum.accumulate(self._deviates)) > 0
        self._supports, self._deviates = self._supports[grows], self._deviates[grows]

    def _point(self, centred: Vector, t: float) -> tuple[float, float]:
        """A support above the mean, and its deviate."""
        tilted = t * centred
        top = tilted.max(axis=1, keepdims=True)
        weights = np.exp(tilted - top)
        total = weights.sum(axis=1, keepdims=True)
        logs = float((np.log(total) + top).sum()) - len(centred) * math.log(centred.shape[1])
        weights /= total
        means = (weights * centred).sum(axis=1)
        spread = float((weights * centred**2).sum() - (means**2).sum())
        support = float(means.sum())
        w = math.copysign(math.sqrt(max(2 * (t * support - logs), 1e-300)), t)
        u = t * math.sqrt(max(spread, 1e-300))
        return support, w + math.log(u / w) / w

    def deviates(self, supports: Vector) -> Vector:
        """The normal deviate of each support: how unlikely as much or more is."""
        if self._supports.size < 2:  # hardly anybody is there: it says nothing
            return np.zeros(supports.shape)
        x = supports - self.mean
        found = np.interp(x, self._supports, self._deviates)
        # Beyond the last point the curve goes on as it went, so that order is kept.
        last = self._supports.size - 1
        slope = (self._deviates[last] - self._deviates[last - 1]) / (
            self._supports[last] - self._supports[last - 1]
        )
        beyond = x > self._supports[last]
        found[beyond] += slope * (x[beyond] - self._supports[last])
        return np.asarray(found)
