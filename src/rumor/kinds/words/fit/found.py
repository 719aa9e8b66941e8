"""Tests, shares and intervals of detected words, and of candidate words.

Tests. A word is selected at the level where it ends, since its z-score there passed a threshold t.
Later levels did not take part in the selection. So of the z-scores pooled over this level and all
later ones, each with the root of its people as its weight, the null distribution is that of
sqrt(r) Z1 + sqrt(1 - r) Z2 given Z1 >= t, with r the share of the people at the selecting level
and Z1, Z2 normal: the information that selection used is carved out, and nothing else is lost
(Fithian, Sun and Taylor, "Optimal inference after model selection", 2014). Benjamini and
Hochberg's rule runs over the pool, with weights from the levels before (search.py), at 0.8 of the
promised level: tails come from a saddle point, and the pool's size is itself random.

Shares and intervals. Shares come from the levels after the selecting one, which are unbiased
before the test and raised by it, since the test uses them too. So the lower end of an interval has
the tail (alpha / 2) found / pool, and the upper one alpha / 2.

Order. A word's prefix is shared by everybody with the word, and by all with another word of that
prefix. Where the prefixes of all detected words have no larger share than these words together, as
far as noise shows, the levels of prefixes count the words as well as later levels do, and the
shares are averaged by precision, less the part of other detected words with that prefix. Where
prefixes have a larger share, as in any language, a level is useless for ranking, and is left out.
The average only ranks words; their shares come from levels that selected nothing.

Candidates. A candidate word needs no search, and no level selected it: every level at which it has
ended, and that of whole words, counts in full. Words that are too long to be named, or that the
code cannot write, are tested by whole words alone. Prefixes are left out: other words share them.
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
from rumor.kinds.words.fit.search import PrefixSearch, search_prefixes, weights
from rumor.mechanisms.open_words.open_words import OpenWords

# Squared residuals may exceed their mean by this many of their standard deviations.
_AGREES = 2.0


@dataclass(frozen=True)
class PrefixShares:
    """One level's estimates of some words' prefixes: shares and standard errors."""

    rows: NDArray[np.intp]
    """The indices of the words."""
    stems: NDArray[np.uint64]
    """The fingerprint of each word's prefix."""
    share: Vector
    stderr: Vector


def ranking_shares(share: Vector, stderr: Vector, levels: list[PrefixShares]) -> Vector:
    """Return the shares of words, averaged with those of their prefixes where these agree."""
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
    """Return P(sqrt(r) Z1 + sqrt(1-r) Z2 >= pooled | Z1 >= threshold), for each word."""
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
    """The detected words, the largest share first, and a bound on the unnamed share."""

    words: list[str]
    share: Vector
    """The share from the levels that did not select the word, within its interval."""
    stderr: Vector
    low: Vector
    high: Vector
    p_value: Vector
    ranked_by: Vector
    """The share with the selecting level and prefixes included, used for ranking only."""
    chosen_at: NDArray[np.int64]
    """The level, from 1, at which each word ended."""
    pool: int
    """The number of words tested."""
    longer: float
    """A lower bound on the share of people whose word is too long to be named."""
    candidates: int
    """The number of prefixes tested."""


def discover(
    mechanism: OpenWords,
    tally: Tally,
    *,
    level: float = LEVEL,
    confidence: float = CONFIDENCE,
    beam: int | None = None,
    on_progress: Progress | None = None,
) -> Discovered:
    """Return the words of a tally, at a false discovery rate of at most about `level`."""
    table = mechanism.table(tally)
    grown = search_prefixes(mechanism, table, beam=beam, on_progress=on_progress)
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


def _p_values(grown: PrefixSearch) -> Vector:
    pool, people = grown.pool, grown.people
    pooled, share = np.zeros(len(pool.words)), np.zeros(len(pool.words))
    for i, (level, deviates) in enumerate(zip(pool.level, pool.deviates, strict=True)):
        own = people[level:]
        pooled[i] = float(np.sqrt(own) @ deviates) / float(np.sqrt(own.sum()))
        share[i] = own[0] / own.sum()
    return carved_p_values(pooled, share, np.array(pool.threshold))


def _shares(
    mechanism: OpenWords, grown: PrefixSearch, rows: NDArray[np.intp], *, later: bool
) -> tuple[Vector, Vector]:
    """Return the shares of words and their errors, from the levels after the selecting one."""
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


def _ranked(mechanism: OpenWords, grown: PrefixSearch, rows: NDArray[np.intp]) -> Vector:
    """Return the shares that rank words: with the selecting level and agreeing earlier ones."""
    pool, looks = grown.pool, []
    chosen = np.array([pool.level[i] for i in rows.tolist()], dtype=np.intp)
    for level in range(chosen.max(initial=0)):
        here = np.flatnonzero(chosen > level)
        people, chance = int(grown.people[level]), 1 / mechanism.buckets
        # The residual noise of a small table may be less than its people must have caused.
        noise = max(float(grown.deviation[level]) ** 2, people * chance * (1 - chance))
        begun = [pool.before[i][level] for i in rows[here].tolist()]
        shares = np.array([share_of(mechanism, excess, people, noise) for excess in begun])
        stems = np.array([pool.stems[i][level] for i in rows[here].tolist()], dtype=np.uint64)
        looks.append(PrefixShares(here, stems, shares[:, 0], shares[:, 1]))
    return ranking_shares(*_shares(mechanism, grown, rows, later=False), looks)


def noise_of(mechanism: OpenWords, deviation: float, people: int) -> float:
    """Return the variance of an excess among `people` whose table has this `deviation`.

    A fit of frequent prefixes can explain most of a small table, its noise included. Where the
    residual noise is less than half of the binomial noise, the binomial noise is returned.
    """
    chance = 1 / mechanism.buckets
    least = people * chance * (1 - chance)
    return deviation**2 if deviation**2 > least / 2 else least


def share_of(
    mechanism: OpenWords, excess: float, people: int, variance: float
) -> tuple[float, float]:
    """Return the share that an `excess` over chance among `people` stands for, and its error.

    A report of a word with share f lies in its bucket with probability 1/g + gain f: the variance
    beyond that of chance is added to the `variance` of the table.
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
    """Return both ends of each share; the lower tail is multiplied by `found` / `pool`."""
    from scipy.special import ndtri

    tail = (1 - confidence) / 2
    below = -float(ndtri(tail * found / pool)) if found else 0.0
    above = -float(ndtri(tail))
    return np.clip(share - below * stderr, 0, 1), np.clip(share + above * stderr, 0, 1)


def _longer(mechanism: OpenWords, grown: PrefixSearch, confidence: float) -> float:
    """Return the sum of the lower ends of all continuing prefixes, simultaneously valid."""
    from scipy.special import ndtri

    longer = grown.longer
    looked_at = int(grown.candidates[-2]) if grown.candidates.size > 1 else 0
    if not longer.people or not looked_at:
        return 0.0
    # The excess at which a z-score would equal the largest of all by chance; where supports are
    # few, z-scores grow more slowly, and the bound is smaller.
    below = -float(ndtri((1 - confidence) / 2 / looked_at))
    sure = longer.deviates > below
    least = longer.excess[sure] * (1 - below / longer.deviates[sure])
    return float(min(1.0, least.sum() / (mechanism.gain * longer.people)))


@dataclass(frozen=True, eq=False)
class Listed:
    """The words of a list in its order, the detected ones among them, and their intervals."""

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
    """Test the candidate `words` at a false discovery rate of at most about `level`."""
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
