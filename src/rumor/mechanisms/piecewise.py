"""The piecewise mechanism: the mean of one number from a number near it, or anywhere else.

It acts on the integer step j = 0..G of a value on its grid, so that its channel is rational
and its privacy exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.loops import loops
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Tally, Vector
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.windowed import WindowedResponse


class Piecewise(MeanMechanism, WindowedResponse):
    """A number near the value, or anywhere else: less noise than one bit where epsilon is large.

    Wang et al. 2019, on integers. Model and privacy: that of windowed.py, on the G + 1 steps of
    the grid. The best window is next to G e**(-epsilon/2). The mean of outputs is linear in the
    step, hence unbiased.
    Report: an output as a little-endian integer in 1 to 3 bytes.
    """

    name = "piecewise"
    _SHAPE_NAMES, _THRESHOLDS = ("window",), ("inside",)

    def _calibrate(self, epsilon: float) -> None:
        half = exact.exp(exact.checked_epsilon(epsilon) / 2)
        self.window = max(1, round(self.grid.steps / half))
        self.inside = self.best_inside(self.window, epsilon)

    @property
    def others(self) -> int:
        """The number of outputs outside of a window, which is that of steps."""
        return self.grid.steps

    def _load_shape(self, window: object) -> None:
        self.window = checked_size("window", window, 1, self.others)

    def _check_identifiable(self) -> None:
        self._require_use(self.window, self.inside)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with a window of one output and of several, of one byte and two."""
        return [
            cls(epsilon=1.0, steps=1),
            cls(epsilon=2.0, steps=6),
            cls(low=0.0, high=24.0, epsilon=0.5, steps=12, outside="clip"),
            cls(epsilon=3.0, steps=300),
        ]

    @property
    def _digits(self) -> tuple[int, int]:
        """The numbers of binary digits of an output and of its square: at most 21 and 42."""
        largest = self.alphabet - 1
        return largest.bit_length(), (largest**2).bit_length()

    @property
    def tally_size(self) -> int:
        """The number of counters: one for each binary digit of an output and of its square."""
        return sum(self._digits)

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether the digits can be those of outputs and of
        their squares, which go together.
        """
        if not super().consistent(tally, reports):
            return False
        digits, counts = self._digits[0], [int(count) for count in tally]
        total = sum(count << i for i, count in enumerate(counts[:digits]))
        squares = sum(count << i for i, count in enumerate(counts[digits:]))
        # A square is odd when its root is, and never 2 or 3 modulo 4; no output is above the last;
        # and squares are at least what equal outputs would have (Cauchy and Schwarz).
        return (
            counts[0] == counts[digits]
            and not any(counts[digits + 1 : digits + 2])
            and total <= reports * (self.alphabet - 1)
            and total * total <= reports * squares
            and squares <= (self.alphabet - 1) * total
        )

    def tally(self, reports: Reports) -> Tally:
        """Return the number of reports that have each digit set.

        The sums of outputs and of squares are then known exactly, and yet every counter
        stays between 0 and the number of reports, like any other.
        """
        outputs = from_little_endian(reports).astype(np.uint64)
        packed = outputs | outputs * outputs << np.uint64(self._digits[0])
        rows = packed.astype("<u8").view(np.uint8).reshape(-1, 8)
        counts: Tally = loops(rows.nbytes).count_columns(rows)[: self.tally_size]
        return counts

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return mean and variance from the sums of outputs and
        squares, inverted in exact arithmetic.
        """
        digits, counts = self._digits[0], [int(count) for count in tally]
        first = Fraction(sum(c << i for i, c in enumerate(counts[:digits])), reports)
        second = Fraction(sum(c << i for i, c in enumerate(counts[digits:])), reports)
        start, slope = self.line
        unit = self.grid.span / self.grid.steps
        mean = self.grid.low + unit * float((first - start) / slope)
        return mean, unit**2 * float((second - first**2) / slope**2)

    def furthest_outputs(self) -> Reports:
        """Return the first and the last output: estimates lie on a line that rises."""
        return little_endian(np.array([0, self.alphabet - 1]), self.width)

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """Return the second moment of one output less the squared first, over the squared slope."""
        grid, w, k = self.grid, self.window, self.alphabet
        start, slope = (float(x) for x in self.line)
        inside = self.inside / exact.WORD
        outside = (1 - inside) / grid.steps
        # Positions are counted from the middle, where squares stay small.
        centre = (k - 1) / 2
        step = (np.asarray(value, np.float64) - grid.low) * grid.scale - centre
        middle = step + (w - 1) / 2
        window_squares = middle**2 + (w * w - 1) / 12
        everything = k * (k * k - 1) / 12
        second = inside * window_squares + outside * (everything - w * window_squares)
        first = start - centre + slope * (step + centre)
        unit = grid.span / grid.steps
        return np.asarray(unit**2 * (second - first**2) / (slope**2 * reports))
