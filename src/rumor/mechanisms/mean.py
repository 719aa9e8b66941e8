"""Means of one number: the part that all mechanisms for a mean share.

They act on the integer step j = 0..G of a value on its grid, so that their channels are
rational and their privacy is exact; they are unbiased, and the mean of many reports has the
variance that `variance` states. Each has a file of its own; the registry names them.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.canonical import Json
from rumor.core.errors import InputError
from rumor.core.number_range import (
    GRID_PARAMETERS,
    MAX_STEPS,
    NumberGrid,
    as_number_column,
    parse_number,
)
from rumor.core.reports import Reports
from rumor.core.types import Codes, Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.edge_values import BEYOND, edge_points
from rumor.mechanisms.poisoning import PoisoningTarget
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.shapes import DeclaredParameters


@dataclass(frozen=True)
class BinomialShare:
    """A mean that is the share of ones among independent coins, stretched by a line.

    `zero` is the mean that a share of 0 stands for, `one` that of a share of 1.
    """

    share: float
    zero: float
    one: float


class MeanMechanism(DeclaredParameters):
    """A mechanism from which the mean of one number is learned."""

    kind = "number"
    _DOMAIN_NAMES = GRID_PARAMETERS

    _poisoning_target = PoisoningTarget("the mean", share=False)
    grid: NumberGrid

    def __init__(
        self,
        *,
        low: float = -1.0,
        high: float = 1.0,
        epsilon: float,
        outside: str = "refuse",
        steps: int = MAX_STEPS,
    ) -> None:
        """Take values from `low` to `high`; tables with others are
        refused, or clipped by `outside`.
        """
        self.grid = NumberGrid.create(low, high, steps, outside)
        self._calibrate(epsilon)

    def _domain_parameters(self) -> dict[str, Json]:
        return self.grid.parameters()

    def _load_domain(self, *grid: object) -> None:
        self.grid = NumberGrid.from_parameters(*grid)

    @abc.abstractmethod
    def _calibrate(self, epsilon: float) -> None:
        """Set the thresholds that keep this epsilon on the grid, or refuse it.

        A range and an epsilon are enough to make each mechanism, so that "auto" can choose.
        """

    def inputs(self) -> Sequence[object]:
        """Return the points of the grid (a spread of them if there are many)."""
        return self.grid.points()

    @override
    def edge_values(self) -> Sequence[object]:
        points = edge_points(self.grid.low, self.grid.high)
        return [*points, *BEYOND] if self.grid.outside == "clip" else points

    def encode(self, values: object) -> Codes:
        """Return numbers as steps of the grid."""
        return self.grid.codes(as_number_column(values))

    def code(self, value: object) -> int:
        """Return one person's number as a step of the grid, clipped to its ends."""
        return self.grid.step(value)

    def identity(self, value: object) -> str:
        """Return the number in one form: 5 and 5.0 are one value."""
        return repr(parse_number(value))

    def notes(self, value: object) -> tuple[str, ...]:
        """Return a sentence if the number was taken as an end of the range."""
        told = f"the number lies outside {self.grid.range_text} and was taken as the nearest end"
        return (told,) if self.grid.is_clipped(value) else ()

    @abc.abstractmethod
    def moments(self, tally: Tally, reports: int) -> tuple[float, float]:
        """Return the unbiased mean and the variance of one report's estimate, as observed."""

    @abc.abstractmethod
    def variance(self, value: float | Vector, reports: int = 1) -> Vector:
        """Return the exact variance of the mean of `reports` reports of people who hold `value`."""

    @property
    def worst_variance(self) -> float:
        """The variance of one report at the value where it is largest."""
        ends = np.array([self.grid.low, self.grid.middle, self.grid.high])
        return float(self.variance(ends).max())

    @property
    def least_variance(self) -> float:
        """The variance of one report at the value where it is smallest."""
        ends = np.array([self.grid.low, self.grid.middle, self.grid.high])
        return float(self.variance(ends).min())

    def binomial(self, tally: Tally, reports: int) -> BinomialShare | None:
        """Return the mean as a binomial share if every report is a single coin, else None."""
        return None

    def estimates(self, reports: Reports) -> Vector:
        """Return the mean that each of these reports gives on its own."""
        return np.array([self.moments(self.tally(row[None]), 1)[0] for row in reports])

    @functools.cached_property
    def furthest_estimate(self) -> float:
        """The largest estimate that a single report can give, far above the range."""
        return float(self._furthest_estimates.max())

    @functools.cached_property
    def lowest_estimate(self) -> float:
        """The smallest estimate that a single report can give, far below the range."""
        return float(self._furthest_estimates.min())

    @functools.cached_property
    def _furthest_estimates(self) -> Vector:
        if list(self.publics()) != [b""]:  # `outputs` has those of one public part alone
            raise InputError(f"no bound on fake clients is known for {self!r}")
        return self.estimates(self.furthest_outputs())

    def furthest_outputs(self) -> Reports:
        """Return outputs among which are those of the largest and the smallest estimate.

        By default all outputs are returned. A mechanism with a million outputs should return few,
        since each is evaluated on its own.
        """
        return self.outputs()

    def _fake_gain(self, reports: int, fakes: int) -> float:
        """Return the distance from the low end to the furthest
        estimate of one report, for each fake.
        """
        return fakes / reports * (self.furthest_estimate - self.grid.low)

    def _fake_loss(self, reports: int, fakes: int) -> float:
        """Return the distance from the high end to the lowest
        estimate of one report, for each fake.
        """
        return fakes / reports * (self.grid.high - self.lowest_estimate)


def mean_mechanisms() -> tuple[type[MeanMechanism], ...]:
    """Return every registered mechanism for the mean of one number."""
    return tuple(kind for kind in mechanisms_of_kind("number") if issubclass(kind, MeanMechanism))


def choose_mean(
    *,
    epsilon: float,
    low: float = -1.0,
    high: float = 1.0,
    outside: str = "refuse",
    steps: int = MAX_STEPS,
) -> MeanMechanism:
    """Return the registered mechanism whose worst variance over the range is the smallest."""
    made = [
        kind(low=low, high=high, epsilon=epsilon, outside=outside, steps=steps)
        for kind in mean_mechanisms()
    ]
    return min(made, key=lambda mechanism: mechanism.worst_variance)
