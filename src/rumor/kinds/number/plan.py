"""Planning a number: its mean, by every mechanism there is for means."""

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
    """One number within a range."""

    sized = "numbers from {low:g} to {high:g}"
    error_of = "the mean, for any distribution"
    default_of = "method auto under a uniform distribution"
    detects = "the smallest detectable distance of the mean from a given number"

    def candidates(self, spec: BudgetSpec) -> list[MechanismChoice[MeanMechanism]]:
        """All of them, at the same epsilon."""
        made = (
            kind(low=self.asked.low, high=self.asked.high, epsilon=spec.epsilon, outside="clip")
            for kind in mean_mechanisms()
        )
        return [MechanismChoice.by_name(mechanism, spec) for mechanism in made]

    def error(self, mechanism: MeanMechanism, users: int) -> float:
        """At the numbers where it is largest."""
        return math.sqrt(mechanism.worst_variance / users)

    def default(self, mechanism: MeanMechanism, users: int) -> float:
        """Numbers spread evenly over the range; the answer is kept within the range."""
        deviation = math.sqrt(self.spread_variance(mechanism, users))
        normal, end = NormalDist(), self.asked.span / 2 / deviation
        # E min(|Z|, end)^2 of a standard normal Z.
        inside = math.erf(end / math.sqrt(2)) - 2 * end * normal.pdf(end)
        return deviation * math.sqrt(inside + 2 * end**2 * normal.cdf(-end))

    def spread_variance(self, mechanism: MeanMechanism, users: int) -> float:
        """Of the linear estimate when numbers are spread evenly: noise and sampling."""
        numbers = np.linspace(self.asked.low, self.asked.high, _POINTS)
        noise = float(np.mean(mechanism.variance(numbers)))
        return (noise + self.asked.span**2 / 12) / users

    def noise(self, mechanism: MeanMechanism, number: float) -> float:
        """The closed form."""
        return float(mechanism.variance(number))

    def compared_rows(self, mechanism: MeanMechanism) -> int:
        """The mean."""
        return 1

    def choose(
        self, candidates: Sequence[MechanismChoice[MeanMechanism]], users: int, spec: BudgetSpec
    ) -> MechanismChoice[MeanMechanism]:
        """What "auto" resolves to: the smaller worst case."""
        chosen = choose_mean(
            low=self.asked.low, high=self.asked.high, epsilon=spec.epsilon, outside="clip"
        )
        return next(c for c in candidates if c.mechanism == chosen)

    def notes(self, mechanism: MeanMechanism, users: int) -> list[str]:
        """That more than a mean can be learned."""
        return [
            'With estimate = "distribution" the median and every share are learned as well, from '
            "one report whose mean is about as good: rumor plan --kind ordered."
        ]

    def question(self) -> Mapping[str, object]:
        """The range."""
        return {"low": self.asked.low, "high": self.asked.high, "outside": "clip"}

    def linear(self, mechanism: MeanMechanism, users: int) -> float:
        """Where numbers are spread evenly."""
        return math.sqrt(self.spread_variance(mechanism, users))

    truth = "numbers spread evenly"

    def trials(self, mechanism: MeanMechanism, users: int, seed: int) -> Iterator[Squares]:
        """People whose numbers are spread evenly."""
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
    """A number within this range."""
    return PlannedNumber(size)
