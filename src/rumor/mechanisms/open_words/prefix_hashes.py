"""Prefix hashes: the part of a word that each level of an open question hashes.

Level l of T asks for the first l * step bits of the word in the collection's code, the last level
for the whole word. A stem is known by a fingerprint of 64 bits. With G the golden ratio's odd
constant and c_l the l-th `step` bits (zeros behind the end mark),

    f_0 = SHA-256("rumor open words: stems", key),    f_l = mix64(f_(l-1) + G (c_l + 1)),

as the first eight bytes, little-endian, of the digest of a context (randomness.encode_context).
Once the end mark has come f_l stays as it is: an ended word is its own stem at every deeper level.
The whole word has the fingerprint SHA-256("rumor open words: word", key, word), in normal form C
as UTF-8; it also stands in where the code cannot write on, so that such a word shares no stem.

Cohort k of level l puts a fingerprint into bucket floor(g h / 2^32), h the top 32 bits of
a f + b mod 2^64 with a = mix64(s_l + 2k) | 1, b = mix64(s_l + 2k + 1) and
s_l = SHA-256("rumor open words: hashes", key, l). Other hashes at every level: that is what makes
one level's evidence independent of another's. The key is public.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.mixing import mix64, mix64_array
from rumor.core.randomness import encode_context
from rumor.mechanisms.open_words.code import PrefixCode, Written, normal

Words = NDArray[np.uint64]
Pieces = tuple[NDArray[np.int32], NDArray[np.bool_]]

GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True)
class PrefixHashes:
    """The fingerprints of words, and the buckets into which the cohorts of each level put them."""

    code: PrefixCode
    step: int
    depth: int
    """The number of levels that ask for a prefix; one more level asks for the whole word."""
    cohorts: int
    buckets: int
    key: bytes

    @property
    def levels(self) -> int:
        """The number of levels, with that of whole words as the last."""
        return self.depth + 1

    @property
    def bits(self) -> int:
        """The number of bits of the deepest prefix: longer words take part and cannot be named."""
        return self.step * self.depth

    @functools.cached_property
    def root(self) -> int:
        """The fingerprint of the empty prefix."""
        return _digest("rumor open words: stems", self.key)

    @functools.cached_property
    def _seeds(self) -> list[int]:
        return [
            _digest("rumor open words: hashes", self.key, level) for level in range(self.levels)
        ]

    def chunks(self, written: Written) -> list[int]:
        """Return the bits of a word, `step` at a time, with zeros behind its end."""
        count, rest = divmod(written.length, self.step)
        bits = written.bits
        if rest and written.ended:
            count, bits = count + 1, bits << self.step - rest
        elif rest:
            bits >>= rest
        mask = (1 << self.step) - 1
        return [bits >> self.step * (count - 1 - i) & mask for i in range(count)]

    def word_fingerprint(self, word: str) -> int:
        """Return the fingerprint of a whole word."""
        return _digest("rumor open words: word", self.key, normal(word).encode("utf-8"))

    def fingerprints(self, word: str) -> list[int]:
        """Return the fingerprint of a word at each level, that of whole words last."""
        whole = self.word_fingerprint(word)
        written = self.code.write(word, self.bits)
        found, here = [], self.root
        for chunk in self.chunks(written):
            here = mix64(here + GOLDEN * (chunk + 1))
            found.append(here)
        found += [here if written.ended else whole] * (self.depth - len(found))
        return [*found, whole]

    def pieces(self, words: Sequence[str]) -> Pieces:
        """Return many words as chunks, -1 behind the last, and whether each word ended."""
        chunks = np.full((len(words), self.depth), -1, dtype=np.int32)
        ended = np.zeros(len(words), dtype=np.bool_)
        for row, word in enumerate(words):
            written = self.code.write(word, self.bits)
            own = self.chunks(written)
            chunks[row, : len(own)] = own
            ended[row] = written.ended
        return chunks, ended

    def table(self, words: Sequence[str], pieces: Pieces | None = None) -> Words:
        """Return the fingerprints of many words, a row for each;
        their pieces may be known already.
        """
        chunks, ended = self.pieces(words) if pieces is None else pieces
        out = np.empty((len(words), self.levels), dtype=np.uint64)
        whole = np.array([self.word_fingerprint(word) for word in words], dtype=np.uint64)
        here = np.full(len(words), self.root, dtype=np.uint64)
        for level in range(self.depth):
            there = chunks[:, level] >= 0
            here = np.where(there, self.extend(here, chunks[:, level]), here)
            out[:, level] = np.where(there | ended, here, whole)
        out[:, self.depth] = whole
        return out

    def extend(self, parents: Words, chunks: NDArray[np.integer]) -> Words:
        """Return the fingerprints of prefixes that are one chunk longer."""
        grown = (chunks.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
        return mix64_array(parents + grown)

    def bucket(self, fingerprint: int, level: int, cohort: int) -> int:
        """Return the bucket of a fingerprint in a cohort of a
        level: the hash family, one at a time.
        """
        seed = self._seeds[level] + 2 * cohort
        hashed = (mix64(seed) | 1) * fingerprint + mix64(seed + 1) & _MASK
        return (hashed >> 32) * self.buckets >> 32

    @functools.cached_property
    def hashes(self) -> tuple[Words, Words]:
        """The numbers (a, b) of every level and cohort."""
        cohorts = 2 * np.arange(self.cohorts, dtype=np.uint64)
        seeds = np.array(self._seeds, dtype=np.uint64)[:, None] + cohorts
        return mix64_array(seeds) | np.uint64(1), mix64_array(seeds + np.uint64(1))

    def places(
        self, fingerprints: Words, levels: NDArray[np.integer], cohorts: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Return the bucket of each of many fingerprints, in the level and cohort beside it."""
        a, b = self.hashes
        hashed = a[levels, cohorts] * fingerprints + b[levels, cohorts]
        half = np.uint64(32)
        return np.asarray((hashed >> half) * np.uint64(self.buckets) >> half, dtype=np.int64)

    def rows(self, fingerprints: Words, level: int) -> NDArray[np.int64]:
        """Return the buckets of fingerprints in every cohort of one level, a row for each."""
        a, b = self.hashes
        hashed = fingerprints[:, None] * a[level] + b[level]
        half = np.uint64(32)
        return np.asarray((hashed >> half) * np.uint64(self.buckets) >> half, dtype=np.int64)


def _digest(*context: str | bytes | int) -> int:
    return int.from_bytes(hashlib.sha256(encode_context(*context)).digest()[:8], "little")
