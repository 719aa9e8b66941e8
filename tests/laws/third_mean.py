"""A mean mechanism of somebody else's, which nothing in the package knows.

It keeps every rule of the family and breaks what the family's own two have in common by chance:
its highest report is the first and its last one says nothing, its reports are no coins, and it
has nothing but what must be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, Validity
from rumor.core.types import Tally, Vector
from rumor.mechanisms.mean import MeanMechanism

UP, DOWN, NOTHING = 0, 1, 2
_SILENT = exact.WORD // 4


class Shrug(MeanMechanism):
    """Harmony's bit, for three people in four: the fourth says nothing, whatever they hold.

    With t the threshold of the truth, u = 2**64 - t and j the step of the value out of G:
        P(nothing) = 1/4,  P(up | j) = 3/4 (u + floor((t - u) j / G)) / 2**64,  P(down | j) the rest
    """

    name = "shrug"
    _THRESHOLDS = ("truth",)

    def _calibrate(self, epsilon: float) -> None:
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(power / (power + 1))

    def _check_identifiable(self) -> None:
        pass

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return [cls(epsilon=1.0, steps=1), cls(low=0.0, high=24.0, epsilon=2.0, steps=6)]

    @property
    def epsilon(self) -> float:
        return exact.worst_log_ratio([Fraction(self.truth, exact.WORD - self.truth)])

    @property
    def width(self) -> int:
        return 1

    @property
    def alphabet(self) -> int:
        return 3

    def outputs(self, public: bytes = b"") -> Reports:
        return np.array([[UP], [DOWN], [NOTHING]], dtype=np.uint8)

    def _threshold(self, step: int) -> int:
        lie = exact.WORD - self.truth
        return lie + (self.truth - lie) * step // self.grid.steps

    def probability(self, report: bytes, value: object) -> Fraction:
        silent = Fraction(_SILENT, exact.WORD)
        up = Fraction(self._threshold(self.code(value)), exact.WORD)
        return ((1 - silent) * up, (1 - silent) * (1 - up), silent)[report[0]]

    def draw(self, value: object, draws: Draws) -> bytes:
        step = self.code(value)
        if draws.coin(_SILENT):
            return bytes([NOTHING])
        return bytes([UP if draws.coin(self._threshold(step)) else DOWN])

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        steps, stream = self.encode(values), source.stream()
        thresholds = np.array([self._threshold(int(j)) for j in steps], dtype=np.uint64)
        silent = stream.words(steps.size) < np.uint64(_SILENT)
        up = stream.words(steps.size) < thresholds
        said = np.where(silent, NOTHING, np.where(up, UP, DOWN))
        return said.astype(np.uint8).reshape(-1, 1)

    def _validate(self, reports: Reports) -> Validity:
        return Validity(reports[:, 0] <= NOTHING, "a report is a byte from 0 to 2")

    @property
    def tally_size(self) -> int:
        return 3

    @property
    def counters_per_report(self) -> int:
        return 1

    def tally(self, reports: Reports) -> Tally:
        return np.bincount(reports[:, 0], minlength=3).astype(np.int64)

    @property
    def _gain(self) -> float:
        """E(ups - downs), at the high end."""
        return 0.75 * (2 * self.truth - exact.WORD) / exact.WORD

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        first = (int(tally[UP]) - int(tally[DOWN])) / reports
        second = (int(tally[UP]) + int(tally[DOWN])) / reports
        half = self.grid.span / 2
        mean = self.grid.middle + half * first / self._gain
        return mean, half**2 * (second - first**2) / self._gain**2

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        half = self.grid.span / 2
        first = self._gain * (np.asarray(value, np.float64) - self.grid.middle) / half
        return np.asarray(half**2 * (0.75 - first**2) / (self._gain**2 * reports))
