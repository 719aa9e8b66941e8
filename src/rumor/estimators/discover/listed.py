"""Words of a list, tested on the reports of an open question.

A listed word needs no search, and no level chose it: every level at which it has ended, and that of
whole words, counts in full. Words that are too long to be named, or that the code cannot write, are
tested by whole words alone. Beginnings are left out: other words share them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Tally, Vector
from rumor.estimators.decode.testing import benjamini_hochberg
from rumor.estimators.discover.deflate import support
from rumor.estimators.discover.found import (
    CAUTION,
    CONFIDENCE,
    LEVEL,
    interval,
    noise_of,
    share_of,
)
from rumor.mechanisms.open_words import OpenWords


@dataclass(frozen=True, eq=False)
class Listed:
    """The words of a list in its order; which are found, and the intervals of those that are."""

    words: list[str]
    found: NDArray[np.bool_]
    p_value: Vector
    share: Vector
    stderr: Vector
    low: Vector
    high: Vector


def look_for(
    mechanism: OpenWords,
    tally: Tally,
    words: Sequence[str],
    *,
    level: float = LEVEL,
    confidence: float = CONFIDENCE,
) -> Listed:
    """Which words of a list people hold, at a false discovery rate of at most about `level`."""
    from scipy.special import ndtr

    distinct = list(dict.fromkeys(unicodedata.normalize("NFC", word) for word in words))
    stems, table = mechanism.stems, mechanism.table(tally)
    chunks, ended = stems.pieces(distinct)
    fingerprints = stems.table(distinct, (chunks, ended))
    # The level at which each word is whole: after its last chunk, if it ended there.
    lengths = np.maximum((chunks >= 0).sum(axis=1), 1)
    first = np.where(ended, lengths - 1, stems.depth)
    delta = mechanism.gain * mechanism.buckets / (mechanism.buckets - 1)
    pooled, people, excess, variance = (np.zeros(len(distinct)) for _ in range(4))
    for at in range(mechanism.levels):
        rows = np.flatnonzero(first <= at)
        there = support(table[at], stems, at, fingerprints[rows, at], delta)
        pooled[rows] += np.sqrt(there.people) * there.deviates
        people[rows] += there.people
        excess[rows] += there.excess
        variance[rows] += noise_of(mechanism, there.deviation, there.people)
    p_value = ndtr(-pooled / np.sqrt(np.maximum(people, 1)))
    found = benjamini_hochberg(p_value, CAUTION * level)
    shares = [
        share_of(mechanism, more, int(count), noise)
        for more, count, noise in zip(excess, people, variance, strict=True)
    ]
    share, stderr = np.array(shares).reshape(-1, 2).T
    low, high = interval(share, stderr, confidence, int(found.sum()), len(distinct))
    return Listed(distinct, found, np.asarray(p_value), share, stderr, low, high)
