"""Planning a choice: one of D answers, by a frequency oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.randomness import Seeded
from rumor.estimators.power import PowerPlan
from rumor.kinds.choice.question import candidates, choose_oracle
from rumor.kinds.planning.forecast import (
    Range,
    default_error,
    default_range,
    linear_error,
    typical_law,
)
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    permanent_noise,
    told_apart,
)
from rumor.mechanisms import BasicRappor, FrequencyOracle
from rumor.mechanisms.mixed.parts import MAX_CELLS
from rumor.mechanisms.summary import Summary
from rumor.results.selection import first_tail
from rumor.results.smallest_share import RareCount


class PlannedChoice(PlannedQuestion[FrequencyOracle]):
    """One of so many answers."""

    sized = "{domain:,} values"
    error_of = "the share of a rare value"
    default_of = "method auto over all values under Zipf's law (simulated)"
    detects = "the smallest detectable share"
    usual_of = "a share of one in so many answers, sampling included"

    def candidates(self, wish: BudgetSpec) -> list[MechanismChoice[FrequencyOracle]]:
        """Every oracle that takes the domain; asked again, also one with permanent noise."""
        oracles = candidates(self.domain, wish.epsilon)
        found = [MechanismChoice.by_name(oracle, wish) for oracle in oracles]
        if wish.reports > 1 and self.domain <= BasicRappor.MAX_DOMAIN:
            noise = vars(permanent_noise(wish.epsilon, wish.permanent))
            kept = BasicRappor(domain=self.domain, **noise)
            found.append(
                MechanismChoice(kept.name, kept, {"mechanism": {"name": kept.name, **noise}})
            )
        return found

    def error(self, mechanism: FrequencyOracle, users: int) -> float:
        """The closed form, at a frequency of 0."""
        return math.sqrt(float(mechanism.variance(0.0, users)))

    def usual_error(self, mechanism: FrequencyOracle, users: int) -> float:
        """The closed form, at an even share: of rare answers the sample itself says nothing."""
        return math.sqrt(float(mechanism.variance(1 / self.domain, users)))

    def block_variance(self, together: int, epsilon: float) -> float | None:
        """Randomised response on all combinations; one of D^k holds each answer D^(k-1) times."""
        cells: int = self.domain**together
        if cells > MAX_CELLS:
            return None
        odds, even = math.exp(epsilon), 1 / self.domain
        gain = (odds - 1) / (odds + cells - 1)
        support = cells * even / (odds + cells - 1) + gain * even
        return float(support * (1 - support) / gain**2)

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

    def shown(self, mechanism: FrequencyOracle, users: int) -> float:
        """Of the first of all answers."""
        tail = first_tail(CONFIDENCE, self.domain)
        return RareCount(*mechanism.rare_rates(users)).smallest_share(tail) or 1.0

    def difference(self, mechanism: FrequencyOracle, users: int, between: PowerPlan) -> float:
        """Of the share of one answer."""
        return between.share_difference(lambda f: float(mechanism.variance(f, 1)), users)

    def compared_rows(self, mechanism: FrequencyOracle) -> int:
        """A share for each answer."""
        return self.domain

    def choose(
        self, candidates: Sequence[MechanismChoice[FrequencyOracle]], users: int, wish: BudgetSpec
    ) -> MechanismChoice[FrequencyOracle]:
        """What "auto" resolves to; asked again, the one whose total stays finite."""
        kept = [c for c in candidates if math.isfinite(c.mechanism.permanence.epsilon_permanent)]
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

    def linear(self, mechanism: FrequencyOracle, users: int) -> float:
        """Over all answers."""
        return linear_error(mechanism, users)

    def trials(self, mechanism: FrequencyOracle, users: int, seed: int) -> Iterator[Squares]:
        """People drawn from Zipf's law."""
        from rumor.kinds.estimating import estimate

        oracle, law = mechanism, typical_law(self.domain)
        rng, source = np.random.default_rng(seed), Seeded(seed)
        while True:
            values = rng.choice(self.domain, size=users, p=law)
            summary = Summary.empty(oracle)
            for start in range(0, users, _PEOPLE):
                part = values[start : start + _PEOPLE]
                summary = summary.update(oracle.privatize(part, random=source))
            found = estimate(oracle, summary)
            yield mean_square(found.unbiased - law), mean_square(found.frequency - law)


def planned(size: Size) -> PlannedChoice:
    """One of so many answers."""
    return PlannedChoice(size)


_PEOPLE = 1 << 15
