"""The plan of a choice: one of D answers, by a frequency oracle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.randomness import Seeded
from rumor.core.typing import override
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
    smallest_detectable_share,
)
from rumor.mechanisms import BasicRappor, FrequencyOracle, PaperDesign
from rumor.mechanisms.mixed.parts import MAX_CELLS
from rumor.mechanisms.summary import Summary
from rumor.results.selection import first_tail
from rumor.results.smallest_share import RareCount


class PlannedChoice(PlannedQuestion[FrequencyOracle]):
    """A choice among `domain` answers, as a plan works with it."""

    sized = "{domain:,} values"
    error_of = "the share of a rare value"
    default_of = "method auto over all values under Zipf's law (simulated)"
    detects = "the smallest detectable share"
    usual_of = "a share of 1/D among D answers, sampling included"

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[FrequencyOracle]]:
        """Return every oracle that takes the domain; one with permanent noise as well if
        asked repeatedly, and Warner's cards for a yes or no.
        """
        oracles = candidates(self.domain, budget.epsilon)
        found = [MechanismChoice.by_name(oracle, budget) for oracle in oracles]
        if budget.reports > 1 and self.domain <= BasicRappor.MAX_DOMAIN:
            noise = vars(permanent_noise(budget.epsilon, budget.permanent))
            kept = BasicRappor(domain=self.domain, **noise)
            found.append(
                MechanismChoice(kept.name, kept, {"mechanism": {"name": kept.name, **noise}})
            )
        truth = _truth_by_cards(budget.epsilon)
        if self.domain == PaperDesign.MAX_DOMAIN and truth is not None:
            cards = PaperDesign(domain=2, design="warner", truth=truth)
            toml = {"mechanism": {"name": "warner", "truth": str(truth)}}
            found.append(MechanismChoice(f"warner {truth}", cards, toml))
        return found

    def error(self, mechanism: FrequencyOracle, users: int) -> float:
        """Return the closed-form standard error at a frequency of 0."""
        return math.sqrt(float(mechanism.variance(0.0, users)))

    def usual_error(self, mechanism: FrequencyOracle, users: int) -> float:
        """Return the closed-form standard error at a share of 1/D.

        Of rare answers the people asked would be no sample to speak of.
        """
        return math.sqrt(float(mechanism.variance(1 / self.domain, users)))

    def block_variance(self, together: int, epsilon: float) -> float | None:
        """Return the variance of randomised response on the D^k combinations, D^(k-1) for
        each answer.
        """
        cells: int = self.domain**together
        if cells > MAX_CELLS:
            return None
        odds, even = math.exp(epsilon), 1 / self.domain
        gain = (odds - 1) / (odds + cells - 1)
        support = cells * even / (odds + cells - 1) + gain * even
        return float(support * (1 - support) / gain**2)

    def default(self, mechanism: FrequencyOracle, users: int) -> float | None:
        """Return the default's root mean squared error over all answers, on Zipf's law."""
        return default_error(mechanism, users)

    def range(self, mechanism: FrequencyOracle, users: int) -> Range | None:
        """Return the default's errors over nine distributions; None where the default is
        not predicted.
        """
        zipf = self.default(mechanism, users)
        return None if zipf is None else default_range(mechanism, users, zipf)

    def detectable(self, mechanism: FrequencyOracle, users: int) -> float:
        """Return the smallest share that a test of one answer detects."""
        return smallest_detectable_share(lambda f: math.sqrt(float(mechanism.variance(f, users))))

    def shown(self, mechanism: FrequencyOracle, users: int) -> float:
        """Return the smallest share whose interval, as the first in the table, excludes zero."""
        tail = first_tail(CONFIDENCE, self.domain)
        return RareCount(*mechanism.rare_rates(users)).smallest_share(tail) or 1.0

    @override
    def difference(self, mechanism: FrequencyOracle, users: int, between: PowerPlan) -> float:
        return between.share_difference(lambda f: float(mechanism.variance(f, 1)), users)

    def compared_rows(self, mechanism: FrequencyOracle) -> int:
        """Return the number of answers: `rumor compare` prints a share for each."""
        return self.domain

    def choose(
        self, candidates: Sequence[MechanismChoice[FrequencyOracle]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[FrequencyOracle]:
        """Return what "auto" resolves to; asked repeatedly, the choice with a finite total loss."""
        kept = [c for c in candidates if math.isfinite(c.mechanism.permanence.epsilon_permanent)]
        if budget.reports > 1 and kept:
            return kept[0]
        chosen = choose_oracle(self.domain, budget.epsilon, users=users)
        return next(c for c in candidates if c.mechanism == chosen)

    def notes(self, mechanism: FrequencyOracle, users: int) -> list[str]:
        """Return the advice to ask ordered answers as the kind "ordered"."""
        return ["Answers that have an order (ages, one to five) are better asked as kind ordered."]

    def question(self) -> Mapping[str, object]:
        """Return the size of the domain."""
        return {"domain": self.domain}

    def linear(self, mechanism: FrequencyOracle, users: int) -> float:
        """Return the linear estimate's root mean squared error over all answers, on Zipf's law."""
        return linear_error(mechanism, users)

    def trials(self, mechanism: FrequencyOracle, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors of populations drawn from Zipf's law."""
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
    """Return a choice of this `size` as a plan works with it."""
    return PlannedChoice(size)


def _truth_by_cards(epsilon: float) -> Fraction | None:
    """Return the largest share of true cards, of few cards, that keeps `epsilon`; None if no
    share above a half does.
    """
    most = 1 / (1 + math.exp(-epsilon))
    shares = (Fraction(math.floor(most * n), n) for n in range(2, _CARDS + 1))
    truth = max(shares)
    return truth if truth > Fraction(1, 2) else None


_CARDS = 20  # the most cards, or faces of a die, that an interviewer carries
_PEOPLE = 1 << 15
