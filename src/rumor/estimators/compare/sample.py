"""What one group's reports say: unbiased estimates whose variance is known at every candidate.

Everything that compares or combines groups starts here, and never from answers that a method has
drawn towards each other: those of a small group are drawn further, and would differ by that alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rumor.core.reports import Mask
from rumor.core.types import Rows, Target, Vector
from rumor.mechanisms.oracle import Score

Bounds = tuple[Vector, Vector]
_SMALLEST = 1e-300


class FewReports(Protocol):
    """Reports each of which adds a number within known bounds to an estimate, as coins do."""

    @property
    def trials(self) -> Vector:
        """How many reports each estimate is a mean of."""
        ...

    @property
    def within(self) -> Bounds:
        """The smallest and the largest number that one of them can be."""
        ...

    def is_few(self, rows: Rows) -> Mask:
        """Return whether the reports of these rows are too few for the normal distribution."""
        ...

    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        """Return the exact ends of these rows, each at its own normal quantile `z`."""
        ...


@dataclass(frozen=True)
class SomeFew:
    """Some rows of other few reports."""

    whole: FewReports
    rows: Rows

    @property
    def trials(self) -> Vector:
        """Those of the rows."""
        return self.whole.trials[self.rows]

    @property
    def within(self) -> Bounds:
        """Those of the rows."""
        least, most = self.whole.within
        return least[self.rows], most[self.rows]

    def is_few(self, rows: Rows) -> Mask:
        """Ask the whole."""
        return self.whole.is_few(self.rows[rows])

    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        """Ask the whole."""
        return self.whole.quantile_ends(self.rows[rows], z)


@dataclass(frozen=True)
class Sample:
    """Unbiased estimates from `reports` reports.

    One report's estimate has, where the truth is f, the variance v0 + v1 f + v2 f**2 with the
    numbers of `spread`.
    """

    mean: Vector
    spread: tuple[Vector, Vector, Vector]
    reports: float
    limits: tuple[float, float] = (-math.inf, math.inf)
    """Between which the truth lies."""
    exact: FewReports | None = None
    """Whose ends intervals have to hold where reports are few."""

    @classmethod
    def of_score(
        cls,
        score: Score,
        reports: int,
        of: Target,
        exact: FewReports | None = None,
    ) -> Sample:
        """From a mean over reports, as oracles have it: shares."""
        mean = np.asarray(score.excess / score.gain)
        spread = _like(mean, *(v / score.gain**2 for v in score.spread[of]))
        return cls(mean, spread, reports, (0.0, 1.0), exact)

    @classmethod
    def known(cls, mean: Vector, stderr: Vector) -> Sample:
        """Estimates whose standard errors are all that is known: as if of one report each."""
        return cls(mean, _like(mean, stderr**2, 0.0, 0.0), 1)

    @classmethod
    def coins(cls, mean: float, ends: tuple[float, float], reports: int) -> Sample:
        """A mean that is a share of coins, stretched to lie between two ends."""
        where, (zero, one) = np.array([mean]), ends
        return cls(where, _like(where, -zero * one, zero + one, -1.0), reports)

    def at(self, rows: Rows) -> Sample:
        """Some of the estimates."""
        spread = _like(*(v[rows] for v in (self.mean, *self.spread)))
        some = None if self.exact is None else SomeFew(self.exact, rows)
        return replace(self, mean=self.mean[rows], spread=spread, exact=some)

    @property
    def few(self) -> Mask:
        """Which rows have too few reports for the normal distribution."""
        if self.exact is None:
            return np.zeros(self.mean.size, dtype=bool)
        return self.exact.is_few(np.arange(self.mean.size))

    def variance(self, truth: Vector | float) -> Vector:
        """The variance of the estimates where this is the truth."""
        v0, v1, v2 = self.spread
        each = v0 + v1 * truth + v2 * np.square(truth)
        return np.asarray(np.maximum(each, _SMALLEST) / self.reports)

    @property
    def stderr(self) -> Vector:
        """The standard errors where the estimates are the truth, or the nearest share is."""
        return np.sqrt(self.variance(self.plausible(self.mean)))

    def plausible(self, truth: Vector) -> Vector:
        """The nearest truth that can be: noise goes beyond it, and its variance need not."""
        return np.clip(truth, *self.limits)

    def bounds(self, z: float | Vector) -> Bounds:
        """Both roots of (mean - f)^2 = z^2 variance(f): Wilson's interval, not cut off anywhere.

        Wilson (Journal of the American Statistical Association 22, 1927) for a binomial. Where
        reports are few, it is stretched to hold the `exact` ends.
        """
        k = z * z / self.reports
        v0, v1, v2 = self.spread
        a, b, c = 1 - k * v2, 2 * self.mean + k * v1, self.mean**2 - k * v0
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        low, high = np.asarray((b - root) / (2 * a)), np.asarray((b + root) / (2 * a))
        if self.exact is None:
            return low, high
        rows = np.flatnonzero(self.few)
        least, most = self.exact.quantile_ends(rows, np.broadcast_to(z, low.shape)[rows])
        low[rows], high[rows] = np.minimum(low[rows], least), np.maximum(high[rows], most)
        return low, high


def _like(mean: Vector, *spread: Vector | float) -> tuple[Vector, Vector, Vector]:
    """Spreads as a number for each estimate."""
    first, second, third = (np.broadcast_to(np.asarray(v, np.float64), mean.shape) for v in spread)
    return first, second, third


def two_sided(z: Vector) -> Vector:
    """The chance of a normal deviation at least as large, either way."""
    return np.array([math.erfc(abs(value) / math.sqrt(2)) for value in np.atleast_1d(z)])
