"""The search for words, level by level, from prefixes that stand out.

How far a beginning is trusted, and what its extensions have to pass for it.

A word that people hold stands out at every level, and not only at the one where it ends. What the
levels before say of its beginning may not be added to its test, since other words begin alike; but
they may say where to look. So each beginning that survives a level is trusted as far as chance does
not explain it: one less the rate of false ones among those that stand out at least as much. Its
extensions have a part of all chances to pass that is proportional to this trust, and words are
tested with weights proportional to it (Genovese, Roeder and Wasserman, "False discovery control
with p-value weighting", 2006): weights that average one, and that nothing has a say in which the
test looks at, leave the rate of false discoveries as it is.

Growing words, level by level: beginnings that stand out are extended, ended words are pooled.

At each level the candidates are the extensions of the beginnings that survived the level before, as
far as the code can write them. A candidate survives when its deviate passes a threshold, so that
about `beam` of those that nobody has get through, whatever their number; it is lower where earlier
levels trust the beginning (trust.py), and depends on those alone. A candidate that has ended is a
word. Words need not be extended, so that many more can be let through: they go to the pool, and
every deeper level, whose hashes are others, looks at them again.
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

# What a beginning has at least: others may continue it that stand out more than it does.
LEAST_TRUST = 0.05
LEAST_THRESHOLD = 1.0
# More survivors than this many times those expected by chance are cut off.
_MOST = 4


@dataclass(frozen=True)
class Passed:
    """The candidates that go on, in their order, what each had to pass, and how each is trusted."""

    rows: NDArray[np.intp]
    threshold: Vector
    trust: Vector


def weights(trust: Vector) -> Vector:
    """Proportional to trust, one on average."""
    return np.asarray(trust / trust.mean()) if trust.size else trust


def threshold_for(part: Vector | float) -> Vector:
    """The deviate that this part of those that nobody has passes by chance."""
    from scipy.special import ndtri

    return np.asarray(np.maximum(LEAST_THRESHOLD, -ndtri(np.minimum(0.5, part))))


def passed(deviates: Vector, trust: Vector, beam: float) -> Passed:
    """Those of the candidates that pass, about `beam` of which by chance.

    `trust` is that of the beginning which each candidate extends.
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
    # The rate of false ones among all up to each, the smallest of those that reach further.
    by_chance = weighted[order] * deviates.size / np.arange(1, order.size + 1)
    false = np.minimum.accumulate(by_chance[::-1])[::-1]
    back = np.argsort(rows[order])
    rows = rows[order][back]
    return Passed(
        rows, threshold_for(part * weight[rows]), np.maximum(LEAST_TRUST, 1 - false)[back]
    )


BEAM = 600
# Long steps have many extensions, and find as much with fewer survivors.
_LEAST_BEAM, _EXTENSIONS = 100, 300 << 10
# Words of the pool that pass by chance, over all levels where words can end.
POOL = 1200
_MAX_HASHES = 10**10


@dataclass
class Pool:
    """Words that ended at some level and survived it, and what each level says of them."""

    words: list[str] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    """Where each was chosen."""
    threshold: list[float] = field(default_factory=list)
    """What its deviate there had to pass."""
    trust: list[float] = field(default_factory=list)
    """How likely its beginning was to be somebody's, by the levels before."""
    fingerprints: list[int] = field(default_factory=list)
    deviates: list[list[float]] = field(default_factory=list)
    """Of each word at the level that chose it and all later ones."""
    excess: list[list[float]] = field(default_factory=list)
    stems: list[list[int]] = field(default_factory=list)
    """The fingerprints of its beginning at the levels before, and what those say of it."""
    before: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Beginnings:
    """Candidates of one level that have not ended: fingerprints, states and their bits so far."""

    fingerprints: Words
    states: NDArray[np.int32]
    chunks: NDArray[np.uint16]
    trust: Vector
    stems: Words
    """The fingerprints at every level so far."""
    excess: Vector


@dataclass(frozen=True)
class Grown:
    """What a search leaves: the pool, the noise and people of each level, and what goes on."""

    pool: Pool
    deviation: Vector
    people: NDArray[np.int64]
    candidates: NDArray[np.int64]
    """How many beginnings were looked at, by level."""
    longer: Support
    """The survivors of the last level of beginnings that have not ended."""


def grow(
    mechanism: OpenWords,
    table: NDArray[np.int64],
    *,
    beam: int | None = None,
    on_progress: Progress | None = None,
) -> Grown:
    """All words that stand out at the level where they end, from counts by level and cohort."""
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
    alive = Beginnings(
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
        tested = passed(found.deviates[ended], trust[ended], allowed[level])
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
        going = passed(found.deviates[on], trust[on], beam)
        on = on[going.rows]
        alive = Beginnings(
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
    return Grown(pool, deviation, people, candidates, longer)


def usual_beam(mechanism: OpenWords) -> int:
    """How many beginnings pass a level by chance, where nothing else is said."""
    return max(_LEAST_BEAM, min(BEAM, _EXTENSIONS >> mechanism.step))


def pool_by_level(ended: Vector) -> Vector:
    """How many words pass each level by chance: as many at each where words can end."""
    levels = int(np.count_nonzero(ended))
    return np.asarray(np.where(ended > 0, POOL / max(1, levels), 0.0))


def _extensions(
    grammar: Grammar, alive: Beginnings, step: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32]]:
    """Of everything that may follow: whose extension, by which chunk, and its state."""
    after = grammar.after(alive.states, step)
    parents, chunks = np.nonzero(after != DEAD)
    return parents, chunks, after[parents, chunks]


def _add(pool: Pool, deviates: Vector, excess: Vector) -> None:
    for place, (deviate, more) in enumerate(zip(deviates.tolist(), excess.tolist(), strict=True)):
        pool.deviates[place].append(deviate)
        pool.excess[place].append(more)
