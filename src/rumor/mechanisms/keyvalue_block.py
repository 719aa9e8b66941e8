"""The block mechanism: randomised response on the joint state of a few sampled keys.

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

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.loops import loops
from rumor.core.pairs import StepTable, WideTable
from rumor.core.randomness import Draws, RandomSource, floyd
from rumor.core.reports import Reports
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blocks import CHUNK, BlockReports
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


class KeyValueBlock(BlockReports, KeyValueMechanism):
    """Joint randomised response over m publicly sampled keys: the default for key-value data."""

    name = "keyvalue-block"

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
        """Make a block mechanism of `keys`, a number or labels;
        `block` is m, by default the best.
        """
        self._open(keys, make_grid(low, high, outside, steps))
        power = exact.exp(exact.checked_epsilon(epsilon))
        if block is None:
            most = min(self.keys, _MAX_BLOCK)
            block = min(range(1, most + 1), key=lambda m: _noise(m, float(power)))
        self._load_shape(block)
        self._best_truth(epsilon)

    def _load_shape(self, block: object) -> None:
        self.block = checked_size("block", block, 1, min(self.keys, _MAX_BLOCK))
        self.states = 3**self.block

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with one key and several, blocks of one to three, and odd grids."""
        return [
            cls(keys=1, epsilon=0.5, steps=1),
            cls(keys=3, epsilon=1.0, steps=2, block=1),
            cls(keys=3, epsilon=3.0, steps=1, block=2, low=0.0, high=5.0, outside="clip"),
            cls(keys=3, epsilon=5.0, steps=1, block=3),
        ]

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        held, state = self.layout.person(value), report[-1]
        true = Fraction(1)
        for i, key in enumerate(self._shown(report)):
            true *= self.sign_chance(held.get(key), state // 3**i % 3)
        truth, other = self._truth()
        return (other + (truth - other) * true) / math.comb(self.keys, self.block)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw the keys, round what they hold to signs, and randomise the joint state.

        Keys by Floyd's algorithm: for j from keys - m to keys - 1, below(j + 1), or j when
        that is taken. For each of them in ascending order that is held: below(G), plus when
        it is below the step. Then coin(truth); otherwise below(S - 1), skipping the state.
        """
        held = self.layout.person(value)
        shown, state = floyd(draws, self.keys, self.block), 0
        for i, key in enumerate(shown):
            if key in held:
                state += 3**i * (PLUS if draws.below(self.grid.steps) < held[key] else MINUS)
        return self._report(shown, self._told(state, draws))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        pairs, stream = self.read(values), source.stream()
        out = np.empty((pairs.people, self.width), dtype=np.uint8)
        powers = 3 ** np.arange(self.block)
        for start in range(0, pairs.people, CHUNK):
            rows = min(CHUNK, pairs.people - start)
            if self.block == 1 and isinstance(pairs, (WideTable, StepTable)):  # in one pass
                keys, said = np.empty((rows, 1), dtype=np.int64), np.empty(rows, dtype=np.int64)
                pairs.sampled(stream, start, keys[:, 0], said)
            else:
                keys = sampled_keys(stream, rows, self.keys, self.block)
                said = rounded_signs(stream, pairs.at(start, keys), self.grid.steps) @ powers
            self._written(stream, keys, said, out[start : start + rows])
        return out

    @property
    @override
    def tally_size(self) -> int:
        return 3 * self.keys

    @property
    @override
    def counters_per_report(self) -> int:
        return self.block

    @override
    def tally(self, reports: Reports) -> Tally:
        keys, states = self._fields(reports)
        counts = np.zeros(self.tally_size, dtype=np.int64)
        fast = loops(reports.nbytes)
        for i in range(self.block):
            said = states // np.uint8(3**i) % np.uint8(3)
            fast.count_codes(keys[:, i].astype(np.int64) * 3 + said, counts)
        return counts

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether no key was reported more often than there
        are reports: keys are distinct.
        """
        by_key = tally.reshape(self.keys, 3)
        return super().consistent(tally, reports) and bool((by_key.sum(axis=1) <= reports).all())

    @override
    def counts(self, tally: Tally, reports: int) -> KeyCounts:
        table = tally.reshape(self.keys, 3)
        return KeyCounts(table[:, PLUS], table[:, MINUS], table.sum(axis=1))

    @property
    def rates(self) -> KeyRates:
        """The rates of a key, which keeps its sign in a third of the other states."""
        third, (truth, other) = 3 ** (self.block - 1), self._truth()
        gain = float(truth - other)
        return KeyRates(float(2 * third * other), gain, gain)


def _noise(block: int, power: float) -> float:
    """Return Var f + Var s of a key that half the people hold,
    times (power - 1)**2 and a factor.
    """
    total = power + 3**block - 1
    seen = (2 * 3 ** (block - 1) + (power - 1) / 2) / total
    return float((seen * (1 - seen) + seen) * total**2 / block)
