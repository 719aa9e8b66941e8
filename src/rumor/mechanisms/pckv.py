"""PCKV-GRR: pad a person's keys to a fixed number, draw one, randomise it among all.

Gu, Li, Cheng, Xiong and Cao 2020, to compare with. A person has l slots (the public cap,
capped.py): their keys, then dummy keys. One slot is drawn; its key and sign (a fair one for a
dummy) are reported by randomised response on the 2 (d + l) pairs. With t the threshold of the truth
and o = (2**64 - t) / 2**64 / (2 (d + l) - 1),
    P(pair | person) = o + (t / 2**64 - o) P(the slot says the pair).
Privacy: a pair differs most between someone whose one slot surely says it and someone
without it, by (t/2**64 + (l - 1) o) / (l o); t is rounded down.
Report: an integer, 2 key + (0 plus, 1 minus), dummy keys behind the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.coins import keep_or_replace
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, little_endian
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.capped import CappedMechanism, drawn_slots
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.mechanisms.shapes import CountedIntegers


class PckvGrr(CountedIntegers, CappedMechanism):
    """Padding and sampling with generalised randomised response, as published.

    `cap` is the number of slots; `over_cap="sample"` draws from more keys than that.
    """

    name = "pckv-grr"

    def _chance_of_truth(self, power: Fraction) -> Fraction:
        weight = self.cap * (power - 1) + 1
        return weight / (weight + self.alphabet - 1)

    def _check_identifiable(self) -> None:
        exact.require_above_even(self.truth, self.alphabet, "pairs")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with a cap of every key, of fewer keys with more held, and of one."""
        return [
            cls(keys=2, epsilon=1.0, cap=2, steps=2),
            cls(keys=3, epsilon=2.0, cap=2, steps=1, over_cap="sample"),
            cls(keys=1, epsilon=0.5, cap=1, steps=3),
        ]

    @property
    def _others(self) -> int:
        return self.alphabet - 1

    @property
    def epsilon(self) -> float:
        """The exact loss: the pair of a full slot against someone who lacks that pair."""
        truth, other = self._truth()
        return exact.worst_log_ratio([(truth + (self.cap - 1) * other) / (self.cap * other)])

    def blanket(self) -> Blanket:
        """Return the blanket of two people with full slots and no pair in common.

        Dummies have both signs, and so mix such people.
        """
        truth, other = self._truth()
        odds = 1 + (truth - other) / (self.cap * other)
        return support_blanket(self.cap * other * odds, odds)

    @property
    @override
    def alphabet(self) -> int:
        return 2 * (self.keys + self.cap)

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        item, (truth, other) = int.from_bytes(report, "little"), self._truth()
        dummy = item // 2 - self.keys
        if dummy < 0:
            says = self.item_chance(value, item)
        else:
            held = len(self.held(value))
            says = Fraction(dummy < self._slots(held) - held, 2 * self._slots(held))
        return other + (truth - other) * says

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw below(slots); the sign by below(2 G); coin(truth); otherwise below(pairs - 1)."""
        held = self.held(value)
        slot = draws.below(self._slots(len(held)))
        if slot < len(held):
            key, half_steps = held[slot][0], 2 * held[slot][1]
        else:
            key, half_steps = self.keys + slot - len(held), self.grid.steps
        item = 2 * key + (draws.below(2 * self.grid.steps) >= half_steps)
        if not draws.coin(self.truth):
            other = draws.below(self.alphabet - 1)
            item = other + (other >= item)
        return item.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        pairs, sizes = self.read_capped(values)
        stream, people = source.stream(), pairs.people
        slots = drawn_slots(stream, np.maximum(sizes, self.cap))
        own = slots < sizes
        key, step = pairs.held(slots)
        keys = np.where(own, key, self.keys + slots - sizes)
        half_steps = np.where(own, 2 * step.astype(np.int64), self.grid.steps)
        down = stream.below(2 * self.grid.steps, people).astype(np.int64) >= half_steps
        items = keep_or_replace(stream, 2 * keys + down, self.alphabet, self.truth)
        return little_endian(items, self.width)

    @override
    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        own = tally[: 2 * self.keys]
        return KeyCounts(own[0::2], own[1::2], np.full(self.keys, reports, dtype=np.int64))

    @property
    def rates(self) -> KeyRates:
        """The rates of + and - for people who hold at most the cap."""
        truth, other = self._truth()
        gain = float((truth - other) / self.cap)
        return KeyRates(float(2 * other), gain, gain)
