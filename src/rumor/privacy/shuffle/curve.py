"""Privacy curves of one shuffled batch that holds one or several reports of a person.

A curve is a set of points (E, d) such that, for any two lists of values that the person may have
reported, in both directions, and for any event A,

    P(A) <= E Q(A) + d.

The true curve is convex in E, so chords between points are valid too, and so are the mirrored
points (1/E, 1 - 1/E + d/E), which state the same of the complement of A. Reports of one person are
changed one after the other, each among the same number of honest ones, the person's others
included: so k reports satisfy P(A) <= F(F(...F(Q(A)))) with F(a) = min over E of E a + d, and
following the active points of a few starting values of `a` gives points of the curve of k reports.
Which points are followed matters for sharpness only: every product of points is valid, and each is
rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rumor.core.exact import exp, round_up
from rumor.core.types import Vector
from rumor.mechanisms.blanket import Blanket
from rumor.privacy.shuffle.crowd import crowd_delta

Number = TypeVar("Number", float, Fraction)

_UNIT = 2.0**-53
_NODES_PER_DEVIATION = 16  # distance of the first factors, in standard deviations of the loss
_GROWTH = 1 / 48  # distance of later factors, relative to their epsilon and to the rest of it
_LEAST_NODES = 48  # fewest factors between 1 and the largest one
_STARTS = 1_500  # values of Q(A) from which the points of a product are followed
_MOST_FACTOR = 1e300  # larger factors are left out: the last delta then stays above 0
_MOST_PEOPLE = 10**6  # a curve of more reports takes long, and fewer hide no more


@dataclass(frozen=True, eq=False)
class PrivacyCurve:
    """Points of a privacy curve, factors increasing; every factor and delta is an upper bound."""

    factors: Vector
    deltas: Vector

    @classmethod
    def of_one_report(
        cls, blanket: Blanket, people: int, epsilon: float, faint: float
    ) -> PrivacyCurve:
        """Certify the curve of one report with this `blanket` among `people` reports in all.

        `epsilon` is the loss of the report alone. Points are left out where delta is so small that
        the chord from there to the last point puts less than `faint` at the loss `epsilon`.
        """
        people = min(people, _MOST_PEOPLE)
        faint *= -math.expm1(-epsilon)
        spread = 2.5 * crowd_delta(blanket, people, Fraction(1))
        finest = min(spread / _NODES_PER_DEVIATION, epsilon / _LEAST_NODES)
        points, at = [], 0.0
        while at < epsilon:
            factor = math.exp(at)
            delta = crowd_delta(blanket, people, Fraction(factor))
            points.append((factor, delta))
            if delta < faint:
                break
            at += max(finest, _GROWTH * min(at, epsilon - at))
        points.append((_exp_up(epsilon), 0.0))
        return cls._of_points(np.array(points))

    @classmethod
    def _of_points(cls, points: Vector) -> PrivacyCurve:
        """Keep the points of the lower convex hull; a curve may leave points out."""
        factors, deltas = np.array(lower_hull(points.tolist())).T
        return cls(factors, deltas)

    @cached_property
    def mirrored(self) -> PrivacyCurve:
        """The curve with its mirrored points, from a factor of 0 on."""
        factors = np.nextafter(1 / self.factors, np.inf)
        exact = zip(map(Fraction, self.factors.tolist()), map(Fraction, self.deltas), strict=True)
        deltas = [round_up(1 + (delta - 1) / factor) for factor, delta in exact]
        both = np.column_stack(
            [
                np.concatenate([[0.0], factors, self.factors]),
                np.concatenate([[1.0], deltas, self.deltas]),
            ]
        )
        return self._of_points(both)

    def compose(self, other: PrivacyCurve) -> PrivacyCurve:
        """Multiply two curves, of reports that are changed one after the `other`."""
        first, second = self.mirrored, other.mirrored
        # Starts reach below the value where the last point of either curve is active.
        least = min(first._last_start / second.factors[-1], second._last_start) / 2
        small = np.geomspace(max(1e-300, least), 0.5, _STARTS)
        starts = np.concatenate([small, 1 - small[small > 1e-12]])
        inner = second._active(starts)
        middle = second.factors[inner] * starts + second.deltas[inner]
        outer = first._active(np.minimum(middle, 1.0))
        with np.errstate(over="ignore"):  # such factors are left out
            factors = first.factors[outer] * second.factors[inner] * (1 + 4 * _UNIT)
            last = float(self.factors[-1] * other.factors[-1] * (1 + 4 * _UNIT))
        deltas = first.factors[outer] * second.deltas[inner] + first.deltas[outer]
        found = np.column_stack([factors, deltas * (1 + 8 * _UNIT)])
        ends = [(1.0, (self.deltas[0] + other.deltas[0]) * (1 + 4 * _UNIT))]
        if not self.deltas[-1] and not other.deltas[-1]:
            ends.append((last, 0.0))
        whole = np.concatenate([found, ends])
        return self._of_points(whole[(whole[:, 0] >= 1) & (whole[:, 0] < _MOST_FACTOR)])

    def compose_times(self, reports: int) -> PrivacyCurve:
        """Return the curve of `reports` reports of one person in one batch."""
        if reports == 1:
            return self
        half = self.compose_times(reports // 2)
        twice = half.compose(half)
        return twice.compose(self) if reports % 2 else twice

    def upper_envelope(self, other: PrivacyCurve) -> PrivacyCurve:
        """Return a curve above both: the larger delta at each factor."""
        factors = np.unique(np.concatenate([self.factors, other.factors]))
        deltas = [max(self._delta_at(x), other._delta_at(x)) for x in factors.tolist()]
        return PrivacyCurve(factors, np.array(deltas))

    def _delta_at(self, factor: float) -> float:
        """Return the delta of the chord at this factor, rounded up."""
        place = int(np.searchsorted(self.factors, factor))
        if place == len(self.factors):
            return float(self.deltas[-1])
        if self.factors[place] == factor:
            return float(self.deltas[place])
        x, y = (Fraction(float(each)) for each in self.factors[place - 1 : place + 1])
        c, d = (Fraction(float(each)) for each in self.deltas[place - 1 : place + 1])
        return round_up(c + (d - c) * (Fraction(factor) - x) / (y - x))

    @property
    def _last_start(self) -> float:
        """The value of Q(A) below which the last point is active."""
        (low, high), (above, below) = self.factors[-2:].tolist(), self.deltas[-2:].tolist()
        return float((above - below) / (high - low))

    def _active(self, starts: Vector) -> NDArray[np.intp]:
        """Return which point gives the least E a + d for each `a`."""
        crossings = -np.diff(self.deltas) / np.diff(self.factors)
        return np.searchsorted(-crossings, -starts)


def _exp_up(epsilon: float) -> float:
    """Return a double that is not below e^epsilon."""
    nearest = float(exp(epsilon))
    return math.nextafter(nearest, math.inf)


def lower_hull(points: Iterable[tuple[Number, Number]]) -> list[tuple[Number, Number]]:
    """Return the falling part of the lower convex hull of points (E, d), factors increasing."""
    kept: list[tuple[Number, Number]] = []
    for x, y in sorted(points):
        if kept and y >= kept[-1][1]:
            continue
        while len(kept) > 1 and _is_above_chord(kept[-1], kept[-2], (x, y)):
            kept.pop()
        kept.append((x, y))
    return kept


def _is_above_chord(
    point: tuple[Number, Number], before: tuple[Number, Number], after: tuple[Number, Number]
) -> bool:
    (u, v), (x, y), (a, b) = point, before, after
    return (v - y) * (a - x) >= (b - y) * (u - x)
