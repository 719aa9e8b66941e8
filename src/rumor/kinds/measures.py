"""Unbiased quantities of a question, which analysts compare, weight and follow over time.

A kind's `compare.py` makes them from a summary. Shares of a choice, the mean of a number, and
mean, quantiles and running shares of ordered answers are rows of one table for every analysis.
Quantiles carry their distribution function, by which groups are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.survey import Scores
from rumor.mechanisms.cap_sampling import Kept

SHARE, MEAN, UP_TO, QUANTILE = "share", "mean", "up to", "quantile"


class DistributionFunction(Protocol):
    """A distribution function with confidence bounds, from which quantiles follow."""

    def quantile(self, share: float, z: float) -> tuple[float, float, float]:
        """Return the value that the `share` of answers does not exceed, with its interval
        at `z`.
        """
        ...

    def less(self, other: Self, share: float, z: float) -> tuple[float, float, float]:
        """Return this quantile at `share` less that of `other`, with its interval at `z`."""
        ...

    def p_value(self, other: Self, share: float) -> float:
        """Return the p-value of the difference between the quantiles of `self` and `other` at
        `share`.
        """
        ...

    def position(self, share: float) -> int:
        """Return the position of the quantile at `share`."""
        ...

    def up_to_names(self, positions: Sequence[int]) -> Sequence[str]:
        """Return the names of the events "answer is at most ...", by position."""
        ...

    @classmethod
    def weighted(cls, functions: Sequence[Self], weights: Sequence[float]) -> Self:
        """Return the distribution function of the weighted mean of groups of different people."""
        ...

    @classmethod
    def pooled(cls, functions: Sequence[Self]) -> Self:
        """Return the distribution function of one population from several independent sources."""
        ...


@dataclass(frozen=True)
class Quantiles:
    """The rows of a table that are quantiles, their shares, and their distribution function."""

    rows: Rows
    shares: Sequence[float]
    curve: DistributionFunction

    def inverted(self, z: float) -> Vector:
        """Return value, low and high of each quantile as three columns, at the normal
        quantile `z`.
        """
        return np.array([self.curve.quantile(share, z) for share in self.shares]).T


@dataclass(frozen=True)
class Measures:
    """The unbiased quantities of one group: their values, their names and the sample behind
    them.
    """

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    sample: Sample
    notes: tuple[str, ...] = ()
    """Sentences to show wherever these quantities are shown."""
    quantiles: Quantiles | None = None
    """The rows that are quantiles, with their distribution function."""
    function: Sample | None = None
    """The distribution function at every position, as the default method estimates it."""

    def noting(self, kept: Kept | None) -> Measures:
        """Return these measures with the note that only `kept` keys or options count, under
        a cap.
        """
        return self if kept is None else replace(self, notes=(*self.notes, kept.estimate_sentence))

    @classmethod
    def shares(cls, values: Sequence[str] | Sequence[int], sample: Sample) -> Measures:
        """Return measures with a share for each of `values`."""
        return cls(values, [SHARE] * len(values), sample)

    @classmethod
    def known(
        cls, parts: Mapping[str, tuple[Sequence[str] | Sequence[int], Vector, Vector]]
    ) -> Measures:
        """Return measures from `parts`: by quantity its values, its estimates and its standard
        errors.
        """
        values = [value for names, _, _ in parts.values() for value in names]
        quantities = [name for name, (names, _, _) in parts.items() for _ in names]
        mean, stderr = (np.concatenate([part[i] for part in parts.values()]) for i in (1, 2))
        return cls(values, quantities, Sample.known(mean, stderr))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ScoredQuantiles:
    """What each report says of a distribution function, from which quantiles follow."""

    shares: Sequence[float]
    function: Vector
    """Of each report, its score of the share up to each of some places."""
    curve: Callable[[Vector, Vector], DistributionFunction]
    """Returns the distribution function of these shares with these standard errors."""


@dataclass(frozen=True, eq=False)
class ScoredReports:
    """What each report says of the unbiased quantities of a question, for weighted means."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    scores: Scores
    notes: tuple[str, ...] = ()
    quantiles: ScoredQuantiles | None = None
    """Quantiles, whose rows follow those of the scores."""
