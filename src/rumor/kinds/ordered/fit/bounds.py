"""Intervals of shares that hold whatever the distribution is.

Neither smoothness nor a number of atoms is assumed. An interval has two ends, each a linear
estimate with a centre and a standard deviation. Where the answer is a sum of known means, both
ends have one centre. Where it is bounded, the lower end estimates something that is never larger
than the answer, the upper end something that is never smaller. Ends of different people add up:
centres by their weights, variances by the squares of those.

Some weights w of the outputs have the expectation (M'w)'f. If M'w is nowhere below the indicator
of a set, the expectation is never less than the set's share, so that w's mean plus z standard
errors is an upper end; a lower end is the mirror image. (Donoho, Statistical estimation and
optimal recovery, 1994, and Armstrong and Kolesar, Optimal inference in a class of regression
models, 2018, bound the bias on both sides at once, by its worst case. Here each end errs on its
own safe side and is widened by the people who are near the set's edge, not by those who might be.)

M'w is the indicator with a ramp at each edge, of a length called reach: outside of the set for the
upper end, inside for the lower one. A short ramp counts few people wrongly, a long one has little
noise. The reach with the best end under the fitted distribution is taken, best at a level of 95%
(at 50% the best would be some 15% shorter, and ends of several levels might cross): the fit
decides how long an interval is, never whether it holds.

For given M'w = v the weights of least variance are known. Outputs one window apart differ by

    w(x + W) - w(x) = (v(x + 1) - v(x)) / (p - q),

so that w is known up to a constant for each class of outputs modulo W, and the variance is least
where all classes have one mean. This takes O(Y) steps for each set and reach.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.reports import Mask
from rumor.core.types import Rows, Tally, Vector
from rumor.mechanisms.wave.band import Band


@dataclass(frozen=True, eq=False)
class Sides:
    """Centres and standard deviations of the lower and the upper ends of some shares."""

    low: Vector
    low_deviation: Vector
    high: Vector
    high_deviation: Vector

    @classmethod
    def around(cls, centre: Vector, deviation: Vector) -> Sides:
        """Return ends that have one `centre` and one `deviation`."""
        return cls(centre, deviation, centre, deviation)

    @classmethod
    def weighted(cls, parts: Sequence[Sides], weights: Sequence[float]) -> Sides:
        """Return the ends of the weighted sum of `parts`, each of different people.

        A negative weight takes a part's other end.
        """
        low = [(w, s.low, s.low_deviation) for w, s in zip(weights, parts, strict=True)]
        high = [(w, s.high, s.high_deviation) for w, s in zip(weights, parts, strict=True)]
        for i, weight in enumerate(weights):
            if weight < 0:
                low[i], high[i] = high[i], low[i]
        return cls(*_added(low), *_added(high))

    def ends(self, z: float, limits: tuple[float, float] = (0.0, 1.0)) -> tuple[Vector, Vector]:
        """Return both ends, `z` standard deviations from centres clipped to the `limits`.

        Noise moves a centre beyond the limits, where no share is; the ends around the nearest
        possible share are never shorter than the clipped ends around the centre.
        """
        return (
            np.clip(np.clip(self.low, *limits) - z * self.low_deviation, *limits),
            np.clip(np.clip(self.high, *limits) + z * self.high_deviation, *limits),
        )

    def between(self, places: Rows) -> Sides:
        """Return the ends at every position of a distribution function whose ends at the `places`
        these are.

        A position in between has the upper end of the next place, and the lower end of the one
        before.
        """
        positions = np.arange(places[-1] + 1)
        above = np.searchsorted(places, positions, side="left")
        below = np.searchsorted(places, positions, side="right") - 1
        nothing = below < 0
        return Sides(
            np.where(nothing, 0.0, self.low[below]),
            np.where(nothing, 0.0, self.low_deviation[below]),
            self.high[above],
            self.high_deviation[above],
        )

    def stderr(self, z: float) -> Vector:
        """Return the standard errors of normal estimates whose intervals would be as long."""
        apart = (self.high - self.low) / (2 * z)
        deviation = (self.low_deviation + self.high_deviation) / 2
        return np.asarray(deviation + np.maximum(apart, 0.0))


def _added(parts: Sequence[tuple[float, Vector, Vector]]) -> tuple[Vector, Vector]:
    centre = np.asarray(sum(weight * middle for weight, middle, _ in parts))
    variance = np.asarray(sum(weight**2 * deviation**2 for weight, _, deviation in parts))
    return centre, np.sqrt(variance)


# The number of standard deviations at which the reach is chosen.
_Z = 1.96
# The factor by which an end is moved outwards, since the reports that choose its reach also favour
# it (measured on a wide gap, where all reaches are alike).
_CHOSEN = 1.1
# The ratio of neighbouring reaches.
_RATIO = 1.5
# The shortest reach as a part of the range; a shorter one gains nothing visible.
_SHORTEST = 256
# The number of uniform reports added to the fitted distribution (Agresti and Coull 1998), so that
# outputs with few reports keep their noise.
_ADDED = 4.0
# The number of positions at which the distribution function is bounded; monotone in between.
_PLACES = 128
# The number of sets that are handled at a time, whose weights fit the processor's cache.
_TOGETHER = 128


def places_of(domain: int) -> Rows:
    """Return the positions at which a distribution function is bounded, the last one included."""
    every = -(-domain // _PLACES)
    return np.append(np.arange(every - 1, domain - 1, every), domain - 1)


def expected_outputs(band: Band, law: Vector, people: float) -> Vector:
    """Return the outputs' chances under a fitted `law`, with a few uniform reports added."""
    outputs = people * band.forward(law) + np.full(band.outcomes, _ADDED / band.outcomes)
    return np.asarray(outputs / outputs.sum())


