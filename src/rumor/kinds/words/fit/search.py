"""The search for words, level by level, through significant prefixes.

Trust. A word that people have is significant at every level, and not only at the one where it
ends. The z-scores of its prefix at the levels before may not be added to its test, since other
words share the prefix; but they may guide the search. So each prefix that survives a level has a
trust: one less the false discovery rate among prefixes with at least its z-score. Its extensions
have a part of all chances to pass that is proportional to this trust, and words are tested with
weights proportional to it (Genovese, Roeder and Wasserman, "False discovery control with p-value
weighting", 2006): weights that average one, and that do not depend on the data of the test, leave
the false discovery rate unchanged.

Search. At each level the candidates are the extensions of the prefixes that survived the level
before, as far as the code can write them. A candidate survives when its z-score passes a
threshold, such that about `beam` of the absent ones pass, whatever their number; the threshold is
lower where earlier levels trust the prefix, and depends on those levels alone. A candidate that
has ended is a word. A word needs no extension, so far more words than prefixes may pass: words
enter the pool, and every deeper level, whose hashes are independent, scores them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.types import Progress, Vector
from rumor.kinds.words.fit.prefixes import DEAD, ENDED, START, Grammar, Support, read_word, support
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.open_words.prefix_hashes import Words

# The least trust of a prefix: a less significant one may still be continued by a frequent word.
LEAST_TRUST = 0.05
LEAST_THRESHOLD = 1.0
# The largest number of survivors, as a multiple of those expected by chance.
_MOST = 4


@dataclass(frozen=True)
class Survivors:
    """The candidates that survive, in their order, with their thresholds and their trust."""

    rows: NDArray[np.intp]
    threshold: Vector
    trust: Vector


def weights(trust: Vector) -> Vector:
    """Return weights proportional to `trust`, one on average."""
    return np.asarray(trust / trust.mean()) if trust.size else trust


def threshold_for(part: Vector | float) -> Vector:
    """Return the z-score that the share `part` of absent prefixes exceeds by chance."""
    from scipy.special import ndtri

    return np.asarray(np.maximum(LEAST_THRESHOLD, -ndtri(np.minimum(0.5, part))))


def select_survivors(deviates: Vector, trust: Vector, beam: float) -> Survivors:
    """Return the candidates that pass, about `beam` of which by chance.

    `trust` is that of the prefix that each candidate extends.
    """
    from scipy.special import ndtr

    weight = weights(trust)
    part = beam / max(1, deviates.size)
    likely = np.flatnonzero(deviates > LEAST_THRESHOLD)
    weighted = ndtr(-deviates[likely]) / weight[likely]
    rows, weighted = likely[weighted < part], weighted[weighted < part]
    order = np.argsort(weighted, kind="stable")
    if rows.size > _MOST * beam:
        order = order[: int(_MOST * beam)]
        part = float(weighted[order[-1]])
    # The false discovery rate among all candidates up to each, made monotone from the end.
    by_chance = weighted[order] * deviates.size / np.arange(1, order.size + 1)
    false = np.minimum.accumulate(by_chance[::-1])[::-1]
    back = np.argsort(rows[order])
    rows = rows[order][back]
    return Survivors(
        rows, threshold_for(part * weight[rows]), np.maximum(LEAST_TRUST, 1 - false)[back]
    )


BEAM = 600
# Long steps have many extensions, and detect as much with fewer survivors.
_LEAST_BEAM, _EXTENSIONS = 100, 300 << 10
# The number of words in the pool that pass by chance, over all levels where words can end.
POOL = 1200
_MAX_HASHES = 10**10


@dataclass
class Pool:
    """The words that ended at some level and survived it, with their statistics by level."""

    words: list[str] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    """The level that selected each word."""
    threshold: list[float] = field(default_factory=list)
    """The threshold of each word at that level."""
    trust: list[float] = field(default_factory=list)
    """The trust in each word's prefix, by the levels before."""
    fingerprints: list[int] = field(default_factory=list)
    deviates: list[list[float]] = field(default_factory=list)
    """The z-scores of each word at the selecting level and all later ones."""
    excess: list[list[float]] = field(default_factory=list)
    stems: list[list[int]] = field(default_factory=list)
    """The fingerprints of each word's prefixes at the levels before; their excess is in
    `before`.
    """
    before: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Prefixes:
    """The continuing candidates of one level: fingerprints, states and their bits so far."""

    fingerprints: Words
    states: NDArray[np.int32]
    chunks: NDArray[np.uint16]
    trust: Vector
    stems: Words
    """The fingerprints at every level so far."""
    excess: Vector


@dataclass(frozen=True)
class PrefixSearch:
    """The result of a search: the pool, each level's noise and people, and what goes on."""

    pool: Pool
    deviation: Vector
    people: NDArray[np.int64]
    candidates: NDArray[np.int64]
    """The number of prefixes tested, by level."""
    longer: Support
    """The support of the continuing survivors of the last level."""


