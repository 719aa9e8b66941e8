"""Means of one number: Harmony (a single noisy bit) and the piecewise mechanism.

Both act on the integer step j = 0..G of a value on its grid, so that their channels are
rational and their privacy is exact; both are unbiased, and the mean of many reports has
the variance that `variance` states.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.loops import loops
from rumor.core.number_range import MAX_STEPS, Grid, numbers, one_number
from rumor.core.randomness import Draws, Source
from rumor.core.reports import (
    Reports,
    Validity,
    bytes_for,
    from_little_endian,
    little_endian,
    narrow_integers,
)
from rumor.core.types import Codes, Tally, Vector
from rumor.mechanisms.base import Mechanism, only_keys


class MeanMechanism(Mechanism):
    """A mechanism from which the mean of one number is learned."""

    kind = "number"

    OPTIONS: ClassVar[tuple[str, ...]] = ()
    grid: Grid

    def inputs(self) -> Sequence[object]:
        """The points of the grid (a spread of them where there are many)."""
        return self.grid.points()

    def encode(self, values: object) -> Codes:
        """Numbers as steps of the grid."""
        return self.grid.codes(numbers(values))

    def code(self, value: object) -> int:
        """One person's number as a step of the grid, beyond an end as that end."""
        return self.grid.step(value)

    def identity(self, value: object) -> str:
        """The number: 5 and 5.0 are the same value."""
        return repr(one_number(value))

    def notes(self, value: object) -> tuple[str, ...]:
        """Whether the number was taken as an end of the range."""
        told = f"the number lies outside {self.grid.said} and was taken as the nearest end"
        return (told,) if self.grid.clips(value) else ()

    @abc.abstractmethod
    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """The unbiased mean and the variance of one report's estimate, as observed."""

    @abc.abstractmethod
    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """The exact variance of the mean of so many reports of people who hold this value."""

    @property
    def worst_variance(self) -> float:
        """The variance of one report at the value where it is largest."""
        ends = np.array([self.grid.low, self.grid.middle, self.grid.high])
        return float(self.variance(ends).max())

    @property
    def least_variance(self) -> float:
        """The variance of one report at the value where it is smallest: no crowd has less."""
        ends = np.array([self.grid.low, self.grid.middle, self.grid.high])
        return float(self.variance(ends).min())


