"""The piecewise mechanism: the mean of one number from a number near it, or anywhere else.

It acts on the integer step j = 0..G of a value on its grid, so that its channel is rational
and its privacy exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.loops import loops
from rumor.core.number_range import GRID, Grid
from rumor.core.randomness import Draws, Source
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Tally, Vector
from rumor.mechanisms.base import only_keys
from rumor.mechanisms.integer_reports import IntegerReports
from rumor.mechanisms.mean import MeanMechanism


class Piecewise(IntegerReports, MeanMechanism):
    """A number near the value, or anywhere else: less noise than one bit where epsilon is large.

    Wang et al. 2019, on integers. There are K = G + w outputs; the window of step j is the
    w outputs from j on. With t the threshold of the window:
        P(y | j) = (t / 2**64) / w           if y is in the window
                 = (1 - t / 2**64) / G       otherwise
    Privacy: these two are all the probabilities there are; t is rounded down. The best
    window is next to G e**(-epsilon/2). The mean of y is linear in j, hence unbiased.
    Report: y as a little-endian integer in 1 to 3 bytes.
    """

    name = "piecewise"

    def _calibrate(self, epsilon: float) -> None:
        asked = exact.checked_epsilon(epsilon)
        power = exact.exp(asked)
        window = max(1, round(self.grid.steps / exact.exp(asked / 2)))
        inside = exact.floor_threshold(window * power / (window * power + self.grid.steps))
        if inside * self.grid.steps <= (exact.WORD - inside) * window:
            raise exact.not_kept(epsilon)
        self._set(window, inside)

    def _set(self, window: object, inside: int) -> None:
        steps = self.grid.steps
        self.window = checked_size("window", window, 1, steps)
        if inside * steps <= (exact.WORD - inside) * self.window:
            raise InputError(
                f"the threshold of the window must exceed its share of the outputs; got {inside}"
            )
        self.inside = inside
        self.outcomes = steps + self.window

    def parameters(self) -> dict[str, Json]:
        """The grid, the window and its threshold."""
        return {**self.grid.parameters(), "window": self.window, "inside": str(self.inside)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """From a contract."""
        *grid, window, inside = only_keys(cls.name, parameters, *GRID, "window", "inside")
        self = cls.__new__(cls)
        self.grid = Grid.from_parameters(*grid)
        self._set(window, exact.checked_threshold("inside", inside))
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """A window of one output and of several, one byte and two."""
        return [
            cls(epsilon=1.0, steps=1),
            cls(epsilon=2.0, steps=6),
            cls(low=0.0, high=24.0, epsilon=0.5, steps=12, outside="clip"),
            cls(epsilon=3.0, steps=300),
        ]

    @property
    def epsilon(self) -> float:
        """An output inside the window over one outside."""
        odds = Fraction(self.inside, exact.WORD - self.inside)
        return exact.worst_log_ratio([odds * Fraction(self.grid.steps, self.window)])

    @property
    def alphabet(self) -> int:
        """Every output."""
        return self.outcomes

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model above."""
        inside = Fraction(self.inside, exact.WORD)
        if 0 <= int.from_bytes(report, "little") - self.code(value) < self.window:
            return inside / self.window
        return (1 - inside) / self.grid.steps

    def evidence(self, reports: Reports, first: object, second: object) -> Vector:
        """A report is likelier by epsilon under the value in whose window it lies alone."""
        outputs = from_little_endian(reports)
        windows = ((self.code(value), self.code(value) + self.window) for value in (first, second))
        near = [(outputs >= start) & (outputs < end) for start, end in windows]
        return (near[0].astype(np.float64) - near[1]) * self.epsilon

    def draw(self, value: object, draws: Draws) -> bytes:
        """coin(inside): j + below(window); otherwise below(steps), skipping the window."""
        step = self.code(value)
        if draws.coin(self.inside):
            output = step + draws.below(self.window)
        else:
            output = draws.below(self.grid.steps)
            output += self.window if output >= step else 0
        return output.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: Source) -> Reports:
        steps, stream = self.encode(values), source.stream()
        inside = stream.words(steps.size) < np.uint64(self.inside)
        near = steps + stream.below(self.window, steps.size).astype(np.int64)
        far = stream.below(self.grid.steps, steps.size).astype(np.int64)
        far += np.where(far >= steps, self.window, 0)
        return little_endian(np.where(inside, near, far), self.width)

    @property
    def _digits(self) -> tuple[int, int]:
        """How many binary digits an output and its square have: at most 21 and 42."""
        largest = self.outcomes - 1
        return largest.bit_length(), (largest**2).bit_length()

    @property
    def tally_size(self) -> int:
        """A counter for each binary digit of an output and of its square."""
        return sum(self._digits)

    def consistent(self, tally: Tally, reports: int) -> bool:
        """The digits are those of outputs and of their squares, which go together."""
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
        """How many reports have each digit set.

        The sums of outputs and of squares are then known exactly, and yet every counter
        stays between 0 and the number of reports, like any other.
        """
        outputs = from_little_endian(reports).astype(np.uint64)
        packed = outputs | outputs * outputs << np.uint64(self._digits[0])
        rows = packed.astype("<u8").view(np.uint8).reshape(-1, 8)
        counts: Tally = loops(rows.nbytes).count_columns(rows)[: self.tally_size]
        return counts

    def _line(self) -> tuple[Fraction, Fraction]:
        """E(y | j) = A + B j."""
        inside, steps, window = Fraction(self.inside, exact.WORD), self.grid.steps, self.window
        outside = (1 - inside) / steps
        slope = inside - outside * window
        total = Fraction(self.outcomes * (self.outcomes - 1), 2)
        start = inside * Fraction(window - 1, 2)
        start += outside * (total - Fraction(window * (window - 1), 2))
        return start, slope

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """From the sums of outputs and squares; the line is inverted in exact arithmetic."""
        digits, counts = self._digits[0], [int(count) for count in tally]
        first = Fraction(sum(c << i for i, c in enumerate(counts[:digits])), reports)
        second = Fraction(sum(c << i for i, c in enumerate(counts[digits:])), reports)
        start, slope = self._line()
        unit = self.grid.span / self.grid.steps
        mean = self.grid.low + unit * float((first - start) / slope)
        return mean, unit**2 * float((second - first**2) / slope**2)

    def furthest_outputs(self) -> Reports:
        """The last: estimates lie on a line that rises."""
        return little_endian(np.array([self.outcomes - 1]), self.width)

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """The second moment of one output less the squared first, over the squared slope."""
        grid, w, k = self.grid, self.window, self.outcomes
        start, slope = (float(x) for x in self._line())
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
