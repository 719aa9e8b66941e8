"""The wave: a position near the true one, or anywhere else, for answers that have an order.

Li et al. 2020 (the square wave), on integers and with a width of its own.

Model and privacy: that of windowed.py, on the positions 0..D-1 of a scale. The window is next
to D/2 e**(-epsilon/2); of one output, it is randomised response. The mean of outputs is linear in
the position, hence an unbiased mean of positions beside whatever is made of the counts.
Report: an output as a little-endian integer in 1 or 2 bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels
from rumor.core.errors import InputError
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.shapes import CountedIntegers, EncodedAnswers, exact_parameters
from rumor.mechanisms.wave.band import Band
from rumor.mechanisms.wave.scale import Scale, checked_spacing, scale_from_contract, scale_from_spec
from rumor.mechanisms.windowed import WindowedResponse

_MOST_SPACINGS = 3
# Parameters that only a scale of numbers has.
RANGE = ("range", "outside")


class Wave(EncodedAnswers, WindowedResponse, CountedIntegers):
    """A position near the true one, or anywhere else: distributions of ordered answers."""

    name = "wave"
    kind = "ordered"
    OPTIONS = ("window",)
    _poisoning_target = PoisoningTarget("the mean", share=False)

    def __init__(
        self,
        *,
        labels: int | Sequence[str] | None = None,
        low: float | None = None,
        high: float | None = None,
        bins: int | None = None,
        outside: str | None = None,
        epsilon: float,
        round_to: float | Sequence[float] = (),
        window: int | None = None,
    ) -> None:
        """Make a wave for labels in their order (or their number),
        or for a range, perhaps with bins.

        `round_to` are distances of numbers that people round to, in the unit of the range.
        """
        scale = scale_from_spec(labels, low, high, bins, outside)
        self._describe(scale, _spacings(round_to))
        if window is None:
            half = exact.exp(exact.checked_epsilon(epsilon) / 2)
            window = _best_window(Fraction(scale.domain, 2) / half, scale.domain, self.marks)
        self.window = checked_size("window", window, 1, scale.domain)
        self.inside = self.best_inside(self.window, epsilon)

    def _describe(self, scale: Scale, spacings: tuple[float, ...]) -> None:
        self.scale, self.labels, self.spacings = scale, scale.labels, spacings
        self.marks = tuple(scale.round_marks(spacing) for spacing in spacings)

    @property
    def domain(self) -> int:
        """The number of positions."""
        return self.scale.domain

    @property
    @override
    def others(self) -> int:
        return self.domain - 1

    @override
    def parameters(self) -> dict[str, Json]:
        return {**self.scale.parameters(), "window": self.window, "inside": str(self.inside)}

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        numbers = RANGE if any(key in parameters for key in RANGE) else ()
        keys = ("window", "inside", "bins", *numbers)
        window, inside, bins, *range = exact_parameters(cls.name, parameters, *keys)
        self = cls.__new__(cls)
        self._describe(scale_from_contract(bins, range), ())
        self.window = checked_size("window", window, 1, self.domain)
        self.inside = self.checked_inside(self.window, inside)
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with labels, windows of one output and
        several, and whole and round numbers.
        """
        return [
            cls(labels=2, epsilon=1.0),
            cls(labels=5, epsilon=0.5),
            cls(labels=7, epsilon=4.0),
            cls(low=0.0, high=24.0, bins=12, epsilon=1.0),
            cls(low=0, high=20, epsilon=1.0, round_to=5, outside="refuse"),
            cls(low=-1.0, high=1.0, bins=250, epsilon=2.0),
        ]

    def with_labels(self, labels: Sequence[object]) -> Self:
        """Return a copy whose positions have these `labels`."""
        return self._as(self.scale.labelled(checked_labels(labels)), self.spacings)

    def rounded_to(self, spacings: Sequence[object]) -> Self:
        """Return a copy for people who round to multiples of these numbers.

        No report depends on such rounding, so a contract states it beside the mechanism.
        """
        return self._as(self.scale, _spacings(spacings))

    @override
    def without_labels(self) -> Self:
        return self._as(self.scale.unlabelled(), self.spacings)

    def _as(self, scale: Scale, spacings: tuple[float, ...]) -> Self:
        other = type(self).__new__(type(self))
        other._describe(scale, spacings)
        other.window, other.inside = self.window, self.inside
        return other

    @property
    def _encoding(self) -> Scale:
        """The encoding of answers as positions: numbers of one bin are alike."""
        return self.scale

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if the number was taken as an end of the range."""
        return self.scale.notes(value)

    @functools.cached_property
    def band(self) -> Band:
        """The channel as doubles."""
        inside, outside = float(self.exact_inside), float(self.exact_outside)
        return Band(self.domain, self.window, inside, outside)

    def mean_position(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return the unbiased mean of positions, and the variance
        of one report's estimate of it.
        """
        start, slope = self.line
        counts = [int(count) for count in tally]
        first = Fraction(sum(y * count for y, count in enumerate(counts)), reports)
        second = Fraction(sum(y * y * count for y, count in enumerate(counts)), reports)
        return float((first - start) / slope), float((second - first**2) / slope**2)

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the distance from the first position to the last
        output's estimate, for each fake.
        """
        start, slope = self.line
        return fakes / reports * self.scale.unit * float((self.alphabet - 1 - start) / slope)

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the distance from the last position to the first
        output's estimate, for each fake.
        """
        start, slope = self.line
        return fakes / reports * self.scale.unit * float(self.domain - 1 + start / slope)


def _spacings(spec: object) -> tuple[float, ...]:
    listed = list(spec) if isinstance(spec, (list, tuple)) else [spec]
    if len(listed) > _MOST_SPACINGS:
        raise InputError(f"round must be at most {_MOST_SPACINGS} numbers; got {len(listed)}")
    return tuple(sorted(checked_spacing(one) for one in listed))


def _best_window(ideal: Fraction, domain: int, marks: Sequence[tuple[int, int]]) -> int:
    """Return the window next to the ideal one, chosen so that round numbers cancel.

    If numbers are round, it is half their distance beyond a multiple of that distance. Over a
    window of a whole multiple each position sees as many round numbers as any other.
    """
    nearest = min(max(1, round(ideal)), domain)
    if not marks:
        return nearest
    apart, _ = marks[0]
    fitting = range(max(1, round(apart / 2)), domain + 1, apart)
    return min(fitting, key=lambda window: abs(window - nearest), default=nearest)
