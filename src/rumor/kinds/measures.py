"""What analysts compare, weigh and follow of a question: unbiased quantities, by name.

A kind's `compare.py` makes them of a summary. Shares of a choice, the mean of a number, mean,
quantiles and running shares of ordered answers: to everybody else they are rows alike. Quantiles
bring the distribution that they are of, which is what groups are put together by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.groups import Sample
from rumor.mechanisms.cap_sampling import Kept

SHARE, MEAN, UP_TO, QUANTILE = "share", "mean", "up to", "quantile"


class DistributionFunction(Protocol):
    """A distribution function that knows how sure it is, and has quantiles."""

    def quantile(self, share: float, z: float) -> tuple[float, float, float]:
        """Return the value that a share of answers does not exceed, and its interval's ends."""
        ...

    def less(self, other: Self, share: float, z: float) -> tuple[float, float, float]:
        """Return this quantile of a share less the `other` one, and the interval's ends."""
        ...

    def p_value(self, other: Self, share: float) -> float:
        """Return how often chance alone moves the quantiles of a share apart as far as this."""
        ...

    def position(self, share: float) -> int:
        """Return the position in which the answer reaches a share."""
        ...

    def up_to_names(self, positions: Sequence[int]) -> Sequence[str]:
        """Return the names of all answers up to these positions."""
        ...

    @classmethod
    def weighted(cls, functions: Sequence[Self], weights: Sequence[float]) -> Self:
        """Return the distribution function of the weighted mean of different people's."""
        ...

    @classmethod
    def pooled(cls, functions: Sequence[Self]) -> Self:
        """Return the distribution function of one population from several sources of it."""
        ...


@dataclass(frozen=True)
class Quantiles:
    """Which rows are quantiles, of which shares, of which distribution function."""

    rows: Rows
    shares: Sequence[float]
    curve: DistributionFunction

    def inverted(self, z: float) -> Vector:
        """Return value and both ends of each quantile, a column for each."""
        return np.array([self.curve.quantile(share, z) for share in self.shares]).T


@dataclass(frozen=True)
class Measures:
    """Quantities of one group: what each is, of which value, and what the reports say."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    sample: Sample
    notes: tuple[str, ...] = ()
    """What must be said wherever these quantities are shown."""
    quantiles: Quantiles | None = None
    """The rows that are quantiles, with the distribution that they are of."""
    function: Sample | None = None
    """That distribution's function at every position, as the default method has it."""

    def noting(self, kept: Kept | None) -> Measures:
        """Add that only kept keys or options are counted, where there is a cap."""
        return self if kept is None else replace(self, notes=(*self.notes, kept.estimate_sentence))

    @classmethod
    def shares(cls, values: Sequence[str] | Sequence[int], sample: Sample) -> Measures:
        """A share for each value."""
        return cls(values, [SHARE] * len(values), sample)

    @classmethod
    def known(
        cls, parts: Mapping[str, tuple[Sequence[str] | Sequence[int], Vector, Vector]]
    ) -> Measures:
        """By quantity: values, estimates and their standard errors."""
        values = [value for names, _, _ in parts.values() for value in names]
        quantities = [name for name, (names, _, _) in parts.items() for _ in names]
        mean, stderr = (np.concatenate([part[i] for part in parts.values()]) for i in (1, 2))
        return cls(values, quantities, Sample.known(mean, stderr))  # type: ignore[arg-type]
