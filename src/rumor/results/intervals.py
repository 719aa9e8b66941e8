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

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Protocol

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.reports import Mask
from rumor.core.types import Rows, Target, Vector
from rumor.mechanisms.support import Score
from rumor.results.sequences import ONE_LOOK, OneLook

Bounds = tuple[Vector, Vector]

_HALVINGS = 50
# The least length of an interval next to 0 or 1, as a part of what it reaches to one side: about
# that of Feldman and Cousins (Physical Review D 57, 1998) at 95 %, three standard errors outside.
_LEAST = 0.2
_SMALLEST = 1e-300
_ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)


class Intervals(Protocol):
    """The interface of intervals of an estimate's rows."""

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return lower and upper ends for a two-sided normal quantile z."""
        ...

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the ends of `rows`, each missed with the chances of its own `tails`."""
        ...


class RankedIntervals(Intervals, Protocol):
    """Intervals of rows that may be shown because their estimates came out highest."""

    def redrawn(self, tail: float) -> Bounds:
        """Return between which ends small counts could put their estimates, if drawn again.

        An estimate lies beyond either end with a probability of twice the `tail`. For a normal
        estimate the lower end is infinite and the upper one minus infinity: no statement is made.
        """
        ...


def checked_level(level: object) -> float:
    """Return a confidence level, or raise an error that states the rule."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"a level must be a number above 0 and below 1; got {format_value(level)}")
    return float(level)


def critical_value(level: float, items: int) -> float:
    """Return the two-sided normal quantile at this level for one of `items` intervals (Sidak)."""
    return -NormalDist().inv_cdf(each_outside(level, items) / 2)


def each_outside(level: float, items: int) -> float:
    """Return the chance with which each of `items` intervals may
    miss, for all to hold at this level.

    No items are taken as one.
    """
    # 1 - level**(1/items), without losing the digits of a tiny tail.
    return float(-np.expm1(np.log(checked_level(level)) / max(items, 1)))


@dataclass(frozen=True)
class Tails:
    """The chances that an interval misses below its lower end
    and above its upper one, row by row.
    """

    lower: Vector
    upper: Vector
    look: OneLook = ONE_LOOK
    """The look, or looks, at which both chances hold."""

    @classmethod
    def alike(cls, lower: float, upper: float, rows: int, look: OneLook = ONE_LOOK) -> Tails:
        """Return `lower` and `upper` for each of `rows` rows, at `look`."""
        return cls(np.full(rows, lower), np.full(rows, upper), look)

    def at(self, rows: Rows) -> Tails:
        """Return the tails of these `rows`."""
        return Tails(self.lower[rows], self.upper[rows], self.look)

    def halved(self) -> Tails:
        """Return half of every tail, for intervals of two quantities that must both hold."""
        return Tails(self.lower / 2, self.upper / 2, self.look)

    def quantiles(self) -> Bounds:
        """Return both tails as normal quantiles."""
        return self.look.quantiles(self.lower), self.look.quantiles(self.upper)


@dataclass(frozen=True)
class EqualTails:
    """The chance of a miss on either side, and the look, or looks, at which it holds."""

    tail: float
    look: OneLook = ONE_LOOK

    @classmethod
    def of(cls, level: float, items: int = 1, look: OneLook = ONE_LOOK) -> EqualTails:
        """Return the tails with which `items` intervals hold together at this `level` (Sidak)."""
        return cls(each_outside(level, items) / 2, look)

    @property
    def z(self) -> float:
        """The number of standard errors to either end of a normal interval."""
        return self.look.quantile(self.tail)

    def rows(self, rows: int) -> Tails:
        """Return these tails for each of `rows` rows."""
        return Tails.alike(self.tail, self.tail, rows, self.look)


def equal_ends(intervals: Intervals, tails: EqualTails, rows: int, of: Target) -> Bounds:
    """Return the ends of all `rows` by `intervals`, with equal `tails`.

    At one look an interval next to 0 or 1 becomes one-sided by itself; at any look each side has
    its own confidence sequence.
    """
    if tails.look == ONE_LOOK:
        return intervals.bounds(tails.z, of)
    return intervals.tails(np.arange(rows), tails.rows(rows), of)


def simultaneous_tails(level: float, items: int, look: OneLook = ONE_LOOK) -> Tails:
    """Return tails with which all intervals of `items` values hold at once (Sidak)."""
    return EqualTails.of(level, items, look).rows(items)


@dataclass(frozen=True)
class ScoreIntervals:
    """Intervals from a mean over `trials` reports whose variance is known at every f."""

    score: Score
    trials: int

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return every f at which the observed mean is not too
        surprising, searched from its best f.
        """
        estimate = self.score.excess / self.score.gain
        v0, v1, v2 = self._spread(of)
        scale = self.score.gain * math.sqrt(self.trials)
        outside = 2 * NormalDist().cdf(-z)

        def accepts(f: Vector) -> Mask:
            sd = np.sqrt(np.maximum(v0 + v1 * f + v2 * f * f, _SMALLEST)) / scale
            surprise = p_value((estimate - f) / sd, f / sd, (1 - f) / sd)
            return np.asarray(surprise >= outside)

        best = np.clip(estimate, 0.0, 1.0)
        return _search(accepts, best, 0.0), _search(accepts, best, 1.0)

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the ends of `rows` by the score test, each side with its own tail."""
        estimate = self.score.excess[rows] / self.score.gain
        # Some spreads differ by value (a blocked Hadamard matrix), others are one number.
        v0, v1, v2 = (np.broadcast_to(v, self.score.excess.shape)[rows] for v in self._spread(of))
        scale = self.score.gain * math.sqrt(self.trials)
        below, above = tails.quantiles()

        def deviation(f: Vector) -> Vector:
            sd = np.sqrt(np.maximum(v0 + v1 * f + v2 * f * f, _SMALLEST)) / scale
            return np.asarray((estimate - f) / sd)

        best = np.clip(estimate, 0.0, 1.0)
        return (
            _search(lambda f: np.asarray(deviation(f) <= below), best, 0.0),
            _search(lambda f: np.asarray(-deviation(f) <= above), best, 1.0),
        )

    def _spread(self, of: Target) -> list[Vector]:
        return [np.asarray(v) for v in self.score.spread[of]]


def p_value(deviation: Vector, below: Vector, above: Vector) -> Vector:
    """Return the probability of a normal deviation that ranks no higher than this one.

    All in standard deviations: the observation lies `deviation` from a candidate, and the ends
    of what is possible lie `below` and `above` it. An observation ranks by its likelihood at
    the candidate over that at the nearest possible point, e^-t: t is half the squared
    deviation within the ends and grows linearly beyond them.
    """
    t = deviation**2 / 2
    t = np.where(deviation < -below, -below * (deviation + below / 2), t)
    t = np.where(deviation > above, above * (deviation - above / 2), t)
    return upper_tail(_reach(t, below)) + upper_tail(_reach(t, above))


def _reach(t: Vector, end: Vector) -> Vector:
    """Return how far away, towards an end, observations of this t are; infinite if it is here."""
    plain = np.sqrt(2 * t)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(plain <= end, plain, end / 2 + t / end)


def upper_tail(x: Vector) -> Vector:
    """Return the normal probability beyond x >= 0, to a relative error of 1.2e-7.

    Chebyshev's fit of erfc in Numerical Recipes (Press et al., section 6.2). Loading scipy
    for this alone would take half a second.
    """
    z = x / math.sqrt(2)
    t = 1 / (1 + z / 2)
    power = np.zeros_like(t)
    for coefficient in _ERFC:
        power = power * t + coefficient
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        return np.where(z < 1e150, t * np.exp(-z * z + power) / 2, 0.0)


def _search(accepts: Callable[[Vector], Mask], inside: Vector, end: float) -> Vector:
    """Return the last accepted frequency on the way from one inside to an end."""
    outside = np.full(inside.size, end)
    inside = np.where(accepts(outside), outside, inside)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        fits = accepts(middle)
        inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
    return np.asarray(inside)


@dataclass(frozen=True)
class NormalIntervals:
    """Estimate plus or minus z standard errors, if only those are known."""

    center: Vector
    stderr: Vector
    """The standard errors for the population."""
    people: Vector | None = None
    """The standard errors for these people's own values; None if not known."""

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the plain interval; infinite if nothing is known."""
        stderr = self._stderr(of)
        return self.center - z * stderr, self.center + z * stderr

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return ends at as many standard errors on either side as the tails take."""
        return normal_ends(self.center[rows], self._stderr(of)[rows], tails)

    def redrawn(self, tail: float) -> Bounds:
        """Return no statement, since all estimates are normal."""
        return np.full(self.center.size, np.inf), np.full(self.center.size, -np.inf)

    def _stderr(self, of: Target) -> Vector:
        if of == "population":
            return self.stderr
        if self.people is None:
            raise InputError(
                f'this estimate has intervals of the "population" only; got {format_value(of)}'
            )
        return self.people


