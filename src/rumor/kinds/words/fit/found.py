"""Tests, shares and intervals of words that were found, and of words of a list.

The order of found words: what the levels before say of them, where they agree with the words.

A word's beginning is held by everybody who holds the word, and by all who hold another one that
begins so. Where the beginnings of all found words are held by no more people than these words
together, as far as noise lets one see, the levels of beginnings count the words as well as later
levels do, and they are averaged, each as sure as it is, less what other found words with the same
beginning account for. Where beginnings hold more, as in any language, a level says nothing that a
ranking could use, and is left out. A ranking alone: shares come from levels that chose nothing.

The test of a word that one level chose: what is left of that level's evidence, and all later.

The level that chose a word did so since its deviate there passed a threshold t. Later levels did
not take part in that. So of the deviates pooled over this level and all later ones, each with the
root of its people as its weight, the law under "nobody has it" is that of
sqrt(r) Z1 + sqrt(1 - r) Z2 given Z1 >= t, with r the share of the people at the choosing level and
Z1, Z2 normal: what selection used up is carved out, and nothing else is lost (Fithian, Sun and
Taylor, "Optimal inference after model selection", 2014).

Which words people hold, and how many of them: tests, shares and intervals of pooled words.

Tests pool the level that chose a word with all later ones (carved.py), and Benjamini and Hochberg's
rule runs over the pool, with weights from the levels before (trust.py), at 0.8 of the level that is
promised: tails come from a saddle point, and the pool's size is itself a matter of chance. Shares
come from the levels after the one that chose the word, which are unbiased before the test and
raised by it, since the test looks at them too. So the lower end of an interval has the tail (alpha
/ 2) found / pool, and the upper one alpha / 2.

Words of a list, tested on the reports of an open question.

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

from rumor.core.exact import CONFIDENCE
from rumor.core.types import Progress, Tally, Vector
from rumor.estimators.multiple_testing import benjamini_hochberg
from rumor.kinds.words.fit.prefixes import support
from rumor.kinds.words.fit.search import Grown, grow, weights
from rumor.mechanisms.open_words.open_words import OpenWords

# Squared residuals may pass their mean by so many of their standard deviations.
_AGREES = 2.0


@dataclass(frozen=True)
class Looks:
    """What one level of beginnings says of some words: shares of their beginnings, and errors."""

    rows: NDArray[np.intp]
    """Which words."""
    stems: NDArray[np.uint64]
    """The beginning of each."""
    share: Vector
    stderr: Vector


def ranked(share: Vector, stderr: Vector, levels: list[Looks]) -> Vector:
    """The shares of words, averaged with those of their beginnings where these agree with them."""
    weight = 1 / stderr**2
    total = share * weight
    for level in levels:
        _, alike = np.unique(level.stems, return_inverse=True)
        named = np.bincount(alike, share[level.rows])[alike]
        doubt = np.bincount(alike, stderr[level.rows] ** 2)[alike]
        residual = level.share - named
        surprise = float((residual**2 / (level.stderr**2 + doubt)).sum())
        count = level.rows.size
        if surprise > count + _AGREES * np.sqrt(2 * count):
            continue
        variance = level.stderr**2 + doubt - stderr[level.rows] ** 2
        weight[level.rows] += 1 / variance
        total[level.rows] += (share[level.rows] + residual) / variance
    return np.asarray(total / weight)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_REACH = 8.0


def carved_p_values(pooled: Vector, share: Vector, threshold: Vector) -> Vector:
    """P(sqrt(r) Z1 + sqrt(1-r) Z2 >= pooled | Z1 >= threshold), for each word."""
    from scipy.special import ndtr

    root, rest = np.sqrt(share), np.sqrt(1 - share)
    # The integrand has its mass about the threshold, or where Z1 itself explains the sum.
    low = np.maximum(threshold, root * pooled - _REACH)
    high = np.maximum(threshold, root * pooled) + _REACH
    x = low[:, None] + (high - low)[:, None] * (_NODES + 1) / 2
    beyond = ndtr(-(pooled[:, None] - root[:, None] * x) / rest[:, None])
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    mass = (density * beyond * _WEIGHTS).sum(axis=1) * (high - low) / 2
    return np.asarray(np.clip(mass / ndtr(-threshold), 0.0, 1.0))


LEVEL = 0.05
CAUTION = 0.8


@dataclass(frozen=True, eq=False)
class Discovered:
    """The words found, the surest share first, and what stays without a name."""

    words: list[str]
    share: Vector
    """From the levels that did not choose the word: within its interval."""
    stderr: Vector
    low: Vector
    high: Vector
    p_value: Vector
    ranked_by: Vector
    """The share with the choosing level and beginnings counted: a ranking, not an estimate."""
    chosen_at: NDArray[np.int64]
    """The level, from 1, at which each word ended."""
    pool: int
    """How many words were tested."""
    longer: float
    """At least this share of people holds words that are too long to be named."""
    candidates: int
    """How many beginnings were looked at."""


def discover(
    mechanism: OpenWords,
    tally: Tally,
    *,
    level: float = LEVEL,
    confidence: float = CONFIDENCE,
    beam: int | None = None,
    on_progress: Progress | None = None,
) -> Discovered:
    """The words of a tally, at a false discovery rate of at most about `level`."""
    table = mechanism.table(tally)
    grown = grow(mechanism, table, beam=beam, on_progress=on_progress)
    pool = grown.pool
    p_values = _p_values(grown)
    weighted = p_values / weights(np.array(pool.trust))
    rows = np.flatnonzero(benjamini_hochberg(weighted, CAUTION * level))
    ranked_by = _ranked(mechanism, grown, rows)
    rows = rows[np.argsort(-ranked_by, kind="stable")]
    share, stderr = _shares(mechanism, grown, rows, later=True)
    low, high = interval(share, stderr, confidence, rows.size, len(pool.words))
    return Discovered(
        words=[pool.words[i] for i in rows],
        share=share,
        stderr=stderr,
        low=low,
        high=high,
        p_value=p_values[rows],
        ranked_by=np.sort(ranked_by)[::-1],
        chosen_at=np.array([pool.level[i] + 1 for i in rows], dtype=np.int64),
        pool=len(pool.words),
        longer=_longer(mechanism, grown, confidence),
        candidates=int(grown.candidates.sum()),
    )


def _p_values(grown: Grown) -> Vector:
    pool, people = grown.pool, grown.people
    pooled, share = np.zeros(len(pool.words)), np.zeros(len(pool.words))
    for i, (level, deviates) in enumerate(zip(pool.level, pool.deviates, strict=True)):
        own = people[level:]
        pooled[i] = float(np.sqrt(own) @ deviates) / float(np.sqrt(own.sum()))
        share[i] = own[0] / own.sum()
    return carved_p_values(pooled, share, np.array(pool.threshold))


def _shares(
    mechanism: OpenWords, grown: Grown, rows: NDArray[np.intp], *, later: bool
) -> tuple[Vector, Vector]:
    """The shares of words and their errors, from the levels after the one that chose each."""
    found = np.zeros((rows.size, 2))
    for place, i in enumerate(rows.tolist()):
        first = grown.pool.level[i] + later
        excess = sum(grown.pool.excess[i][later:])
        noise = sum(
            noise_of(mechanism, float(grown.deviation[at]), int(grown.people[at]))
            for at in range(first, len(grown.people))
        )
        found[place] = share_of(mechanism, excess, int(grown.people[first:].sum()), noise)
    return found[:, 0], found[:, 1]


def _ranked(mechanism: OpenWords, grown: Grown, rows: NDArray[np.intp]) -> Vector:
    """What found words are ranked by: the choosing level and what agrees of earlier ones, too."""
    pool, looks = grown.pool, []
    chosen = np.array([pool.level[i] for i in rows.tolist()], dtype=np.intp)
    for level in range(chosen.max(initial=0)):
        here = np.flatnonzero(chosen > level)
        people, chance = int(grown.people[level]), 1 / mechanism.buckets
        # What is left of a small table may be less noise than its people must have brought.
        noise = max(float(grown.deviation[level]) ** 2, people * chance * (1 - chance))
        begun = [pool.before[i][level] for i in rows[here].tolist()]
        shares = np.array([share_of(mechanism, excess, people, noise) for excess in begun])
        stems = np.array([pool.stems[i][level] for i in rows[here].tolist()], dtype=np.uint64)
        looks.append(Looks(here, stems, shares[:, 0], shares[:, 1]))
    return ranked(*_shares(mechanism, grown, rows, later=False), looks)


def noise_of(mechanism: OpenWords, deviation: float, people: int) -> float:
    """Return the variance of an excess among `people` whose table has this `deviation`.

    A fit of frequent stems can explain most of a small table, its noise too. Where less than half
    of what chance brings is left of the noise, it is taken for what chance brings.
    """
    chance = 1 / mechanism.buckets
    least = people * chance * (1 - chance)
    return deviation**2 if deviation**2 > least / 2 else least


def share_of(
    mechanism: OpenWords, excess: float, people: int, variance: float
) -> tuple[float, float]:
    """The share that an excess over chance among so many people stands for, and its error.

    A report of a word with share f lies in its bucket with probability 1/g + gain f: what that
    varies more than by chance is added to the variance of the table.
    """
    if not people:
        return 0.0, 1.0
    gain, chance = mechanism.gain, 1 / mechanism.buckets
    share = excess / (gain * people)
    rate = chance + gain * min(max(share, 0.0), 1.0)
    more = people * max(0.0, rate * (1 - rate) - chance * (1 - chance))
    return share, (variance + more) ** 0.5 / (gain * people)


def interval(
    share: Vector, stderr: Vector, confidence: float, found: int, pool: int
) -> tuple[Vector, Vector]:
    """Both ends of each share: the lower tail is cut to the part of the pool that was found."""
    from scipy.special import ndtri

    tail = (1 - confidence) / 2
    below = -float(ndtri(tail * found / pool)) if found else 0.0
    above = -float(ndtri(tail))
    return np.clip(share - below * stderr, 0, 1), np.clip(share + above * stderr, 0, 1)


def _longer(mechanism: OpenWords, grown: Grown, confidence: float) -> float:
    """The lower ends of all beginnings that go on, every one certain together with the others."""
    from scipy.special import ndtri

    longer = grown.longer
    looked_at = int(grown.candidates[-2]) if grown.candidates.size > 1 else 0
    if not longer.people or not looked_at:
        return 0.0
    # The excess at which a deviate would be as large as the largest of so many by chance; where
    # supports are few, deviates grow slower than they do, and this leaves less of them.
    below = -float(ndtri((1 - confidence) / 2 / looked_at))
    sure = longer.deviates > below
    least = longer.excess[sure] * (1 - below / longer.deviates[sure])
    return float(min(1.0, least.sum() / (mechanism.gain * longer.people)))


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
