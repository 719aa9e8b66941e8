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

from dataclasses import dataclass

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
        z = tails.quantiles()[0]
        keys = LinearKeys.of(self.counts, self.rates, prior=0.5).rows(rows)
        # (s - m f)^2 <= z^2 (vs - 2 m c + m^2 vf) is a m^2 - 2 b m + c0 <= 0.
        a = keys.f**2 - z**2 * keys.var_f
        b = keys.f * keys.s - z**2 * keys.covariance
        c = keys.s**2 - z**2 * keys.var_s
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (b - root) / a, (b + root) / a
        low, high = np.full(a.shape, -1.0), np.full(a.shape, 1.0)
        # a > 0: between the roots. Otherwise the set is everything, or everything but the part
        # between the roots; only a piece that reaches into [-1, 1] counts. A frequency far below 0
        # is chance and has no information on a mean.
        inside = (a > 0) & (keys.f > 0)
        low[inside], high[inside] = first[inside], second[inside]
        outside = (a < 0) & (b * b - a * c > 0)  # accepted: m <= second or m >= first
        cut = outside & (second < -1)  # the lower piece lies below the range
        low[cut] = np.maximum(first[cut], -1.0)
        cut = outside & (first > 1)  # the upper piece lies above it
        high[cut] = np.minimum(second[cut], 1.0)
        least, most = FewMeans(self.counts, self.rates).ends(rows, tails)
        low, high = np.clip(np.minimum(low, least), -1, 1), np.clip(np.maximum(high, most), -1, 1)
        half = (self.high - self.low) / 2
        return self.low + half * (low + 1), self.low + half * (high + 1)


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
            alike = Tails.alike(float(tails.lower[row]), float(tails.upper[row]), size)
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
class FrequencyIntervals(KeyIntervals):
    """Intervals where means come from later rounds of PrivKVM, whose biased means have no
    known error.
    """

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Return the whole range."""
        return np.full(rows.size, self.low), np.full(rows.size, self.high)


@dataclass(frozen=True)
class NoIntervals(FrequencyIntervals):
    """Intervals of a later round of PrivKVM alone, which has no information on frequencies
    either.
    """

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Return the whole range."""
        return np.zeros(rows.size), np.ones(rows.size)
