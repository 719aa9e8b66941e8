"""The heavy loops of growing words in plain numpy: the same functions as compiled/discover.py.

They serve installations without numba, and the tests hold the compiled loops to them. Sums of
floats may differ in the last bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.slices import slices

F64 = NDArray[np.float64]
U64 = NDArray[np.uint64]

_BLOCK = 1 << 13


def sum_buckets(fingerprints: U64, a: U64, b: U64, table: F64, out: F64) -> None:
    """For each candidate the total of the table over its buckets, one in each cohort."""
    half, buckets = np.uint64(32), np.uint64(table.shape[1])
    for part in slices(fingerprints.size, _BLOCK):
        own, sums = fingerprints[part], out[part]
        sums[:] = 0.0
        for k in range(a.size):
            sums += table[k][((a[k] * own + b[k]) >> half) * buckets >> half]


def descend_buckets(
    places: NDArray[np.int64], people: F64, table: F64, shares: F64, passes: int
) -> None:
    """Fit shares of at least 0 to a table by coordinate descent; the table becomes what is left."""
    cohorts, buckets = table.shape
    square = float((people**2).sum()) * (1.0 - 1.0 / buckets)
    if square == 0.0:
        return
    each = np.arange(cohorts)
    for _ in range(passes):
        for w, row in enumerate(places):
            share = max(0.0, shares[w] + float((people * table[each, row]).sum()) / square)
            moved = share - shares[w]
            shares[w] = share
            if moved != 0.0:
                table += (moved * people / buckets)[:, None]
                table[each, row] -= moved * people
