"""Linear estimates of keys: frequencies, and frequencies times means, with their covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates


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
