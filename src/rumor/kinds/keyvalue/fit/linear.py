"""Linear and maximum likelihood estimates of keys, in closed form.

The linear estimates are of frequencies f and of products s = f m (frequency times mean), with
their covariances.

A key has three states: present and rounded up, present and rounded down, absent, with shares (f +
s)/2, (f - s)/2 and 1 - f. There are three outputs, so the likelihood is identified: its maximum is
the linear inverse where all three shares are non-negative, and otherwise lies on an edge of the
triangle, where the score is a quadratic. No iteration is needed. (The four-state model of
Horigome, Kikuchi and Yu splits "absent" in two and is not identified: its mean depends on where
the iteration starts, even with infinite data.)
"""

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
        """Return the estimates from `counts`; variances use the counts with `prior` added
        to each.
        """
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
        """Return the estimates of the keys `rows`."""
        columns = (self.f, self.s, self.var_f, self.var_s, self.covariance)
        return LinearKeys(*(column[rows] for column in columns))

    def mean_variance(self) -> Vector:
        """Return the first-order variance of s / f, at the estimates clipped to the
        possible range.
        """
        f = np.where(self.f > 0, self.f, np.nan)
        m = np.clip(self.s / f, -1, 1)
        return np.asarray((self.var_s - 2 * m * self.covariance + m**2 * self.var_f) / f**2)


# (f, s) at the two ends of each edge: minus absent, plus absent, everybody has the key.
_EDGES = (((0.0, 0.0), (1.0, 1.0)), ((0.0, 0.0), (1.0, -1.0)), ((1.0, -1.0), (1.0, 1.0)))


def most_likely(counts: KeyCounts, rates: KeyRates) -> tuple[Vector, Vector]:
    """Return the maximum-likelihood f and s of every key; NaN where there is no report."""
    keys = LinearKeys.of(counts, rates)
    f, s = keys.f.copy(), keys.s.copy()
    inside = (np.abs(s) <= f) & (f <= 1)
    seen = np.stack(
        [counts.plus, counts.minus, counts.trials - counts.plus - counts.minus], axis=1
    ).astype(np.float64)
    best = np.where(inside | np.isnan(f), np.inf, -np.inf)
    for start, stop in _EDGES:
        origin, end = _outputs(rates, *start), _outputs(rates, *stop)
        for place in _candidates(seen, origin, end - origin):
            height = (seen * np.log(origin + place[:, None] * (end - origin))).sum(axis=1)
            better = height > best
            best = np.where(better, height, best)
            f = np.where(better, start[0] + place * (stop[0] - start[0]), f)
            s = np.where(better, start[1] + place * (stop[1] - start[1]), s)
    return f, s


def _outputs(rates: KeyRates, f: float, s: float) -> Vector:
    """Return P(+), P(-) and P(nothing) at f and s."""
    seen, tilt = rates.miss + rates.gain * f, rates.sign_gain * s
    return np.array([(seen + tilt) / 2, (seen - tilt) / 2, 1 - seen])


def _candidates(seen: Vector, origin: Vector, slope: Vector) -> list[Vector]:
    """Return the points of an edge that can maximise the likelihood: its ends and the score's
    roots.

    The score is the sum of c A / (a + A t) over the outputs; cleared of denominators it is
    quadratic in t.
    """
    a, b = origin, slope
    others = ((1, 2), (2, 0), (0, 1))
    pulls = seen * b
    q2 = pulls @ np.array([b[j] * b[k] for j, k in others])
    q1 = pulls @ np.array([a[j] * b[k] + a[k] * b[j] for j, k in others])
    q0 = pulls @ np.array([a[j] * a[k] for j, k in others])
    root = np.sqrt(np.maximum(q1 * q1 - 4 * q2 * q0, 0.0))
    # The stable pair of roots; with q2 = 0 (or nearly) the second is the linear one.
    half = -(q1 + np.copysign(root, q1)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = [half / q2, q0 / half]
    ends = [np.zeros(len(seen)), np.ones(len(seen))]
    return ends + [np.clip(np.nan_to_num(r, nan=0.0), 0.0, 1.0) for r in roots]
