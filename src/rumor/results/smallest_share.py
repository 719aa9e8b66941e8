"""The smallest share whose interval will lie above zero, for rows of a table and in a plan.

The reports that support a value are a binomial count. The lower end of its interval (Clopper and
Pearson) lies above 0 where the count is so large that an absent value reaches it with a chance
below the interval's lower tail. In a ranked table that tail depends on the row's rank and on how
many values could have come as high (rumor.results.selection); the first row, with every value as a
rival, has the smallest tail, so no row needs a larger share than this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.extras import import_optional
from rumor.mechanisms.support import ItemCounts
from rumor.results.sequences import ONE_LOOK, OneLook

_SMALLEST = 1e-300
POWER = 0.9  # how often the interval of the smallest share lies above 0


@dataclass(frozen=True)
class RareCount:
    """The count of a value that hardly anybody holds: trials, and the chances of support."""

    trials: float
    miss: float
    """The probability that a trial supports the value if nobody holds it."""
    gain: float
    """The increase of that probability if everybody holds the value."""

    @classmethod
    def noisiest(cls, items: ItemCounts) -> RareCount:
        """Return the count of the one of these values whose share has most noise."""
        columns = np.broadcast_arrays(*map(np.atleast_1d, (items.trials, items.miss, items.gain)))
        trials, miss, gain = columns
        worst = int(np.argmax(miss * (1 - miss) / np.maximum(trials * gain**2, _SMALLEST)))
        return cls(*(float(column[worst]) for column in columns))

    @classmethod
    def of_part(cls, reports: int, share: float, miss: float, gain: float) -> RareCount:
        """Return the count if chance decides which `share` of the reports is about the value.

        A standard deviation fewer than the mean: power falls faster with fewer trials than it
        grows with more.
        """
        mean = reports * share
        return cls(max(mean - math.sqrt(mean * (1 - share)), 0.0), miss, gain)

    def smallest_share(
        self, tail: float, power: float = POWER, look: OneLook = ONE_LOOK
    ) -> float | None:
        """Return the smallest share whose interval with this lower `tail` excludes 0 with POWER.

        None if not even a share of 1 has such an interval.
        """
        special = import_optional("scipy.special", "the smallest share of a count")
        count = self._first_above_zero(tail, look)
        if count > self.trials:
            return None
        support = float(special.betaincinv(count, self.trials - count + 1, power))
        share = (support - self.miss) / self.gain
        return share if share <= 1 else None

    def _first_above_zero(self, tail: float, look: OneLook) -> int:
        """Return the smallest count whose interval has all of its chances above an absent value's.

        An absent value reaches it at a `look` with a chance below `tail`.
        """
        trials, tails = np.array([self.trials]), np.array([tail])
        low, high = 0, int(self.trials) + 1
        while high - low > 1:
            middle = (low + high) // 2
            ends = look.success_ends(np.array([float(middle)]), trials, tails, tails)
            low, high = (low, middle) if ends[0][0] > self.miss else (middle, high)
        return high
