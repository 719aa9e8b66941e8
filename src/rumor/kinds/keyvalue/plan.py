"""The plan of keys with numbers: the share of people with a key, and the mean of its values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.randomness import Seeded
from rumor.core.types import Vector
from rumor.kinds.keyvalue.question import key_value
from rumor.kinds.planning.forecast import holders, key_ratio, typical_keys
from rumor.kinds.planning.planned import (
    BudgetSpec,
    MechanismChoice,
    PlannedQuestion,
    Size,
    Squares,
    mean_square,
    smallest_detectable_share,
)
from rumor.mechanisms import (
    ItemSampling,
    KeySet,
    KeyValueBlock,
    KeyValueMechanism,
    PckvGrr,
    PrivKV,
    PrivKVM,
)
from rumor.results.selection import split_tails
from rumor.results.smallest_share import RareCount
from rumor.results.view import ROWS_SHOWN

# The share of people with the key whose mean's error is shown, with values around the middle.
SHARE = 0.1


NO_CAP = (
    "Where people hold few of the keys, say the most that one holds (--cap): the number that nine "
    "in ten do not exceed. A lower one loses shares of those who hold more, a higher one adds "
    "noise."
)


class PlannedKeyValue(PlannedQuestion[KeyValueMechanism]):
    """Some of `domain` keys, at most `cap` of them where a cap is known, as a plan works
    with them.
    """

    sized = "{domain:,} keys"
    # Keys are simulated as tables of people, so populations are smaller than elsewhere.
    simulated = 20_000
    error_of = f"the share of a key that {SHARE:.0%} of respondents hold"
    default_of = "method auto over all keys, held by 1/2, 1/3, 1/4, ... of respondents (simulated)"
    detects = "the smallest detectable share of a key"

    def size(self) -> str:
        """Return the number of keys and the cap, in words."""
        most = "" if self.asked.cap is None else f" (at most {self.asked.cap:,} of them held)"
        return super().size() + most

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[KeyValueMechanism]]:
        """Return every mechanism, with those that need a cap where there is one."""
        common = {"keys": self.domain, "low": self.asked.low, "high": self.asked.high}
        cost, cap = {"epsilon": budget.epsilon, "outside": "clip"}, {"cap": self.asked.cap}
        made: list[tuple[str, KeyValueMechanism, object]] = [
            ("keyvalue-block", KeyValueBlock(**common, **cost), "keyvalue-block"),  # type: ignore[arg-type]
            (
                "privkv, exact split",
                PrivKV(**common, **cost, split="exact"),  # type: ignore[arg-type]
                {"name": "privkv", "split": "exact"},
            ),
            ("privkv", PrivKV(**common, **cost), "privkv"),  # type: ignore[arg-type]
            ("privkvm, 3 rounds", PrivKVM(**common, **cost), "privkvm"),  # type: ignore[arg-type]
        ]
        if self.asked.cap is not None:
            made += [
                ("item-sampling", ItemSampling(**common, **cost, **cap), "item-sampling"),  # type: ignore[arg-type]
                ("key-set", KeySet(**common, **cost, **cap), "key-set"),  # type: ignore[arg-type]
                ("pckv-grr", PckvGrr(**common, **cost, **cap), "pckv-grr"),  # type: ignore[arg-type]
            ]
        found = []
        for label, mechanism, name in made:
            asked: dict[str, object] = {"epsilon": budget.epsilon, "mechanism": name}
            if hasattr(mechanism, "cap"):
                asked["cap"] = self.asked.cap
            found.append(MechanismChoice(label, mechanism, asked))
        return found

    def error(self, mechanism: KeyValueMechanism, users: int) -> float:
        """Return the standard error of the linear estimate of the share."""
        return math.sqrt(float(mechanism.variances(SHARE, 0.0, users)[0]))

    def second_error(self, mechanism: KeyValueMechanism, users: int) -> float | None:
        """Return the first-order standard error of the mean, at most half the range.

        None for PrivKVM, whose means come from its last round.
        """
        if mechanism.rounds > 1:
            return None
        half = self.asked.span / 2
        product = float(mechanism.variances(SHARE, 0.0, users)[1])
        return half * min(1.0, math.sqrt(product) / SHARE)

    def default(self, mechanism: KeyValueMechanism, users: int) -> float:
        """Return the default's error over all keys, with shares of 1/2, 1/3, 1/4, ... of people."""
        linear = self.linear(mechanism, users)
        return linear * key_ratio(self._crowd(mechanism)[0], linear)

    def linear(self, mechanism: KeyValueMechanism, users: int) -> float:
        """Return the linear estimate's error over all keys of this population."""
        frequency, mean = self._crowd(mechanism)
        return math.sqrt(float(mechanism.variances(frequency, mean, users)[0].mean()))

    def _crowd(self, mechanism: KeyValueMechanism) -> tuple[Vector, Vector]:
        return typical_keys(self.domain, getattr(mechanism, "cap", None))

    def detectable(self, mechanism: KeyValueMechanism, users: int) -> float:
        """Return the smallest share that a test of one key detects."""
        keyed = mechanism
        return smallest_detectable_share(
            lambda f: math.sqrt(float(keyed.variances(f, 0.0, users)[0]))
        )

    def shown(self, mechanism: KeyValueMechanism, users: int) -> float:
        """Return the smallest share whose interval, as the first in the table, excludes zero."""
        rates = mechanism.rates
        about = RareCount.of_part(users, mechanism.share, rates.miss, rates.gain)
        tails = split_tails(CONFIDENCE, 1, min(ROWS_SHOWN, self.domain), self.domain)
        return about.smallest_share(float(tails.lower[0])) or 1.0

    def choose(
        self,
        candidates: Sequence[MechanismChoice[KeyValueMechanism]],
        users: int,
        budget: BudgetSpec,
    ) -> MechanismChoice[KeyValueMechanism]:
        """Return what "auto" resolves to."""
        chosen = key_value(
            self.domain,
            budget.epsilon,
            self.asked.cap,
            low=self.asked.low,
            high=self.asked.high,
            outside="clip",
        )
        return next(c for c in candidates if c.mechanism == chosen)

    def question(self) -> Mapping[str, object]:
        """Return keys and range."""
        return {
            "keys": self.domain,
            "low": self.asked.low,
            "high": self.asked.high,
            "outside": "clip",
        }

    def notes(self, mechanism: KeyValueMechanism, users: int) -> list[str]:
        """Return notes on the quantities of the errors, and on the effect of a cap."""
        told = [
            f"Mean error: standard error of the mean of a key of {SHARE:.0%} of respondents, in "
            f"units of the value; at most half the range."
        ]
        if mechanism.kept is not None:
            told.append(mechanism.kept.plan_sentence)
        return told if self.asked.cap is not None else [*told, NO_CAP]

    truth = "keys of 1/2, 1/3, 1/4, ... of respondents"

    def trials(self, mechanism: KeyValueMechanism, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors of populations with the shares above and values near the
        keys' means.
        """
        from rumor.kinds.estimating import estimate

        frequency, mean = self._crowd(mechanism)
        rng, source = np.random.default_rng(seed), Seeded(seed)
        middle, half = (self.asked.low + self.asked.high) / 2, self.asked.span / 2
        while True:
            held = holders(frequency, users, rng)
            table = np.where(held, middle + half * mean, np.nan)
            found = estimate(mechanism, mechanism.privatize(table, random=source))
            yield mean_square(found.unbiased - frequency), mean_square(found.frequency - frequency)


def planned(size: Size) -> PlannedKeyValue:
    """Return a key-value question of this `size` as a plan works with it."""
    return PlannedKeyValue(size)
