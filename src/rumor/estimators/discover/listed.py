"""Words of a list, tested on the reports of an open question.

A word that somebody wrote down beforehand was chosen by no level, so all levels at which it has
ended, that of whole words among them, test it: its deviates are pooled, and Benjamini and
Hochberg's rule runs over the list. Words that are too long to be named take part at the level of
whole words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Tally, Vector
from rumor.estimators.decode.testing import benjamini_hochberg
from rumor.estimators.discover.deflate import support
from rumor.estimators.discover.found import CAUTION
from rumor.mechanisms.open_words import OpenWords


@dataclass(frozen=True, eq=False)
class Tested:
    """What the reports say of each word of a list."""

    share: Vector
    stderr: Vector
    p_value: Vector
    detected: NDArray[np.bool_]


def test_words(mechanism: OpenWords, tally: Tally, words: Sequence[str], level: float) -> Tested:
    """Shares, errors and p-values; which are found at this rate of false discoveries."""
    from scipy.special import ndtr

    table, stems = mechanism.table(tally), mechanism.stems
    chunks, ended = stems.pieces(words)
    fingerprints = stems.table(words, (chunks, ended))
    # The level at which a word has ended; that of whole words where it never does.
    first = np.where(ended, (chunks >= 0).sum(axis=1) - 1, stems.depth)
    delta = mechanism.gain * mechanism.buckets / (mechanism.buckets - 1)
    pooled, excess, people, noise = (np.zeros(len(words)) for _ in range(4))
    for at in range(mechanism.levels):
        found = support(table[at], stems, at, np.ascontiguousarray(fingerprints[:, at]), delta)
        used = first <= at
        pooled[used] += np.sqrt(found.people) * found.deviates[used]
        excess[used] += found.excess[used]
        people[used] += found.people
        noise[used] += found.deviation**2
    known = people > 0
    share, stderr = np.zeros(len(words)), np.ones(len(words))
    share[known] = excess[known] / (mechanism.gain * people[known])
    chance = 1 / mechanism.buckets
    rate = chance + mechanism.gain * np.clip(share, 0.0, 1.0)
    more = people * np.maximum(0.0, rate * (1 - rate) - chance * (1 - chance))
    stderr[known] = np.sqrt(noise + more)[known] / (mechanism.gain * people[known])
    p_value = np.ones(len(words))
    p_value[known] = ndtr(-pooled[known] / np.sqrt(people[known]))
    return Tested(share, stderr, p_value, benjamini_hochberg(p_value, CAUTION * level))
