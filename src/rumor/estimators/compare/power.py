"""How many people it takes to notice a difference, and which difference so many notice.

Both groups are asked by the same mechanism, and the test is that of `differences.py`: its variance
is that of the share in the middle, while the difference varies as both shares do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

LEVEL, POWER = 0.05, 0.8
_HALVINGS = 80

Variance = Callable[[float], float]
"""Of one report's estimate, where this is the truth."""


@dataclass(frozen=True)
class Between:
    """Two groups, the first of which has this share or mean; a difference has a direction."""

    start: float
    power: float = POWER
    level: float = LEVEL

    def people(self, variance: Variance, difference: float) -> float:
        """How many people each group needs for this difference to be noticed with the power."""
        normal = NormalDist()
        middle = 2 * variance(self.start + difference / 2)
        apart = variance(self.start) + variance(self.start + difference)
        reach = normal.inv_cdf(1 - self.level / 2) * math.sqrt(middle)
        reach += normal.inv_cdf(self.power) * math.sqrt(apart)
        return (reach / difference) ** 2

    def difference(self, variance: Variance, people: float, most: float) -> float:
        """The smallest difference that groups of so many notice; `most`, where there is none."""
        if self.people(variance, most) > people:
            return most
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = middle != 0 and self.people(variance, middle) <= people
            low, high = (low, middle) if enough else (middle, high)
        return high
