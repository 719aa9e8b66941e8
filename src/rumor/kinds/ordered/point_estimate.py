"""Point estimates of ordered answers with intervals, and differences between groups.

Intervals may assume that the distribution is smooth. Reports cannot tell a smooth distribution
from one of a few values each of which many people have, unless there are very many reports:
between the two a test has hardly more power than chance. So intervals assume nothing unless an
analyst says that answers are spread smoothly, which makes them about half as long where it is
true, and wrong where it is not.

Differences are between the ordered answers of two groups of people, or of two days. Quantiles
differ as both distributions, inverted together, allow. The mean's difference is that of the linear
means: they are unbiased, so that unequal groups, of which the smaller is smoothed more, cannot
pose as a change. The omnibus test uses the reports themselves, without any prior. The groups must
be of different people: reports of one person are dependent, and these variances would be too
small.
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
    """Return the assumption's name, by default that which assumes nothing."""
    return DEFAULT if assume is None else checked_choice("assume", assume, ASSUMPTIONS)


def assumption_phrase(assume: str, heaps: bool) -> str:
    """Return the condition under which intervals hold, as the end of a sentence."""
    if assume == NOTHING:
        return "whatever the distribution"
    apart = ", apart from the declared round numbers" if heaps else ""
    return f"if answers are spread smoothly{apart}"


@dataclass(frozen=True)
class PointEstimate:
    """A mean, a share or a quantile: the estimate, its standard error and its interval."""

    value: float
    low: float
    high: float
    stderr: float
    level: float

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as plain data for JSON."""
        return asdict(self)


def subtract_independent(first: PointEstimate, second: PointEstimate, z: float) -> PointEstimate:
    """Return the difference of two independent estimates, whose variances add."""
    value = first.value - second.value
    stderr = float((first.stderr**2 + second.stderr**2) ** 0.5)
    return PointEstimate(value, value - z * stderr, value + z * stderr, stderr, first.level)


@dataclass(frozen=True)
class DistributionDifference:
    """The difference of two estimates of ordered answers: the first minus the second."""

    first: OrderedEstimate
    second: OrderedEstimate

    def __post_init__(self) -> None:
        if self.first.scale.names() != self.second.scale.names():
            raise InputError(
                "distributions must be over the same positions to be compared; got two scales"
            )

    def mean(self, level: float = CONFIDENCE) -> PointEstimate:
        """Return the difference of the linear means."""
        z = critical_value(level, 1)
        one, other = (
            PointEstimate(each.unbiased, each.unbiased, each.unbiased, each.stderr, level)
            for each in (self.first, self.second)
        )
        return subtract_independent(one, other, z)

    def cdf(
        self, value: float | str, level: float = CONFIDENCE, *, assume: str | None = None
    ) -> PointEstimate:
        """Return the difference of the shares of answers up to `value`."""
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
        """Return the difference of the shares of answers from `low` to `high`."""
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
        """Return the p-value of the test that the two groups differ in nothing."""
        from rumor.kinds.ordered.compare import smooth_test

        if self.first.band != self.second.band:
            raise InputError(
                "whether anything changed is asked of reports of one mechanism; got two"
            )
        return smooth_test(self.first.band, self.first.counts, self.second.counts).p_value
