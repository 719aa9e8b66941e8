"""Quantiles: a distribution function, inverted, with intervals and differences.

Positions are on the line from 0 to D: position x covers [x, x + 1), evenly, so that the
distribution function is a broken line through its values.

A quantile is where the distribution function reaches a share. Its interval contains every place at
which the function's own interval contains the share, so the interval is as long as the function is
flat there: in a gap between two groups of people as long as the gap, on a value that many people
have of no length at all. A standard error cannot express that, and none is averaged: the
distribution function of a population is the weighted mean of its groups', and is inverted like any
other.

Two quantiles differ by d where two places d apart can each be the quantile: the sum of the squared
distances of the share from both functions, in standard deviations, is then like a chi-squared
number with one degree of freedom once the best such places are taken (the other degree is the
place).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Rows, Vector
from rumor.kinds.ordered.fit.bounds import Sides
from rumor.mechanisms.wave.scale import Scale


def reached(frequency: Vector, share: float) -> float:
    """Return the place where the running sums of `frequency` reach `share`."""
    sums = np.concatenate([[0.0], np.cumsum(frequency)])
    return crossing(sums, min(_checked(share), float(sums[-1])))


def interval_of(low: Vector, high: Vector, share: float) -> tuple[float, float]:
    """Return the first and the last place at which a function's interval contains a share.

    `low` and `high` are the ends of the intervals at the end of every position. They are made
    monotone first, which makes none of them shorter.
    """
    _checked(share)
    upper = np.concatenate([[0.0], np.maximum.accumulate(high)])
    lower = np.concatenate([[0.0], np.minimum.accumulate(low[::-1])[::-1]])
    return crossing(upper, share), crossing_last(lower, share)


def _checked(share: float) -> float:
    if not 0 <= share <= 1:
        raise InputError(f"a quantile's share must be from 0 to 1; got {share!r}")
    return share


def crossing(edges: Vector, share: float) -> float:
    """Return the first place on [0, D] at which the rising broken line `edges` reaches `share`."""
    after = int(np.searchsorted(edges, share, side="left"))
    if after == 0:
        return 0.0
    if after == len(edges):
        return float(len(edges) - 1)
    rise = edges[after] - edges[after - 1]
    return after - 1 + float((share - edges[after - 1]) / rise)


def crossing_last(edges: Vector, share: float) -> float:
    """Return the last place at which the rising broken line `edges` is at most `share`."""
    after = int(np.searchsorted(edges, share, side="right"))
    if after == len(edges):
        return float(len(edges) - 1)
    if after == 0:
        return 0.0
    rise = edges[after] - edges[after - 1]
    return after - 1 + float((share - edges[after - 1]) / rise)


# The number of places at which a quantile is evaluated, where answers spread within positions.
_PLACES = 512


@dataclass(frozen=True, eq=False)
class CumulativeCurve:
    """A distribution function: its estimate, and the ends of its value at every position."""

    scale: Scale
    frequency: Vector
    """The estimated share of every position."""
    sides: Sides
    """The ends of the share up to and including each position."""
    spread: bool = True
    """Whether answers are spread evenly within a position that holds more than one value."""

    @classmethod
    def weighted(
        cls, curves: Sequence[CumulativeCurve], weights: Sequence[float]
    ) -> CumulativeCurve:
        """Return the distribution function of the weighted mean of groups of different people."""
        scale = curves[0].scale
        if any(list(each.scale.middles) != list(scale.middles) for each in curves):
            raise InputError(
                "distributions must be over the same positions to be put together; got two scales"
            )
        pairs = zip(curves, weights, strict=True)
        return cls(
            scale,
            np.asarray(sum(weight * each.frequency for each, weight in pairs)),
            Sides.weighted([each.sides for each in curves], weights),
            all(each.spread for each in curves),
        )

    @classmethod
    def pooled(cls, curves: Sequence[CumulativeCurve]) -> CumulativeCurve:
        """Return the distribution function of one population from several sources.

        Each source is weighted by its precision, one weight for the whole function, so the result
        is a distribution function.
        """
        weights = np.array([1 / each.variance for each in curves])
        return cls.weighted(curves, (weights / weights.sum()).tolist())

    @classmethod
    def through(cls, scale: Scale, places: Rows, shares: Vector, errors: Vector) -> CumulativeCurve:
        """Return the distribution function with these `shares` up to some `places`.

        The shares are made monotone, since noise may let them fall, and intervals are around the
        monotone shares (Woodruff, Journal of the American Statistical Association 47, 1952). The
        last place is the last position.
        """
        last = np.append(places, scale.domain - 1)
        known = np.append(shares, 1.0)
        rising = np.maximum.accumulate(known) + np.minimum.accumulate(known[::-1])[::-1]
        ends = np.clip(rising / 2, 0.0, 1.0)
        function = np.interp(np.arange(scale.domain), np.append(-1, last), np.append(0.0, ends))
        sides = Sides.around(ends, np.append(errors, 0.0)).between(last)
        return cls(scale, np.diff(function, prepend=0.0), sides, spread=False)

    @property
    def variance(self) -> float:
        """The mean variance of the function's two ends."""
        sides = self.sides
        return float((sides.low_deviation**2 + sides.high_deviation**2)[:-1].mean() / 2)

    def quantile(self, share: float, z: float) -> tuple[float, float, float]:
        """Return the value that the `share` of answers does not exceed, with its interval."""
        point = reached(self.frequency, share)
        first, last = interval_of(*self.sides.ends(z), share)
        points = point, min(first, point), max(last, point)
        if self.scale.whole:
            middle, low, high = (float(self.scale.middles[_position(each)]) for each in points)
            return middle, low, high
        if not self.spread:  # answers may lie anywhere within a position
            points = point, _position(points[1]), math.ceil(points[2])
        middle, low, high = (float(self.scale.at(each)) for each in points)
        return middle, low, high

    def position(self, share: float) -> int:
        """Return the position of the quantile at `share`."""
        return min(int(reached(self.frequency, share)), self.scale.domain - 2)

    def up_to_names(self, positions: Sequence[int]) -> list[str]:
        """Return the names of the events "answer is at most ...", by position."""
        return self.scale.up_to_names(positions)

    def less(self, other: CumulativeCurve, share: float, z: float) -> tuple[float, float, float]:
        """Return this quantile at `share` less that of `other`, with the interval."""
        value = self.quantile(share, z)[0] - other.quantile(share, z)[0]
        low, high = self.places(share).less(other.places(share), z)
        return value, min(low, value), max(high, value)

    def p_value(self, other: CumulativeCurve, share: float) -> float:
        """Return the p-value of the difference between the quantiles of `self` and `other`."""
        return self.places(share).p_value(other.places(share))

    def places(self, share: float) -> Places:
        """Return the places where the quantile at `share` may lie, with their z-scores."""
        edges = Sides(*(np.concatenate([[0.0], each]) for each in vars(self.sides).values()))
        scale = self.scale
        if scale.whole or not self.spread:
            short = _over(share - edges.high[1:], edges.high_deviation[1:])
            beyond = _over(edges.low[:-1] - share, edges.low_deviation[:-1])
            ends = scale.at(np.arange(scale.domain + 1))
            first, last = (scale.middles,) * 2 if scale.whole else (ends[:-1], ends[1:])
            return Places(first, last, np.maximum(short, beyond))
        points = np.linspace(0, scale.domain, max(_PLACES, scale.domain) + 1)
        at = np.arange(scale.domain + 1)
        low, off_low, high, off_high = (
            np.interp(points, at, each) for each in vars(edges).values()
        )
        away = np.maximum(_over(share - high, off_high), _over(low - share, off_low))
        # A place stands for all places up to the next one.
        half = scale.unit * (points[1] - points[0]) / 2
        worth = scale.at(points)
        return Places(worth - half, worth + half, away)


