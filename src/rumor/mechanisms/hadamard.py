"""Hadamard response: one number, from which a fast transform recovers every frequency.

Acharya, Sun and Zhang 2019. How many blocks are best depends on epsilon.

The K outputs are B blocks of b (both powers of two). Value x belongs to block x // (b-1),
where it owns the row j = 1 + x mod (b-1) of the Hadamard matrix of order b: output y of
the block supports x when popcount(j & y) is even. Half the block, s = b/2 outputs, does.
Model, with t the threshold of reporting a supporting output:
    P(y | x) = (t / 2**64) / s               if y supports x
             = (1 - t / 2**64) / (K - s)     otherwise
Privacy: the loss is the logarithm of their ratio, t/(2**64 - t) * (K - s)/s; t is rounded
down. Report: y as a little-endian integer in 1 to 3 bytes.

Estimation: two rows of one block agree on half its outputs, so C_x - (T - C_x), with C_x
the supporting reports and T all those of x's block, has mean n f_x g with
g = P(y supports x | x) - P(y in the block but does not support x | x), free of all other
frequencies. A block sees few reports of people outside it: that is why it pays, at large
epsilon, to have several.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.coins import tied_coins
from rumor.core.errors import InputError
from rumor.core.loops import loops
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, from_little_endian, little_endian
from rumor.core.types import Tally, Target, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.shapes import CountedIntegers
from rumor.mechanisms.support import ItemCounts, Score, centred_score

# Rows made at a time: their words stay in the second-level cache.
_CHUNK = 1 << 14


class HadamardResponse(CountedIntegers, FrequencyOracle):
    """One number of at most three bytes, for any domain: shortest reports, fastest estimate."""

    name = "hadamard"
    MAX_DOMAIN = 1_000_000
    OPTIONS = _SHAPE_NAMES = ("blocks",)
    _THRESHOLDS = ("supported",)
    supported: int
    """The threshold of a supporting output."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        blocks: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make Hadamard response with `blocks`, a power of two; by
        default the one of least variance.
        """
        super().__init__(domain, labels)
        power = exact.exp(exact.checked_epsilon(epsilon))
        if blocks is None:
            choices = [1 << i for i in range((self.domain - 1).bit_length())]
            blocks = min(choices, key=lambda count: _noise(self.domain, count, power))
        self._load_shape(blocks)
        supported = self.half * power / (self.half * power + self.outcomes - self.half)
        self.supported = exact.floor_threshold(supported)
        self._require_gain(epsilon)

    def _load_shape(self, blocks: object) -> None:
        self.blocks = checked_size("blocks", blocks, 1, self.domain)
        if self.blocks & (self.blocks - 1):
            raise InputError(f"blocks must be a power of two; got {self.blocks}")
        self.block = _block_size(self.domain, self.blocks)
        self.half = self.block // 2
        self.outcomes = self.blocks * self.block

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances of one block and several, full and
        partly used, and of two-byte outputs.
        """
        return [
            cls(domain=2, epsilon=1.0, blocks=1),
            cls(domain=7, epsilon=1.0, blocks=1),
            cls(domain=10, epsilon=2.0, blocks=4),
            cls(domain=5, epsilon=4.0),
            cls(domain=300, epsilon=1.0),
        ]

    @functools.cached_property
    def _other(self) -> Fraction:
        """The probability of one particular output that does not support the value."""
        return (1 - self.exact_hit) / (self.outcomes - self.half)

    @functools.cached_property
    def exact_gain(self) -> Fraction:
        """The expected difference of supporting and other reports
        of its block that one person adds.
        """
        return self.exact_hit - self.half * self._other

    @functools.cached_property
    def exact_miss(self) -> Fraction:
        """The chance that another value is supported, averaged over
        pairs within and across blocks.
        """
        sizes = np.bincount(self._block_of).tolist()
        pairs = self.domain * (self.domain - 1)
        inside = Fraction(sum(size * (size - 1) for size in sizes), pairs)
        within = self.exact_hit / 2 + self._other * Fraction(self.half, 2)
        return inside * within + (1 - inside) * self.half * self._other

    @property
    def _least_miss(self) -> Fraction:
        """The chance that another value is supported: of two
        blocks' values, if there are two blocks.
        """
        if self._block_of[-1]:
            return self.half * self._other
        return self.exact_miss

    @property
    @override
    def exact_odds(self) -> Fraction:
        return self.exact_hit / self.half / self._other

    @property
    @override
    def alphabet(self) -> int:
        return self.outcomes

    def _supports(self, output: int, code: int) -> bool:
        block, row = code // (self.block - 1), 1 + code % (self.block - 1)
        inside = output - block * self.block
        return 0 <= inside < self.block and (row & inside).bit_count() % 2 == 0

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        if self._supports(int.from_bytes(report, "little"), self.code(value)):
            return self.exact_hit / self.half
        return self._other

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(supported): place(below(half)); else below(outcomes - half), placed outside.

        A number u below `half` becomes an output of the block with even (odd) parity
        against the row j: insert into u a bit at the place of j's lowest set bit, chosen to
        make the parity even (odd). Numbers from `half` on are the outputs of the other
        blocks in order.
        """
        code = self.code(value)
        even = draws.coin(self.supported)
        pick = draws.below(self.half if even else self.outcomes - self.half)
        output = self._place(np.array([code]), np.array([even]), np.array([pick]))
        return int(output[0]).to_bytes(self.width, "little")

    def _place(
        self, codes: NDArray[np.int64], even: NDArray[np.bool_], picks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the outputs that `picks` stand for, by the rule of `draw`."""
        start = codes // (self.block - 1) * self.block
        row = 1 + codes % (self.block - 1)
        lowest = row & -row
        spread = (picks & ~(lowest - 1)) << 1 | picks & (lowest - 1)
        odd = np.bitwise_count(row & spread).astype(np.int64) & 1 == 1
        inside = start + (spread | np.where(odd == even, lowest, 0))
        beyond = picks - self.half
        outside = beyond + np.where(beyond >= start, self.block, 0)
        return np.where(even | (picks < self.half), inside, outside)

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream = self.encode(values), source.stream()
        fast = loops(codes.nbytes)
        out = np.empty(codes.size, dtype=np.min_scalar_type(self.outcomes - 1))
        threshold = np.uint64(self.supported)
        shape = (np.int64(self.block), np.int64(self.outcomes))
        flagged = np.empty(min(_CHUNK, codes.size) + 1, dtype=np.int64)
        for start in range(0, codes.size, _CHUNK):
            own = codes[start : start + _CHUNK]
            outputs = out[start : start + own.size]
            words = stream.words(own.size)
            rare = fast.hadamard_outputs(words, own, threshold, *shape, outputs, flagged)
            if rare:
                rows = flagged[:rare]
                even = tied_coins(stream, words[rows], self.supported)
                near = stream.below(self.half, rare).astype(np.int64)
                far = stream.below(self.outcomes - self.half, rare).astype(np.int64)
                outputs[rows] = self._place(own[rows], even, np.where(even, near, far))
        return little_endian(out, self.width)

    @functools.cached_property
    def _block_of(self) -> NDArray[np.int64]:
        return np.arange(self.domain) // (self.block - 1)

    def _spectrum(self, outputs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return, for each value, its row's transform of a vector
        over outputs, and its block's total.
        """
        table = outputs.reshape(self.blocks, self.block)
        flat = walsh_hadamard(table)[:, 1:].reshape(-1)[: self.domain]
        return flat, table.sum(axis=1)[self._block_of]

    def support_counts(self, tally: Tally) -> Tally:
        """Return the support counts: half of the block's reports
        and its row's transform together.
        """
        signed, totals = self._spectrum(tally)
        return np.asarray((signed + totals) // 2, dtype=np.int64)

    @property
    @override
    def tally_is_lossless(self) -> bool:
        return True

    def item_channel(self, tally: Tally, reports: int) -> ItemCounts:
        """Return supporting reports as counts among the reports of each value's block.

        Given how many reports fell into the block, their supporting share has mean
        1/2 + f g / (2 share of the block); that share is taken as observed. Where everybody of a
        block holds the value, it is odds / (odds + 1).
        """
        signed, totals = self._spectrum(tally)
        counts, gain = np.asarray((signed + totals) // 2, dtype=np.int64), float(self.exact_gain)
        if self.blocks == 1:
            return ItemCounts(counts, float(reports), 0.5 + gain / 2, 0.5, self.dispersion)
        trials = np.maximum(totals, 1).astype(np.float64)
        lift, drawn = gain * reports / (2 * trials), float(reports)
        most = self.odds / (self.odds + 1)
        return ItemCounts(counts, trials, 0.5 + lift, 0.5, self.dispersion, most, reports=drawn)

    def rare_rates(self, reports: int) -> tuple[float, float, float]:
        """Return the rates in a block to which everybody belongs:
        half of its reports support a value.
        """
        inside = float(self.exact_hit + self.half * self._other)
        return reports * inside, 0.5, float(self.exact_gain) / (2 * inside)

    @property
    def _largest_contribution(self) -> float:
        """The largest contribution of a report: a supporting one counts once for its value."""
        return 1 / float(self.exact_gain)

    @property
    def _smallest_contribution(self) -> float:
        """The smallest contribution of a report: another one of the
        block counts once against a value.
        """
        return -1 / float(self.exact_gain)

    def score(self, tally: Tally, reports: int) -> Score:
        """Return the score: supporting minus other reports of the
        block, whose total gives the variance.

        A report adds +1, -1 or 0, so its second moment is the chance that it falls into the
        block, which is seen, and lies between that of no member's and of all members' reports.
        """
        signed, totals = self._spectrum(tally)
        gain, beside = float(self.exact_gain), float(self.half * self._other)
        second = np.clip(totals / reports, 2 * beside, float(self.exact_hit) + beside)
        return Score(
            excess=np.asarray(signed / reports),
            gain=gain,
            spread={"population": (second, 0.0, -(gain**2)), "people": (second, -(gain**2), 0.0)},
        )

    def group_score(self, tally: Tally, reports: int, members: NDArray[np.intp]) -> Score:
        """Return the score of a group: supporting less other reports, whose square is observed.

        Rows of the matrix are orthogonal, but three of them may be tied: which pairs go together
        depends on the group, and the tally, which counts outputs, knows.
        """
        part, gain = members.size / self.domain, float(self.exact_gain)
        weight = np.full(self.domain, -part)
        weight[members] += 1
        added = walsh_hadamard(self._in_blocks(weight)).reshape(-1)
        mean, square = (float(tally @ added**power) / reports for power in (1, 2))
        ends = float(added.min()), float(added.max())
        return centred_score(mean, gain, part, square, square, ends)

    def unbiased(self, tally: Tally, reports: int) -> Vector:
        """Return supporting minus other reports of each block, over what one person adds."""
        signed, _ = self._spectrum(tally)
        return np.asarray(signed / (reports * float(self.exact_gain)))

    def variance(
        self, frequency: Vector | float, reports: int, of: Target = "population"
    ) -> Vector:
        """Return the variance: exact for all frequencies; for one alone, the rest is spread evenly.

        A report adds +1, -1 or 0, so its second moment is the chance that it falls into the
        value's block, which depends on how many people belong there.
        """
        f = np.asarray(frequency, dtype=np.float64)
        if f.shape == (self.domain,):
            share = np.asarray(np.bincount(self._block_of, weights=f)[self._block_of], np.float64)
        else:
            members = min(self.block - 1, self.domain)
            share = f + (1 - f) * (members - 1) / (self.domain - 1)
        gain, outside = float(self.exact_gain), float(2 * self.half * self._other)
        inside = float(self.exact_hit + self.half * self._other)
        second = share * inside + (1 - share) * outside
        first = f if of == "people" else f * f
        return np.asarray((second - gain**2 * first) / (reports * gain**2))

    def covariance(self, frequencies: Vector, reports: int) -> Vector:
        """Return the covariance: two rows of a block make a third,
        which tells how often they agree.

        A report adds the product of two signs to the second moment of two values of one block,
        which is the sign of the row j ^ k; values of different blocks never share a report.
        """
        gain, outside = float(self.exact_gain), float(2 * self.half * self._other)
        inside = float(self.exact_hit + self.half * self._other)
        share = np.bincount(self._block_of, weights=frequencies, minlength=self.blocks)
        second = np.zeros((self.domain, self.domain))
        table = self._in_blocks(frequencies)
        for block in range(self.blocks):
            members = np.flatnonzero(self._block_of == block)
            rows = 1 + members % (self.block - 1)
            agree = gain * table[block, rows ^ rows[:, None]]
            np.fill_diagonal(agree, share[block] * inside + (1 - share[block]) * outside)
            second[np.ix_(members, members)] = agree
        first = gain * frequencies
        return np.asarray((second - np.outer(first, first)) / (reports * gain**2))

    def _in_blocks(self, h: Vector) -> Vector:
        """Return a vector over values as rows of the matrix, block by block; row 0 is nobody's."""
        padded = np.zeros(self.blocks * (self.block - 1))
        padded[: self.domain] = h
        table = np.zeros((self.blocks, self.block))
        table[:, 1:] = padded.reshape(self.blocks, self.block - 1)
        return table

    def forward(self, reports: Reports, h: Vector) -> Vector:
        """Return the total of h over the values that each output
        supports, by one transform of h.
        """
        table = self._in_blocks(h)
        totals = table.sum(axis=1, keepdims=True)
        supported = (walsh_hadamard(table) + totals) / 2
        return np.asarray(supported.reshape(-1)[from_little_endian(reports)])

    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        """Return the weight of the outputs that support each value, by one transform."""
        codes = from_little_endian(reports)
        weights = np.bincount(codes, weights=w, minlength=self.outcomes).astype(np.float64)
        signed, totals = self._spectrum(weights)
        return np.asarray((signed + totals) / 2)


def walsh_hadamard(table: NDArray[Any]) -> NDArray[Any]:
    """Return each row times the Hadamard matrix whose entry (j,
    y) is -1 to the popcount of j & y.
    """
    rows, size = table.shape
    out = table.copy()
    step = 1
    while step < size:
        pairs = out.reshape(rows, size // (2 * step), 2, step)
        even, odd = pairs[:, :, 0].copy(), pairs[:, :, 1]
        pairs[:, :, 0] += odd
        pairs[:, :, 1] = even - odd
        step *= 2
    return out


def _block_size(domain: int, blocks: int) -> int:
    """Return the smallest power of two that, less one, holds a block's share of the domain."""
    share = -(-domain // blocks)
    return 1 << share.bit_length()


def _noise(domain: int, blocks: int, power: Fraction) -> float:
    """Return the variance of a value among evenly spread others, up to a factor."""
    half = _block_size(domain, blocks) // 2
    outcomes = 2 * half * blocks
    total = half * power + outcomes - half
    gain = half * (power - 1) / total
    inside, outside = half * (power + 1) / total, 2 * half / total
    share = Fraction(min(2 * half - 1, domain), domain)
    return float((share * inside + (1 - share) * outside) / gain**2)