@dataclass(frozen=True)
class FoundIntervals(NormalIntervals):
    """Normal intervals of values that are shown because a test found them.

    The lower end of such a value is far out in a tail, where noise is no longer normal: few heavy
    values that are not looked for reach a few counts by far. `tested` is the standard error at
    which the normal law has the p-value of the test, which knows that noise; where it is the larger
    one it holds below. So an interval excludes 0 only where its tail is larger than the p-value.
    """

    tested: Vector = field(kw_only=True)

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return ends at as many standard errors on either side as the tails take."""
        stderr, (below, above) = self._stderr(of)[rows], tails.quantiles()
        center = self.center[rows]
        low = center - below * np.maximum(stderr, self.tested[rows])
        return np.asarray(low), np.asarray(center + above * stderr)


def stderr_of_test(center: Vector, p_value: Vector, least: float) -> Vector:
    """Return the standard errors at which the normal law has these p-values of `center`.

    They are 0, and say nothing, where a p-value is the `least` that there is: how far a value lies
    beyond it is not known.
    """
    known = (p_value > least * (1 + 1e-9)) & (p_value < 0.5) & (center > 0)
    stderr = np.zeros(center.size)
    stderr[known] = center[known] / ONE_LOOK.quantiles(p_value[known])
    return stderr


def normal_ends(center: Vector, stderr: Vector, tails: Tails) -> Bounds:
    """Return a normal estimate less and plus the quantiles of its tails."""
    below, above = tails.quantiles()
    return np.asarray(center - below * stderr), np.asarray(center + above * stderr)


def share_ends(low: Vector, high: Vector, reach: Vector) -> Bounds:
    """Return ends of shares within 0 and 1, of intervals that `reach` so far to either side.

    Noise may bring an interval outside, where no share is: next to 0 or 1 a little is left of it.
    """
    least = _LEAST * reach
    return (
        np.clip(np.minimum(low, 1 - least), 0.0, 1.0),
        np.clip(np.maximum(high, least), 0.0, 1.0),
    )
