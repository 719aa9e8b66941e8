"""Questions whose mean is learned, over a range: errors in the range's own unit."""

from __future__ import annotations

import abc

from rumor.estimators.compare.power import Between
from rumor.kinds.planning.measures import noticed
from rumor.kinds.planning.planned import M, PlannedQuestion


class PlannedMean(PlannedQuestion[M]):
    """A question over a range, planned for its mean."""

    unit = "number"

    @abc.abstractmethod
    def one_variance(self, mechanism: M, users: int) -> float:
        """What one of so many people brings to the mean's variance, answers spread evenly."""

    def detectable(self, mechanism: M, users: int) -> float:
        """A one-sided test against a known number."""
        return noticed(self.error(mechanism, users), self.asked.span)

    def difference(self, mechanism: M, users: int, between: Between) -> float:
        """Of means, where answers are spread evenly."""
        variance = self.one_variance(mechanism, users)
        return between.difference(lambda mean: variance, users, self.asked.span)
