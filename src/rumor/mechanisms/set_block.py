"""Block: randomised response on the joint state of a few publicly drawn options.

b options are drawn for each person whatever they chose, and shown in the report. Which of them
were chosen is one of 2**b states, reported by randomised response, which spends the whole budget
on every state. For each option on its own this is randomised response on yes and no. There is no
cap.

Model, with t the threshold of the truth and S = 2**b, given the b options:
    P(state y | state x) = t / 2**64                     if y = x
                         = (2**64 - t) / (2**64 (S - 1)) otherwise
Every set of b options has probability 1 / C(D, b).
Privacy: two people can differ in every state, so the loss is the logarithm of the ratio of the
two probabilities; t is rounded down.
Report: the options in ascending order, each a little-endian integer, then one byte, whose bit i
says whether the i-th of them was chosen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.checks import checked_size
from rumor.core.columns import named_domain
from rumor.core.errors import InputError
from rumor.core.randomness import Draws, RandomSource, floyd
from rumor.core.reports import Reports
from rumor.core.types import Tally
from rumor.core.typing import override
from rumor.mechanisms.blocks import CHUNK, BlockReports
from rumor.mechanisms.keyvalue import sampled_keys
from rumor.mechanisms.sets import PairCounts, SetMechanism, pairs_of
from rumor.mechanisms.support import ItemCounts

MAX_BLOCK = 8


class SetBlock(BlockReports, SetMechanism):
    """Randomised response on a few publicly drawn options: best if people choose many options."""

    name = "block"

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        block: int,
        counted: str = "options",
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make a block on `domain`, a number of options or labels;
        `block` is b, by default the best.
        """
        self._open(named_domain(domain, labels), counted)
        self._load_shape(block)
        self._best_truth(epsilon)

    def _load_shape(self, block: object) -> None:
        self.cap = self.domain
        self.block = checked_size("block", block, 1, min(self.domain, MAX_BLOCK))
        self.states = 2**self.block

    def _check_identifiable(self) -> None:
        super()._check_identifiable()
        if self.pairs and self.block < 2:
            raise InputError(f"pairs need a block of at least 2 options; got {self.block}")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with one option and several, all of them, pairs, and two bytes."""
        return [
            cls(domain=2, epsilon=0.5, block=1),
            cls(domain=3, epsilon=1.0, block=2, counted="pairs"),
            cls(domain=4, epsilon=3.0, block=2),
            cls(domain=5, epsilon=4.0, block=5, counted="pairs"),
        ]

    @property
    def exact_hit(self) -> Fraction:
        """The chance that a chosen option is reported: in the true
        state and half of the others but one.
        """
        truth, other = self._truth()
        return truth + (self.states // 2 - 1) * other

    @property
    def exact_miss(self) -> Fraction:
        """The chance that another option is reported: in half of the states, never the true one."""
        return self.states // 2 * self._truth()[1]

    @property
    def pair_share(self) -> float:
        """The share of all pairs of options that one report is about."""
        return pairs_of(self.block) / pairs_of(self.domain)

    @property
    def exact_pairs(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """The chances that both of two options are reported if none, one or both are chosen."""
        if self.block < 2:
            return None
        truth, other = self._truth()
        none = self.states // 4 * other
        return none, none, none + truth - other

    def _state(self, held: Sequence[int], asked: Sequence[int]) -> int:
        return sum(1 << i for i, option in enumerate(asked) if option in held)

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        held, asked = self.options(value), self._shown(report)
        truth, other = self._truth()
        chance = truth if self._state(held, asked) == report[-1] else other
        return chance / math.comb(self.domain, self.block)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw the options by Floyd's algorithm, then randomise their joint state.

        coin(truth): the state; otherwise below(S - 1), skipping the state.
        """
        held = self.options(value)
        asked = floyd(draws, self.domain, self.block)
        return self._report(asked, self._told(self._state(held, asked), draws))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        sets, stream = self.read(values), source.stream()
        out = np.empty((sets.people, self.width), dtype=np.uint8)
        powers = 1 << np.arange(self.block)
        step = max(1, min(CHUNK, (1 << 24) // self.domain))
        for start in range(0, sets.people, step):
            stop = min(start + step, sets.people)
            asked = sampled_keys(stream, stop - start, self.domain, self.block)
            chosen = np.take_along_axis(sets.table(start, stop), asked, axis=1)
            self._written(stream, asked, chosen @ powers, out[start:stop])
        return out

    @property
    def tally_size(self) -> int:
        """The number of counters: two for each option, how often asked
        and chosen, and four for each pair.

        The four count the reports about both options, and those that say that the first, the
        second and both were chosen.
        """
        return 2 * self.domain + (4 * pairs_of(self.domain) if self.pairs else 0)

    @override
    def tally(self, reports: Reports) -> Tally:
        shown, states = self._fields(reports)
        asked = shown.astype(np.int64)
        yes = states[:, None] >> np.arange(self.block, dtype=np.uint8) & 1
        counts = np.bincount(asked.reshape(-1), minlength=self.domain)
        chosen = np.bincount(asked[yes == 1], minlength=self.domain)
        parts = [counts, chosen]
        if self.pairs:
            several = np.zeros((4, pairs_of(self.domain)), dtype=np.int64)
            for i, j in itertools.combinations(range(self.block), 2):
                place, first, second = self._place(asked[:, i], asked[:, j]), yes[:, i], yes[:, j]
                for row, held in enumerate(
                    (first >= 0, first == 1, second == 1, first & second == 1)
                ):
                    several[row] += np.bincount(place[held], minlength=several.shape[1])
            parts.append(several.reshape(-1))
        return np.concatenate(parts).astype(np.int64)

    def _place(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of a pair j < k, in lexicographic order."""
        return first * (2 * self.domain - first - 1) // 2 + second - first - 1

    def consistent(self, tally: Tally, reports: int) -> bool:
        """Return whether the counts fit b options to a report, none
        chosen more often than asked.
        """
        if not super().consistent(tally, reports):
            return False
        asked, chosen = tally[: self.domain], tally[self.domain : 2 * self.domain]
        right = sum(map(int, asked)) == self.block * reports and bool((chosen <= asked).all())
        if not (right and self.pairs):
            return right
        trials, first, second, both = tally[2 * self.domain :].reshape(4, -1)
        together = sum(map(int, trials)) == pairs_of(self.block) * reports
        fits = (first <= trials) & (second <= trials) & (both <= np.minimum(first, second))
        return together and bool(fits.all())

    @override
    def items(self, tally: Tally, reports: int) -> ItemCounts:
        asked, chosen = tally[: self.domain], tally[self.domain : 2 * self.domain]
        return ItemCounts(chosen, asked.astype(np.float64), self.hit, self.miss, 1.0)

    @override
    def pair_counts(self, tally: Tally, reports: int) -> PairCounts:
        trials, first, second, both = tally[2 * self.domain :].reshape(4, -1)
        return PairCounts(both, first, second, trials.astype(np.float64), self.pair_rates)
