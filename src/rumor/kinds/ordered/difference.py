"""What differs between the ordered answers of two groups of people, or of two days.

The mean's difference is that of the linear means: they are unbiased, so that unequal groups, of
which the smaller is smoothed more, cannot pose as a change. "Did anything change?" is asked of the
reports themselves, without any law. The groups must be of different people: reports of the same
people go together, and these variances would be too small.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.core.errors import InputError
from rumor.kinds.ordered.measured import Measured, minus
from rumor.results.intervals import critical_value

if TYPE_CHECKING:
    from rumor.kinds.ordered.result import OrderedEstimate


@dataclass(frozen=True)
class Difference:
    """The first estimate minus the second."""

    first: OrderedEstimate
    second: OrderedEstimate

    def __post_init__(self) -> None:
        if self.first.scale.names() != self.second.scale.names():
            raise InputError(
                "distributions must be over the same positions to be compared; got two scales"
            )

    def mean(self, level: float = 0.95) -> Measured:
        """Of the linear means."""
        z = critical_value(level, 1)
        one, other = (
            Measured(each.unbiased, each.unbiased, each.unbiased, each.stderr, level)
            for each in (self.first, self.second)
        )
        return minus(one, other, z)

    def cdf(self, value: float | str, level: float = 0.95) -> Measured:
        """Of the shares of answers up to a value."""
        z = critical_value(level, 1)
        return minus(self.first.cdf(value, level), self.second.cdf(value, level), z)

    def share(
        self, low: float | str, high: float | str | None = None, level: float = 0.95
    ) -> Measured:
        """Of the shares of answers from one value to another."""
        z = critical_value(level, 1)
        return minus(self.first.share(low, high, level), self.second.share(low, high, level), z)

    def quantile(self, share: float, level: float = 0.95) -> Measured:
        """Of quantiles."""
        z = critical_value(level, 1)
        return minus(self.first.quantile(share, level), self.second.quantile(share, level), z)

    @functools.cached_property
    def p_value(self) -> float:
        """The probability of reports that differ as much, if nothing changed."""
        from rumor.estimators.ordered.change import changed

        if self.first.band != self.second.band:
            raise InputError(
                "whether anything changed is asked of reports of one mechanism; got two"
            )
        return changed(self.first.band, self.first.counts, self.second.counts).p_value
