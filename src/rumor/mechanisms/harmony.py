"""Harmony: the mean of one number from a single noisy bit.

It acts on the integer step j = 0..G of a value on its grid, so that its channel is rational
and its privacy exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.errors import InputError
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, Validity
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, worst_case_blanket
from rumor.mechanisms.mean import BinomialShare, MeanMechanism
from rumor.mechanisms.shapes import IntegerReports


class Harmony(IntegerReports, MeanMechanism):
    """One bit: the value rounded at random to an end of its range, then randomised response.

    Nguyen et al. 2016 (value perturbation primitive). The two steps are one coin. With t
    the threshold of the truth, u = 2**64 - t and j the step of the value out of G:
        P(1 | j) = (u + floor((t - u) j / G)) / 2**64
    Privacy: the ends of the range differ most, by t / u; t is rounded down.
    Report: one byte, 0 or 1. The mean of the range's fraction is (share of ones - u/2**64)
    over (t - u)/2**64: the factor (e^epsilon + 1)/(e^epsilon - 1) that the mean printed in
    Horigome, Kikuchi and Yu lacks.
    """

    name = "harmony"
    _THRESHOLDS = ("truth",)
    truth: int
    """The threshold of the truth."""

    def _calibrate(self, epsilon: float) -> None:
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(power / (power + 1))
        if 2 * self.truth <= exact.WORD:
            raise exact.not_kept(epsilon)
        self._check_identifiable()

    def _check_identifiable(self) -> None:
        if 2 * self.truth <= exact.WORD:
            raise InputError(f"the threshold of the truth must be above 2^63; got {self.truth}")
        self.lie = exact.WORD - self.truth
        self._gain = self.truth - self.lie

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with the two ends alone, a small grid on
        an odd range, and the usual grid.
        """
        return [
            cls(epsilon=1.0, steps=1),
            cls(low=0.0, high=24.0, epsilon=0.3, steps=7, outside="clip"),
            cls(epsilon=4.0),
        ]

    @property
    def epsilon(self) -> float:
        """The exact loss between the two ends of the range, told apart by either bit."""
        return exact.worst_log_ratio([Fraction(self.truth, self.lie)])

    def blanket(self) -> Blanket:
        """Return the blanket of the two ends: all other laws mix them."""
        return worst_case_blanket(Fraction(self.truth, self.lie))

    @property
    @override
    def alphabet(self) -> int:
        return 2

    def threshold(self, step: int) -> int:
        """Return the threshold of reporting 1, given the step of the value."""
        return self.lie + self._gain * step // self.grid.steps

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        one = Fraction(self.threshold(self.code(value)), exact.WORD)
        return one if report == b"\1" else 1 - one

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(threshold of the value's step)."""
        return bytes([draws.coin(self.threshold(self.code(value)))])

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        steps = self.encode(values).astype(np.uint64)
        # gain * step // G without leaving 64 bits: step <= G <= 2**20.
        whole, rest = (np.uint64(part) for part in divmod(self._gain, self.grid.steps))
        thresholds = (
            np.uint64(self.lie) + whole * steps + rest * steps // np.uint64(self.grid.steps)
        )
        ones = source.stream().words(steps.size) < thresholds
        return ones.astype(np.uint8).reshape(-1, 1)

    def _validate(self, reports: Reports) -> Validity:
        return Validity(reports[:, 0] <= 1, "a report is a byte, 0 or 1")

    @property
    @override
    def tally_size(self) -> int:
        return 1

    @override
    def tally(self, reports: Reports) -> Tally:
        return np.array([reports.sum(dtype=np.int64)])

    @property
    def rates(self) -> tuple[float, float]:
        """The chances of reporting 1 at the high and at the low end of the range."""
        return self.truth / exact.WORD, self.lie / exact.WORD

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return mean and variance of a binomial share, stretched to the range."""
        share = int(tally[0]) / reports
        gain = self._gain / exact.WORD
        mean = self.grid.low + self.grid.span * (share - self.rates[1]) / gain
        return mean, self.grid.span**2 * share * (1 - share) / gain**2

    def binomial(self, tally: Tally, reports: int) -> BinomialShare:
        """Return the share of ones as a binomial share: each report is one coin."""
        hit, miss = self.rates
        zero = self.grid.low - self.grid.span * miss / (hit - miss)
        return BinomialShare(int(tally[0]) / reports, zero, zero + self.grid.span / (hit - miss))

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """Return the variance of a coin with P(1 | value), over the squared gain."""
        part = (np.asarray(value, np.float64) - self.grid.low) / self.grid.span
        gain = self._gain / exact.WORD
        one = self.rates[1] + gain * part
        return np.asarray(self.grid.span**2 * one * (1 - one) / (gain**2 * reports))
