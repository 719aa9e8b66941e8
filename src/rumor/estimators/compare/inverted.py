"""Quantiles among other quantities: from distribution functions that are inverted, never averaged.

Means and shares of groups add up with their variances; quantiles do not. Two groups at 10 and at
90 have their common median in the gap between them, however well each one's own is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.compare.differences import Differences
from rumor.estimators.compare.sample import Bounds
from rumor.estimators.ordered.curve import Curve

# A standard error is what it is to an interval of 95 %: its length over twice this.
_Z = 1.959963984540054


class Combination(Protocol):
    """Quantities that were made of several samples."""

    @property
    def mean(self) -> Vector:
        """The quantities."""
        ...

    @property
    def stderr(self) -> Vector:
        """Their standard errors."""
        ...

    def bounds(self, z: float) -> Bounds:
        """Both ends of their intervals, for a two-sided normal quantile z."""
        ...


@dataclass(frozen=True)
class Quantiles:
    """Which rows are quantiles, of which shares, of which distribution function."""

    rows: Rows
    shares: Sequence[float]
    curve: Curve

    def inverted(self, z: float) -> Vector:
        """Return value and both ends of each quantile, a column for each."""
        return np.array([self.curve.quantile(share, z) for share in self.shares]).T


@dataclass(frozen=True)
class WithQuantiles:
    """Combined quantities, some of whose rows are quantiles of a combined distribution."""

    linear: Combination
    quantiles: Quantiles

    @property
    def mean(self) -> Vector:
        """Quantiles where the combined distribution has them."""
        return _put(self.linear.mean, self.quantiles.rows, self.quantiles.inverted(_Z)[0])

    @property
    def stderr(self) -> Vector:
        """Of quantiles, what their intervals of 95 % come to."""
        _, low, high = self.quantiles.inverted(_Z)
        return _put(self.linear.stderr, self.quantiles.rows, (high - low) / (2 * _Z))

    def bounds(self, z: float) -> Bounds:
        """The ends, of quantiles by inversion."""
        below, above = self.linear.bounds(z)
        _, low, high = self.quantiles.inverted(z)
        rows = self.quantiles.rows
        return _put(below, rows, low), _put(above, rows, high)


@dataclass(frozen=True)
class QuantileDifferences:
    """Differences of two groups, some of whose rows are quantiles of their distributions."""

    linear: Differences
    first: Quantiles
    second: Quantiles

    @property
    def mean(self) -> Vector:
        """Of quantiles, the second group's less the first's."""
        values = self.second.inverted(_Z)[0] - self.first.inverted(_Z)[0]
        return _put(self.linear.mean, self.first.rows, values)

    @property
    def stderr(self) -> Vector:
        """Of quantiles, what their intervals of 95 % come to."""
        low, high = self._ends(_Z)
        return _put(self.linear.stderr, self.first.rows, (high - low) / (2 * _Z))

    @property
    def p_value(self) -> Vector:
        """How often chance alone gives such a difference, each quantity by itself."""
        found = [
            self.second.curve.places(share).p_value(self.first.curve.places(share))
            for share in self.first.shares
        ]
        return _put(self.linear.p_value, self.first.rows, np.array(found))

    def bounds(self, z: float) -> Bounds:
        """The ends, of quantiles by inversion of both distributions at once."""
        below, above = self.linear.bounds(z)
        low, high = self._ends(z)
        return _put(below, self.first.rows, low), _put(above, self.first.rows, high)

    def _ends(self, z: float) -> Bounds:
        one, other = self.first.curve, self.second.curve
        found = np.array([quantile_difference(other, one, q, z)[1:] for q in self.first.shares])
        return found[:, 0], found[:, 1]


def quantile_difference(
    first: Curve, second: Curve, share: float, z: float
) -> tuple[float, float, float]:
    """Return the first distribution's quantile less the second's, and its interval's ends."""
    value = first.quantile(share, z)[0] - second.quantile(share, z)[0]
    low, high = first.places(share).less(second.places(share), z)
    return value, min(low, value), max(high, value)


def _put(vector: Vector, rows: Rows, values: Vector) -> Vector:
    found = np.array(vector, dtype=np.float64)
    found[rows] = values
    return found
