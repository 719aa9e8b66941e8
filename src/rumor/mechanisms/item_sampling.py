"""Item sampling: report one of the keys that a person holds, or one that nobody asked about.

A person has l slots (the public cap, capped.py), filled by their keys and otherwise empty.
With t the threshold of the truth:
    coin(t):    one of the l slots at random; its key and sign, or "nothing" if empty
    otherwise:  one of the 2 d + l outputs at random: d keys with two signs, l "nothings"
so that, with Z = 2 d + l, P(key, sign) is (2**64 - t) / 2**64 / Z, plus t / 2**64 / l times
the probability of the sign where the person holds the key; P(nothing) is the rest.
Privacy: an output differs most between its holder and others, by 1 + t Z / ((2**64 - t) l);
"nothing" differs by as much between someone with no key and someone with l. t is rounded
down. This is PCKV-GRR (Gu et al. 2020) with its l dummy keys merged into one output.
Report: an integer, 0 for nothing and 1 + 2 key + (0 plus, 1 minus), little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, little_endian
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blanket import Blanket, support_blanket
from rumor.mechanisms.capped import CappedMechanism, drawn_slots
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.mechanisms.shapes import CountedIntegers


class ItemSampling(CountedIntegers, CappedMechanism):
    """One of a person's own keys, or nothing: best where people hold few of many keys.

    `cap` is the most keys that a person may hold; `over_cap="sample"` draws from more.
    """

    name = "item-sampling"

    def _chance_of_truth(self, power: Fraction) -> Fraction:
        return self.cap * (power - 1) / (2 * self.keys + self.cap * power)

    @property
    def _items(self) -> int:
        """The number of items: a key with a sign is an item."""
        return 2 * self.keys

    @property
    def _others(self) -> int:
        """The number of other outputs: the items, and a "nothing" for each slot."""
        return self._items + self.cap

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with a cap of every key, of fewer keys with more held, and of one."""
        return [
            cls(keys=2, epsilon=1.0, cap=2, steps=2),
            cls(keys=3, epsilon=2.0, cap=2, steps=1, over_cap="sample"),
            cls(keys=1, epsilon=0.5, cap=1, steps=3, low=0.0, high=5.0, outside="clip"),
        ]

    @property
    def epsilon(self) -> float:
        """The exact loss: a held key against one not held, or empty slots against full ones."""
        truth, other = self._truth()
        return exact.worst_log_ratio([(truth / self.cap + other) / other])

    def blanket(self) -> Blanket:
        """Return the blanket of people with full or with empty slots, no key in common.

        For each level, the mass above it is convex in the number of full slots of the two people:
        largest if all or none are full. "Nothing" has the chances of as many items as a person has
        slots, so that empty slots are as good as full ones.
        """
        truth, other = self._truth()
        odds = 1 + truth / (self.cap * other)
        return support_blanket(self.cap * other * odds, odds)

    @property
    @override
    def alphabet(self) -> int:
        return self._items + 1

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        output, (truth, other) = int.from_bytes(report, "little"), self._truth()
        if output == 0:
            held = len(self.held(value))
            empty = Fraction(max(self.cap - held, 0), self._slots(held))
            return truth * empty + other * self.cap
        return truth * self.item_chance(value, output - 1) + other

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(truth): below(slots), and below(G) for the sign; otherwise below(2 d + l)."""
        held = self.held(value)
        output, slots = 0, self._slots(len(held))
        if draws.coin(self.truth):
            slot = draws.below(slots)
            if slot < len(held):
                key, step = held[slot]
                output = 1 + 2 * key + (draws.below(self.grid.steps) >= step)
        else:
            pick = draws.below(self._others)
            output = 1 + pick if pick < self._items else 0
        return output.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        pairs, sizes = self.read_capped(values)
        stream, people = source.stream(), pairs.people
        honest = stream.words(people) < np.uint64(self.truth)
        slots = drawn_slots(stream, np.maximum(sizes, self.cap))
        key, step = pairs.held(slots)
        up = stream.below(self.grid.steps, people).astype(np.int64) < step
        true = np.where(slots < sizes, 1 + 2 * key + ~up, 0)
        pick = stream.below(self._others, people).astype(np.int64)
        other = np.where(pick < self._items, 1 + pick, 0)
        return little_endian(np.where(honest, true, other), self.width)

    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """Return the counts of + and - of every key out of all
        reports: each report is about every key.
        """
        return KeyCounts(tally[1::2], tally[2::2], np.full(self.keys, reports, dtype=np.int64))

    @property
    def rates(self) -> KeyRates:
        """The rates of + and - for people who hold at most the cap."""
        truth, other = self._truth()
        gain = float(truth / self.cap)
        return KeyRates(float(2 * other), gain, gain)
