"""Planning a choice: one of D answers, by a frequency oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.randomness import Seeded
from rumor.core.types import Progress
from rumor.kinds.choice.choose import candidates, choose_oracle
from rumor.kinds.planning.forecast import default_error, linear_error, typical_law
from rumor.kinds.planning.forecast_range import Range, default_range
from rumor.kinds.planning.permanent import permanent_noise
from rumor.kinds.planning.planned import (
    Candidate,
    Forecast,
    PlannedQuestion,
    Size,
    Wish,
    told_apart,
)
from rumor.mechanisms import BasicRappor, FrequencyOracle
from rumor.mechanisms.summary import Summary


@dataclass(frozen=True)
class PlannedChoice(PlannedQuestion[FrequencyOracle]):
    """One of so many answers."""

    domain: int

    kind = "choice"
    error_of = "the share of an answer that hardly anybody gives"
    default_of = "the default estimate over all values of Zipf's law, calibrated by simulation"
    detects = "the smallest share told from zero"

    def size(self) -> str:
        """How many answers."""
        return f"{self.domain:,} values"

    def candidates(self, wish: Wish) -> list[Candidate[FrequencyOracle]]:
        """Every oracle that takes the domain; asked again, also one with permanent noise."""
        found = [
            Candidate(oracle.name, oracle, {"epsilon": wish.epsilon, "mechanism": oracle.name})
            for oracle in candidates(self.domain, wish.epsilon)
        ]
        if wish.reports > 1 and self.domain <= BasicRappor.MAX_DOMAIN:
            noise = vars(permanent_noise(wish.epsilon, wish.permanent))
            kept = BasicRappor(domain=self.domain, **noise)
            found.append(Candidate(kept.name, kept, {"mechanism": {"name": kept.name, **noise}}))
        return found

    def error(self, mechanism: FrequencyOracle, users: int) -> float:
        """The closed form, at a frequency of 0."""
        return math.sqrt(float(mechanism.variance(0.0, users)))

    def default(self, mechanism: FrequencyOracle, users: int) -> float | None:
        """Over all answers, on Zipf's law."""
        return default_error(mechanism, users)

    def range(self, mechanism: FrequencyOracle, users: int) -> Range | None:
        """Over nine shapes of crowds; None where the default is not foretold."""
        zipf = self.default(mechanism, users)
        return None if zipf is None else default_range(mechanism, users, zipf)

    def detectable(self, mechanism: FrequencyOracle, users: int) -> float:
        """By a test of one answer alone."""
        return told_apart(lambda f: math.sqrt(float(mechanism.variance(f, users))))

    def choose(
        self, candidates: Sequence[Candidate[FrequencyOracle]], users: int, wish: Wish
    ) -> Candidate[FrequencyOracle]:
        """What "auto" resolves to; asked again, the one whose total stays finite."""
        kept = [c for c in candidates if math.isfinite(c.mechanism.epsilon_permanent)]
        if wish.reports > 1 and kept:
            return kept[0]
        chosen = choose_oracle(self.domain, wish.epsilon, users=users)
        return next(c for c in candidates if c.mechanism == chosen)

    def notes(self, mechanism: FrequencyOracle, users: int) -> list[str]:
        """That an order should be said."""
        return ["Answers that have an order (ages, one to five) are better asked as kind ordered."]

    def question(self) -> Mapping[str, object]:
        """The size of the domain."""
        return {"domain": self.domain}

    def simulate(
        self,
        mechanism: FrequencyOracle,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """People drawn from Zipf's law."""
        from rumor.kinds.estimating import estimate

        oracle, law = mechanism, typical_law(self.domain)
        rng, source = np.random.default_rng(seed), Seeded(seed)
        linear = default = 0.0
        for trial in range(trials):
            values = rng.choice(self.domain, size=users, p=law)
            summary = Summary.empty(oracle)
            for start in range(0, users, _PEOPLE):
                part = values[start : start + _PEOPLE]
                summary = summary.update(oracle.privatize(part, random=source))
            found = estimate(oracle, summary)
            linear += float(((found.unbiased - law) ** 2).mean())
            default += float(((found.frequency - law) ** 2).mean())
            if on_progress is not None:
                on_progress(trial + 1, trials)
        expected = default_error(oracle, users)
        return Forecast(
            users,
            trials,
            "Zipf's law",
            (linear_error(oracle, users), math.sqrt(linear / trials)),
            None if expected is None else (expected, math.sqrt(default / trials)),
        )


def planned(size: Size) -> PlannedChoice:
    """One of so many answers."""
    return PlannedChoice(size.answers)


_PEOPLE = 1 << 15
