"""Planning ordered answers: the mean, the median and the whole distribution, before asking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.core.randomness import Seeded
from rumor.core.types import Progress
from rumor.estimators.ordered.forecast import Forecast as Expected
from rumor.estimators.ordered.forecast import forecast
from rumor.kinds.planning.planned import (
    LEVEL,
    POWER,
    Candidate,
    Forecast,
    PlannedQuestion,
    Size,
    Wish,
)
from rumor.mechanisms.wave import Wave

# The part of a simulated crowd that belongs to the first of two peaks.
_FIRST = 0.6


@dataclass(frozen=True)
class PlannedOrdered(PlannedQuestion[Wave]):
    """One of so many positions, over a range."""

    domain: int
    low: float
    high: float

    kind = "ordered"
    unit = "number"
    error_of = "the mean, where answers are spread evenly"
    default_of = (
        "the whole distribution, as the area between estimated and true distribution function "
        "(Wasserstein's distance), where densities are smooth"
    )
    second = ("median error", "median_standard_error")
    detects = "the smallest difference of the mean from a given number that is noticed"

    def size(self) -> str:
        """The positions and their range."""
        return f"{self.domain:,} positions from {self.low:g} to {self.high:g}"

    def candidates(self, wish: Wish) -> list[Candidate[Wave]]:
        """The wave: its width follows from epsilon."""
        wave = Wave(low=self.low, high=self.high, bins=self.domain, epsilon=wish.epsilon)
        toml = {"epsilon": wish.epsilon, "mechanism": wave.name}
        return [Candidate(wave.name, wave, toml, {"window": wave.window})]

    def _expected(self, mechanism: Wave, users: int) -> Expected:
        return forecast(mechanism.band, users)

    def error(self, mechanism: Wave, users: int) -> float:
        """Of the linear mean."""
        return mechanism.scale.unit * self._expected(mechanism, users).mean_se

    def default(self, mechanism: Wave, users: int) -> float:
        """How far the two distributions lie apart, in the unit of the range."""
        return (self.high - self.low) * self._expected(mechanism, users).w1

    def second_error(self, mechanism: Wave, users: int) -> float:
        """Of the median, in the unit of the range; nobody errs by more than half of it."""
        error = mechanism.scale.unit * self._expected(mechanism, users).quantile(0.5)
        return min(error, (self.high - self.low) / 2)

    def detectable(self, mechanism: Wave, users: int) -> float:
        """A one-sided test against a known number."""
        quantiles = NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
        return min(quantiles * self.error(mechanism, users), self.high - self.low)

    def choose(
        self, candidates: Sequence[Candidate[Wave]], users: int, wish: Wish
    ) -> Candidate[Wave]:
        """There is one."""
        return candidates[0]

    def notes(self, mechanism: Wave, users: int) -> list[str]:
        """What stands in the second column."""
        return [
            "Median error: of the median, where the density is about even around it; a steeper "
            "one errs less. The linear mean is unbiased whatever the distribution."
        ]

    def question(self) -> Mapping[str, object]:
        """The range and its bins."""
        return {"low": self.low, "high": self.high, "bins": self.domain}

    def simulate(
        self,
        mechanism: Wave,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """People whose answers have two peaks."""
        from rumor.kinds.ordered.estimate import estimate

        source, rng = Seeded(seed), np.random.default_rng(seed)
        scale, squares, distances = mechanism.scale, 0.0, 0.0
        for trial in range(trials):
            first, second = rng.beta(6, 14, size=users), rng.beta(14, 6, size=users)
            numbers = self.low + (self.high - self.low) * np.where(
                rng.random(users) < _FIRST, first, second
            )
            held = np.bincount(mechanism.encode(numbers), minlength=scale.domain) / users
            reports = mechanism.privatize(numbers, random=source)
            found = estimate(mechanism, reports, "auto", {})
            squares += (found.unbiased - float(held @ scale.middles)) ** 2
            apart = np.abs(np.cumsum(found.frequency - held)).sum()
            distances += (scale.unit * float(apart)) ** 2
            if on_progress is not None:
                on_progress(trial + 1, trials)
        return Forecast(
            users,
            trials,
            "answers with two peaks",
            (self.error(mechanism, users), math.sqrt(squares / trials)),
            (self.default(mechanism, users), math.sqrt(distances / trials)),
        )


def planned(size: Size) -> PlannedOrdered:
    """So many positions over this range."""
    return PlannedOrdered(size.answers, size.low, size.high)
