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

from rumor.core.types import Vector
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.results.intervals import Bounds, Rows, Tails, binomial_ends


@dataclass(frozen=True)
class LinearKeys:
    """The unbiased estimates of f and s = f m of every key, with their (co)variances."""

    f: Vector
    s: Vector
    var_f: Vector
    var_s: Vector
    covariance: Vector

    @classmethod
    def of(cls, counts: KeyCounts, rates: KeyRates, prior: float = 0.0) -> LinearKeys:
        """From counts; `prior` is added to each of the three when variances are plugged in."""
        trials = np.maximum(counts.trials, 1).astype(np.float64)
        plus, minus = counts.plus / trials, counts.minus / trials
        gain, sign_gain = rates.gain, rates.sign_gain
        f, s = (plus + minus - rates.miss) / gain, (plus - minus) / sign_gain
        total = trials + 3 * prior
        up, down = (counts.plus + prior) / total, (counts.minus + prior) / total
        seen, tilt = up + down, up - down
        var_f = seen * (1 - seen) / (trials * gain**2)
        var_s = (seen - tilt**2) / (trials * sign_gain**2)
        covariance = tilt * (1 - seen) / (trials * gain * sign_gain)
        unseen = counts.trials == 0
        f, s = np.where(unseen, np.nan, f), np.where(unseen, np.nan, s)
        return cls(f, s, var_f, var_s, covariance)

    def rows(self, rows: Rows) -> LinearKeys:
        """Of some keys."""
        columns = (self.f, self.s, self.var_f, self.var_s, self.covariance)
        return LinearKeys(*(column[rows] for column in columns))

    def mean_variance(self) -> Vector:
        """The variance of s / f to first order, at the estimates clipped to what is possible."""
        f = np.where(self.f > 0, self.f, np.nan)
        m = np.clip(self.s / f, -1, 1)
        return np.asarray((self.var_s - 2 * m * self.covariance + m**2 * self.var_f) / f**2)


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
