"""Planning sets: the share of people who chose an option, any number of which may be chosen."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.option_sets import from_table
from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.estimators.power import PowerPlan
from rumor.kinds.planning.forecast import holders, typical_keys
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    told_apart,
)
from rumor.kinds.set.choose import Wanted, best_block, best_select, choose_sets
from rumor.kinds.set.fit import FEWEST, shrunk
from rumor.mechanisms.select import MAX_CAP
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.support import ItemCounts
from rumor.results.selection import first_tail
from rumor.results.smallest_share import RareCount

# Crowds that are drawn for the error of the default, by the number of options.
_CROWDS = {FEWEST - 1: 400, 50: 30, 200: 10}
_CROWDS_OF_MANY = 2


class PlannedSet(PlannedQuestion[SetMechanism]):
    """Any of so many options, at most `cap` of them where a cap is known."""

    sized = "{domain:,} options"
    # Sets are simulated as tables of people: smaller crowds.
    simulated = 20_000
    error_of = "the share of a rare option"
    default_of = (
        "method auto over all options, chosen by 1/2, 1/3, 1/4, ... of respondents (simulated)"
    )
    detects = "the smallest detectable share of an option"
    truth = "options chosen by 1/2, 1/3, 1/4, ... of respondents"

    def size(self) -> str:
        """How many options, and how many of them one person may choose."""
        most = "" if self.asked.cap is None else f" (at most {self.asked.cap:,} of them chosen)"
        return super().size() + most

    def _wanted(self, epsilon: float) -> Wanted:
        return Wanted(self.domain, epsilon, self.asked.cap)

    def candidates(self, wish: BudgetSpec) -> list[MechanismChoice[SetMechanism]]:
        """Each in its best size."""
        wanted = self._wanted(wish.epsilon)
        asked: dict[str, object] = {"epsilon": wish.epsilon}
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
        """The closed form, at a share of 0."""
        return math.sqrt(float(mechanism.variance(0.0, users)))

    def default(self, mechanism: SetMechanism, users: int) -> float:
        """Over all options, on a crowd of which a half chose the first, a third the second."""
        return _default_error(mechanism, users, self.asked.cap)

    def linear(self, mechanism: SetMechanism, users: int) -> float:
        """Over all options of this crowd."""
        return math.sqrt(float(mechanism.variance(self._crowd(), users).mean()))

    def _crowd(self) -> Vector:
        return typical_keys(self.domain, self.asked.cap)[0]

    def detectable(self, mechanism: SetMechanism, users: int) -> float:
        """By a test of one option alone."""
        return told_apart(lambda f: math.sqrt(float(mechanism.variance(f, users))))

    def shown(self, mechanism: SetMechanism, users: int) -> float:
        """Of the first of all options."""
        about = RareCount.of_part(users, mechanism.share, mechanism.miss, mechanism.gain)
        return about.smallest_share(first_tail(CONFIDENCE, self.domain)) or 1.0

    def difference(self, mechanism: SetMechanism, users: int, between: PowerPlan) -> float:
        """Of the share of one option."""
        return between.share_difference(lambda f: float(mechanism.variance(f, 1)), users)

    def compared_rows(self, mechanism: SetMechanism) -> int:
        """A share for each option."""
        return self.domain

    def choose(
        self, candidates: Sequence[MechanismChoice[SetMechanism]], users: int, wish: BudgetSpec
    ) -> MechanismChoice[SetMechanism]:
        """What "auto" resolves to."""
        chosen = choose_sets(self._wanted(wish.epsilon))
        return next(c for c in candidates if c.mechanism == chosen)

    def reason(self, best: object, options: object) -> str | None:
        """The least variance over the options of a usual crowd."""
        return (
            "the least variance over options whose shares fall like 1/rank, where people choose "
            "half as many as they may (mean_size says otherwise)."
        )

    def notes(self, mechanism: SetMechanism, users: int) -> list[str]:
        """What a cap does, or would do."""
        if self.asked.cap is None:
            return ["Where few of many options are chosen, --cap N makes the error smaller."]
        return [] if mechanism.kept is None else [mechanism.kept.plan_sentence]

    def question(self) -> Mapping[str, object]:
        """How many options."""
        return {"domain": self.domain}

    def trials(self, mechanism: SetMechanism, users: int, seed: int) -> Iterator[Squares]:
        """People who choose options in the proportions above, nearly as many each."""
        from rumor.kinds.set.estimate import estimate

        frequency = self._crowd()
        rng, source = np.random.default_rng(seed), Seeded(seed)
        while True:
            crowd = from_table(holders(frequency, users, rng), self.domain)
            found = estimate(mechanism, mechanism.privatize(crowd, random=source), "auto", {})
            yield mean_square(found.unbiased - frequency), mean_square(found.frequency - frequency)


@functools.lru_cache(maxsize=64)
def _default_error(mechanism: SetMechanism, users: int, cap: int | None) -> float:
    """From counts alone, which are binomial option by option."""
    frequency, rng = typical_keys(mechanism.domain, cap)[0], np.random.default_rng(1)
    trials = max(1, round(users * mechanism.share))
    crowds = next(
        (crowds for size, crowds in _CROWDS.items() if mechanism.domain <= size), _CROWDS_OF_MANY
    )
    squares = []
    for _ in range(crowds):
        counts = rng.binomial(trials, mechanism.miss + mechanism.gain * frequency)
        items = ItemCounts(counts, float(trials), mechanism.hit, mechanism.miss, 1.0)
        squares.append(mean_square(shrunk(items)[0] - frequency))
    return math.sqrt(float(np.mean(squares)))


def planned(size: Size) -> PlannedSet:
    """Any of so many options."""
    return PlannedSet(size)
