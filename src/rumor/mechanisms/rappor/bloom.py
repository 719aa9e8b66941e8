"""From words to bits: Bloom filters by cohort, the same in every language.

A word's seed (s0, s1) is the first 16 bytes of SHA-256(LE32(len(key)) || key || word), the
word in Unicode normal form C as UTF-8, read as two little-endian 64-bit integers. Hash i
of cohort c sets bit

    mix64(s0 xor mix64(s1 + c * hashes + i)) mod bits

with mix64 the finaliser of SplitMix64. SHA-256 runs once for each
word, the mixer does the rest. The key is public: it makes the filters of different
collections unrelated and collisions computed beforehand useless.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import well_formed
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.loops import loops
from rumor.core.mixing import mix64, mix64_array

Seeds = NDArray[np.uint64]

MAX_BITS = 65_536
MAX_COUNTERS = 1 << 24


@dataclass(frozen=True)
class BloomFilter:
    """The map from a word to the bits that it sets, in each of a number of cohorts."""

    bits: int
    hashes: int
    cohorts: int
    key: bytes

    def __post_init__(self) -> None:
        checked_size("bits", self.bits, 2, MAX_BITS)
        checked_size("hashes", self.hashes, 1, 64)
        checked_size("cohorts", self.cohorts, 1, MAX_COUNTERS)
        if self.bits * self.cohorts > MAX_COUNTERS:
            raise InputError(
                f"cohorts times bits must be at most 2^24; got {self.bits * self.cohorts:,}"
            )
        if not isinstance(self.key, bytes) or not self.key:
            raise InputError(f"key must be a non-empty bytes object; got {format_value(self.key)}")

    def seed(self, word: str) -> tuple[int, int]:
        """Return the two 64-bit integers that stand for a word."""
        data = unicodedata.normalize("NFC", well_formed(word)).encode("utf-8")
        message = len(self.key).to_bytes(4, "little") + self.key + data
        digest = hashlib.sha256(message).digest()
        return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")

    def positions(self, word: str, cohort: int) -> list[int]:
        """Return the bit that each hash sets, one after the other; bits may coincide."""
        s0, s1 = self.seed(word)
        first = s1 + cohort * self.hashes
        return [mix64(s0 ^ mix64(first + i)) % self.bits for i in range(self.hashes)]

    def filter(self, word: str, cohort: int) -> bytes:
        """Return the filter as packed bits: bit i is bit i % 8 of byte i // 8."""
        packed = 0
        for position in self.positions(word, cohort):
            packed |= 1 << position
        return packed.to_bytes((self.bits + 7) // 8, "little")

    def seeds(self, words: Sequence[str]) -> Seeds:
        """Return the seeds of many words, (n, 2)."""
        head = hashlib.sha256(len(self.key).to_bytes(4, "little") + self.key)
        out = bytearray()
        for word in words:
            digest = head.copy()
            digest.update(unicodedata.normalize("NFC", word).encode("utf-8"))
            out += digest.digest()[:16]
        return np.frombuffer(bytes(out), dtype="<u8").astype(np.uint64).reshape(-1, 2)

    def map(self, seeds: Seeds) -> NDArray[np.uint16]:
        """Return the bits of many words in every cohort, (n, cohorts * hashes): a candidate map."""
        size = self.cohorts * self.hashes
        out = np.empty((len(seeds), size), dtype=np.uint16)
        seeds = np.ascontiguousarray(seeds)
        loops(out.nbytes).mix_indices(seeds, np.uint64(self.bits), out)
        return out

    def rows(self, seeds: Seeds, cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bits of many words, each in a cohort of its own, (n, hashes)."""
        step = np.arange(self.hashes, dtype=np.uint64)
        first = seeds[:, 1] + cohorts.astype(np.uint64) * np.uint64(self.hashes)
        mixed = mix64_array(seeds[:, :1] ^ mix64_array(first[:, None] + step))
        return (mixed % np.uint64(self.bits)).astype(np.int64)
