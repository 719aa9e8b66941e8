"""Exact bulk draws: packed coins, and values kept or replaced.

Coins are bit-sliced: 64 lanes share a word, and plane k of random words is compared with bit k of
the threshold, from the top. After eight planes one lane in 256 is still equal; those are
decided by a full word each. So every lane is compared with all 64 bits of the threshold
for 8.25 random bits, and no float decides anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.exact import WORD
from rumor.core.loops import loops
from rumor.core.randomness import Stream, Words

# Words of output made at a time: with its planes, a chunk stays in the second-level cache.
CHUNK_WORDS = 8192
_PLANES = 8
# Values kept or replaced at a time: their words stay in the second-level cache.
_CHUNK_CODES = 1 << 14


def bernoulli_words(stream: Stream, count: int, threshold: int) -> Words:
    """Return `count` words of 64 independent bits, each 1 with probability `threshold` / 2**64."""
    out = np.empty(count, dtype=np.uint64)
    fill_bernoulli(stream, out, threshold)
    return out


def fill_bernoulli(stream: Stream, out: Words, threshold: int) -> None:
    """Overwrite the words of `out` with independent bits of probability `threshold` / 2**64."""
    fast = loops(out.nbytes)
    # Trailing zero bits of a threshold never matter: p = 1/2 needs a single plane.
    depth = min(_PLANES, 64 - _trailing_zeros(threshold))
    rest = np.uint64((threshold << depth) % WORD)
    full = np.uint64(threshold)
    ties = np.empty(min(CHUNK_WORDS, out.size), dtype=np.uint64)
    buffer = np.empty(depth * ties.size, dtype="<u8")
    spare = np.empty(ties.size, dtype="<u8")
    for start in range(0, out.size, CHUNK_WORDS):
        bits = out[start : start + CHUNK_WORDS]
        planes = buffer[: depth * bits.size]
        stream.fill(planes)
        equal = ties[: bits.size]
        left = fast.compare_planes(planes.reshape(depth, bits.size), full, bits, equal)
        if left and rest:
            # A quarter of a word to a word is usual; a small chunk may need any number.
            words = spare[:left] if left <= spare.size else np.empty(left, dtype="<u8")
            stream.fill(words)
            fast.settle_ties(bits, equal, words, rest)


def _trailing_zeros(threshold: int) -> int:
    return (threshold & -threshold).bit_length() - 1


def keep_or_replace(
    stream: Stream, codes: NDArray[np.int64], domain: int, threshold: int
) -> NDArray[np.unsignedinteger]:
    """Keep each code with probability `threshold` / 2**64, else replace it uniformly.

    The replacement is one of the other domain - 1 codes. One word decides a row: its high half is
    compared with the threshold's, its low half picks the replacement. The few rows whose high
    halves tie, or whose pick would be biased, are settled by further words, so the distribution is
    exact. The result has the narrowest type that holds the domain.
    """
    fast = loops(codes.nbytes)
    out = np.empty(codes.size, dtype=np.min_scalar_type(domain - 1))
    full, others = np.uint64(threshold), np.uint64(domain - 1)
    flagged = np.empty(min(_CHUNK_CODES, codes.size) + 1, dtype=np.int64)
    buffer = np.empty(min(_CHUNK_CODES, codes.size), dtype="<u8")
    for start in range(0, codes.size, _CHUNK_CODES):
        own = codes[start : start + _CHUNK_CODES]
        picked, words = out[start : start + own.size], buffer[: own.size]
        stream.fill(words)
        rare = fast.keep_or_replace(words, own, full, others, picked, flagged)
        if rare:
            rows = flagged[:rare]
            keep = tied_coins(stream, words[rows], threshold)
            lie = stream.below(domain - 1, rare).astype(np.int64)
            lie += lie >= own[rows]
            picked[rows] = np.where(keep, own[rows], lie)
    return out


def tied_coins(stream: Stream, words: Words, threshold: int) -> NDArray[np.bool_]:
    """Settle coins whose high half tied with the threshold's by new words against its low half.

    Words that did not tie give False: their coin had already failed.
    """
    half = np.uint64(32)
    tied = words >> half == np.uint64(threshold >> 32)
    fallen = stream.words(words.size) >> half < np.uint64(threshold & 0xFFFFFFFF)
    return np.asarray(tied & fallen)
