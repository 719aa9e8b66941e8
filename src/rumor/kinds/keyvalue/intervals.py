"""Intervals of key-value estimates: Clopper and Pearson for shares, Fieller for means.

Both use a key's three counts (+, -, nothing). With lam = miss + gain f:

- c+ + c- is binomial with success probability lam, so Clopper and Pearson's interval for lam,
mapped back linearly, covers f whatever f is; - the mean m = s / f is a ratio of two linear
estimates, and the interval is the set of m that the test (s - m f)^2 <= z^2 (Var s - 2 m Cov + m^2
Var f) does not reject (Fieller 1954). Where f is not significantly above 0, the set is the whole
range. A few reports may not show how far they vary: then every m counts as well at which s - m f,
a mean of numbers within known bounds, may be 0 (`bounded_ends`).

Under a cap that may be exceeded, f and m are those of kept keys, and intervals are widened by the
largest effect of the dropped keys (rumor.results.kept).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.kinds.keyvalue.fit.linear import LinearKeys
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.results.counts import binomial_ends, bounded_ends
from rumor.results.intervals import Bounds, Tails
from rumor.results.kept import FullSlots

_MEANS = np.linspace(-1.0, 1.0, 161)  # the means that are tested where reports are few
_BETWEEN = 2.0 / 160  # the distance between the tested means
# Reports are few while the variance of their sum, in squares of their range, is below this.
_FEW_MEANS = 40.0


@dataclass(frozen=True)
class KeyIntervals:
    """Intervals of every key's frequency and mean, from its counts."""

    counts: KeyCounts
    rates: KeyRates
    low: float
    high: float

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Return Clopper and Pearson's intervals for the keys `rows`, mapped to frequencies."""
        seen = (self.counts.plus + self.counts.minus)[rows].astype(np.float64)
        trials = self.counts.trials[rows].astype(np.float64)
        low, high = binomial_ends(seen, trials, tails)
        miss, gain = self.rates.miss, self.rates.gain
        return np.clip((low - miss) / gain, 0, 1), np.clip((high - miss) / gain, 0, 1)

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Return Fieller's intervals for the keys `rows`, with equal tails, mapped to the range."""
        keys = LinearKeys.of(self.counts, self.rates, prior=0.5).rows(rows)
        low, high = fieller(
            keys, tails.quantiles()[0], np.full(rows.size, -1.0), np.ones(rows.size)
        )
        least, most = FewMeans(self.counts, self.rates).ends(rows, tails)
        low, high = np.clip(np.minimum(low, least), -1, 1), np.clip(np.maximum(high, most), -1, 1)
        half = (self.high - self.low) / 2
        return self.low + half * (low + 1), self.low + half * (high + 1)


