"""Ordered answers: labels from the least to the most, or a range cut into bins.

Either way an answer is a position 0..D-1, and position x covers the stretch from x to x + 1 of a
line of length D. `at` says what a point of that line is worth: the middle of a position is what
its people hold. Whole numbers are bins of length 1 around each of them.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import encode, one_code, split_domain
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.core.number_range import NumberGrid, as_number_column, parse_number
from rumor.core.types import Codes, Vector
from rumor.core.typing import override
from rumor.mechanisms.edge_values import BEYOND, edge_items, edge_points

MIN_POSITIONS, MAX_POSITIONS = 2, 4096
# The most positions that laws enumerate one by one; of more, they take a spread.
_FEW = 64
# The most whole numbers that have a position each.
_WHOLE = 1024
# The number of bins of any other range, by default.
_BINS = 250
# How far a round number may lie from the beginning of a bin, in bins: the rounding of doubles.
_EXACT = 1e-6


class Scale(abc.ABC):
    """Positions in their order, and the answers that belong to each of them."""

    domain: int
    """The number of positions."""
    start: float
    """The value at the start of the line."""
    unit: float
    """The length of one position."""
    labels: tuple[str, ...] | None = None
    whole: bool
    """Whether people hold exactly the values of the middles, such as whole numbers."""
    numeric: bool = True
    """Whether answers have a numeric value, and not only a place."""

    @abc.abstractmethod
    def codes(self, values: object) -> Codes:
        """Return the positions of a column of answers."""

    @abc.abstractmethod
    def code(self, value: object) -> int:
        """Return the position of one person's answer."""

    @abc.abstractmethod
    def inputs(self) -> Sequence[object]:
        """Return an answer for each position, or for a spread of positions if there are many."""

    @abc.abstractmethod
    def edge_values(self) -> Sequence[object]:
        """Return answers at the ends and in between."""

    @abc.abstractmethod
    def names(self) -> Sequence[str]:
        """Return the names of the positions."""

    @abc.abstractmethod
    def parameters(self) -> dict[str, Json]:
        """Return the scale as a contract writes it."""

    @property
    @abc.abstractmethod
    def answers_in_words(self) -> str:
        """The answers that a person may give, in words."""

    def notes(self, value: object) -> tuple[str, ...]:
        """Return sentences that say how an answer was taken."""
        return ()

    def labelled(self, labels: tuple[str, ...]) -> Scale:
        """Return a copy whose positions have these `labels`."""
        raise InputError("labels are for steps in their order; got them for a range of numbers")

    def unlabelled(self) -> Scale:
        """Return a copy whose positions are known by their numbers."""
        return self

    def round_marks(self, spacing: float) -> tuple[int, int]:
        """Return the number of positions between two round numbers
        `spacing` apart, and the first one.
        """
        raise InputError(f"round is for a range of numbers; got {format_value(spacing)} for labels")

    def range_name(self, first: int, end: int) -> str:
        """Return the common name of the positions from `first` to before `end`."""
        names = self.names()
        return f"{names[first]} to {names[min(end, self.domain) - 1]}"

    def up_to_names(self, positions: Sequence[int]) -> list[str]:
        """Return the upper ends of the positions: their own names, or the ends of their bins."""
        names = self.names()
        return [names[i] if self.whole else f"{self.at(i + 1):g}" for i in positions]

    def at(self, point: float | NDArray[np.number]) -> Vector:
        """Return the value of a point of the line from 0 to D."""
        return np.asarray(self.start + self.unit * np.asarray(point, np.float64))

    def point(self, value: float) -> float:
        """Return the point of the line that a value stands at, kept within it."""
        return min(max((value - self.start) / self.unit, 0.0), float(self.domain))

    @functools.cached_property
    def middles(self) -> Vector:
        """The values of the middles of the positions."""
        return self.at(np.arange(self.domain) + 0.5)