class Harmony(MeanMechanism):
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

    def __init__(
        self,
        *,
        low: float = -1.0,
        high: float = 1.0,
        epsilon: float,
        outside: str = "refuse",
        steps: int = MAX_STEPS,
    ) -> None:
        """Values from `low` to `high`; tables with others are refused, or clipped if so said."""
        self.grid = Grid.checked(low, high, steps, outside)
        power = exact.exp(exact.checked_epsilon(epsilon))
        truth = exact.floor_threshold(power / (power + 1))
        if 2 * truth <= exact.WORD:
            raise InputError(
                f"epsilon must be large enough to be kept exactly by 64-bit thresholds; "
                f"got {epsilon!r}"
            )
        self._set(truth)

    def _set(self, truth: int) -> None:
        if 2 * truth <= exact.WORD:
            raise InputError(f"the threshold of the truth must be above 2^63; got {truth}")
        self.truth, self.lie = truth, exact.WORD - truth
        self._gain = truth - self.lie

    def parameters(self) -> dict[str, Json]:
        """The grid and the threshold of the truth."""
        return {**self.grid.parameters(), "truth": str(self.truth)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """From a contract."""
        *grid, truth = only_keys(cls.name, parameters, "range", "steps", "outside", "truth")
        self = cls.__new__(cls)
        self.grid = Grid.from_parameters(*grid)
        self._set(exact.checked_threshold("truth", truth))
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """The two ends alone, a small grid on an odd range, and the usual grid."""
        return [
            cls(epsilon=1.0, steps=1),
            cls(low=0.0, high=24.0, epsilon=0.3, steps=7, outside="clip"),
            cls(epsilon=4.0),
        ]

    @property
    def epsilon(self) -> float:
        """The two ends of the range, told apart by either bit."""
        return exact.worst_log_ratio([Fraction(self.truth, self.lie)])

    @property
    def width(self) -> int:
        """One bit in a byte."""
        return 1

    @property
    def alphabet(self) -> int:
        """0 and 1."""
        return 2

    def outputs(self, public: bytes = b"") -> Reports:
        """0 and 1."""
        return np.array([[0], [1]], dtype=np.uint8)

    def threshold(self, step: int) -> int:
        """The threshold of reporting 1, given the step of the value."""
        return self.lie + self._gain * step // self.grid.steps

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model above."""
        one = Fraction(self.threshold(self.code(value)), exact.WORD)
        return one if report == b"\1" else 1 - one

    def draw(self, value: object, draws: Draws) -> bytes:
        """coin(threshold of the value's step)."""
        return bytes([draws.coin(self.threshold(self.code(value)))])

    def _privatize(self, values: object, source: Source) -> Reports:
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
    def tally_size(self) -> int:
        """The number of ones."""
        return 1

    def tally(self, reports: Reports) -> Tally:
        """How many ones."""
        return np.array([reports.sum(dtype=np.int64)])

    @property
    def rates(self) -> tuple[float, float]:
        """P(1) at the high and at the low end of the range."""
        return self.truth / exact.WORD, self.lie / exact.WORD

    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """A binomial share, stretched."""
        share = int(tally[0]) / reports
        gain = self._gain / exact.WORD
        mean = self.grid.low + self.grid.span * (share - self.rates[1]) / gain
        return mean, self.grid.span**2 * share * (1 - share) / gain**2

    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """That of a coin with P(1 | value), over the squared gain."""
        part = (np.asarray(value, np.float64) - self.grid.low) / self.grid.span
        gain = self._gain / exact.WORD
        one = self.rates[1] + gain * part
        return np.asarray(self.grid.span**2 * one * (1 - one) / (gain**2 * reports))


class Piecewise(MeanMechanism):
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

    def __init__(
        self,
        *,
        low: float = -1.0,
        high: float = 1.0,
        epsilon: float,
        outside: str = "refuse",
        steps: int = MAX_STEPS,
    ) -> None:
        """Values from `low` to `high`; tables with others are refused, or clipped if so said."""
        self.grid = Grid.checked(low, high, steps, outside)
        asked = exact.checked_epsilon(epsilon)
        power = exact.exp(asked)
        window = max(1, round(self.grid.steps / exact.exp(asked / 2)))
        inside = exact.floor_threshold(window * power / (window * power + self.grid.steps))
        if inside * self.grid.steps <= (exact.WORD - inside) * window:
            raise InputError(
                f"epsilon must be large enough to be kept exactly by 64-bit thresholds; "
                f"got {epsilon!r}"
            )
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
        keys = ("range", "steps", "outside", "window", "inside")
        ends, steps, outside, window, inside = only_keys(cls.name, parameters, *keys)
        self = cls.__new__(cls)
        self.grid = Grid.from_parameters(ends, steps, outside)
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
    def width(self) -> int:
        """As many bytes as an output needs."""
        return bytes_for(self.outcomes)

    @property
    def alphabet(self) -> int:
        """Every output."""
        return self.outcomes

    def outputs(self, public: bytes = b"") -> Reports:
        """Every output."""
        return little_endian(np.arange(self.outcomes), self.width)

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model above."""
        inside = Fraction(self.inside, exact.WORD)
        if 0 <= int.from_bytes(report, "little") - self.code(value) < self.window:
            return inside / self.window
        return (1 - inside) / self.grid.steps

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

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report is an integer from 0 to {self.outcomes - 1:,}"
        return Validity(narrow_integers(reports) < self.outcomes, reason)

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


def choose_mean(
    *,
    epsilon: float,
    low: float = -1.0,
    high: float = 1.0,
    outside: str = "refuse",
    steps: int = MAX_STEPS,
) -> MeanMechanism:
    """The mechanism whose worst variance over the range is the smaller."""
    both: list[MeanMechanism] = [
        kind(low=low, high=high, epsilon=epsilon, outside=outside, steps=steps)
        for kind in (Harmony, Piecewise)
    ]
    return min(both, key=lambda mechanism: mechanism.worst_variance)
