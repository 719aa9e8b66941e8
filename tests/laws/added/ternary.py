"""Ternary: the mean of one number from one of three reports.

It acts on the integer step j = 0..G of a value on its grid. With m = |2j - G|, the side is the end
of the range that the value is nearer to:

1. The step is rounded at random to a point: to the side with chance m / G, else to the middle.
2. Randomised response among the three points: the point itself with chance t / 2**64, each of the
   other two with chance u = (1 - t / 2**64) / 2.

    P(side | j) = u + (t - u) m / G,  P(middle | j) = u + (t - u) (1 - m / G),  P(other | j) = u

Privacy: every row is a mixture of the rows of randomised response, which differ most by t / u; t is
rounded down. Report: one byte, 0 for the low end, 1 for the middle, 2 for the high end.
The mean of (highs - lows) is (t - u) x for a value x of [-1, 1], so dividing by t - u is unbiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.errors import InputError
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports
from rumor.core.types import Tally, Vector
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.shapes import CountedIntegers

LOW, MIDDLE, HIGH = 0, 1, 2


class Ternary(CountedIntegers, MeanMechanism):
    """Randomised response on the low end, the middle and the high end of a range."""

    name = "ternary"
    _THRESHOLDS = ("truth",)
    truth: int
    """The threshold of keeping the point."""
    alphabet = 3

    def _calibrate(self, epsilon: float) -> None:
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(power / (power + 2))
        if 3 * self.truth <= exact.WORD:
            raise exact.not_kept(epsilon)
        self._check_identifiable()

    def _check_identifiable(self) -> None:
        if 3 * self.truth <= exact.WORD:
            raise InputError(f"the threshold of the truth must exceed 2^64 / 3; got {self.truth}")
        self._keep = Fraction(self.truth, exact.WORD)
        self._lie = (1 - self._keep) / 2
        self._gain = float(self._keep - self._lie)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return the two ends alone, a small grid on an odd range, and the usual grid."""
        return [
            cls(epsilon=1.0, steps=1),
            cls(low=0.0, high=24.0, epsilon=0.3, steps=6, outside="clip"),
            cls(epsilon=4.0),
        ]

    @property
    def epsilon(self) -> float:
        """The loss of a report that names the end of somebody at that end."""
        return exact.worst_log_ratio([self._keep / self._lie])

    def _rounded(self, step: int) -> tuple[int, int]:
        """Return the side of `step`, and in how many of G cases it is rounded there."""
        away = 2 * step - self.grid.steps
        return (HIGH if away >= 0 else LOW), abs(away)

    def probability(self, report: bytes, value: object) -> Fraction:
        """Return the chance of `report` from a device that holds `value`: the model above."""
        side, cases = self._rounded(self.code(value))
        share = Fraction(cases, self.grid.steps)
        chance = {side: share, MIDDLE: 1 - share}.get(report[0], Fraction(0))
        return self._lie + (self._keep - self._lie) * chance

    def draw(self, value: object, draws: Draws) -> bytes:
        """Return the report: below(G) for the point, coin(truth), and below(2) for another."""
        side, cases = self._rounded(self.code(value))
        point = side if draws.below(self.grid.steps) < cases else MIDDLE
        if draws.coin(self.truth):
            return bytes([point])
        return bytes([(point + 1 + draws.below(2)) % 3])

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        stream, away = source.stream(), 2 * self.encode(values) - self.grid.steps
        near = stream.below(self.grid.steps, away.size) < np.abs(away).astype(np.uint64)
        point = np.where(near, np.where(away >= 0, HIGH, LOW), MIDDLE)
        other = (point + 1 + stream.below(2, away.size).astype(np.int64)) % 3
        kept = stream.words(away.size) < np.uint64(self.truth)
        return np.where(kept, point, other).astype(np.uint8).reshape(-1, 1)

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return the unbiased mean, and the variance of one report's estimate as observed."""
        lows, _, highs = (int(count) / reports for count in tally)
        half, tilt = self.grid.span / 2, highs - lows
        mean = self.grid.middle + half * tilt / self._gain
        return mean, half**2 * (highs + lows - tilt**2) / self._gain**2

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """Return the variance of highs - lows from people at `value`, over the squared gain."""
        half = self.grid.span / 2
        tilt = self._gain * (np.asarray(value, np.float64) - self.grid.middle) / half
        ends = 2 * float(self._lie) + np.abs(tilt)
        return np.asarray(half**2 * (ends - tilt**2) / (self._gain**2 * reports))

    @property
    def worst_variance(self) -> float:
        """The variance of one report where highs and lows together are as good as half."""
        away = min(1.0, 1 / (2 * self._gain)) * self.grid.span / 2
        return float(self.variance(self.grid.middle + away))
