"""An interval's two ends as linear estimates: a centre and a standard deviation for each.

Where the answer is a sum of known means, both ends have one centre. Where it is bounded, the
lower end estimates something that is never larger than the answer, the upper end something that
is never smaller. Ends of different people add up: centres by their weights, variances by the
squares of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector


@dataclass(frozen=True, eq=False)
class Sides:
    """Centres and standard deviations of the lower and the upper ends of some shares."""

    low: Vector
    low_deviation: Vector
    high: Vector
    high_deviation: Vector

    @classmethod
    def around(cls, centre: Vector, deviation: Vector) -> Sides:
        """Return ends that have one `centre` and one `deviation`."""
        return cls(centre, deviation, centre, deviation)

    @classmethod
    def weighted(cls, parts: Sequence[Sides], weights: Sequence[float]) -> Sides:
        """Return the ends of the weighted sum of `parts`, each of different people.

        A negative weight takes a part's other end.
        """
        low = [(w, s.low, s.low_deviation) for w, s in zip(weights, parts, strict=True)]
        high = [(w, s.high, s.high_deviation) for w, s in zip(weights, parts, strict=True)]
        for i, weight in enumerate(weights):
            if weight < 0:
                low[i], high[i] = high[i], low[i]
        return cls(*_added(low), *_added(high))

    def ends(self, z: float, limits: tuple[float, float] = (0.0, 1.0)) -> tuple[Vector, Vector]:
        """Return both ends, `z` standard deviations from centres that lie within the `limits`.

        Noise moves a centre beyond the limits, where no share is; the ends around the nearest
        share there is are never shorter than those around the centre, cut off.
        """
        return (
            np.clip(np.clip(self.low, *limits) - z * self.low_deviation, *limits),
            np.clip(np.clip(self.high, *limits) + z * self.high_deviation, *limits),
        )

    def stderr(self, z: float) -> Vector:
        """Return the standard errors of normal estimates whose intervals would be as long."""
        apart = (self.high - self.low) / (2 * z)
        deviation = (self.low_deviation + self.high_deviation) / 2
        return np.asarray(deviation + np.maximum(apart, 0.0))


def _added(parts: Sequence[tuple[float, Vector, Vector]]) -> tuple[Vector, Vector]:
    centre = np.asarray(sum(weight * middle for weight, middle, _ in parts))
    variance = np.asarray(sum(weight**2 * deviation**2 for weight, _, deviation in parts))
    return centre, np.sqrt(variance)
