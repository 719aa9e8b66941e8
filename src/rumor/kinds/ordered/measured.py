"""What intervals of ordered answers assume of the distribution, and how they say so.

Reports cannot tell a smooth distribution from one of a few values each of which many people hold,
unless there are very many reports: between the two a test has hardly more power than chance. So
intervals assume nothing unless somebody says that answers are spread smoothly, which makes them
about half as long where it is true, and wrong where it is not.

One number that was learned of a distribution, with its interval.

What differs between the ordered answers of two groups of people, or of two days.

Quantiles differ as both distributions, inverted together, allow. The mean's difference is that of
the linear means: they are unbiased, so that unequal groups, of which the smaller is smoothed more,
cannot pose as a change. "Did anything change?" is asked of the reports themselves, without any law.
The groups must be of different people: reports of the same people go together, and these variances
would be too small.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rumor.core.checks import checked_choice
from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.bounds import Sides
from rumor.results.intervals import critical_value

if TYPE_CHECKING:
    from rumor.kinds.ordered.result import OrderedEstimate


NOTHING, SMOOTH = "nothing", "smooth"
ASSUMPTIONS = (NOTHING, SMOOTH)
DEFAULT = NOTHING


def checked_assumption(assume: object) -> str:
    """Return an assumption's name, the default one of None."""
    return DEFAULT if assume is None else checked_choice("assume", assume, ASSUMPTIONS)


def assumption_phrase(assume: str, heaps: bool) -> str:
    """Return under which condition intervals hold, as the end of a sentence."""
    if assume == NOTHING:
        return "whatever the distribution"
    apart = ", apart from the declared round numbers" if heaps else ""
    return f"if answers are spread smoothly{apart}"


@dataclass(frozen=True)
class PointEstimate:
    """A mean, a share or a quantile: the answer, its standard error and its interval."""

    value: float
    low: float
    high: float
    stderr: float
    level: float

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float]:
        """As plain data for JSON."""
        return asdict(self)


def subtract_independent(first: PointEstimate, second: PointEstimate, z: float) -> PointEstimate:
    """The difference of two that know nothing of each other: variances add."""
    value = first.value - second.value
    stderr = float((first.stderr**2 + second.stderr**2) ** 0.5)
    return PointEstimate(value, value - z * stderr, value + z * stderr, stderr, first.level)


@dataclass(frozen=True)
class DistributionDifference:
    """The first estimate minus the second."""

    first: OrderedEstimate
    second: OrderedEstimate

    def __post_init__(self) -> None:
        if self.first.scale.names() != self.second.scale.names():
            raise InputError(
                "distributions must be over the same positions to be compared; got two scales"
            )

    def mean(self, level: float = CONFIDENCE) -> PointEstimate:
        """Of the linear means."""
        z = critical_value(level, 1)
        one, other = (
            PointEstimate(each.unbiased, each.unbiased, each.unbiased, each.stderr, level)
            for each in (self.first, self.second)
        )
        return subtract_independent(one, other, z)

    def cdf(
        self, value: float | str, level: float = CONFIDENCE, *, assume: str | None = None
    ) -> PointEstimate:
        """Return the difference of the shares of answers up to a value."""
        one, other = self.first.up_to(value), self.second.up_to(value)
        return self._share(one, other, level, assume)

    def share(
        self,
        low: float | str,
        high: float | str | None = None,
        level: float = CONFIDENCE,
        *,
        assume: str | None = None,
    ) -> PointEstimate:
        """Return the difference of the shares of answers from one value to another."""
        one, other = self.first.between(low, high), self.second.between(low, high)
        return self._share(one, other, level, assume)

    def _share(self, one: Vector, other: Vector, level: float, assume: str | None) -> PointEstimate:
        z = critical_value(level, 1)
        sides = Sides.weighted(
            [self.first.sides(one[:, None], assume), self.second.sides(other[:, None], assume)],
            (1.0, -1.0),
        )
        low, high = (float(end[0]) for end in sides.ends(z, (-1.0, 1.0)))
        value = float(self.first.frequency @ one - self.second.frequency @ other)
        ends = min(low, value), max(high, value)
        return PointEstimate(value, *ends, float(sides.stderr(z)[0]), level)

    def quantile(
        self, share: float, level: float = CONFIDENCE, *, assume: str | None = None
    ) -> PointEstimate:
        """Return the difference of the values that a `share` of answers does not exceed."""
        z = critical_value(level, 1)
        curves = self.first.curve(assume), self.second.curve(assume)
        value, low, high = curves[0].less(curves[1], share, z)
        return PointEstimate(value, low, high, (high - low) / (2 * z), level)

    @functools.cached_property
    def p_value(self) -> float:
        """The probability of reports that differ as much, if nothing changed."""
        from rumor.kinds.ordered.compare import smooth_test

        if self.first.band != self.second.band:
            raise InputError(
                "whether anything changed is asked of reports of one mechanism; got two"
            )
        return smooth_test(self.first.band, self.first.counts, self.second.counts).p_value
