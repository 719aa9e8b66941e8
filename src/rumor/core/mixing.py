"""SplitMix64's mixer: a fixed permutation of 64-bit words, used by filters and hashes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1


def mix64(z: int) -> int:
    """Return the finaliser of SplitMix64 (Steele, Lea and Flood 2014) applied to the word `z`."""
    z &= _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def mix64_array(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return `mix64` of every element of `z`."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