_Ramp = Callable[[Vector, float], Vector]


class Bounds:
    """Bounds of shares from the `counts` of a channel's outputs, guided by a fitted `law`."""

    def __init__(self, band: Band, counts: Tally, law: Vector) -> None:
        self._band, self._law = band, law
        self._seen = np.asarray(counts, dtype=np.float64)
        self._people = float(self._seen.sum())
        self._outputs = expected_outputs(band, law, self._people)
        shortest = -(-band.domain // _SHORTEST)
        steps = 1 + int(np.log(band.domain / shortest) / np.log(_RATIO))
        self._reaches = sorted({int(np.ceil(shortest * _RATIO**k)) for k in range(steps)})

    def shares(self, inner: Mask, outer: Mask) -> Sides:
        """Return the ends of the shares of columns of sets: at least `inner`, at most `outer`.

        The two differ in positions of which only a part is asked for.
        """
        found = [
            (
                *self._best(_within, _far_from(~inner[:, part]), -_Z),
                *self._best(_around, _far_from(outer[:, part]), _Z),
            )
            for part in _parts(inner.shape[1])
        ]
        return Sides(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def function(self) -> tuple[Vector, Vector]:
        """Return unbiased estimates of the share up to each position, and their deviations."""
        domain = self._band.domain
        steps = (np.arange(domain)[:, None] <= np.arange(domain)).astype(np.float64)
        estimate, deviation, _ = self._estimated(steps)
        return estimate, deviation

    @functools.cached_property
    def cdf(self) -> Sides:
        """Return the ends of the share up to and including each position."""
        domain = self._band.domain
        places = places_of(domain)
        sets = np.arange(domain)[:, None] <= places
        return self.shares(sets, sets).between(places)

    def _best(self, ramp: _Ramp, far: Vector, z: float) -> tuple[Vector, Vector]:
        """Return estimates and deviations at the reach whose end, `z` away, is best for each set.

        The best upper end (z above 0) is the smallest expected one, the best lower end the
        largest.
        """
        tried = np.array([self._estimated(ramp(far, reach)) for reach in self._reaches])
        expected = tried[:, 2] + z * tried[:, 1]
        best = (expected * np.sign(z)).argmin(axis=0)
        sets = np.arange(tried.shape[2])
        return tried[best, 0, sets], tried[best, 1, sets] * np.where(best > 0, _CHOSEN, 1.0)

    def _estimated(self, wanted: Vector) -> Vector:
        """Return estimate, standard deviation and expectation of each functional in `wanted`."""
        weights = unbiased_weights(self._band, wanted, self._outputs)
        estimate = self._seen @ weights / self._people
        mean = self._outputs @ weights
        variance = self._outputs @ (weights - mean) ** 2
        deviation = np.sqrt(np.maximum(variance, 0.0) / self._people)
        return np.array([estimate, deviation, self._law @ wanted])


def unbiased_weights(band: Band, wanted: Vector, outputs: Vector) -> Vector:
    """Return weights w of the outputs with M'w as `wanted`, of least variance under `outputs`.

    `wanted` has a column for each of several functionals.
    """
    rows, columns = -(-band.outcomes // band.window), wanted.shape[1]
    padded = rows * band.window
    steps = np.zeros((padded, columns))
    steps[band.window : band.outcomes] = np.diff(wanted, axis=0) / band.gain
    weights = steps.reshape(rows, band.window, columns)
    for row in range(1, rows):  # a cumulative sum, which numpy takes a column at a time
        weights[row] += weights[row - 1]
    chances = np.pad(outputs, (0, padded - band.outcomes)).reshape(rows, band.window)
    middle = np.einsum("rc,rck->ck", chances, weights) / chances.sum(axis=0)[:, None]
    found = (weights - middle).reshape(padded, columns)[: band.outcomes]
    # M'1 = 1: one constant is left, which one position determines.
    first = band.outside * _sum_in_order(found) + band.gain * _sum_in_order(found[: band.window])
    return np.asarray(found + (wanted[0] - first))


def _sum_in_order(rows: Vector) -> Vector:
    """Return the sum of `rows`, one after the other, as numpy takes a single column in pairs."""
    return np.asarray(rows.sum(axis=0) if rows.shape[1] > 1 else rows.cumsum(axis=0)[-1])


def _parts(columns: int) -> list[slice]:
    return [slice(start, start + _TOGETHER) for start in range(0, max(columns, 1), _TOGETHER)]


def _far_from(sets: Mask) -> Vector:
    """Return the distance of each position from the nearest one of a set; infinite for no set."""
    place = np.arange(len(sets), dtype=np.float64)[:, None]
    before = np.maximum.accumulate(np.where(sets, place, -np.inf), axis=0)
    after = np.minimum.accumulate(np.where(sets, place, np.inf)[::-1], axis=0)[::-1]
    return np.asarray(np.minimum(place - before, after - place))


def _around(far: Vector, reach: float) -> Vector:
    """Return 1 on a set, falling to 0 at the `reach` outside of it."""
    return np.clip(1 - far / reach, 0.0, 1.0)


def _within(far: Vector, reach: float) -> Vector:
    """Return 0 outside of a set, rising to 1 at the `reach` inside of it."""
    return np.clip(far / reach, 0.0, 1.0)
