"""Confidence intervals for frequencies, by inverting a test on the support count.

The count of reports that support a value is binomial when the people are a sample of a
population, and a sum of two binomials when the people are held fixed. Either way its
variance is known at every candidate frequency f, so the interval is the set of those f at
which the observed count is not too surprising: the score test. It stays honest where the
plain interval (estimate plus or minus z standard errors) is not: rare values, few reports,
large epsilon.

Frequencies end at 0 and at 1, and most values of a large domain are next to 0, where noise
often makes the estimate negative. Two-sided tests would leave such values an interval of
nothing but 0, or cut one of their tails away and cover 97.5 per cent. So counts are ranked
by their likelihood against the best frequency that *exists* (Feldman and Cousins, Physical
Review D 57, 3873, 1998): next to an end the test becomes one-sided by itself. Intervals are
then never empty, always hold the nearest possible estimate, and cover as they say.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from rumor.errors import InputError, shown
from rumor.mechanisms.oracle import ItemCounts, Score, Target, Vector
from rumor.report import Mask

Bounds = tuple[Vector, Vector]

_KNOTS = 241
_HALVINGS = 50


class Intervals(Protocol):
    """How an estimate makes its intervals."""

    def bounds(self, z: float, of: Target) -> Bounds:
        """Lower and upper ends for a two-sided normal quantile z."""
        ...


def checked_target(of: str) -> Target:
    """ "population" or "people", or the sentence that says so."""
    if of == "population":
        return "population"
    if of == "people":
        return "people"
    raise InputError(f'an interval is of "population" or "people"; got {shown(of)}')


def critical_value(level: float, items: int) -> float:
    """The two-sided normal quantile at this level for one of `items` intervals (Sidak)."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"a level must be a number above 0 and below 1; got {shown(level)}")
    # 1 - level**(1/items), without losing the digits of a tiny tail.
    tail = -np.expm1(np.log(level) / items)
    return -NormalDist().inv_cdf(float(tail) / 2)


@dataclass(frozen=True)
class ScoreIntervals:
    """Intervals from a mean over `trials` reports whose variance is known at every f."""

    score: Score
    trials: int

    def bounds(self, z: float, of: Target) -> Bounds:
        """Every f from which the observed mean is not too far, searched from its best f."""
        estimate = self.score.excess / self.score.gain
        v0, v1, v2 = (np.asarray(v) for v in self.score.spread[of])
        scale = self.score.gain * np.sqrt(self.trials)
        tails = _tails(z)

        def accepts(f: Vector) -> Mask:
            sd = np.sqrt(np.maximum(v0 + v1 * f + v2 * f * f, 1e-300)) / scale
            return tails.accept((estimate - f) / sd, f / sd, (1 - f) / sd)

        best = np.clip(estimate, 0.0, 1.0)
        return _search(accepts, best, 0.0), _search(accepts, best, 1.0)


def _search(accepts: Callable[[Vector], Mask], inside: Vector, end: float) -> Vector:
    """The last accepted frequency on the way from one inside to an end."""
    outside = np.full(inside.size, end)
    whole = accepts(outside)
    inside = np.where(whole, outside, inside)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        fits = accepts(middle)
        inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
    return inside


class _Tails:
    """Which deviations are accepted, in standard deviations, near one end or none.

    For x ~ N(m, 1) with m >= 0 known to be so, x is ranked by its likelihood at m over that
    at the best m there is, max(x, 0). Half the squared critical distance t(m) is such that
    what ranks above has the probability asked for: t runs from that of a one-sided test at
    m = 0 to that of a two-sided one.
    """

    def __init__(self, z: float) -> None:
        outside = 2 * NormalDist().cdf(-z)
        self._distance = np.linspace(0.0, z + 3.0, _KNOTS)
        # sqrt(2t) is between the one- and the two-sided quantile.
        low = np.full(_KNOTS, max(-NormalDist().inv_cdf(outside), 0.0))
        high = np.full(_KNOTS, z)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tails = _tail(-middle) + _tail(self._lower(middle, self._distance))
            low, high = (
                np.where(tails > outside, middle, low),
                np.where(tails > outside, high, middle),
            )
        self._critical = high

    @staticmethod
    def _lower(critical: Vector, distance: Vector) -> Vector:
        """The lowest accepted x - m, where the upper one is `critical` and the end is at -m."""
        m = np.maximum(distance, 1e-12)
        beyond = -m / 2 - critical**2 / (2 * m)
        return np.where(critical <= distance, -critical, beyond)

    def accept(self, deviation: Vector, from_zero: Vector, from_one: Vector) -> Mask:
        """Whether x - m is accepted, with the ends of the scale that far below and above."""
        nearest = np.minimum(from_zero, from_one)
        critical = np.interp(nearest, self._distance, self._critical)
        high = -self._lower(critical, from_one)
        low = self._lower(critical, from_zero)
        return np.asarray((deviation <= high) & (deviation >= low))


@functools.lru_cache(maxsize=8)
def _tails(z: float) -> _Tails:
    return _Tails(z)


def _tail(x: Vector) -> Vector:
    """The normal distribution function, exact far out as well."""
    return np.array([math.erfc(-value / math.sqrt(2)) / 2 for value in x.tolist()])


@dataclass(frozen=True)
class ExactIntervals:
    """Intervals that cover at least as often as they say, whatever the count (Clopper-Pearson).

    For people drawn from a population, where a count is exactly binomial.
    """

    items: ItemCounts

    def bounds(self, z: float, of: Target) -> Bounds:
        """Quantiles of beta laws, as frequencies."""
        from scipy.special import betaincinv

        if of != "population":
            raise InputError(f'exact intervals are of the "population" only; got {shown(of)}')
        tail = NormalDist().cdf(-z)
        counts, others = self.items.counts, self.items.trials - self.items.counts
        with np.errstate(invalid="ignore"):
            low = np.where(counts > 0, betaincinv(counts, others + 1, tail), 0.0)
            high = np.where(others > 0, betaincinv(counts + 1, others, 1 - tail), 1.0)
        miss, gain = self.items.miss, self.items.gain
        return np.asarray((low - miss) / gain), np.asarray((high - miss) / gain)


@dataclass(frozen=True)
class NormalIntervals:
    """Estimate plus or minus z standard errors, where only those are known."""

    center: Vector
    stderr: Vector

    def bounds(self, z: float, of: Target) -> Bounds:
        """The plain interval; it is about the population."""
        if of != "population":
            raise InputError(
                f'this estimate has intervals of the "population" only; got {shown(of)}'
            )
        return self.center - z * self.stderr, self.center + z * self.stderr
