"""Confidence intervals for frequencies, by inverting a score test on the support count.

The count of reports that support a value is binomial when the people are a sample of a
population, and a sum of two binomials when the people are held fixed. Either way its
variance is known at every candidate frequency, so the interval is the set of frequencies
f that the test |count/n - pi(f)| <= z sd(f) does not reject: a quadratic in f. It stays
honest where the plain interval (estimate plus or minus z standard errors) is not: rare
values, few reports, large epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from rumor.errors import InputError, shown
from rumor.mechanisms.oracle import Score, Target, Vector

Bounds = tuple[Vector, Vector]


class Intervals(Protocol):
    """How an estimate makes its intervals."""

    def bounds(self, z: float, of: Target) -> Bounds:
        """Lower and upper ends at this many standard deviations, not yet clipped to [0, 1]."""
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
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"a level must be a number above 0 and below 1; got {shown(level)}")
    # 1 - level**(1/items), without losing the digits of a tiny tail.
    tail = -np.expm1(np.log(level) / items)
    return -NormalDist().inv_cdf(float(tail) / 2)


@dataclass(frozen=True)
class ScoreIntervals:
    """Score intervals from a mean over `trials` reports whose variance is known at every f."""

    score: Score
    trials: int

    def bounds(self, z: float, of: Target) -> Bounds:
        """Both roots of (excess - gain f)^2 = z^2 (v0 + v1 f + v2 f^2) / n."""
        d, gain = self.score.excess, self.score.gain
        v0, v1, v2 = self.score.spread[of]
        k = z * z / self.trials
        a = gain * gain - k * v2
        b = gain * d + k * v1 / 2
        c = d * d - k * v0
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        return (b - root) / a, (b + root) / a


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
