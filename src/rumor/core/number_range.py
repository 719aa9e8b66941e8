"""A number range cut into equal steps (a grid), so that channels on it are exact.

A value v of [low, high] is at the step j = floor((v - low) (steps / (high - low)) + 1/2),
computed in doubles; all random draws that follow are functions of the integer j. The
default of 2**20 steps moves a value by at most half a millionth of the range, far below
the standard error of any collection.

Accepted ranges lie within 1e100 of zero and are at least 1e-100 long: then every operation above
stays within normal doubles, each is monotone, and so j is an integer from 0 to steps, ascending
with v, for every double v; squares of errors do not overflow either.
"""

from __future__ import annotations

import contextlib
import math
import numbers as numbers_
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import answers
from rumor.core.errors import AnswerError, InputError, format_value, type_in_words
from rumor.core.types import Codes

MAX_STEPS = 1 << 20
_LARGEST, _SHORTEST = 1e100, 1e-100
OUTSIDE = ("refuse", "clip")
# The parameters of a grid in a contract, in the order of `NumberGrid.from_parameters`.
GRID_PARAMETERS = ("range", "steps", "outside")
# Grids with fewer steps than this are written out by the laws.
_FEW = 64


@dataclass(frozen=True)
class NumberGrid:
    """The range of a number, its steps, and the rule for values outside (`outside`)."""

    low: float
    high: float
    steps: int
    outside: str

    HALF: ClassVar[float] = 0.5
    """The number added before rounding down, so that a value goes to the nearest step."""

    @property
    def last(self) -> int:
        """The last step."""
        return self.steps

    @classmethod
    def create(cls, low: object, high: object, steps: object, outside: object) -> Self:
        """Return the grid of these options, or raise an InputError."""
        ends = [_finite(name, end) for name, end in (("low", low), ("high", high))]
        if max(abs(end) for end in ends) > _LARGEST:
            raise InputError(
                f"low and high must be from -{_LARGEST:g} to {_LARGEST:g}, so that squares of "
                f"errors can be told; got {format_value(low)} and {format_value(high)}"
            )
        if not ends[0] < ends[1]:
            raise InputError(
                f"low must be below high; got {format_value(low)} and {format_value(high)}"
            )
        if ends[1] - ends[0] < _SHORTEST:
            raise InputError(
                f"high must be at least {_SHORTEST:g} above low, so that steps between them can "
                f"be told; got {format_value(low)} and {format_value(high)}"
            )
        if not isinstance(outside, str) or outside not in OUTSIDE:
            raise InputError(
                f"outside must be one of {', '.join(OUTSIDE)}; got {format_value(outside)}"
            )
        return cls(ends[0], ends[1], checked_size("steps", steps, 1, MAX_STEPS), outside)

    @classmethod
    def from_parameters(cls, ends: object, steps: object, outside: object) -> Self:
        """Return the grid of a contract: its range `ends`, `steps` and the rule for values
        `outside`.
        """
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:
            raise InputError(f"range must be a list of two numbers; got {format_value(ends)}")
        return cls.create(ends[0], ends[1], steps, outside)

    def parameters(self) -> dict[str, Json]:
        """Return the grid as contract parameters."""
        return {"range": [self.low, self.high], "steps": self.steps, "outside": self.outside}

    @property
    def span(self) -> float:
        """The length of the range."""
        return self.high - self.low

    @property
    def middle(self) -> float:
        """The centre of the range."""
        return self.low + self.span / 2

    @property
    def scale(self) -> float:
        """Steps per unit."""
        return self.steps / self.span

    def value_at(self, step: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value at `step`, or between steps."""
        return np.asarray(self.low + self.span * (np.asarray(step, np.float64) / self.steps))

    def points(self) -> list[float]:
        """Return every value of a small grid, or values spread over a large one, both ends
        included.
        """
        few = min(self.steps, _FEW if self.steps <= _FEW else 8)
        return [float(self.value_at(self.steps * i // few)) for i in range(few + 1)]

    def codes(self, values: NDArray[np.float64], rows: Codes | None = None) -> Codes:
        """Return the steps of a column of values; refuse NaN, and values outside unless clipped.

        `rows` gives the input row of each value, for errors; by default its index.
        """
        missing = int(np.isnan(values).sum())
        if missing:
            raise InputError(f"values must be numbers; got {missing} missing (NaN)")
        if self.outside == "refuse":
            wrong = (values < self.low) | (values > self.high)
            if wrong.any():
                first = int(np.flatnonzero(wrong)[0])
                raise self.outside_error(first if rows is None else int(rows[first]))
        inside = np.clip(values, self.low, self.high)
        steps = np.floor((inside - self.low) * self.scale + self.HALF)
        return np.minimum(steps, self.last).astype(np.int64)

    def step(self, value: object) -> int:
        """Return the step of one respondent's number, clipped whatever `outside` says.

        Whether a device sends a report must not depend on the answer, so no number is refused.
        """
        inside = min(max(parse_number(value), self.low), self.high)
        return min(math.floor((inside - self.low) * self.scale + self.HALF), self.last)

    def is_clipped(self, value: object) -> bool:
        """Return whether `step` replaces `value` by the nearest end of the range."""
        return not self.low <= parse_number(value) <= self.high

    @property
    def range_text(self) -> str:
        """The range, in words."""
        return f"{self.low:g} to {self.high:g}"

    def outside_error(self, row: int | None = None) -> AnswerError:
        """Return the error for a value outside the range, at index `row`."""
        rule = f'values must lie in {self.range_text} (or be clipped: outside = "clip")'
        return AnswerError(rule, row, "one outside")


def parse_number(value: object, row: int | None = None, what: str = "an answer") -> float:
    """Return one respondent's number as a double, infinite beyond the largest doubles."""
    if isinstance(value, bool) or not isinstance(value, numbers_.Real):
        raise AnswerError(f"{what} must be a number", row, type_in_words(value))
    try:
        number = float(value)
    except OverflowError:  # an integer that no double holds
        number = math.inf if value > 0 else -math.inf  # type: ignore[operator]
    if math.isnan(number):
        raise AnswerError(f"{what} must be a number", row, "NaN")
    return number


def as_number_column(values: object) -> NDArray[np.float64]:
    """Return one column of numbers, from any of the usual libraries."""
    given = answers(values)
    if given.dtype.kind not in "iuf":
        cells = enumerate(given.tolist())
        row, odd = next(
            ((i, v) for i, v in cells if isinstance(v, bool) or not _real(v)), (0, given[0])
        )
        raise AnswerError("values must be numbers", row, type_in_words(odd))
    with np.errstate(over="ignore"):  # longer floats may hold more than doubles do
        return given.astype(np.float64, copy=False)


def _real(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _finite(name: str, value: object) -> float:
    number = math.nan
    if _real(value) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # an integer that no double holds
            number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise InputError(f"{name} must be a finite number; got {format_value(value)}")
    return number
