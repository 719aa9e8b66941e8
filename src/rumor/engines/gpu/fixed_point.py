"""Numbers as planes of bits: what products of bits with numbers become products of bits with.

A frequency becomes an integer of 32 bits in units of the largest one, a weight one in units of
2^-32. Rounding moves a frequency by at most 2^-33 of the largest and a weight by at most 2^-33;
all that is done with them afterwards is exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector

PLANES, SLAB = 32, 32
"""Bits of a number, and words of a row that are multiplied at a time."""
WHOLE = (1 << PLANES) - 1
"""What a weight of one is as an integer."""
MOST_ODDS = 1 << 13
"""A gradient is off by less than the odds times 2^-33: by less than 1e-6 up to these."""
LOG_UNITS = 1 << 28
"""A logarithm of one as an integer."""

Words = NDArray[np.uint32]


def words_of(values: int) -> int:
    """Words of 32 bits in a row of so many values: whole lines of 16 bytes."""
    return -(-values // 128) * 4


def slabs_of(words: int) -> int:
    """How many slabs a row of so many words has."""
    return -(-words // SLAB)


def integers(h: Vector) -> tuple[NDArray[np.uint64], float]:
    """Frequencies as integers of 32 bits, and the unit that they are counted in."""
    unit = float(h.max()) / WHOLE
    return np.rint(h / unit).astype(np.uint64), unit


def planes(h: Vector, words: int) -> tuple[Words, float]:
    """For every slab 32 planes of 32 words: bit x of plane p is bit p of value x's integer."""
    whole, unit = integers(h)
    slabs = slabs_of(words)
    padded = np.zeros(slabs * SLAB * 32, dtype="<u4")
    padded[: h.size] = whole
    bits = np.unpackbits(padded.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view("<u4")
    by_slab = packed.reshape(PLANES, slabs, SLAB).transpose(1, 0, 2)
    return np.ascontiguousarray(by_slab), unit
