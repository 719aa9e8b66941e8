"""Intervals of true shares from reports of kept things alone (rumor.mechanisms.cap_sampling).

With g the kept share of a thing, c the cap and D the number of things, a person above the cap
keeps each thing with a chance of at least k = c/D. So the true share f satisfies
    g <= f <= g / k,  and  f <= g + (1 - k) p,
p being the share of people with c things or more, who keep exactly c. Kept things add up to c p at
least, so p is at most their mean number over c: the share of slots that are full, which reports
tell. All three bounds are attained: by people who hold at most c things, and by people who hold
all of them or none. Two things are kept together with a chance of c (c - 1) / (D (D - 1)) at least.

The mean of a thing's values is that of the kept share in g / f of its holders; of the others
it may be anything in the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Rows, Target, Vector
from rumor.mechanisms.cap_sampling import Kept
from rumor.results.intervals import Bounds, RankedIntervals, Tails


@dataclass(frozen=True)
class FullSlots:
    """The share of slots that are full, which bounds the share of people who reach the cap."""

    kept: Kept
    share: float
    stderr: float

    @classmethod
    def of(cls, kept: Kept, hits: float, reports: int, miss: float, gain: float) -> FullSlots:
        """Return the share of full slots, from the number of things
        that all `reports` show together.

        A report shows `kept.shown` things less the dummies among them, so its variance is at most
        the product of the distances from its mean to the ends (Bhatia and Davis 2000). One report
        in the middle is added, since few may agree by chance.
        """
        dummies = min(kept.cap, kept.shown)
        mean = hits / max(reports, 1)
        cautious = (hits + kept.shown - dummies / 2) / (reports + 1)
        spread = (kept.shown - cautious) * (cautious - kept.shown + dummies)
        scale = gain * kept.cap
        return cls(
            kept,
            (mean - kept.total * miss) / scale,
            math.sqrt(max(spread, 0.0) / max(reports, 1)) / scale,
        )

    def chance(self, together: int = 1) -> float:
        """Return the least chance that `together` things of a person are all kept."""
        return math.comb(self.kept.cap, together) / math.comb(self.kept.total, together)

    def most(self, quantiles: Vector) -> Vector:
        """Return the upper ends of the share of people above the cap."""
        return np.clip(self.share + quantiles * self.stderr, 0.0, 1.0)

    def reach(self, high: Vector, quantiles: Vector, together: int = 1) -> Vector:
        """Return the upper ends of true shares, from those of kept shares."""
        chance, above = self.chance(together), self.most(quantiles)
        ends = np.maximum(high, 0.0)
        return np.minimum(1.0, np.minimum(ends / max(chance, 1e-300), ends + (1 - chance) * above))

    def unseen(self, low: Vector, quantiles: Vector) -> Vector:
        """Return the largest part of a thing's holders who may not have kept it."""
        chance, above = self.chance(), self.most(quantiles)
        missing = (1 - chance) * above
        part = missing / np.maximum(np.maximum(low, 0.0) + missing, 1e-300)
        return np.minimum(1 - chance, part)


@dataclass(frozen=True)
class TrueShareIntervals:
    """Intervals of true shares, from those of kept shares."""

    kept: RankedIntervals
    slots: FullSlots
    together: int = 1

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the lower ends of kept shares, and the upper ends of true shares."""
        low, high = self.kept.bounds(z, of)
        return low, self.slots.reach(high, np.full(high.shape, z), self.together)

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the ends of `rows`: the lower of kept shares, the upper of true shares."""
        low, high = self.kept.tails(rows, tails, of)
        return low, self.slots.reach(high, tails.quantiles()[1], self.together)

    def redrawn(self, tail: float) -> Bounds:
        """Return the ends of kept shares, which decide the order of rows."""
        return self.kept.redrawn(tail)


def true_share_intervals(
    ends: RankedIntervals, slots: FullSlots | None, together: int = 1
) -> RankedIntervals:
    """Return intervals of true shares if the contract accepts people above the cap, else `ends`."""
    if slots is None or not slots.kept.may_exceed:
        return ends
    return TrueShareIntervals(ends, slots, together)