def fieller(keys: LinearKeys, z: Vector, least: Vector, most: Vector) -> Bounds:
    """Return the ratios of s and f from `least` to `most` that a test at `z` does not reject."""
    # (s - m f)^2 <= z^2 (vs - 2 m c + m^2 vf) is a m^2 - 2 b m + c0 <= 0.
    a = keys.f**2 - z**2 * keys.var_f
    b = keys.f * keys.s - z**2 * keys.covariance
    c = keys.s**2 - z**2 * keys.var_s
    root = np.sqrt(np.maximum(b * b - a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (b - root) / a, (b + root) / a
    low, high = least.copy(), most.copy()
    # a > 0: between the roots. Otherwise the set is everything, or everything but the part
    # between the roots; only a piece that reaches into the range counts. A frequency far below 0
    # is chance and has no information on a mean.
    inside = (a > 0) & (keys.f > 0)
    low[inside], high[inside] = first[inside], second[inside]
    outside = (a < 0) & (b * b - a * c > 0)  # accepted: m <= second or m >= first
    cut = outside & (second < least)  # the lower piece lies below the range
    low[cut] = np.maximum(first[cut], least[cut])
    cut = outside & (first > most)  # the upper piece lies above it
    high[cut] = np.minimum(second[cut], most[cut])
    return low, high


@dataclass(frozen=True)
class ReachingKeyIntervals(KeyIntervals):
    """Intervals under a cap that people may exceed, widened for the keys they dropped."""

    slots: FullSlots

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Return intervals whose upper ends allow for the largest share above the kept one."""
        low, high = super().frequency(rows, tails)
        return low, self.slots.reach(high, tails.quantiles()[1])

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Return intervals that allow any value for people who dropped the key."""
        low, high = super().mean(rows, tails)
        part = self.slots.unseen(super().frequency(rows, tails)[0], tails.quantiles()[1])
        return low + part * (self.low - low), high + part * (self.high - high)


@dataclass(frozen=True)
class FewMeans:
    """The means from -1 to 1 that are possible given a few reports of a key."""

    counts: KeyCounts
    rates: KeyRates

    def ends(self, rows: Rows, tails: Tails) -> Bounds:
        """Return the first and the last mean of a fine grid that is possible.

        Keys with many reports get 1 and -1, which widen no interval.
        """
        counts = [c[rows] for c in (self.counts.plus, self.counts.minus, self.counts.trials)]
        plus, minus, trials = (column.astype(np.float64) for column in counts)
        low, high = np.ones(rows.size), -np.ones(rows.size)
        shares = np.stack([plus, minus, trials - plus - minus]) / np.maximum(trials, 1.0)
        added = self._added()
        means = np.tensordot(added, shares, axes=1)
        spread = np.tensordot(added**2, shares, axes=1) - means**2
        least, most = added.min(axis=1)[:, None], added.max(axis=1)[:, None]
        few = (trials * spread / (most - least) ** 2).min(axis=0) < _FEW_MEANS
        for row in np.flatnonzero(few):
            size = means.shape[0]
            own = float(tails.lower[row]), float(tails.upper[row])
            alike = Tails.alike(*own, size, tails.look)
            known = np.full(size, trials[row])
            below, above = bounded_ends(means[:, row], known, (least[:, 0], most[:, 0]), alike)
            possible = _MEANS[(below <= 0) & (above >= 0)]
            if possible.size:
                low[row], high[row] = possible[0] - _BETWEEN, possible[-1] + _BETWEEN
        return low, high

    def _added(self) -> Vector:
        """Return the term that a report of +, - or nothing adds to s - m f, for each mean m."""
        held = (1 - self.rates.miss) / self.rates.gain
        sign, absent = 1 / self.rates.sign_gain, -self.rates.miss / self.rates.gain
        return np.stack([sign - _MEANS * held, -sign - _MEANS * held, -_MEANS * absent], axis=1)


@dataclass(frozen=True)
class LaterRound:
    """The counts of a later round of PrivKVM, by key, and what they tell of means.

    A report that shows a key does so whether or not the person holds it, and a made-up value is
    the published mean. So signs have the mean f m + (1 - f) a, where f is the share of the key, m
    its mean and a the mean that was made up: all between -1 and 1.
    """

    counts: KeyCounts
    made_up: Vector
    sign_gain: float

    def shift(self, rows: Rows) -> tuple[Vector, Vector]:
        """Return unbiased estimates of f (m - a) for the keys `rows`, and their variances."""
        plus, seen = self._signs(rows)
        tilt = (2 * plus - seen) / np.maximum(seen, 1)
        # With half a report more of either sign, few reports that agree do not pass for certain.
        spread = 1 - ((2 * plus - seen) / (seen + 1)) ** 2
        variance = spread / (np.maximum(seen, 1) * self.sign_gain**2)
        return tilt / self.sign_gain - self.made_up[rows], variance

    def ends(self, rows: Rows, tails: Tails) -> Bounds:
        """Return Clopper and Pearson's intervals of f (m - a) for the keys `rows`."""
        low, high = binomial_ends(*self._signs(rows), tails)
        made_up = self.made_up[rows]
        return (
            np.clip((2 * low - 1) / self.sign_gain, -1, 1) - made_up,
            np.clip((2 * high - 1) / self.sign_gain, -1, 1) - made_up,
        )

    def are_few(self, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return whether a key has few reports of one of the signs."""
        plus, seen = self._signs(rows)
        return np.asarray(np.minimum(plus, seen - plus) < _FEW_MEANS)

    def _signs(self, rows: Rows) -> tuple[Vector, Vector]:
        plus, minus = self.counts.plus[rows], self.counts.minus[rows]
        return plus.astype(np.float64), (plus + minus).astype(np.float64)


@dataclass(frozen=True)
class RoundIntervals(KeyIntervals):
    """Intervals of several rounds of PrivKVM: shares from the counts of round 1, means from both.

    The mean of a key is m = a + d / f: the made-up mean of the last round, and the ratio of what
    its signs show (`LaterRound`) to the share. Where people are the same in both rounds, d and f
    err in one direction if at all, which makes intervals that take them as independent longer.
    """

    later: LaterRound

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Return Fieller's intervals for the keys `rows`, and exact ones where reports are few."""
        made_up = self.later.made_up[rows]
        linear = LinearKeys.of(self.counts, self.rates, prior=0.5).rows(rows)
        shift, variance = self.later.shift(rows)
        keys = replace(linear, s=shift, var_s=variance, covariance=np.zeros(rows.size))
        low, high = fieller(keys, tails.quantiles()[0], -1 - made_up, 1 - made_up)
        seen = (self.counts.plus + self.counts.minus)[rows]
        few = self.later.are_few(rows)
        few |= np.minimum(seen, self.counts.trials[rows] - seen) < _FEW_MEANS
        if few.any():
            least, most = self._exact(rows[few], Tails(tails.lower[few] / 2, tails.upper[few] / 2))
            low[few], high[few] = np.minimum(low[few], least), np.maximum(high[few], most)
        low, high = np.clip(made_up + low, -1, 1), np.clip(made_up + high, -1, 1)
        half = (self.high - self.low) / 2
        return self.low + half * (low + 1), self.low + half * (high + 1)

    def _exact(self, rows: Rows, tails: Tails) -> Bounds:
        """Return all ratios of a shift and a share that both lie within their intervals."""
        below, above = self.later.ends(rows, tails)
        least, most = self.frequency(rows, tails)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = below / np.where(below < 0, least, most)
            high = above / np.where(above > 0, least, most)
        # 0 / 0: nobody may hold the key, and any mean is possible.
        return np.nan_to_num(low, nan=-2.0), np.nan_to_num(high, nan=2.0)


@dataclass(frozen=True)
class NoIntervals(KeyIntervals):
    """Intervals of a later round of PrivKVM alone, which has no information on frequencies, and
    so none on means.
    """

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Return the whole range."""
        return np.zeros(rows.size), np.ones(rows.size)

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Return the whole range."""
        return np.full(rows.size, self.low), np.full(rows.size, self.high)
