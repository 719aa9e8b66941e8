"""Power: the number of people that shows a difference, and the difference that they show.

All groups are asked by one mechanism, and the test is that of a comparison of groups: its variance
is that of the share in the middle, while the difference varies as both shares do. Among many rows
the test is Holm's, whose first step divides the level by the number of rows: the power is that of
this step, and no row that differs has less, whatever the other rows do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumor.estimators.sequential import WatchedNeed

LEVEL, POWER = 0.05, 0.8
_HALVINGS = 80

Variance = Callable[[float], float]
"""The variance of one report's estimate as a function of the truth."""


@dataclass(frozen=True)
class PowerPlan:
    """A plan of groups of equal size, one of which has a given
    share; a difference has a direction.
    """

    start: float
    power: float = POWER
    level: float = LEVEL
    groups: int = 2
    deviation: float | None = None
    """The standard deviation of numbers within a group; None if they are spread evenly."""
    rows: int = 1
    """The rows of the comparison that share the level; 1 for a row named in advance."""
    watch: bool = False
    """Whether the comparison is read at any time: the difference is found by then, or before."""

    def for_rows(self, rows: int) -> PowerPlan:
        """Return the plan for Holm's p-values, with `rows` rows for each pair of groups."""
        return replace(self, rows=rows * math.comb(self.groups, 2))

    def people(self, variance: Variance, difference: float) -> float:
        """Return the people that each group needs to detect this difference with the power.

        A watched difference needs more for the same power (`watched_need`).
        """
        normal = NormalDist()
        middle = 2 * variance(self.start + difference / 2)
        apart = variance(self.start) + variance(self.start + difference)
        reach = -normal.inv_cdf(self.level / self.rows / 2) * math.sqrt(middle)
        reach += normal.inv_cdf(self.power) * math.sqrt(apart)
        times = self.watched_need().times if self.watch else 1.0
        return times * (reach / difference) ** 2

    def watched_need(self) -> WatchedNeed:
        """Return what a test of this level and power needs where it is made at any time."""
        from rumor.estimators.sequential import watched_need

        return watched_need(self.level / self.rows, self.power)

    def difference(self, variance: Variance, people: float, most: float) -> float:
        """Return the smallest difference that groups of `people`
        detect; `most` if there is none.
        """
        if self.people(variance, most) > people:
            return most
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = middle != 0 and self.people(variance, middle) <= people
            low, high = (low, middle) if enough else (middle, high)
        return high

    def share_difference(self, variance: Variance, people: float) -> float:
        """Return the smallest detectable difference of a share, up
        from a low one or down from a high.

        `variance` is that of one report's estimate of a share.
        """
        if self.start <= 0.5:
            return self.difference(variance, people, 1 - self.start)
        mirrored = replace(self, start=1 - self.start)
        return mirrored.difference(lambda share: variance(1 - share), people, self.start)