class Steps(Scale):
    """Labels in their order; without labels, the integers 0..D-1.

    Labels that are equally spaced numbers have their own values; others have their place, from 1.
    """

    whole = True

    def __init__(self, domain: object, labels: tuple[str, ...] | None = None) -> None:
        self.domain = checked_size("the number of labels", domain, MIN_POSITIONS, MAX_POSITIONS)
        self.labels, worth = labels, None
        if labels is not None:
            checked_size("the number of labels", len(labels), self.domain, self.domain)
            worth = _equally_spaced(labels)
        self.numeric = worth is not None
        first, self.unit = worth or (1.0, 1.0)
        self.start = first - self.unit / 2

    @functools.cached_property
    def _positions(self) -> dict[str, int] | None:
        return None if self.labels is None else {x: i for i, x in enumerate(self.labels)}

    @override
    def codes(self, values: object) -> Codes:
        return encode(values, self.domain, self._positions)

    @override
    def code(self, value: object) -> int:
        return one_code(self.codes, value, f"an answer must be {self.answers_in_words}")

    @override
    def inputs(self) -> Sequence[object]:
        return range(self.domain) if self.labels is None else self.labels

    @override
    def edge_values(self) -> Sequence[object]:
        return edge_items(self.domain, self.labels, (0, 1, self.domain - 1))

    @override
    def labelled(self, labels: tuple[str, ...]) -> Steps:
        return Steps(self.domain, labels)

    @override
    def unlabelled(self) -> Steps:
        return self if self.labels is None else Steps(self.domain)

    @override
    def names(self) -> Sequence[str]:
        return [str(name) for name in self.inputs()]

    def parameters(self) -> dict[str, Json]:
        """Return the number of labels; the labels themselves stand in the contract's question."""
        return {"bins": self.domain}

    @property
    @override
    def answers_in_words(self) -> str:
        if self.labels is None:
            return f"an integer from 0 to {self.domain - 1:,}"
        return "one of the labels"


@dataclass(frozen=True)
class _Floors(NumberGrid):
    """A grid whose value goes to the bin that it lies in, the high end to the last."""

    HALF: ClassVar[float] = 0.0

    @property
    @override
    def last(self) -> int:
        return self.steps - 1


