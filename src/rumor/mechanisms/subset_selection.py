"""Subset selection: report a random set of k values that is more likely to hold the truth.

Ye and Barg 2017, S. Wang et al. 2016.

Model, with t the threshold of the true value being in the set S, |S| = k of D values:
    P(S | x) = (t / 2**64) / C(D-1, k-1)         if x is in S
             = (1 - t / 2**64) / C(D-1, k)       otherwise
Privacy: these two are all the probabilities there are; the loss is the logarithm of their
ratio, t/(2**64 - t) * (D - k)/k, and t is rounded down. With k = 1 this is randomised
response; the best k is next to D / (e**epsilon + 1).
Report: the list of the k values in ascending order, each a little-endian integer; or,
where k > 1 and it is no longer, a bitmap (bit i is bit i % 8 of byte i // 8, padding 0).
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
from rumor.core.coins import bernoulli_words, fill_bernoulli, keep_or_replace
from rumor.core.loops import loops
from rumor.core.randomness import Draws, RandomSource, Stream
from rumor.core.reports import (
    Reports,
    Validity,
    bytes_for,
    from_little_endian,
    little_endian,
    narrow_integers,
)
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle

# Bitmaps are completed in blocks of about this many words, to stay in the cache.
_BLOCK_WORDS = 1 << 14
# The plain twin completes a row, and each word of it, as fast as so many bytes elsewhere.
_PLAIN_ROW_BYTES = 32
_PLAIN_WORD_BYTES = 8


class SubsetSelection(FrequencyOracle):
    """A random subset of the domain: the least noise of all oracles here, or tied for it."""

    name = "subset-selection"
    MAX_DOMAIN = 100_000
    OPTIONS = _SHAPE_NAMES = ("size",)
    _THRESHOLDS = ("inclusion",)
    inclusion: int
    """The threshold of a set that holds the truth."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        size: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make subset selection; `size` is the number of values in
        a report, by default the best.
        """
        super().__init__(domain, labels)
        power = exact.exp(exact.checked_epsilon(epsilon))
        if size is None:
            # The variance as a function of k has one minimum; its integer neighbours hold it.
            center = math.floor(self.domain / (power + 1))
            sizes = {min(max(center + step, 1), self.domain - 1) for step in (0, 1)}
            size = min(sorted(sizes), key=lambda k: self._noise(k, power))
        self._load_shape(size)
        self.inclusion = exact.floor_threshold(_inclusion(self.domain, self.size, power))
        self._require_gain(epsilon)

    def _noise(self, size: int, power: Fraction) -> float:
        """Return the variance of a value of average frequency, up to a factor."""
        hit = _inclusion(self.domain, size, power)
        miss = (size - hit) / (self.domain - 1)
        support = Fraction(size, self.domain)
        return float(support * (1 - support) / (hit - miss) ** 2)

    def _load_shape(self, size: object) -> None:
        self.size = checked_size("size", size, 1, self.domain - 1)
        self._integer = bytes_for(self.domain)
        self.bitmap = self.size > 1 and (self.domain + 7) // 8 <= self.size * self._integer

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with bitmaps and lists, with and without
        padding, and one value in a set.
        """
        return [
            cls(domain=2, epsilon=1.0),
            cls(domain=6, epsilon=0.5),
            cls(domain=9, epsilon=1.0, size=3),
            cls(domain=40, epsilon=4.0, size=2),
            cls(domain=300, epsilon=6.0),
        ]

    @property
    def exact_miss(self) -> Fraction:
        """The chance that another value is in the set, whose other
        places all values share equally.
        """
        return (self.size - self.exact_hit) / (self.domain - 1)

    @property
    @override
    def exact_odds(self) -> Fraction:
        hit = self.exact_hit
        return hit / (1 - hit) * Fraction(self.domain - self.size, self.size)

    @property
    def width(self) -> int:
        """The width of the shorter form: bitmap or list."""
        return (self.domain + 7) // 8 if self.bitmap else self.size * self._integer

    @property
    @override
    def alphabet(self) -> int:
        return math.comb(self.domain, self.size)

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        subsets = itertools.combinations(range(self.domain), self.size)
        rows = [np.frombuffer(self._report(subset), np.uint8) for subset in subsets]
        return np.array(rows, dtype=np.uint8)

    def _report(self, ascending: Sequence[int]) -> bytes:
        if not self.bitmap:
            return b"".join(value.to_bytes(self._integer, "little") for value in ascending)
        return sum(1 << value for value in ascending).to_bytes(self.width, "little")

    def _members(self, report: bytes) -> list[int]:
        if self.bitmap:
            bits = int.from_bytes(report, "little")
            return [value for value in range(self.domain) if bits >> value & 1]
        step = self._integer
        starts = range(0, self.width, step)
        return [int.from_bytes(report[i : i + step], "little") for i in starts]

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        if self.code(value) in self._members(report):
            return self.exact_hit / math.comb(self.domain - 1, self.size - 1)
        return (1 - self.exact_hit) / math.comb(self.domain - 1, self.size)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw coin(inclusion) for the value itself, then the rest by Floyd's algorithm.

        The rest is a uniform set of m of the other D - 1 values (the value skipped): for j
        from D - 1 - m to D - 2, take below(j + 1), or j when that is taken already.
        """
        code = self.code(value)
        included = draws.coin(self.inclusion)
        wanted = self.size - included
        others: set[int] = set()
        for j in range(self.domain - 1 - wanted, self.domain - 1):
            pick = draws.below(j + 1)
            others.add(j if pick in others else pick)
        chosen = {other + (other >= code) for other in others}
        return self._report(sorted(chosen | {code} if included else chosen))

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream = self.encode(values), source.stream()
        if self.size == 1:
            return little_endian(
                keep_or_replace(stream, codes, self.domain, self.inclusion), self.width
            )
        included = bernoulli_words(stream, (codes.size + 63) // 64, self.inclusion)
        flags = np.unpackbits(included.astype("<u8").view(np.uint8), bitorder="little")
        words = (self.domain + 63) // 64
        rows = max(1, _BLOCK_WORDS // words)
        fast = loops(codes.size * (_PLAIN_ROW_BYTES + words * _PLAIN_WORD_BYTES))
        out = np.empty((codes.size, self.width), dtype=np.uint8)
        bitmaps = np.zeros((min(rows, codes.size), words), dtype=np.uint64)
        for start in range(0, codes.size, rows):
            own = codes[start : start + rows]
            block = bitmaps[: own.size]
            self._fill(stream, block)
            self._complete(stream, block, own, flags[start : start + own.size], fast)
            if self.bitmap:
                plain = block.astype("<u8", copy=False).view(np.uint8).reshape(own.size, -1)
                out[start : start + own.size] = plain[:, : self.width]
            else:
                lists = np.empty((own.size, self.size), dtype=np.uint32)
                fast.list_bits(block, lists)
                narrow = little_endian(lists.ravel(), self._integer)
                out[start : start + own.size] = narrow.reshape(own.size, self.width)
        return out

    def _fill(self, stream: Stream, block: NDArray[np.uint64]) -> None:
        """Set independent random bits, somewhat fewer than wanted.

        Given how many are set, they are a uniform set of that many, whatever their
        probability was; so a rough one serves, in steps of 1/256 that need no ties.
        """
        spread = math.sqrt(self.size * (1 - self.size / self.domain))
        aim = int((self.size - 1 - 1.2 * spread) / self.domain * 256)
        if aim < 1:
            block[:] = 0
            return
        fill_bernoulli(stream, block.reshape(-1), aim << 56)
        if self.domain % 64:
            block[:, -1] &= np.uint64((1 << self.domain % 64) - 1)

    def _complete(
        self,
        stream: Stream,
        block: NDArray[np.uint64],
        codes: NDArray[np.int64],
        included: NDArray[np.uint8],
        fast: object,
    ) -> None:
        """Add (or take away) uniformly drawn values until every set has its size.

        A uniform set with a uniform new member is a uniform set of one more, so the result
        is exactly uniform among the sets that agree on the person's own value.
        """
        row = 0
        expected = max(64, int(block.shape[0] * 1.4 * (4 + min(self.size, self._repairs()))))
        while row < block.shape[0]:
            halves = stream.words((expected + 1) // 2).view(np.uint32)
            row = fast.complete_subsets(  # type: ignore[attr-defined]
                block, codes, included, self.size, self.domain, halves, row
            )
            expected = max(64, expected // 4)

    def _repairs(self) -> int:
        return int(1.5 * math.sqrt(self.size * (1 - self.size / self.domain)) + self.domain / 256)

    def _validate(self, reports: Reports) -> Validity:
        if self.bitmap:
            reason = f"a report is a bitmap of {self.domain:,} bits, {self.size:,} of them set"
            weights = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
            used = self.domain % 8
            padding = reports[:, -1] >> used if used else np.zeros(len(reports), np.uint8)
            return Validity((weights == self.size) & (padding == 0), reason)
        reason = f"a report lists {self.size:,} ascending integers from 0 to {self.domain - 1:,}"
        lists = self._lists(reports).astype(np.int64)
        ascending = (np.diff(lists, axis=1) > 0).all(axis=1)
        return Validity(ascending & (lists[:, -1] < self.domain), reason)

    def _lists(self, reports: Reports) -> NDArray[np.integer]:
        """Return the values of list reports, as integers (n, size)."""
        flat = np.ascontiguousarray(reports).reshape(-1, self._integer)
        return narrow_integers(flat).reshape(len(reports), self.size)

    @property
    @override
    def tally_size(self) -> int:
        return self.domain

    @property
    @override
    def counters_per_report(self) -> int:
        return self.size

    @override
    def tally(self, reports: Reports) -> Tally:
        fast = loops(reports.nbytes)
        if self.bitmap:
            columns: Tally = fast.count_columns(reports)[: self.domain]
            return columns
        counts = np.zeros(self.domain, dtype=np.int64)
        fast.count_codes(self._lists(reports).reshape(-1), counts)
        return counts

    @override
    def support_counts(self, tally: Tally) -> Tally:
        return tally

    @property
    def dispersion(self) -> float:
        """The dispersion: in a set of fixed size, two values come
        together less often than by chance.
        """
        return self.domain * (self.size - 1) / (self.size * (self.domain - 1))

    def pair_rates(self) -> tuple[float, float]:
        """Return the chances of a pair: a set with the value is
        filled with k - 1 others, else with k.
        """
        k, others = self.size, self.domain - 1
        own = self.hit * (k - 1) / others
        pairs = self.hit * (k - 1) * (k - 2) + (1 - self.hit) * k * (k - 1)
        return own, pairs / (others * max(others - 1, 1))

    @property
    def tally_is_lossless(self) -> bool:
        """Whether a set has one value, so that its tally counts reports."""
        return self.size == 1

    @override
    def bitmaps(self, reports: Reports) -> Reports | None:
        return reports if self.bitmap else None

    @override
    def lists(self, reports: Reports) -> NDArray[np.integer] | None:
        return None if self.bitmap else self._lists(reports)

    @override
    def forward(self, reports: Reports, h: Vector) -> Vector:
        h = np.ascontiguousarray(h, dtype=np.float64)
        if self.bitmap:
            out: Vector = loops(reports.nbytes, floats=True).bits_forward(reports, h)
            return out
        return np.asarray(h[self._lists(reports)].sum(axis=1))

    @override
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        w = np.ascontiguousarray(w, dtype=np.float64)
        if self.bitmap:
            out: Vector = loops(reports.nbytes, floats=True).bits_adjoint(reports, w)[: self.domain]
            return out
        flat = from_little_endian(np.ascontiguousarray(reports).reshape(-1, self._integer))
        totals = np.bincount(flat, weights=np.repeat(w, self.size), minlength=self.domain)
        return np.asarray(totals, dtype=np.float64)


def _inclusion(domain: int, size: int, power: Fraction) -> Fraction:
    """Return the probability that the truth is in the set, when the odds are exactly `power`."""
    return size * power / (size * power + domain - size)
