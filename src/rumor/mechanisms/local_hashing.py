"""Local hashing: hash the value into a few buckets, then randomised response on the bucket.

Optimized local hashing (OLH) of Wang et al. 2017 when the number of buckets g is the best
one, next to e**epsilon + 1; what large domains use when reports must be short.

Every report begins with its hash seed (a, b), two uniform w-bit integers, and
    bucket(v) = floor(g h / 2**w),  h = (a v + b) mod 2**w
with w = 32 for domains up to 65,536 and w = 64 above. Two values' hashes agree in their
low bits at most, so their buckets are pairwise independent and uniform up to g 2**-34.
Model, given the seed, with t the threshold of the truth:
    P(y | x) = t / 2**64                       if y = bucket(x)
             = (2**64 - t) / (2**64 (g - 1))   otherwise
Privacy: that of randomised response on g values, whatever the hash; t is rounded down.
Report: a and b as little-endian w-bit integers, then y as a little-endian integer.

A report supports the values in its bucket, so counting support costs a hash for every
report and every value; it is done when a summary is made, and refused beyond 1e11.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.checks import checked_size
from rumor.core.coins import keep_or_replace
from rumor.core.errors import InputError
from rumor.core.loops import loops
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import (
    Reports,
    Validity,
    bytes_for,
    from_little_endian,
    little_endian,
    slices,
)
from rumor.core.types import Tally, Vector
from rumor.core.typing import override
from rumor.mechanisms.oracle import FrequencyOracle

_NARROW_DOMAIN = 1 << 16
_MAX_BUCKETS = 1 << 16
_MAX_HASHES = 10**11
# Reports worked on at a time: what is made of them on the way stays in the cache.
_CHUNK = 1 << 14
# Hashes worked out at a time for bitmaps.
_CHUNK_HASHES = 1 << 18


class LocalHashing(FrequencyOracle):
    """A hash seed and a noisy bucket: the noise of unary encoding in a few bytes."""

    name = "local-hashing"
    MAX_DOMAIN = 1_000_000
    OPTIONS = _SHAPE_NAMES = ("buckets",)
    _THRESHOLDS = ("truth",)
    truth: int
    """The threshold of telling the true bucket."""

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        epsilon: float,
        buckets: int | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make local hashing with `buckets` buckets to a hash; by
        default the number of least variance.
        """
        super().__init__(domain, labels)
        power = exact.exp(exact.checked_epsilon(epsilon))
        if buckets is None:
            center = min(int(power) + 1, _MAX_BUCKETS - 1)
            buckets = min((center, center + 1), key=lambda count: _noise(count, power))
        self._load_shape(buckets)
        self.truth = exact.floor_threshold(power / (power + self.buckets - 1))
        self._require_gain(epsilon)

    def _load_shape(self, buckets: object) -> None:
        self.buckets = checked_size("buckets", buckets, 2, _MAX_BUCKETS)
        self.hash_bits = 32 if self.domain <= _NARROW_DOMAIN else 64
        self._seed_bytes = self.hash_bits // 4

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances with two buckets and many, narrow and
        wide hashes, and a two-byte bucket.
        """
        return [
            cls(domain=2, epsilon=0.5, buckets=2),
            cls(domain=12, epsilon=1.0),
            cls(domain=70_000, epsilon=2.0),
            cls(domain=40, epsilon=1.0, buckets=300),
        ]

    def inputs(self) -> Sequence[object]:
        """Return every value of a small domain, or a spread of values: all behave alike."""
        return range(self.domain) if self.domain <= 64 else range(0, self.domain, self.domain // 16)

    @override
    def publics(self) -> Sequence[bytes]:
        size = self._seed_bytes
        return [bytes((7 * k * i + 13 * i + k) % 256 for i in range(size)) for k in range(1, 4)]

    @property
    def exact_miss(self) -> Fraction:
        """The chance 1/g, over the seeds, that another value shares the reported bucket."""
        return Fraction(1, self.buckets)

    @property
    def _least_miss(self) -> Fraction:
        """The chance that another value is supported under a seed
        that puts it in another bucket.
        """
        return (1 - self.exact_hit) / (self.buckets - 1)

    @property
    @override
    def exact_odds(self) -> Fraction:
        return self.exact_hit * (self.buckets - 1) / (1 - self.exact_hit)

    @property
    @override
    def width(self) -> int:
        return self._seed_bytes + bytes_for(self.buckets)

    @property
    @override
    def alphabet(self) -> int:
        return self.buckets

    @override
    def outputs(self, public: bytes = b"") -> Reports:
        tails = little_endian(np.arange(self.buckets), bytes_for(self.buckets))
        seed = np.frombuffer(public or self.publics()[0], dtype=np.uint8)
        return np.hstack([np.tile(seed, (self.buckets, 1)), tails])

    def bucket(self, seed: bytes, value: object) -> int:
        """Return the bucket of `value` under a seed: the hash family, one value at a time."""
        half = self._seed_bytes // 2
        a, b = int.from_bytes(seed[:half], "little"), int.from_bytes(seed[half:], "little")
        hashed = (a * self.code(value) + b) % (1 << self.hash_bits)
        return hashed * self.buckets >> self.hash_bits

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        seed, tail = report[: self._seed_bytes], report[self._seed_bytes :]
        if int.from_bytes(tail, "little") == self.bucket(seed, value):
            return self.exact_hit
        return (1 - self.exact_hit) / (self.buckets - 1)

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw public(seed), coin(truth): the bucket; otherwise below(buckets - 1), skipping it."""
        seed = draws.public(self._seed_bytes)
        bucket = self.bucket(seed, value)
        if not draws.coin(self.truth):
            other = draws.below(self.buckets - 1)
            bucket = other + (other >= bucket)
        return seed + bucket.to_bytes(bytes_for(self.buckets), "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream = self.encode(values), source.stream()
        out = np.empty((codes.size, self.width), dtype=np.uint8)
        for start in range(0, codes.size, _CHUNK):
            own, rows = codes[start : start + _CHUNK], out[start : start + _CHUNK]
            seeds = np.empty((own.size, self._seed_bytes), dtype=np.uint8)
            stream.fill(seeds)
            a, b = self._multipliers(seeds)
            hashed = self._hash(a, b, own.astype(np.uint64))
            buckets = _high_product(hashed, self.buckets, self.hash_bits).astype(np.int64)
            noisy = keep_or_replace(stream, buckets, self.buckets, self.truth)
            rows[:, : self._seed_bytes] = seeds
            rows[:, self._seed_bytes :] = little_endian(noisy, bytes_for(self.buckets))
        return out

    def _multipliers(self, seeds: Reports) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        pairs = np.ascontiguousarray(seeds[:, : self._seed_bytes]).view(
            f"<u{self._seed_bytes // 2}"
        )
        return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)

    def _hash(
        self, a: NDArray[np.uint64], b: NDArray[np.uint64], values: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        return (a * values + b) & self._mask

    @property
    def _mask(self) -> np.uint64:
        return np.uint64((1 << self.hash_bits) - 1)

    @functools.cached_property
    def _edges(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The first hash of each bucket, and the number of its further hashes."""
        edges = [-(-(y << self.hash_bits) // self.buckets) for y in range(self.buckets + 1)]
        spans = [high - low - 1 for low, high in itertools.pairwise(edges)]
        return np.array(edges[:-1], dtype=np.uint64), np.array(spans, dtype=np.uint64)

    def _ranges(
        self, reports: Reports
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return (a, c, span) of each report: it supports v when (a v + c) mod 2**w <= span.

        Bucket y is the hashes from ceil(y 2**w / g) to the next such number less one;
        subtracting its start turns the two comparisons into one.
        """
        a, b = self._multipliers(reports)
        starts, spans = self._edges
        y = from_little_endian(reports[:, self._seed_bytes :])
        return a, (b - starts[y]) & self._mask, spans[y]

    def _validate(self, reports: Reports) -> Validity:
        reason = f"a report ends in a bucket from 0 to {self.buckets - 1:,}"
        return Validity(from_little_endian(reports[:, self._seed_bytes :]) < self.buckets, reason)

    @property
    @override
    def tally_size(self) -> int:
        return self.domain

    def check_report_count(self, reports: int) -> None:
        """Refuse a number of reports that would take more than 1e11 hashes to count."""
        super().check_report_count(reports)
        if reports * self.domain > _MAX_HASHES:
            raise InputError(
                f"local hashing counts at most 1e11 hashes (reports times domain), use "
                f"HadamardResponse for more; got {reports:,} reports of {self.domain:,} values"
            )

    @override
    def tally(self, reports: Reports) -> Tally:
        counts = np.zeros(self.domain, dtype=np.int64)
        fast = loops(len(reports) * self.domain // 8)
        for start in range(0, len(reports), _CHUNK):
            ranges = self._ranges(reports[start : start + _CHUNK])
            fast.count_hashes(*ranges, self._mask, counts)
        return counts

    @override
    def support_counts(self, tally: Tally) -> Tally:
        return tally

    def bitmaps(self, reports: Reports) -> Reports:
        """Return the values in each reported bucket as bits: hashed once, for repeated use."""
        a, c, span = (part[:, None] for part in self._ranges(reports))
        values = np.arange(self.domain, dtype=np.uint64)
        out = np.empty((len(reports), (self.domain + 7) // 8), dtype=np.uint8)
        rows = max(1, _CHUNK_HASHES // self.domain)
        for some in slices(len(reports), rows):
            held = (a[some] * values + c[some]) & self._mask <= span[some]
            out[some] = np.packbits(held, axis=1, bitorder="little")
        return out

    @override
    def forward(self, reports: Reports, h: Vector) -> Vector:
        h = np.ascontiguousarray(h, dtype=np.float64)
        out: Vector = loops(len(reports) * self.domain // 8, floats=True).hash_forward(
            *self._ranges(reports), self._mask, h
        )
        return out

    @override
    def adjoint(self, reports: Reports, w: Vector) -> Vector:
        w = np.ascontiguousarray(w, dtype=np.float64)
        out: Vector = loops(len(reports) * self.domain // 8, floats=True).hash_adjoint(
            *self._ranges(reports), self._mask, w, self.domain
        )
        return out


def _high_product(hashed: NDArray[np.uint64], buckets: int, bits: int) -> NDArray[np.uint64]:
    """Return floor(hashed * buckets / 2**bits), without overflow (buckets is at most 2**16)."""
    factor, half = np.uint64(buckets), np.uint64(32)
    if bits == 32:
        return hashed * factor >> half
    low = (hashed & np.uint64(0xFFFFFFFF)) * factor >> half
    return (hashed >> half) * factor + low >> half


def _noise(buckets: int, power: Fraction) -> float:
    """Return the variance of a value that nobody holds, up to a factor."""
    gain = power / (power + buckets - 1) - Fraction(1, buckets)
    return float(Fraction(buckets - 1, buckets**2) / gain**2)
