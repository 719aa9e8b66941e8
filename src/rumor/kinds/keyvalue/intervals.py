"""Intervals of key-value estimates: Clopper and Pearson for shares, Fieller for means.

Both start from a key's three counts (+, -, nothing). With lam = miss + gain f:
- c+ + c- is binomial with success probability lam, so Clopper and Pearson's interval for
  lam, mapped back by the line, covers f whatever f is;
- the mean m = s / f is a ratio of two linear estimates, and the interval is the set of m
  that the test (s - m f)^2 <= z^2 (Var s - 2 m Cov + m^2 Var f) does not reject (Fieller
  1954). Where f is not told from 0 that is everything, as it should be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.types import Rows
from rumor.estimators.keyvalue.linear import LinearKeys
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.results.counts import binomial_ends
from rumor.results.intervals import Bounds, Tails


@dataclass(frozen=True)
class KeyIntervals:
    """Intervals of every key's frequency and mean, from its counts."""

    counts: KeyCounts
    rates: KeyRates
    low: float
    high: float

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Clopper and Pearson's for these keys, mapped to frequencies."""
        seen = (self.counts.plus + self.counts.minus)[rows].astype(np.float64)
        trials = self.counts.trials[rows].astype(np.float64)
        low, high = binomial_ends(seen, trials, tails)
        miss, gain = self.rates.miss, self.rates.gain
        return np.clip((low - miss) / gain, 0, 1), np.clip((high - miss) / gain, 0, 1)

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Fieller's for these keys, mapped to the range; it has the same tail on both sides."""
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
        # a > 0: between the roots. Otherwise the set is everything, or everything but what
        # lies between the roots; only a piece that reaches into [-1, 1] counts. A frequency
        # far below 0 is an accident that says nothing of a mean.
        inside = (a > 0) & (keys.f > 0)
        low[inside], high[inside] = first[inside], second[inside]
        outside = (a < 0) & (b * b - a * c > 0)  # accepted: m <= second or m >= first
        cut = outside & (second < -1)  # the lower piece lies below the range
        low[cut] = np.maximum(first[cut], -1.0)
        cut = outside & (first > 1)  # the upper piece lies above it
        high[cut] = np.minimum(second[cut], 1.0)
        low, high = np.clip(low, -1, 1), np.clip(high, -1, 1)
        half = (self.high - self.low) / 2
        return self.low + half * (low + 1), self.low + half * (high + 1)


@dataclass(frozen=True)
class FrequencyIntervals(KeyIntervals):
    """Where means come from later rounds of PrivKVM: their error is not known, being biased."""

    def mean(self, rows: Rows, tails: Tails) -> Bounds:
        """Anything in the range."""
        return np.full(rows.size, self.low), np.full(rows.size, self.high)


@dataclass(frozen=True)
class NoIntervals(FrequencyIntervals):
    """A later round of PrivKVM alone: it says nothing of frequencies either."""

    def frequency(self, rows: Rows, tails: Tails) -> Bounds:
        """Anything."""
        return np.zeros(rows.size), np.ones(rows.size)