def search_prefixes(
    mechanism: OpenWords,
    table: NDArray[np.int64],
    *,
    beam: int | None = None,
    on_progress: Progress | None = None,
) -> PrefixSearch:
    """Return all words that are significant where they end, from counts by level and cohort."""
    beam = usual_beam(mechanism) if beam is None else beam
    stems, depth = mechanism.stems, mechanism.levels - 1
    if beam << stems.step > _MAX_HASHES // stems.cohorts:
        raise InputError(
            f"beam times 2^step times cohorts must be at most 1e10; "
            f"got {beam:,} times 2^{stems.step} times {stems.cohorts:,}"
        )
    delta = mechanism.gain * mechanism.buckets / (mechanism.buckets - 1)
    grammar, pool = Grammar(mechanism.code), Pool()
    allowed = pool_by_level(grammar.growth(stems.step, depth)[1])
    alive = Prefixes(
        np.array([stems.root], dtype=np.uint64),
        np.array([START], dtype=np.int32),
        np.zeros((1, 0), dtype=np.uint16),
        np.ones(1),
        np.zeros((1, 0), dtype=np.uint64),
        np.zeros((1, 0)),
    )
    deviation, candidates = np.zeros(depth + 1), np.zeros(depth + 1, dtype=np.int64)
    people = table.sum(axis=(1, 2))
    longer = Support(np.zeros(0), np.zeros(0), 0.0, 0)
    for level in range(depth):
        parents, chunks, states = _extensions(grammar, alive, stems.step)
        grown = stems.extend(alive.fingerprints[parents], chunks)
        kept = np.array(pool.fingerprints, dtype=np.uint64)
        found = support(table[level], stems, level, np.concatenate([grown, kept]), delta)
        deviation[level], candidates[level] = found.deviation, grown.size
        _add(pool, found.deviates[grown.size :], found.excess[grown.size :])
        trust = alive.trust[parents]
        ended, on = np.flatnonzero(states == ENDED), np.flatnonzero(states != ENDED)
        tested = select_survivors(found.deviates[ended], trust[ended], allowed[level])
        for row, threshold in zip(ended[tested.rows], tested.threshold.tolist(), strict=True):
            path = np.append(alive.chunks[parents[row]], chunks[row])
            word = read_word(mechanism.code, path, stems.step)
            if word is not None:
                pool.words.append(word)
                pool.level.append(level)
                pool.threshold.append(threshold)
                pool.trust.append(float(trust[row]))
                pool.fingerprints.append(int(grown[row]))
                pool.deviates.append([float(found.deviates[row])])
                pool.excess.append([float(found.excess[row])])
                pool.stems.append(alive.stems[parents[row]].tolist())
                pool.before.append(alive.excess[parents[row]].tolist())
        going = select_survivors(found.deviates[on], trust[on], beam)
        on = on[going.rows]
        alive = Prefixes(
            grown[on],
            states[on],
            np.hstack([alive.chunks[parents[on]], chunks[on, None].astype(np.uint16)]),
            going.trust,
            np.hstack([alive.stems[parents[on]], grown[on, None]]),
            np.hstack([alive.excess[parents[on]], found.excess[on, None]]),
        )
        longer = Support(found.deviates[on], found.excess[on], found.deviation, found.people)
        if on_progress is not None:
            on_progress(level + 1, depth + 1)
    whole = np.array([stems.word_fingerprint(word) for word in pool.words], dtype=np.uint64)
    last = support(table[depth], stems, depth, whole, delta)
    deviation[depth] = last.deviation
    _add(pool, last.deviates, last.excess)
    if on_progress is not None:
        on_progress(depth + 1, depth + 1)
    return PrefixSearch(pool, deviation, people, candidates, longer)


def usual_beam(mechanism: OpenWords) -> int:
    """Return the default number of prefixes that pass a level by chance."""
    return max(_LEAST_BEAM, min(BEAM, _EXTENSIONS >> mechanism.step))


def pool_by_level(ended: Vector) -> Vector:
    """Return the number of words that pass each level by chance: equal where words can end."""
    levels = int(np.count_nonzero(ended))
    return np.asarray(np.where(ended > 0, POOL / max(1, levels), 0.0))


def _extensions(
    grammar: Grammar, alive: Prefixes, step: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32]]:
    """Return every possible extension: whose extension it is, its chunk, and its state."""
    after = grammar.after(alive.states, step)
    parents, chunks = np.nonzero(after != DEAD)
    return parents, chunks, after[parents, chunks]


def _add(pool: Pool, deviates: Vector, excess: Vector) -> None:
    for place, (deviate, more) in enumerate(zip(deviates.tolist(), excess.tolist(), strict=True)):
        pool.deviates[place].append(deviate)
        pool.excess[place].append(more)
