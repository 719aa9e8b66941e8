"""Questions whose mean is learned, over a range: errors in the range's own unit."""

from __future__ import annotations

import abc
import math

from rumor.estimators.compare.power import Between
from rumor.kinds.planning.measures import noticed
from rumor.kinds.planning.planned import M, PlannedQuestion

EVEN = 1 / math.sqrt(12)
"""The standard deviation of numbers that are spread evenly, as a part of their range."""


class PlannedMean(PlannedQuestion[M]):
    """A question over a range, planned for its mean."""

    unit = "number"

    @abc.abstractmethod
    def noise(self, mechanism: M, number: float) -> float:
        """Return the variance of the estimate that one report of this `number` gives."""

    def detectable(self, mechanism: M, users: int) -> float:
        """A one-sided test against a known number."""
        return noticed(self.error(mechanism, users), self.asked.span)

    def difference(self, mechanism: M, users: int, between: Between) -> float:
        """Of means, of numbers with a standard deviation."""
        span = self.asked.span
        deviation = span * EVEN if between.deviation is None else between.deviation
        # Noise grows with the squared distance from the middle of the range, or hardly depends on
        # it: that of numbers around the quarters of the range is the noise at their root mean
        # square.
        away = min(math.hypot(deviation, span / 4), span / 2)
        variance = self.noise(mechanism, self.asked.low + span / 2 + away) + deviation**2
        return between.difference(lambda mean: variance, users, span)
