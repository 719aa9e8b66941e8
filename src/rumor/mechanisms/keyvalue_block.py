"""The block mechanism: randomised response on everything that a few sampled keys say.

m keys are drawn for each person whatever they hold, and shown in the report. What they
say together is one of 3**m states; it is reported by randomised response, which spends
the whole budget on every state. For each key on its own this is randomised response on
three values, whatever the other keys are.

Model, with t the threshold of the truth and S = 3**m, given the m keys:
    P(state y | state x) = t / 2**64                     if y = x
                         = (2**64 - t) / (2**64 (S - 1)) otherwise
where the state of a person who holds a key with a value is random: it is rounded up with
probability step / G. Every set of m keys has probability 1 / C(keys, m).
Privacy: two people can differ in every state, so the loss is the logarithm of the ratio
of the two probabilities; t is rounded down.
Report: the keys in ascending order, each a little-endian integer, then one byte: the sum
of 3**i times what the i-th of them says (0 nothing, 1 plus, 2 minus).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.coins import keep_or_replace
from rumor.core.loops import loops
from rumor.core.pairs import StepTable, WideTable
from rumor.core.randomness import Draws, Source
from rumor.core.reports import Reports, Validity, bytes_for, little_endian, narrow_integers
from rumor.core.types import Tally
from rumor.mechanisms.keyvalue import (
    MINUS,
    PLUS,
    STEPS,
    KeyCounts,
    KeyRates,
    KeyValueMechanism,
    make_grid,
    rounded_signs,
    sampled_keys,
)

_MAX_BLOCK = 5
# People handled at a time: their words, keys and steps stay in the second-level cache.
_CHUNK = 1 << 14


class KeyValueBlock(KeyValueMechanism):
    """Joint randomised response over m publicly sampled keys: the default for key-value data."""

    name = "keyvalue-block"
    OPTIONS = SHAPE = ("block",)
    THRESHOLDS = ("truth",)
    truth: int
    """The threshold of telling the true state."""

    def __init__(
        self,
        *,
        keys: int | Sequence[str],
        epsilon: float,
        low: float = -1.0,
        high: float = 1.0,
        outside: str = "refuse",
        block: int | None = None,
        steps: int = STEPS,
    ) -> None:
        """`keys` is a number or a list of labels; `block` is m, the best one unless said."""
        self._open(keys, make_grid(low, high, outside, steps))
        power = exact.exp(exact.checked_epsilon(epsilon))
        if block is None:
            most = min(self.keys, _MAX_BLOCK)
            block = min(range(1, most + 1), key=lambda m: _noise(m, float(power)))
        self._shape(block)
        self.truth = exact.floor_threshold(power / (power + self.states - 1))
        self._accept()
        if self.epsilon > epsilon:
            raise exact.not_kept(epsilon)

    def _shape(self, block: object) -> None:
        self.block = checked_size("block", block, 1, min(self.keys, _MAX_BLOCK))
        self.states: int = 3**self.block
        self._integer = bytes_for(self.keys)

    def _accept(self) -> None:
        exact.require_above_even(self.truth, self.states, "states")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """One key and several, blocks of one to three, odd grids."""
        return [
            cls(keys=1, epsilon=0.5, steps=1),
            cls(keys=3, epsilon=1.0, steps=2, block=1),
            cls(keys=3, epsilon=3.0, steps=1, block=2, low=0.0, high=5.0, outside="clip"),
            cls(keys=3, epsilon=5.0, steps=1, block=3),
        ]

    def _truth(self) -> tuple[Fraction, Fraction]:
        """The probability of the true state, and of each other one."""
        truth = Fraction(self.truth, exact.WORD)
        return truth, (1 - truth) / (self.states - 1)

    @property
    def epsilon(self) -> float:
        """Truth over lie."""
        truth, other = self._truth()
        return exact.worst_log_ratio([truth / other])

    @property
    def width(self) -> int:
        """The keys and a byte."""
        return self.block * self._integer + 1

    @property
    def alphabet(self) -> int:
        """Every set of keys with every state."""
        return math.comb(self.keys, self.block) * self.states

    def outputs(self, public: bytes = b"") -> Reports:
        """Every set of keys, in lexicographic order, with every state."""
        rows = [
            np.frombuffer(self._report(keys, state), np.uint8)
            for keys in itertools.combinations(range(self.keys), self.block)
            for state in range(self.states)
        ]
        return np.array(rows, dtype=np.uint8)

    def _report(self, keys: Sequence[int], state: int) -> bytes:
        return b"".join(key.to_bytes(self._integer, "little") for key in keys) + bytes([state])

    def probability(self, report: bytes, value: object) -> Fraction:
        """The model at the top of this file, the rounding of the values included."""
        held, size, state = self.layout.person(value), self._integer, report[-1]
        true = Fraction(1)
        for i in range(self.block):
            key = int.from_bytes(report[i * size : (i + 1) * size], "little")
            true *= self.sign_chance(held.get(key), state // 3**i % 3)
        truth, other = self._truth()
        return (other + (truth - other) * true) / math.comb(self.keys, self.block)

    def draw(self, value: object, draws: Draws) -> bytes:
        """The keys, what they say, then randomised response on that.

        Keys by Floyd's algorithm: for j from keys - m to keys - 1, below(j + 1), or j when
        that is taken. For each of them in ascending order that is held: below(G), plus when
        it is below the step. Then coin(truth); otherwise below(S - 1), skipping the state.
        """
        held = self.layout.person(value)
        chosen: set[int] = set()
        for j in range(self.keys - self.block, self.keys):
            pick = draws.below(j + 1)
            chosen.add(j if pick in chosen else pick)
        state = 0
        for i, key in enumerate(sorted(chosen)):
            if key in held:
                state += 3**i * (PLUS if draws.below(self.grid.steps) < held[key] else MINUS)
        if not draws.coin(self.truth):
            other = draws.below(self.states - 1)
            state = other + (other >= state)
        return self._report(sorted(chosen), state)

    def _privatize(self, values: object, source: Source) -> Reports:
        pairs, stream = self.read(values), source.stream()
        out = np.empty((pairs.people, self.width), dtype=np.uint8)
        powers = 3 ** np.arange(self.block)
        for start in range(0, pairs.people, _CHUNK):
            rows = min(_CHUNK, pairs.people - start)
            if self.block == 1 and isinstance(pairs, (WideTable, StepTable)):  # in one pass
                keys, said = np.empty((rows, 1), dtype=np.int64), np.empty(rows, dtype=np.int64)
                pairs.sampled(stream, start, keys[:, 0], said)
            else:
                keys = sampled_keys(stream, rows, self.keys, self.block)
                said = rounded_signs(stream, pairs.at(start, keys), self.grid.steps) @ powers
            states = keep_or_replace(stream, said, self.states, self.truth)
            part = out[start : start + rows]
            for i in range(self.block):
                part[:, i * self._integer : (i + 1) * self._integer] = little_endian(
                    keys[:, i], self._integer
                )
            part[:, -1] = states
        return out

    def _fields(self, reports: Reports) -> tuple[NDArray[np.integer], NDArray[np.uint8]]:
        """Keys (n, m) and states."""
        flat = np.ascontiguousarray(reports[:, :-1]).reshape(-1, self._integer)
        return narrow_integers(flat).reshape(len(reports), self.block), reports[:, -1]

    def _validate(self, reports: Reports) -> Validity:
        reason = (
            f"a report has {self.block} ascending keys from 0 to {self.keys - 1:,} "
            f"and a state from 0 to {self.states - 1}"
        )
        keys, states = self._fields(reports)
        ascending = (np.diff(keys.astype(np.int64), axis=1) > 0).all(axis=1)
        return Validity(ascending & (keys[:, -1] < self.keys) & (states < self.states), reason)

    @property
    def tally_size(self) -> int:
        """For each key how often it said nothing, plus and minus."""
        return 3 * self.keys

    @property
    def counters_per_report(self) -> int:
        """A report says something of each key of its block."""
        return self.block

    def tally(self, reports: Reports) -> Tally:
        """Counts by key and by what it said."""
        keys, states = self._fields(reports)
        counts = np.zeros(self.tally_size, dtype=np.int64)
        fast = loops(reports.nbytes)
        for i in range(self.block):
            said = states // np.uint8(3**i) % np.uint8(3)
            fast.count_codes(keys[:, i].astype(np.int64) * 3 + said, counts)
        return counts

    def consistent(self, tally: Tally, reports: int) -> bool:
        """The keys of a block are distinct: of each, a report says one thing at most."""
        by_key = tally.reshape(self.keys, 3)
        return super().consistent(tally, reports) and bool((by_key.sum(axis=1) <= reports).all())

    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        """As tallied."""
        table = tally.reshape(self.keys, 3)
        return KeyCounts(table[:, PLUS], table[:, MINUS], table.sum(axis=1))

    @property
    def rates(self) -> KeyRates:
        """A key says what it did in a third of the other states."""
        third, (truth, other) = 3 ** (self.block - 1), self._truth()
        gain = float(truth - other)
        return KeyRates(float(2 * third * other), gain, gain)

    @property
    def share(self) -> float:
        """A report is about m of the keys."""
        return self.block / self.keys


def _noise(block: int, power: float) -> float:
    """Var f + Var s of a key that half the people hold, up to a factor."""
    total = power + 3**block - 1
    gain = (power - 1) / total
    seen = 2 * 3 ** (block - 1) / total + gain / 2
    return float((seen * (1 - seen) + seen) / (gain**2 * block))
