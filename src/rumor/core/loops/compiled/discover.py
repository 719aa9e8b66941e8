"""The heavy loops of growing words, compiled by numba; their plain twins are in plain/discover.py.

A candidate is a fingerprint. Cohort k puts it into bucket floor(g h / 2^32), h the top half of
a_k f + b_k, and `table` has a number for each cohort and bucket.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True)

# Candidates summed up at a time: their sums stay in the first-level cache.
_BLOCK = 1024


@_jit
def sum_buckets(fingerprints, a, b, table, out):
    """For each candidate the total of the table over its buckets, one in each cohort."""
    half, buckets = np.uint64(32), np.uint64(table.shape[1])
    for start in range(0, fingerprints.size, _BLOCK):
        own = fingerprints[start : start + _BLOCK]
        sums = out[start : start + own.size]
        sums[:] = 0.0
        for k in range(a.size):
            ak, bk, row = a[k], b[k], table[k]
            for i in range(own.size):
                sums[i] += row[((ak * own[i] + bk) >> half) * buckets >> half]


@_jit
def descend_buckets(places, people, table, shares, passes):
    """Fit shares of at least 0 to a table by coordinate descent; the table becomes what is left.

    Row w of `places` has the buckets of word w. A share f of people_k people in cohort k is
    f people_k more in its bucket, taken evenly from all, so that rows keep their sums.
    """
    cohorts, buckets = table.shape
    square = 0.0
    for k in range(cohorts):
        square += people[k] * people[k]
    square *= 1.0 - 1.0 / buckets
    if square == 0.0:
        return
    for _ in range(passes):
        for w in range(places.shape[0]):
            pull = 0.0
            for k in range(cohorts):
                pull += people[k] * table[k, places[w, k]]
            share = max(0.0, shares[w] + pull / square)
            moved = share - shares[w]
            shares[w] = share
            if moved != 0.0:
                for k in range(cohorts):
                    even = moved * people[k] / buckets
                    for y in range(buckets):
                        table[k, y] += even
                    table[k, places[w, k]] -= moved * people[k]