class Bins(Scale):
    """A range cut into bins of one length; numbers beyond it go to the bins at its ends."""

    def __init__(self, low: object, high: object, bins: object, outside: object) -> None:
        self.domain = checked_size("bins", bins, MIN_POSITIONS, MAX_POSITIONS)
        self.grid = _Floors.create(low, high, self.domain, outside)
        self.start, self.unit = self.grid.low, self.grid.span / self.domain
        self.whole = self.unit == 1.0 and (self.start + 0.5).is_integer()

    @classmethod
    def of_whole_numbers(cls, low: float, high: float, outside: object) -> Self:
        """Return a bin for each whole number from one to another."""
        return cls(low - 0.5, high + 0.5, round(high - low) + 1, outside)

    @override
    def codes(self, values: object) -> Codes:
        return self.grid.codes(as_number_column(values))

    @override
    def code(self, value: object) -> int:
        return self.grid.step(value)

    @override
    def inputs(self) -> Sequence[object]:
        few = min(self.domain, _FEW if self.domain <= _FEW else 8)
        last = self.domain - 1
        return [float(self.at(last * i // (few - 1) + 0.5)) for i in range(few)]

    @override
    def edge_values(self) -> Sequence[object]:
        return [*edge_points(float(self.at(0)), float(self.at(self.domain))), *BEYOND]

    @override
    def names(self) -> Sequence[str]:
        if self.whole:
            return [f"{middle:.0f}" for middle in self.middles]
        ends = self._ends()
        return [f"{low} to {high}" for low, high in itertools.pairwise(ends)]

    def _ends(self) -> list[str]:
        digits = min(max(0, 1 - math.floor(math.log10(self.unit))), 12)
        return [np.format_float_positional(end, digits, trim="-") for end in self.edges]

    def range_name(self, first: int, end: int) -> str:
        """Return the range of the positions from `first` to before
        `end`, or the whole numbers in it.
        """
        if self.whole:
            return super().range_name(first, end)
        ends = self._ends()
        return f"{ends[first]} to {ends[min(end, self.domain)]}"

    @property
    def edges(self) -> Vector:
        """The values at which bins begin and end."""
        return self.at(np.arange(self.domain + 1))

    def parameters(self) -> dict[str, Json]:
        """Return the range, its bins, and the rule for a number outside."""
        said = self.grid.parameters()
        return {"bins": self.domain, "range": said["range"], "outside": said["outside"]}

    @property
    @override
    def answers_in_words(self) -> str:
        if self.whole:
            return f"a whole number from {self.grid.low + 0.5:.0f} to {self.grid.high - 0.5:.0f}"
        return f"a number from {self.grid.range_text}"

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if a number was taken as an end of the range."""
        told = "the number lies outside the range and was taken as the nearest end"
        return (told,) if self.grid.is_clipped(value) else ()

    def round_marks(self, spacing: float) -> tuple[int, int]:
        """Return the number of bins between two multiples of `spacing`, and the first of them.

        Each multiple must begin a bin, or be a whole number with a bin of its own.
        """
        apart = spacing / self.unit
        first = (math.ceil(self.start / spacing - _EXACT) * spacing - self.start) / self.unit
        middle = 0.5 if self.whole else 0.0
        off = max(abs(apart - round(apart)), abs(first - middle - round(first - middle)))
        if round(apart) < 2 or off > _EXACT * self.domain or round(first + apart) >= self.domain:
            raise InputError(
                f"round must be a number of which whole multiples begin a bin, at least two bins "
                f"apart and two of them within the range; got {format_value(spacing)} for bins "
                "of length "
                f"{self.unit:g} from {self.start:g}"
            )
        return round(apart), math.floor(first + _EXACT * self.domain)


def scale_from_contract(bins: object, range: Sequence[object] = ()) -> Scale:
    """Return the scale that a contract writes: the number of positions, or range and outside."""
    if not range:
        return Steps(checked_size("bins", bins, MIN_POSITIONS, MAX_POSITIONS))
    ends, outside = range
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise InputError(f"range must be a list of two numbers; got {format_value(ends)}")
    return Bins(ends[0], ends[1], bins, outside)


def scale_from_spec(
    labels: object = None,
    low: object = None,
    high: object = None,
    bins: object = None,
    outside: object = None,
) -> Scale:
    """Return the scale of a specification: labels, or the ends of a range and perhaps its bins.

    By default each whole number between whole ends has a bin, as long as they are few; any other
    range has 250 bins.
    """
    if labels is not None:
        said = {"low": low, "high": high, "bins": bins, "outside": outside}
        odd = [name for name, value in said.items() if value is not None]
        if odd:
            raise InputError(f"labels have no {odd[0]}; got {format_value(said[odd[0]])}")
        return Steps(*split_domain(labels, MIN_POSITIONS, MAX_POSITIONS))
    if low is None or high is None:
        raise InputError(
            "ordered answers must have labels in their order, or a low and a high end; got neither"
        )
    beyond = "clip" if outside is None else outside
    if bins is not None:
        return Bins(low, high, bins, beyond)
    # Checks the ends before anything is made of them.
    plain = Bins(low, high, _BINS, beyond)
    first, last = plain.grid.low, plain.grid.high
    if first.is_integer() and last.is_integer() and last - first < _WHOLE:
        return Bins.of_whole_numbers(first, last, beyond)
    return plain


def checked_spacing(value: object) -> float:
    """Return the distance of round numbers if it is finite and
    above 0, else raise an InputError.
    """
    with contextlib.suppress(AnswerError):
        number = parse_number(value)
        if 0 < number < math.inf:
            return number
    raise InputError(
        f"round must be a number above 0, or a list of them; got {format_value(value)}"
    )


def _equally_spaced(labels: Sequence[str]) -> tuple[float, float] | None:
    """Return the first of equally spaced numbers and their distance; None for other labels."""
    try:
        worth = [float(label) for label in labels]
    except ValueError:
        return None
    gaps = np.diff(worth)
    equal = np.isfinite(worth).all() and gaps[0] > 0 and np.allclose(gaps, gaps[0], rtol=1e-9)
    return (worth[0], float(gaps[0])) if equal else None
