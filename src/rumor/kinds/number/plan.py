"""Planning a number: its mean, by every mechanism there is for means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.core.randomness import Seeded
from rumor.core.types import Progress
from rumor.kinds.planning.planned import (
    LEVEL,
    POWER,
    Candidate,
    Forecast,
    PlannedQuestion,
    Size,
    Wish,
)
from rumor.mechanisms.mean import MeanMechanism, choose_mean, mean_mechanisms

_POINTS = 2001


@dataclass(frozen=True)
class PlannedNumber(PlannedQuestion[MeanMechanism]):
    """One number within a range."""

    low: float
    high: float

    kind = "number"
    unit = "number"
    error_of = "the mean, whatever people's numbers are"
    default_of = "the default estimate where numbers are spread evenly"
    detects = "the smallest distance of the mean from a given number that is noticed"

    def size(self) -> str:
        """The range."""
        return f"numbers from {self.low:g} to {self.high:g}"

    def candidates(self, wish: Wish) -> list[Candidate[MeanMechanism]]:
        """All of them, at the same epsilon."""
        made = [
            kind(low=self.low, high=self.high, epsilon=wish.epsilon, outside="clip")
            for kind in mean_mechanisms()
        ]
        return [Candidate(m.name, m, {"epsilon": wish.epsilon, "mechanism": m.name}) for m in made]

    def error(self, mechanism: MeanMechanism, users: int) -> float:
        """At the numbers where it is largest."""
        return math.sqrt(mechanism.worst_variance / users)

    def default(self, mechanism: MeanMechanism, users: int) -> float:
        """Numbers spread evenly over the range; the answer is kept within the range."""
        deviation = math.sqrt(self.spread_variance(mechanism, users))
        normal, end = NormalDist(), (self.high - self.low) / 2 / deviation
        # E min(|Z|, end)^2 of a standard normal Z.
        inside = math.erf(end / math.sqrt(2)) - 2 * end * normal.pdf(end)
        return deviation * math.sqrt(inside + 2 * end**2 * normal.cdf(-end))

    def spread_variance(self, mechanism: MeanMechanism, users: int) -> float:
        """Of the linear estimate when numbers are spread evenly: noise and sampling."""
        numbers = np.linspace(self.low, self.high, _POINTS)
        noise = float(np.mean(mechanism.variance(numbers)))
        return (noise + (self.high - self.low) ** 2 / 12) / users

    def detectable(self, mechanism: MeanMechanism, users: int) -> float:
        """A one-sided test against a known number."""
        quantiles = NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
        return min(quantiles * self.error(mechanism, users), self.high - self.low)

    def choose(
        self, candidates: Sequence[Candidate[MeanMechanism]], users: int, wish: Wish
    ) -> Candidate[MeanMechanism]:
        """What "auto" resolves to: the smaller worst case."""
        chosen = choose_mean(low=self.low, high=self.high, epsilon=wish.epsilon, outside="clip")
        return next(c for c in candidates if c.mechanism == chosen)

    def notes(self, mechanism: MeanMechanism, users: int) -> list[str]:
        """That more than a mean can be learned."""
        return [
            'With estimate = "distribution" the median and every share are learned as well, from '
            "one report whose mean is about as good: rumor plan --kind ordered."
        ]

    def question(self) -> Mapping[str, object]:
        """The range."""
        return {"low": self.low, "high": self.high, "outside": "clip"}

    def simulate(
        self,
        mechanism: MeanMechanism,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """People whose numbers are spread evenly."""
        from rumor.kinds.estimating import estimate

        chosen, source = mechanism, Seeded(seed)
        rng, truth = np.random.default_rng(seed), (self.low + self.high) / 2
        linear = default = 0.0
        for trial in range(trials):
            numbers = rng.uniform(self.low, self.high, size=users)
            found = estimate(chosen, chosen.privatize(numbers, random=source))
            linear += (found.unbiased - truth) ** 2
            default += (found.mean - truth) ** 2
            if on_progress is not None:
                on_progress(trial + 1, trials)
        return Forecast(
            users,
            trials,
            "numbers spread evenly",
            (math.sqrt(self.spread_variance(chosen, users)), math.sqrt(linear / trials)),
            (self.default(chosen, users), math.sqrt(default / trials)),
        )


def planned(size: Size) -> PlannedNumber:
    """A number within this range."""
    return PlannedNumber(size.low, size.high)
