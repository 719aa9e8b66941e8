"""Many exact coins at once: packed bits, each 1 with probability threshold / 2**64.

Bit-sliced: 64 lanes share a word, and plane k of random words is compared with bit k of
the threshold, from the top. After eight planes one lane in 256 is still equal; those are
decided by a full word each. So every lane is compared with all 64 bits of the threshold
for 8.25 random bits, and no float decides anything.
"""

from __future__ import annotations

import numpy as np

from rumor.exact import WORD
from rumor.loops import loops
from rumor.randomness import Stream, Words

# Words of output made at a time: with its planes, a chunk stays in the second-level cache.
CHUNK_WORDS = 4096
_PLANES = 8


def bernoulli_words(stream: Stream, count: int, threshold: int) -> Words:
    """`count` words of 64 independent bits, each bit 1 with probability threshold / 2**64."""
    out = np.empty(count, dtype=np.uint64)
    fill_bernoulli(stream, out, threshold)
    return out


def fill_bernoulli(stream: Stream, out: Words, threshold: int) -> None:
    """Overwrite words with independent bits of probability threshold / 2**64."""
    fast = loops(out.nbytes)
    # Trailing zero bits of a threshold never matter: p = 1/2 needs a single plane.
    depth = min(_PLANES, 64 - _trailing_zeros(threshold))
    rest = np.uint64((threshold << depth) % WORD)
    full = np.uint64(threshold)
    ties = np.empty(min(CHUNK_WORDS, out.size), dtype=np.uint64)
    buffer = np.empty(depth * ties.size, dtype="<u8")
    for start in range(0, out.size, CHUNK_WORDS):
        bits = out[start : start + CHUNK_WORDS]
        planes = buffer[: depth * bits.size]
        stream.fill(planes)
        equal = ties[: bits.size]
        left = fast.compare_planes(planes.reshape(depth, bits.size), full, bits, equal)
        if left and rest:
            fast.settle_ties(bits, equal, stream.words(left), rest)


def _trailing_zeros(threshold: int) -> int:
    return (threshold & -threshold).bit_length() - 1