@dataclass(frozen=True, eq=False)
class Places:
    """The places where a quantile may lie, as pieces of the line with their z-scores."""

    first: Vector
    last: Vector
    away: Vector

    def less(self, other: Places, z: float) -> tuple[float, float]:
        """Return the interval of this quantile less the `other` one, at the normal quantile `z`."""
        widest = max(z * z, float(self.away.min() ** 2 + other.away.min() ** 2))
        one, two = (each.nearer(math.sqrt(widest)) for each in (self, other))
        fits = one.away[:, None] ** 2 + two.away**2 <= widest
        low, high = one.first[:, None] - two.last, one.last[:, None] - two.first
        return float(low[fits].min()), float(high[fits].max())

    def nearer(self, most: float) -> Places:
        """Return the places with a z-score of at most `most`."""
        kept = self.away <= most
        return Places(self.first[kept], self.last[kept], self.away[kept])

    def p_value(self, other: Places) -> float:
        """Return the p-value of the difference between two quantiles."""
        # As in `less`: 0 is inside where there are places that differ by at most 0, and places that
        # differ by at least 0.
        squares = np.concatenate([[np.inf], other.away**2, [np.inf]])
        up, down = np.minimum.accumulate(squares), np.minimum.accumulate(squares[::-1])[::-1]
        after = np.searchsorted(other.last, self.first, side="left") + 1
        before = np.searchsorted(other.first, self.last, side="right")
        sides = (float((self.away**2 + each).min()) for each in (down[after], up[before]))
        return math.erfc(math.sqrt(max(sides) / 2))


def _position(point: float) -> int:
    """Return the position that contains a `point` of the line, or ends there."""
    return max(math.ceil(point) - 1, 0)


def _over(distance: Vector, deviation: Vector) -> Vector:
    """Return `distance` over `deviation`, 0 where negative, infinite without deviation."""
    known = deviation > 0
    found = np.where(distance > 0, np.inf, 0.0)
    np.divide(np.maximum(distance, 0.0), deviation, out=found, where=known)
    return found
