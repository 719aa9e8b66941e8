"""Slots: the part shared by mechanisms that report one of the keys a person holds.

A public cap l bounds how many keys a person holds. A person has l slots, filled by their keys
and otherwise empty; one of them is drawn. Of people who hold more than l keys slots are drawn
from all their keys, which is as private and underestimates what they hold; a table with such
people is refused unless the collection says so. (A device draws either way: whether a report
exists must not depend on the answer.)
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import AnswerError
from rumor.core.number_range import GRID_PARAMETERS
from rumor.core.pairs import Keys, Pairs
from rumor.core.randomness import Stream
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.keyvalue import MINUS, PLUS, STEPS, KeyValueMechanism, make_grid

OVER_CAP = ("refuse", "sample")


class CappedMechanism(KeyValueMechanism):
    """A mechanism that draws from a person's slots, and tells the truth of them by a coin."""

    OPTIONS: ClassVar[tuple[str, ...]] = ("cap", "over_cap")
    _DOMAIN_NAMES = ("keys", *GRID_PARAMETERS, *OPTIONS)
    _THRESHOLDS = ("truth",)
    cap: int
    over_cap: str
    truth: int

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        cap: int,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        over_cap: str = "refuse",
        steps: int = STEPS,
    ) -> None:
        self._open(keys, make_grid(low, high, outside, steps))
        self._cap(cap, over_cap)
        power = exact.exp(exact.checked_epsilon(epsilon))
        self.truth = exact.floor_threshold(self._chance_of_truth(power))
        self._check_identifiable()
        if self.epsilon > epsilon:
            raise exact.not_kept(epsilon)

    @abc.abstractmethod
    def _chance_of_truth(self, power: Fraction) -> Fraction:
        """Return the probability of the truth at which the worst ratio is `power`."""

    @property
    @abc.abstractmethod
    def _others(self) -> int:
        """The number of outputs that share the probability of an untrue report."""

    def _truth(self) -> tuple[Fraction, Fraction]:
        """Return the probability of the truth, and of each output otherwise."""
        truth = Fraction(self.truth, exact.WORD)
        return truth, (1 - truth) / self._others

    def _cap(self, cap: object, over_cap: object) -> None:
        self.cap = checked_size("cap", cap, 1, self.keys)
        self.over_cap = checked_choice("over_cap", over_cap, OVER_CAP)

    @property
    def most_held(self) -> int:
        """The largest number of keys that a person may hold: the cap, if more are refused."""
        return self.cap if self.over_cap == "refuse" else self.keys

    @property
    def most_shown(self) -> int:
        """The most keys that one report shows, dummies included."""
        return 1

    @property
    def kept(self) -> Kept | None:
        """The limit that the cap sets; None if the cap is the number of all keys."""
        if self.cap == self.keys:
            return None
        may_exceed = self.most_held > self.cap
        return Kept("keys", "held", self.cap, self.keys, self.most_shown, may_exceed)

    def capped_parameters(self) -> dict[str, Json]:
        """Return keys, grid and cap as a contract's parameters."""
        return {**self.named_parameters(), "cap": self.cap, "over_cap": self.over_cap}

    def _domain_parameters(self) -> dict[str, Json]:
        return self.capped_parameters()

    def _load_domain(self, *ground: object) -> None:
        *opened, cap, over_cap = ground
        super()._load_domain(*opened)
        self._cap(cap, over_cap)

    def _check_identifiable(self) -> None:
        """Check nothing: every threshold is identifiable, unless a subclass says otherwise."""

    def _slots(self, size: int) -> int:
        """Return the number of slots from which a person who holds `size` keys draws."""
        return max(size, self.cap)

    def notes(self, value: object) -> tuple[str, ...]:
        """Return the notes, with one that says if the report draws from more keys than the cap."""
        told = f"more than {self.cap} keys are held, and the report draws from all of them"
        over = len(self.layout.held(value)) > self.cap
        return super().notes(value) + ((told,) if over else ())

    def held(self, value: object) -> list[tuple[int, int]]:
        """Return one person's (key, step) pairs by ascending key."""
        return sorted(self.layout.person(value).items())

    def read_capped(self, values: object) -> tuple[Pairs, Keys]:
        """Read many people's pairs and sizes; refuse or sample from those who exceed the cap."""
        pairs = self.read(values)
        sizes = pairs.sizes()
        over = np.flatnonzero(sizes > self.cap) if self.over_cap == "refuse" else sizes[:0]
        if over.size:
            rule = f"a person must hold at most {self.cap} keys (the cap)"
            raise AnswerError(rule, int(over[0]), "more")
        return pairs, sizes

    def item_chance(self, value: object, item: int) -> Fraction:
        """Return P(the slot drawn says this item), item being 2 key + (0 plus, 1 minus)."""
        held = self.held(value)
        step = dict(held).get(item // 2)
        if step is None:
            return Fraction(0)
        return self.sign_chance(step, (PLUS, MINUS)[item % 2]) / self._slots(len(held))


def drawn_slots(stream: Stream, bounds: Keys) -> Keys:
    """Return a uniform integer below each bound: the high half
    of a product, with rejection (Lemire).
    """
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    factor = bounds.astype(np.uint64)
    product = (stream.words(bounds.size) >> half) * factor
    slots: Keys = (product >> half).astype(np.int64)
    biased = np.flatnonzero((product & low) < np.uint64(1 << 32) % factor)
    if biased.size:
        slots[biased] = drawn_slots(stream, bounds[biased])
    return slots
