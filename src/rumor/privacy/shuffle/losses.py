"""Privacy losses of several batches: distributions on a grid, convolved, rounded up throughout.

A curve that is a chain of chords is that of a pair of distributions: at each point (E, d) the slope
changes by the mass that Q has there, P has E times as much, and the privacy loss is ln E. The last
delta is the mass of an infinite loss. Batches have fresh randomness, so their losses add up (Zhu,
Dong and Wang 2022, for dominating pairs); a loss between two multiples of the step is split onto
both so that P and Q keep their mass (Doroshenko and others 2022). Every mass is an upper bound.
Convolution is direct: its terms are positive, so its error is relative to the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from rumor.core.exact import round_up, sum_up
from rumor.core.types import Vector
from rumor.privacy.shuffle.curve import PrivacyCurve, lower_hull

_UNIT = 2.0**-53
_STEPS_PER_DEVIATION = 32  # fineness of the grid, at least
_MOST_GRID = 1 << 16  # places that a curve may be put on
_MOST_PLACES = 8_192  # longer distributions are put on a grid twice as coarse
_FAINT_LOW = 1e-15  # mass at the lower end that moves up to where the distribution is cut
_FAINT_HIGH = 1e-9  # part of delta at the upper end that moves to infinity
_BISECTIONS = 60


@dataclass(frozen=True)
class LossDistribution:
    """At least the mass of every privacy loss, on multiples of a power of two."""

    step: float
    first: int
    """The multiple of `step` that the first mass belongs to."""
    masses: Vector
    infinite: float

    @classmethod
    def of_curve(cls, curve: PrivacyCurve, delta: float) -> LossDistribution:
        """Return the distribution of a curve, on a grid that suits its spread.

        Faint parts beside `delta` are cut off before there is a grid, which would be too long.
        """
        exact = [
            (Fraction(factor), Fraction(delta))
            for factor, delta in zip(
                curve.mirrored.factors.tolist(), curve.mirrored.deltas.tolist(), strict=True
            )
        ]
        points = lower_hull(exact)
        if len(points) == 1:  # no factor below the largest has a delta below 1
            return cls(1.0, 0, np.zeros(1), 1.0)
        slopes = [(d - c) / (y - x) for (x, c), (y, d) in pairwise(points)]
        changes = zip(points[1:], slopes, [*slopes[1:], Fraction(0)], strict=True)
        atoms = [
            (_log_up(factor), round_up(factor * (after - before)))
            for (factor, _), before, after in changes
        ]
        losses, masses = np.array(atoms).T
        low, high = _faint_ends(masses, delta)
        infinite = sum_up([round_up(points[-1][1]), *masses[high:].tolist()])
        losses, masses = np.maximum(losses[:high], losses[low]), masses[:high]
        spread = math.sqrt(float(masses @ losses**2))
        finest = max(spread / _STEPS_PER_DEVIATION, float(np.ptp(losses)) / _MOST_GRID)
        step = 2.0 ** math.floor(math.log2(finest))
        return cls._split(losses, masses, step, infinite)

    @classmethod
    def _split(
        cls, losses: Vector, masses: Vector, step: float, infinite: float
    ) -> LossDistribution:
        """Split each mass onto the two multiples of the step around its loss."""
        below = np.floor(losses / step)
        upper = np.expm1(-(losses - below * step)) / math.expm1(-step)
        pad = 4 * _UNIT * (np.abs(below) + 8)
        places = (below - below.min()).astype(np.int64)
        whole = np.zeros(int(places.max()) + 2)
        np.add.at(whole, places, masses * np.maximum(1 - upper + pad, 0))
        np.add.at(whole, places + 1, masses * (upper + pad))
        return cls(step, int(below.min()), whole * (1 + (len(losses) + 8) * _UNIT), infinite)

    def plus(self, other: LossDistribution, delta: float) -> LossDistribution:
        """Return the losses of two independent batches; only probabilities near `delta` matter."""
        one, two = self, other
        while one.step < two.step:
            one = one._coarser()
        while two.step < one.step:
            two = two._coarser()
        shorter = min(len(one.masses), len(two.masses))
        sums = np.convolve(one.masses, two.masses) * (1 + 2 * (shorter + 4) * _UNIT)
        infinite = (one.infinite + two.infinite) * (1 + 4 * _UNIT)
        found = LossDistribution(one.step, one.first + two.first, sums, infinite)._cut(delta)
        while len(found.masses) > _MOST_PLACES:
            found = found._coarser()
        return found

    def repeat(self, batches: int, delta: float) -> LossDistribution:
        """Return the losses of `batches` batches of one kind."""
        if batches == 1:
            return self
        half = self.repeat(batches // 2, delta)
        twice = half.plus(half, delta)
        return twice.plus(self, delta) if batches % 2 else twice

    def delta_at(self, epsilon: float) -> float:
        """Return at least the delta of all batches together at this epsilon."""
        losses = (self.first + np.arange(len(self.masses))) * self.step
        parts = self.masses * -np.expm1(np.minimum(epsilon - losses, 0.0))
        whole = float(parts.sum()) + self.infinite
        return whole * (1 + (len(parts) + 16) * _UNIT)

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon with at most this `delta`; infinite if there is none."""
        if self.infinite * (1 + 32 * _UNIT) >= delta:
            return math.inf
        low, high = 0.0, max(0.0, (self.first + len(self.masses)) * self.step)
        if self.delta_at(low) <= delta:
            return low
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta_at(middle) <= delta else (middle, high)
        return high

    def _cut(self, delta: float) -> LossDistribution:
        """Move the faint lower end up to where it is cut, and the faint upper end to infinity."""
        low, high = _faint_ends(self.masses, delta)
        kept = self.masses[low:high].copy()
        rounded = 1 + (len(self.masses) + 4) * _UNIT
        kept[0] = (kept[0] + float(self.masses[:low].sum())) * rounded
        infinite = (self.infinite + float(self.masses[high:].sum())) * rounded
        return LossDistribution(self.step, self.first + low, kept, infinite)

    def _coarser(self) -> LossDistribution:
        """Return these losses on a grid of twice the step: odd multiples are split."""
        masses, first = self.masses, self.first
        if first % 2:
            masses, first = np.concatenate([[0.0], masses]), first - 1
        if len(masses) % 2 == 0:
            masses = np.concatenate([masses, [0.0]])
        upper = 1 / (1 + math.exp(-self.step))
        even = masses[::2].copy()
        even[1:] += masses[1::2] * (upper + 4 * _UNIT)
        even[:-1] += masses[1::2] * (1 - upper + 4 * _UNIT)
        return LossDistribution(2 * self.step, first // 2, even * (1 + 4 * _UNIT), self.infinite)


def _faint_ends(masses: Vector, delta: float) -> tuple[int, int]:
    """Return the first place and the end of what is not faint, at least one place."""
    low = int(np.searchsorted(np.cumsum(masses), _FAINT_LOW))
    high = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), _FAINT_HIGH * delta))
    return (low, high) if low < high else (0, len(masses))


def composed_epsilon(parts: Sequence[tuple[PrivacyCurve, int]], delta: float) -> float:
    """Return the epsilon at `delta` of all batches, given each curve with its number of batches."""
    whole: LossDistribution | None = None
    for curve, batches in parts:
        own = LossDistribution.of_curve(curve, delta).repeat(batches, delta)
        whole = own if whole is None else whole.plus(own, delta)
    assert whole is not None
    return whole.epsilon_at(delta)


def _log_up(factor: Fraction) -> float:
    """Return a double that is not below the logarithm of `factor`, which is above 0."""
    nearest = math.log(factor)
    return nearest + 2 * math.ulp(nearest)
