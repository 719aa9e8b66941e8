"""Which words people hold, and how many of them: tests, shares and intervals of pooled words.

Tests pool the level that chose a word with all later ones (carved.py), and Benjamini and Hochberg's
rule runs over the pool, with weights from the levels before (trust.py), at 0.8 of the level that is
promised: tails come from a saddle point, and the pool's size is itself a matter of chance. Shares
come from the levels after the one that chose the word, which are unbiased before the test and
raised by it, since the test looks at them too. So the lower end of an interval has the tail (alpha
/ 2) found / pool, and the upper one alpha / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Progress, Tally, Vector
from rumor.estimators.decode.testing import benjamini_hochberg
from rumor.estimators.discover.carved import carved_p_values
from rumor.estimators.discover.ranking import Looks, ranked
from rumor.estimators.discover.search import Grown, grow
from rumor.estimators.discover.trust import weights
from rumor.mechanisms.open_words import OpenWords

LEVEL = 0.05
CAUTION = 0.8
CONFIDENCE = 0.95


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
