"""Planning ordered answers: the mean, the median and the whole distribution, before asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.randomness import Seeded
from rumor.kinds.ordered.fit.forecast import Forecast as Expected
from rumor.kinds.ordered.fit.forecast import forecast, mean_error
from rumor.kinds.ordered.result import QUANTILES
from rumor.kinds.planning.planned import BudgetSpec, MechanismChoice, PlannedMean, Size, Squares
from rumor.mechanisms.wave.wave import Wave

# The part of a simulated crowd that belongs to the first of two peaks.
_FIRST = 0.6


class PlannedOrdered(PlannedMean[Wave]):
    """One of so many positions, over a range."""

    sized = "{domain:,} positions from {low:g} to {high:g}"
    error_of = "the mean, under a uniform distribution"
    default_of = (
        "the distribution (Wasserstein distance: the area between the estimated and the true "
        "distribution function), for smooth densities"
    )
    second = ("median error", "median_standard_error")
    detects = "the smallest detectable distance of the mean from a given number"

    def candidates(self, spec: BudgetSpec) -> list[MechanismChoice[Wave]]:
        """The wave: its width follows from epsilon."""
        wave = Wave(
            low=self.asked.low, high=self.asked.high, bins=self.domain, epsilon=spec.epsilon
        )
        return [MechanismChoice.by_name(wave, spec, {"window": wave.window})]

    def _expected(self, mechanism: Wave, users: int) -> Expected:
        return forecast(mechanism.band, users)

    def error(self, mechanism: Wave, users: int) -> float:
        """Of the linear mean."""
        return mechanism.scale.unit * self._expected(mechanism, users).mean_se

    def default(self, mechanism: Wave, users: int) -> float:
        """How far the two distributions lie apart, in the unit of the range."""
        return self.asked.span * self._expected(mechanism, users).w1

    def second_error(self, mechanism: Wave, users: int) -> float:
        """Of the median, in the unit of the range; nobody errs by more than half of it."""
        error = mechanism.scale.unit * self._expected(mechanism, users).quantile(0.5)
        return min(error, self.asked.span / 2)

    def noise(self, mechanism: Wave, number: float) -> float:
        """That of the linear mean."""
        held = np.zeros(self.domain)
        held[mechanism.code(number)] = 1.0
        return (mechanism.scale.unit * mean_error(mechanism.band, held)) ** 2

    def compared_rows(self, mechanism: Wave) -> int:
        """The mean and the usual quantiles."""
        return 1 + len(QUANTILES)

    def choose(
        self, candidates: Sequence[MechanismChoice[Wave]], users: int, spec: BudgetSpec
    ) -> MechanismChoice[Wave]:
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
        return {"low": self.asked.low, "high": self.asked.high, "bins": self.domain}

    truth = "answers with two peaks"

    def trials(self, mechanism: Wave, users: int, seed: int) -> Iterator[Squares]:
        """People whose answers have two peaks."""
        from rumor.kinds.ordered.estimate import estimate

        source, rng, scale = Seeded(seed), np.random.default_rng(seed), mechanism.scale
        while True:
            first, second = rng.beta(6, 14, size=users), rng.beta(14, 6, size=users)
            numbers = self.asked.low + self.asked.span * np.where(
                rng.random(users) < _FIRST, first, second
            )
            held = np.bincount(mechanism.encode(numbers), minlength=scale.domain) / users
            reports = mechanism.privatize(numbers, random=source)
            found = estimate(mechanism, reports, "auto", {})
            apart = np.abs(np.cumsum(found.frequency - held)).sum()
            mean = float(held @ scale.middles)
            yield (found.unbiased - mean) ** 2, (scale.unit * float(apart)) ** 2


def planned(size: Size) -> PlannedOrdered:
    """So many positions over this range."""
    return PlannedOrdered(size)
