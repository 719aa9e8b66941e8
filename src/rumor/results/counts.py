"""Confidence intervals of frequencies from support counts, few or many.

The score test (`rumor.results.intervals`) takes a count for normal. A count is an integer, and
normal only where it can take many values: with few reports, or with rare values at a large
epsilon, score intervals of level 95 % hold the truth in 0.73 to 0.94 of all samples.

*Rule.* A count whose variance is below 400 gets an exact interval: the counts' own distribution
in place of the normal one (Clopper and Pearson, Biometrika 26, 1934), stretched to hold the score
interval, which is never empty. One value of a count near the end of an interval then has a
probability of at least phi(z) / 20, 0.003 at a level of 95 %: what the score test may lose from
there on. `tests/results/test_exact_coverage.py` sums the coverage exactly.

*Population.* A count out of n reports is binomial. In a blocked Hadamard matrix it is binomial
out of the block's reports, which are binomial out of all; both are bounded, with half a tail each.

*People.* These people are fixed, k of n hold the value, and the count is a sum of two binomials:
k reports that support the value with probability `hit`, n - k with probability `miss`. Where the
reports about an option are a sample of all, the population's interval serves: a sum of coins
with different probabilities spreads no further than a binomial (Hoeffding, Annals of Mathematical
Statistics 27, 1956).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.core.binomial import FEW, coin_ends, distinct_columns
from rumor.core.errors import InputError, format_value
from rumor.core.extras import import_optional
from rumor.core.reports import Mask
from rumor.core.types import Rows, Target, Vector
from rumor.mechanisms.support import ItemCounts
from rumor.results.intervals import Bounds, EqualTails, NormalIntervals, ScoreIntervals, Tails

_REACH = 7.0  # standard deviations of a binomial outside of which nothing is summed


@dataclass(frozen=True)
class CountColumns:
    """Counts of some values, each with its own trials and rates."""

    counts: Vector
    trials: Vector
    miss: Vector
    gain: Vector
    reports: float | None
    """The number of reports that the trials are a random part of; None if they are all."""

    @classmethod
    def of(cls, items: ItemCounts, rows: Rows) -> CountColumns:
        """Return the columns of these rows."""
        counts, trials, miss, gain = (
            np.broadcast_to(np.asarray(column, np.float64), items.counts.shape)[rows]
            for column in (items.counts, items.trials, items.miss, items.gain)
        )
        return cls(counts, trials, miss, gain, items.reports)

    def frequency(self, share: Vector) -> Vector:
        """Return the frequency of a value that this share of the trials supports."""
        return np.asarray((share - self.miss) / self.gain)


@dataclass(frozen=True)
class ExactIntervals:
    """Intervals that cover at least as often as their level, whatever the count (Clopper-Pearson).

    For people drawn from a population, where a count is exactly binomial.
    """

    items: ItemCounts

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the ends with equal tails on both sides of every value."""
        return self.tails(np.arange(self.items.counts.size), self._alike(z), of)

    def _alike(self, z: float) -> Tails:
        tail = NormalDist().cdf(-z)
        return Tails.alike(tail, tail, self.items.counts.size)

    def few_bounds(self, tails: EqualTails) -> Bounds:
        """Return the ends of small counts, not cut off at 0 and 1; no ends of all others.

        A lower end that is missing is infinite, an upper one minus infinity.
        """
        everything = np.arange(self.items.counts.size)
        few = self.is_few(everything)
        low, high = self.tails(everything, tails.rows(everything.size), "population")
        return np.where(few, low, np.inf), np.where(few, high, -np.inf)

    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        """Return the ends of these rows, not cut off at 0 and 1, each at its own quantile `z`."""
        tail = import_optional("scipy.special", "an interval of counts").ndtr(-z)
        return self.tails(rows, Tails(tail, tail), "population")

    @property
    def trials(self) -> Vector:
        """The reports that were counted for each value."""
        return self._columns.trials

    @property
    def within(self) -> Bounds:
        """The contributions to a value's frequency of a report
        without support and of one with it.
        """
        columns = self._columns
        nothing = np.zeros(columns.counts.size)
        return columns.frequency(nothing), columns.frequency(nothing + 1)

    @property
    def _columns(self) -> CountColumns:
        return CountColumns.of(self.items, np.arange(self.items.counts.size))

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return quantiles of beta distributions, as frequencies."""
        if of != "population":
            raise InputError(
                f'exact intervals are of the "population" only; got {format_value(of)}'
            )
        items = CountColumns.of(self.items, rows)
        if items.reports is None:
            low, high = binomial_ends(items.counts, items.trials, tails)
            return items.frequency(low), items.frequency(high)
        half = tails.halved()
        low, high = binomial_ends(items.counts, items.trials, half)
        fewest, most = binomial_ends(items.trials, np.full(rows.size, items.reports), half)
        seen = items.trials / items.reports
        # The gain is for the trials that were seen: with fewer trials the frequency is smaller.
        low, high = items.frequency(low), items.frequency(high)
        return (
            low * np.where(low > 0, fewest, most) / seen,
            high * np.where(high > 0, most, fewest) / seen,
        )

    def redrawn(self, tail: float) -> Bounds:
        """Return between which ends small counts could put their estimates, if drawn again."""
        size = self.items.counts.size
        rows = np.flatnonzero(self.is_few(np.arange(size)))
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        low[rows], high[rows] = self._redrawn(tail, CountColumns.of(self.items, rows))
        return low, high

    @staticmethod
    def _redrawn(tail: float, items: CountColumns) -> Bounds:
        if items.reports is None:
            trials = np.maximum(items.trials, 1.0)
            least, most = counts_again(items.counts, trials, tail)
            return items.frequency(least / trials), items.frequency(most / trials)
        # The difference of supporting and other reports of the block, both out of all reports.
        reports = np.full(items.counts.size, items.reports)
        least, most = counts_again(items.counts, reports, tail / 2)
        fewest, others = counts_again(items.trials - items.counts, reports, tail / 2)
        scale = 2 * items.trials * items.gain
        return (least - others) / scale, (most - fewest) / scale

    def is_few(self, rows: Rows) -> Mask:
        """Return whether the counts of these rows are too small for the normal distribution."""
        items = CountColumns.of(self.items, rows)
        trials = np.maximum(items.trials, 1.0)
        return np.asarray(items.counts * (trials - items.counts) / trials < FEW)


def binomial_ends(counts: Vector, trials: Vector, tails: Tails) -> Bounds:
    """Return the chances of success at which a count this large, or this small, is that rare."""
    return tails.look.success_ends(counts, trials, tails.lower, tails.upper)


def bounded_ends(mean: Vector, trials: Vector, within: Bounds, tails: Tails) -> Bounds:
    """Return ends of the expectation of `trials` numbers that lie `within` bounds, by their mean.

    Numbers with this mean spread furthest where all are at one bound or the other, as coins are:
    the ends are those of a count of such coins, whole or not.
    """
    return coin_ends(mean, trials, within, tails.lower, tails.upper, tails.look.success_ends)


def counts_again(counts: Vector, trials: Vector, tail: float) -> Bounds:
    """Return between which counts new `trials` come out, if their chance is that of these.

    The chance lies beyond an end of its interval with probability `tail`, and from a chance at
    that end a new count lies beyond its quantile with probability `tail`.
    """
    seen, rank = distinct_columns(np.stack([counts, trials]))
    alike = Tails.alike(tail, tail, seen.shape[1])
    low, high = binomial_ends(seen[0], seen[1], alike)
    least = seen[1] - _quantile(seen[1], 1 - low, tail)
    return least[rank], _quantile(seen[1], high, tail)[rank]


def _binomial_cdf(counts: Vector, trials: Vector, chance: Vector | float) -> Vector:
    """Return the probability of at most `counts` successes in `trials`."""
    special = import_optional("scipy.special", "an interval of counts")
    inside = (counts >= 0) & (counts < trials)
    k, n = np.where(inside, counts, 0), np.where(inside, trials, 1)
    return np.where(inside, special.betaincc(k + 1, n - k, chance), counts >= 0)


def _quantile(trials: Vector, chance: Vector, tail: float) -> Vector:
    """Return the smallest count that is exceeded with a probability of at most `tail`."""

    def rarely_exceeded(counts: Vector) -> Mask:
        return np.asarray(1 - _binomial_cdf(counts, trials, chance) <= tail)

    return _first_whole(rarely_exceeded, np.zeros_like(trials), trials)


def _first_whole(accepts: Callable[[Vector], Mask], start: Vector, end: Vector) -> Vector:
    """Return the first whole number from `start` on that is accepted, as all after it are.

    It is `end` if no number before `end` is accepted.
    """
    low, high = start - 1, end
    while (high - low > 1).any():
        middle = np.clip(np.floor((low + high) / 2), start, end)
        fits = accepts(middle) & (high - low > 1)
        low, high = np.where(fits | (high - low <= 1), low, middle), np.where(fits, middle, high)
    return np.asarray(high)


@dataclass(frozen=True)
class FixedPeople:
    """Counts of `reports` people of whom a fixed number hold a value: sums of two binomials."""

    reports: int
    hit: float
    miss: float

    def variance(self, share: Vector) -> Vector:
        """Return the variance of a count if this `share` of the people holds the value."""
        noise = self.hit * (1 - self.hit), self.miss * (1 - self.miss)
        return np.asarray(self.reports * (share * noise[0] + (1 - share) * noise[1]))

    def cdf(self, counts: Vector, holders: Vector) -> Vector:
        """Return the probability of at most `counts` supporting reports, `holders` of the value."""
        special = import_optional("scipy.special", "an interval of counts")
        spread = math.sqrt(float(holders.max(initial=0.0)) * self.hit * (1 - self.hit))
        reach = math.ceil(_REACH * (spread + 1))
        held, own = holders[:, None], np.floor(holders * self.hit)[:, None]
        own = own + np.arange(-reach, reach + 1)
        possible = (own >= 0) & (own <= held)
        own = np.where(possible, own, 0.0)
        ways = special.gammaln(held + 1) - special.gammaln(own + 1)
        ways -= special.gammaln(held - own + 1)
        ways += own * math.log(self.hit) + (held - own) * math.log1p(-self.hit)
        rest = _binomial_cdf(counts[:, None] - own, self.reports - held, self.miss)
        return np.asarray((np.exp(ways) * rest * possible).sum(axis=1))

    def ends(self, counts: Vector, tails: Tails, widest: Bounds) -> Bounds:
        """Return the smallest and largest share that the tails accept, within the `widest` ends."""
        columns = np.stack([counts, tails.lower, tails.upper, *widest])
        distinct, rank = distinct_columns(columns)
        seen, lower, upper, least, most = distinct
        share = (seen / self.reports - self.miss) / (self.hit - self.miss)
        best = np.rint(self.reports * np.clip(share, 0.0, 1.0))
        first = np.minimum(np.floor(self.reports * least), best)
        last = np.maximum(np.ceil(self.reports * most), best)
        low = _first_whole(lambda k: 1 - self.cdf(seen - 1, k) > lower, first, best)
        high = -_first_whole(lambda k: self.cdf(seen, -k) > upper, -last, -best)
        return low[rank] / self.reports, high[rank] / self.reports


@dataclass(frozen=True)
class CountIntervals:
    """Intervals of an oracle's frequencies, from the reports that support each value."""

    score: ScoreIntervals
    exact: ExactIntervals

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the score test's ends, stretched to the exact ones where a count is small."""
        ends, tail = self.score.bounds(z, of), NormalDist().cdf(-z)
        size = ends[0].size
        return self._stretched(ends, np.arange(size), Tails.alike(tail, tail, size), of)

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the binomial's ends; for counts that are not binomial, those of `bounds`."""
        if of == "population" and self.exact.items.reports is None:
            return self.exact.tails(rows, tails, of)
        return self._stretched(self.score.tails(rows, tails, of), rows, tails, of)

    def redrawn(self, tail: float) -> Bounds:
        """Return the exact intervals' ends."""
        return self.exact.redrawn(tail)

    def _stretched(self, ends: Bounds, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the ends, stretched to hold the exact ones in rows whose count is small."""
        at = np.flatnonzero(self._is_few(rows, of))
        if not at.size:
            return ends
        exact = self._exact(rows[at], tails.at(at), of)
        low, high = ends[0].copy(), ends[1].copy()
        low[at], high[at] = np.minimum(low[at], exact[0]), np.maximum(high[at], exact[1])
        return low, high

    def _is_few(self, rows: Rows, of: Target) -> Mask:
        people = self._people(of)
        if people is None:
            return self.exact.is_few(rows)
        items = CountColumns.of(self.exact.items, rows)
        share = np.clip(items.frequency(items.counts / items.trials), 0.0, 1.0)
        return np.asarray(people.variance(share) < FEW)

    def _people(self, of: Target) -> FixedPeople | None:
        """Return the people's own distribution of counts, where every report is about a value."""
        items = self.exact.items
        columns = (items.trials, items.hit, items.miss)
        if of == "population" or any(np.ndim(column) for column in columns):
            return None
        return FixedPeople(round(float(items.trials)), float(items.hit), float(items.miss))

    def _exact(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        ends = self.exact.tails(rows, tails, "population")
        low, high = np.clip(ends[0], 0.0, 1.0), np.clip(ends[1], 0.0, 1.0)
        people = self._people(of)
        if people is None:
            return low, high
        return people.ends(CountColumns.of(self.exact.items, rows).counts, tails, (low, high))


@dataclass(frozen=True)
class BoundedIntervals:
    """Normal intervals of means over reports, each of which adds a number within two bounds.

    Few reports may not show how far such numbers vary. Where their sum has a variance below 400,
    in squares of what a report can change, intervals are stretched to `bounded_ends`.
    """

    normal: NormalIntervals
    trials: Vector
    within: Bounds

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the ends for a two-sided normal quantile."""
        tails = EqualTails(NormalDist().cdf(-z))
        return self._stretched(self.normal.bounds(z, of), *self._all_rows(tails))

    def few_bounds(self, tails: EqualTails) -> Bounds:
        """Return the ends of means over few reports; no ends of all others.

        A lower end that is missing is infinite, an upper one minus infinity.
        """
        missing = np.full(self.trials.size, np.inf)
        return self._stretched((missing, -missing), *self._all_rows(tails))

    def _all_rows(self, tails: EqualTails) -> tuple[Rows, Tails]:
        """Return every row, each with these `tails`."""
        return np.arange(self.trials.size), tails.rows(self.trials.size)

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the ends of these rows, each side with its own tail."""
        return self._stretched(self.normal.tails(rows, tails, of), rows, tails)

    def redrawn(self, tail: float) -> Bounds:
        """Return between which ends few reports could put their means, if drawn again."""
        low, high = self.normal.redrawn(tail)
        rows = np.flatnonzero(self._is_few(np.arange(self.trials.size)))
        least, span = self.within[0][rows], (self.within[1] - self.within[0])[rows]
        trials = np.maximum(self.trials[rows], 1.0)
        share = np.clip((self.normal.center[rows] - least) / span, 0.0, 1.0)
        fewest, most = counts_again(trials * share, trials, tail)
        low[rows], high[rows] = least + span * fewest / trials, least + span * most / trials
        return low, high

    def _stretched(self, ends: Bounds, rows: Rows, tails: Tails) -> Bounds:
        at = np.flatnonzero(self._is_few(rows))
        few, sided = rows[at], tails.at(at)
        within = self.within[0][few], self.within[1][few]
        least, most = bounded_ends(self.normal.center[few], self.trials[few], within, sided)
        low, high = ends[0].copy(), ends[1].copy()
        low[at], high[at] = np.minimum(low[at], least), np.maximum(high[at], most)
        return low, high

    def _is_few(self, rows: Rows) -> Mask:
        span = self.within[1][rows] - self.within[0][rows]
        variance = np.square(self.normal.stderr[rows] * self.trials[rows])
        return np.asarray((variance < FEW * span**2) & (span > 0))
