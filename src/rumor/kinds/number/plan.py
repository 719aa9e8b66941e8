"""The plan of a number: its mean, by every mechanism for means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist

import numpy as np

from rumor.core.randomness import Seeded
from rumor.kinds.planning.planned import BudgetSpec, MechanismChoice, PlannedMean, Size, Squares
from rumor.mechanisms.mean import MeanMechanism, choose_mean, mean_mechanisms

_POINTS = 2001


class PlannedNumber(PlannedMean[MeanMechanism]):
    """A number within a range, as a plan works with it."""

    sized = "numbers from {low:g} to {high:g}"
    error_of = "the mean, for any distribution"
    default_of = "method auto under a uniform distribution"
    detects = "the smallest detectable distance of the mean from a given number"

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[MeanMechanism]]:
        """Return every mechanism for means, at the epsilon of the `budget`."""
        made = (
            kind(low=self.asked.low, high=self.asked.high, epsilon=budget.epsilon, outside="clip")
            for kind in mean_mechanisms()
        )
        return [MechanismChoice.by_name(mechanism, budget) for mechanism in made]

    def error(self, mechanism: MeanMechanism, users: int) -> float:
        """Return the standard error of the mean at the numbers where the noise is largest."""
        return math.sqrt(mechanism.worst_variance / users)

    def default(self, mechanism: MeanMechanism, users: int) -> float:
        """Return the default's error for uniform numbers; the estimate is clipped to the range."""
        deviation = math.sqrt(self.spread_variance(mechanism, users))
        normal, end = NormalDist(), self.asked.span / 2 / deviation
        # E min(|Z|, end)^2 of a standard normal Z.
        inside = math.erf(end / math.sqrt(2)) - 2 * end * normal.pdf(end)
        return deviation * math.sqrt(inside + 2 * end**2 * normal.cdf(-end))

    def spread_variance(self, mechanism: MeanMechanism, users: int) -> float:
        """Return the variance of the linear estimate for uniform numbers: noise and sampling."""
        numbers = np.linspace(self.asked.low, self.asked.high, _POINTS)
        noise = float(np.mean(mechanism.variance(numbers)))
        return (noise + self.asked.span**2 / 12) / users

    def noise(self, mechanism: MeanMechanism, number: float) -> float:
        """Return the closed-form variance of one report of `number`."""
        return float(mechanism.variance(number))

    def compared_rows(self, mechanism: MeanMechanism) -> int:
        """Return 1: `rumor compare` prints the mean."""
        return 1

    def choose(
        self, candidates: Sequence[MechanismChoice[MeanMechanism]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[MeanMechanism]:
        """Return what "auto" resolves to: the mechanism with the smaller worst-case variance."""
        chosen = choose_mean(
            low=self.asked.low, high=self.asked.high, epsilon=budget.epsilon, outside="clip"
        )
        return next(c for c in candidates if c.mechanism == chosen)

    def notes(self, mechanism: MeanMechanism, users: int) -> list[str]:
        """Return the advice that the kind "ordered" learns the whole distribution."""
        return [
            'With estimate = "distribution" the median and every share are learned as well, from '
            "one report whose mean is about as good: rumor plan --kind ordered."
        ]

    def question(self) -> Mapping[str, object]:
        """Return the range."""
        return {"low": self.asked.low, "high": self.asked.high, "outside": "clip"}

    def linear(self, mechanism: MeanMechanism, users: int) -> float:
        """Return the linear estimate's error for uniform numbers."""
        return math.sqrt(self.spread_variance(mechanism, users))

    truth = "numbers spread evenly"

    def trials(self, mechanism: MeanMechanism, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors of populations with uniform numbers."""
        from rumor.kinds.estimating import estimate

        rng, source, truth = (
            np.random.default_rng(seed),
            Seeded(seed),
            (self.asked.low + self.asked.high) / 2,
        )
        while True:
            numbers = rng.uniform(self.asked.low, self.asked.high, size=users)
            found = estimate(mechanism, mechanism.privatize(numbers, random=source))
            yield (found.unbiased - truth) ** 2, (found.mean - truth) ** 2


def planned(size: Size) -> PlannedNumber:
    """Return a number of this `size` as a plan works with it."""
    return PlannedNumber(size)
