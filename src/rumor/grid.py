"""Numbers on a grid: a range cut into equal steps, so that channels on it are exact.

A value v of [low, high] stands at the step j = floor((v - low) (steps / (high - low)) + 1/2),
computed in doubles; everything random that follows is a function of the integer j. The
default of 2**20 steps moves a value by at most half a millionth of the range, far below
what any crowd's noise can show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.canonical import Json
from rumor.errors import InputError, shown
from rumor.values import Codes, as_column, checked_size

MAX_STEPS = 1 << 20
_LARGEST = 1e100
OUTSIDE = ("refuse", "clip")
# Grids with fewer steps than this are written out by the laws.
_FEW = 64


@dataclass(frozen=True)
class Grid:
    """The range of a number, its steps, and what becomes of a value outside."""

    low: float
    high: float
    steps: int
    outside: str

    @classmethod
    def checked(cls, low: object, high: object, steps: object, outside: object) -> Self:
        """A grid from what people say, or the sentence that says why not."""
        ends = [_finite(name, end) for name, end in (("low", low), ("high", high))]
        if not ends[0] < ends[1] or not math.isfinite(ends[1] - ends[0]):
            raise InputError(f"low must be below high; got {shown(low)} and {shown(high)}")
        if not isinstance(outside, str) or outside not in OUTSIDE:
            raise InputError(f"outside must be one of {', '.join(OUTSIDE)}; got {shown(outside)}")
        if max(abs(ends[0]), abs(ends[1])) > _LARGEST:
            raise InputError(
                f"low and high must be from -{_LARGEST:g} to {_LARGEST:g}, so that squares of "
                f"errors can be told; got {shown(low)} and {shown(high)}"
            )
        return cls(ends[0], ends[1], checked_size("steps", steps, 1, MAX_STEPS), outside)

    @classmethod
    def from_parameters(cls, ends: object, steps: object, outside: object) -> Self:
        """A grid as a contract writes it."""
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:
            raise InputError(f"range must be a list of two numbers; got {shown(ends)}")
        return cls.checked(ends[0], ends[1], steps, outside)

    def parameters(self) -> dict[str, Json]:
        """What a contract says of the grid."""
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

    def at(self, step: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """The value at a step (or between steps)."""
        return np.asarray(self.low + self.span * (np.asarray(step, np.float64) / self.steps))

    def points(self) -> list[float]:
        """Every value of a small grid; a spread of them, both ends included, of a large one."""
        few = min(self.steps, _FEW if self.steps <= _FEW else 8)
        return [float(self.at(self.steps * i // few)) for i in range(few + 1)]

    def codes(self, values: NDArray[np.float64]) -> Codes:
        """The steps of an array of numbers; NaN and (unless clipped) strangers are refused."""
        missing = int(np.isnan(values).sum())
        if missing:
            raise InputError(f"values must be numbers; got {missing} missing (NaN)")
        if self.outside == "refuse":
            wrong = (values < self.low) | (values > self.high)
            if wrong.any():
                raise self.refusal(float(values[wrong].flat[0]))
        inside = np.clip(values, self.low, self.high)
        steps = np.floor((inside - self.low) * self.scale + 0.5)
        return np.minimum(steps, self.steps).astype(np.int64)

    def refusal(self, value: float) -> InputError:
        """The sentence for a value outside."""
        return InputError(
            f'values must lie in {self.low:g} to {self.high:g} (or be clipped: outside = "clip"); '
            f"got {value!r}"
        )


def numbers(values: object) -> NDArray[np.float64]:
    """One column of numbers, from any of the usual libraries."""
    given = as_column(values)
    if given.ndim != 1:
        raise InputError(f"values must be one column; got an array of shape {given.shape}")
    if given.size == 0:
        raise InputError("values must hold at least one answer; got an empty batch")
    if given.dtype.kind not in "iuf":
        odd = next((v for v in given.tolist() if isinstance(v, bool) or not _real(v)), given[0])
        raise InputError(f"values must be numbers; got {shown(odd)}")
    return given.astype(np.float64, copy=False)


def _real(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _finite(name: str, value: object) -> float:
    if isinstance(value, bool) or not _real(value) or not math.isfinite(value):  # type: ignore[arg-type]
        raise InputError(f"{name} must be a finite number; got {shown(value)}")
    return float(value)  # type: ignore[arg-type]
