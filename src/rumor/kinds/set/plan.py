"""The plan of a set: the share of people who chose each option."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.option_sets import from_table
from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.estimators.power import PowerPlan
from rumor.kinds.planning.forecast import holders, typical_keys
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    smallest_detectable_share,
)
from rumor.kinds.set.choose import Wanted, best_block, best_select, choose_sets
from rumor.kinds.set.fit import FEWEST, posterior_shares
from rumor.mechanisms.select import MAX_CAP
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.support import ItemCounts
from rumor.results.selection import first_tail
from rumor.results.smallest_share import RareCount

# The number of simulated populations for the default's error, by the number of options.
_CROWDS = {FEWEST - 1: 400, 50: 30, 200: 10}
_CROWDS_OF_MANY = 2


class PlannedSet(PlannedQuestion[SetMechanism]):
    """A set question with a number of options and perhaps a cap, as a plan works with it."""

    sized = "{domain:,} options"
    # Sets are simulated as tables of people, so populations are smaller than elsewhere.
    simulated = 20_000
    error_of = "the share of a rare option"
    default_of = (
        "method auto over all options, chosen by 1/2, 1/3, 1/4, ... of respondents (simulated)"
    )
    detects = "the smallest detectable share of an option"
    truth = "options chosen by 1/2, 1/3, 1/4, ... of respondents"

    def size(self) -> str:
        """Return the number of options and the cap, in words."""
        most = "" if self.asked.cap is None else f" (at most {self.asked.cap:,} of them chosen)"
        return super().size() + most

    def _wanted(self, epsilon: float) -> Wanted:
        return Wanted(self.domain, epsilon, self.asked.cap)

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[SetMechanism]]:
        """Return each mechanism at its best size."""
        wanted = self._wanted(budget.epsilon)
        asked: dict[str, object] = {"epsilon": budget.epsilon}
        block = best_block(wanted)
        shape = {"options shown": block.block}
        found: list[MechanismChoice[SetMechanism]] = [
            MechanismChoice(block.name, block, {**asked, "mechanism": block.name}, shape)
        ]
        if wanted.most <= MAX_CAP:
            select = best_select(wanted)
            capped = {**asked, "mechanism": select.name, "cap": select.cap}
            found.append(
                MechanismChoice(select.name, select, capped, {"options shown": select.size})
            )
        return found

    def error(self, mechanism: SetMechanism, users: int) -> float:
        """Return the closed-form standard error at a share of 0."""
        return math.sqrt(float(mechanism.variance(0.0, users)))

    def default(self, mechanism: SetMechanism, users: int) -> float:
        """Return the default's error over all options, chosen by 1/2, 1/3, 1/4, ... of people."""
        return _default_error(mechanism, users, self.asked.cap)

    def linear(self, mechanism: SetMechanism, users: int) -> float:
        """Return the linear estimate's error over all options, chosen by 1/2, 1/3, 1/4, ...
        of people.
        """
        return math.sqrt(float(mechanism.variance(self._crowd(), users).mean()))

    def _crowd(self) -> Vector:
        return typical_keys(self.domain, self.asked.cap)[0]

    def detectable(self, mechanism: SetMechanism, users: int) -> float:
        """Return the smallest share that a test of one option detects."""
        return smallest_detectable_share(lambda f: math.sqrt(float(mechanism.variance(f, users))))

    def shown(self, mechanism: SetMechanism, users: int) -> float:
        """Return the smallest share whose interval, as the first in the table, excludes zero."""
        about = RareCount.of_part(users, mechanism.share, mechanism.miss, mechanism.gain)
        return about.smallest_share(first_tail(CONFIDENCE, self.domain)) or 1.0

    @override
    def difference(self, mechanism: SetMechanism, users: int, between: PowerPlan) -> float:
        return between.share_difference(lambda f: float(mechanism.variance(f, 1)), users)

    def compared_rows(self, mechanism: SetMechanism) -> int:
        """Return the number of options: `rumor compare` prints a share for each."""
        return self.domain

    def choose(
        self, candidates: Sequence[MechanismChoice[SetMechanism]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[SetMechanism]:
        """Return what "auto" resolves to."""
        chosen = choose_sets(self._wanted(budget.epsilon))
        return next(c for c in candidates if c.mechanism == chosen)

    def reason(self, best: object, options: object) -> str | None:
        """Return the criterion: the least variance over options whose shares fall like 1/rank."""
        return (
            "smallest variance for options with shares proportional to 1/rank and a mean of half "
            "the cap per respondent (set another mean with mean_size)."
        )

    def notes(self, mechanism: SetMechanism, users: int) -> list[str]:
        """Return a note on the effect of the cap, or on setting one."""
        if self.asked.cap is None:
            return ["Where respondents choose few of many options, --cap N reduces the error."]
        return [] if mechanism.kept is None else [mechanism.kept.plan_sentence]

    def question(self) -> Mapping[str, object]:
        """Return the number of options."""
        return {"domain": self.domain}

    def trials(self, mechanism: SetMechanism, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors of populations with 1/2, 1/3, ... per option and nearly
        equal set sizes.
        """
        from rumor.kinds.set.estimate import estimate

        frequency = self._crowd()
        rng, source = np.random.default_rng(seed), Seeded(seed)
        while True:
            crowd = from_table(holders(frequency, users, rng), self.domain)
            found = estimate(mechanism, mechanism.privatize(crowd, random=source), "auto", {})
            yield mean_square(found.unbiased - frequency), mean_square(found.frequency - frequency)


@functools.lru_cache(maxsize=64)
def _default_error(mechanism: SetMechanism, users: int, cap: int | None) -> float:
    """Return the default's error from simulated counts, which are binomial option by option."""
    frequency, rng = typical_keys(mechanism.domain, cap)[0], np.random.default_rng(1)
    trials = max(1, round(users * mechanism.share))
    crowds = next(
        (crowds for size, crowds in _CROWDS.items() if mechanism.domain <= size), _CROWDS_OF_MANY
    )
    squares = []
    for _ in range(crowds):
        counts = rng.binomial(trials, mechanism.miss + mechanism.gain * frequency)
        items = ItemCounts(counts, float(trials), mechanism.hit, mechanism.miss, 1.0)
        squares.append(mean_square(posterior_shares(items)[0] - frequency))
    return math.sqrt(float(np.mean(squares)))


def planned(size: Size) -> PlannedSet:
    """Return a set of this `size` as a plan works with it."""
    return PlannedSet(size)
