"""Item sampling: report one of the keys that a person holds, or one that nobody asked about.

A public cap l bounds how many keys a person holds. A person has l slots, filled by their
keys and otherwise empty. With t the threshold of the truth:
    coin(t):    one of the l slots at random; its key and sign, or "nothing" if empty
    otherwise:  one of the 2 d + l outputs at random: d keys with two signs, l "nothings"
so that, with Z = 2 d + l, P(key, sign) is (2**64 - t) / 2**64 / Z, plus t / 2**64 / l times
the probability of the sign where the person holds the key; P(nothing) is the rest.
Privacy: an output differs most between its holder and others, by 1 + t Z / ((2**64 - t) l);
"nothing" differs by as much between someone with no key and someone with l. t is rounded
down. This is PCKV-GRR (Gu et al. 2020) with its l dummy keys merged into one output.
Of people who hold more than l keys slots are drawn from all their keys, which is as private and
underestimates what they hold; a table with such people is refused unless the collection says
so. (A device draws either way: whether a report exists must not depend on the answer.)
Report: an integer, 0 for nothing and 1 + 2 key + (0 plus, 1 minus), little-endian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import AnswerError, InputError
from rumor.core.number_range import Grid
from rumor.core.pairs import Keys, Pairs
from rumor.core.randomness import Draws, Source, Stream
from rumor.core.reports import Reports, little_endian
from rumor.core.types import Tally
from rumor.mechanisms.base import only_keys
from rumor.mechanisms.integer_reports import CountedIntegers
from rumor.mechanisms.keyvalue import (
    GRID,
    MINUS,
    PLUS,
    STEPS,
    KeyCounts,
    KeyRates,
    KeyValueMechanism,
    make_grid,
)

OVER_CAP = ("refuse", "sample")


class CappedMechanism(CountedIntegers, KeyValueMechanism):
    """What item sampling and PCKV-GRR share: slots, one of which is reported."""

    OPTIONS = ("cap", "over_cap")
    cap: int
    over_cap: str

    def _cap(self, cap: object, over_cap: object) -> None:
        self.cap = checked_size("cap", cap, 1, self.keys)
        self.over_cap = checked_choice("over_cap", over_cap, OVER_CAP)

    @property
    def most_held(self) -> int:
        """The cap, where more are refused."""
        return self.cap if self.over_cap == "refuse" else self.keys

    def capped_parameters(self) -> dict[str, Json]:
        """Keys, grid and cap."""
        return {**self.named_parameters(), "cap": self.cap, "over_cap": self.over_cap}

    def _slots(self, size: int) -> int:
        """How many slots a person with so many keys draws from."""
        return max(size, self.cap)

    def notes(self, value: object) -> tuple[str, ...]:
        """Whether the report draws from more keys than the cap, too."""
        told = f"more than {self.cap} keys are held, and the report draws from all of them"
        over = len(self.layout.held(value)) > self.cap
        return super().notes(value) + ((told,) if over else ())

    def held(self, value: object) -> list[tuple[int, int]]:
        """One person's (key, step) by ascending key."""
        return sorted(self.layout.person(value).items())

    def read_capped(self, values: object) -> tuple[Pairs, Keys]:
        """Many people's pairs and sizes; whoever exceeds the cap is refused or drawn from."""
        pairs = self.read(values)
        sizes = pairs.sizes()
        over = np.flatnonzero(sizes > self.cap) if self.over_cap == "refuse" else sizes[:0]
        if over.size:
            rule = f"a person must hold at most {self.cap} keys (the cap)"
            raise AnswerError(rule, int(over[0]), "more")
        return pairs, sizes

    def item_chance(self, value: object, item: int) -> Fraction:
        """P(the slot drawn says this item), item being 2 key + (0 plus, 1 minus)."""
        held = self.held(value)
        step = dict(held).get(item // 2)
        if step is None:
            return Fraction(0)
        return self.sign_chance(step, (PLUS, MINUS)[item % 2]) / self._slots(len(held))


class ItemSampling(CappedMechanism):
    """One of a person's own keys, or nothing: best where people hold few of many keys."""

    name = "item-sampling"

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
        """`cap` is the most keys that a person may hold; `over_cap="sample"` draws from more."""
        self._open(keys, make_grid(low, high, outside, steps))
        self._cap(cap, over_cap)
        power = exact.exp(exact.checked_epsilon(epsilon))
        truth = self.cap * (power - 1) / (2 * self.keys + self.cap * power)
        self._set(exact.floor_threshold(truth))
        if self.epsilon > epsilon:
            raise InputError(
                f"epsilon must be large enough to be kept exactly by 64-bit thresholds; "
                f"got {epsilon!r}"
            )

    def _set(self, truth: int) -> None:
        self.truth = truth
        self._items = 2 * self.keys
        self._outputs = self._items + self.cap

    def parameters(self) -> dict[str, Json]:
        """Keys, grid, cap and the threshold of the truth."""
        return {**self.capped_parameters(), "truth": str(self.truth)}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        """From a contract."""
        keys, *grid, cap, over_cap, truth = only_keys(
            cls.name, parameters, "keys", *GRID, "cap", "over_cap", "truth"
        )
        self = cls.__new__(cls)
        self._open(checked_size("keys", keys, 1, 1 << 20), Grid.from_parameters(*grid))
        self._cap(cap, over_cap)
        self._set(exact.checked_threshold("truth", truth))
        return self

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """A cap of every key, of fewer with more held, and of one."""
        return [
            cls(keys=2, epsilon=1.0, cap=2, steps=2),
            cls(keys=3, epsilon=2.0, cap=2, steps=1, over_cap="sample"),
            cls(keys=1, epsilon=0.5, cap=1, steps=3, low=0.0, high=5.0, outside="clip"),
        ]

    def _truth(self) -> tuple[Fraction, Fraction]:
        """The probability of the truth, and of each output otherwise."""
        truth = Fraction(self.truth, exact.WORD)
        return truth, (1 - truth) / self._outputs

    @property
    def epsilon(self) -> float:
        """A key that is held over one that is not, or nobody's slots over full ones."""
        truth, other = self._truth()
        return exact.worst_log_ratio([(truth / self.cap + other) / other])

    @property
    def alphabet(self) -> int:
        """Nothing, or a key with a sign."""
        return self._items + 1

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model at the top of this file."""
        output, (truth, other) = int.from_bytes(report, "little"), self._truth()
        if output == 0:
            held = len(self.held(value))
            empty = Fraction(max(self.cap - held, 0), self._slots(held))
            return truth * empty + other * self.cap
        return truth * self.item_chance(value, output - 1) + other

    def draw(self, value: object, draws: Draws) -> bytes:
        """coin(truth): below(slots), and below(G) for the sign; otherwise below(2 d + l)."""
        held = self.held(value)
        output, slots = 0, self._slots(len(held))
        if draws.coin(self.truth):
            slot = draws.below(slots)
            if slot < len(held):
                key, step = held[slot]
                output = 1 + 2 * key + (draws.below(self.grid.steps) >= step)
        else:
            pick = draws.below(self._outputs)
            output = 1 + pick if pick < self._items else 0
        return output.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: Source) -> Reports:
        pairs, sizes = self.read_capped(values)
        stream, people = source.stream(), pairs.people
        honest = stream.words(people) < np.uint64(self.truth)
        slots = drawn_slots(stream, np.maximum(sizes, self.cap))
        key, step = pairs.held(slots)
        up = stream.below(self.grid.steps, people).astype(np.int64) < step
        true = np.where(slots < sizes, 1 + 2 * key + ~up, 0)
        pick = stream.below(self._outputs, people).astype(np.int64)
        other = np.where(pick < self._items, 1 + pick, 0)
        return little_endian(np.where(honest, true, other), self.width)

    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """Every report is about every key: what is not + or - of it says nothing."""
        return KeyCounts(tally[1::2], tally[2::2], np.full(self.keys, reports, dtype=np.int64))

    @property
    def rates(self) -> KeyRates:
        """Of people who hold at most the cap."""
        truth, other = self._truth()
        gain = float(truth / self.cap)
        return KeyRates(float(2 * other), gain, gain)


def drawn_slots(stream: Stream, bounds: Keys) -> Keys:
    """A uniform integer below each bound: the high half of a product, with rejection (Lemire)."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    factor = bounds.astype(np.uint64)
    product = (stream.words(bounds.size) >> half) * factor
    slots: Keys = (product >> half).astype(np.int64)
    biased = np.flatnonzero((product & low) < np.uint64(1 << 32) % factor)
    if biased.size:
        slots[biased] = drawn_slots(stream, bounds[biased])
    return slots
