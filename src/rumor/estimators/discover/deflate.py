"""How much of a level's reports speaks for each stem, frequent stems taken out of the others' way.

A frequent stem fills one bucket in each cohort, and every other stem that falls into some of these
gains by it: collisions are noise, and the largest of it where people agree most. So stems that are
surely there are fitted together, their part is subtracted, and the others are looked at in what is
left. A stem that was fitted has its own part back. What nobody has stays uniform over the buckets
of whatever is left, since no fit has looked at its hashes: its law is that of the remainder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import discover_loops
from rumor.core.types import Vector
from rumor.estimators.discover.null_law import NullLaw, variance
from rumor.mechanisms.stems import Stems, Words

_STRONG = 4.5
_MOST_STRONG = 400
_ROUNDS = 2
_PASSES = 4


@dataclass(frozen=True)
class Support:
    """The stems of one level: deviates, supports above chance, and the noise of those."""

    deviates: Vector
    excess: Vector
    deviation: float
    people: int


def support(
    counts: NDArray[np.int64], stems: Stems, level: int, fingerprints: Words, delta: float
) -> Support:
    """What the table of one level says of these stems.

    `delta` is how much likelier people of a stem are to report its bucket than another one.
    """
    people = counts.sum(axis=1)
    left: Vector = counts - people[:, None] / counts.shape[1]
    excess = _sums(stems, level, fingerprints, left)
    noise = variance(counts) ** 0.5
    weights = delta * people
    full = float(weights.sum()) * (1 - 1 / counts.shape[1])
    for _ in range(_ROUNDS):
        strong = _strongest(excess, noise)
        if not strong.size:
            break
        left = counts - people[:, None] / counts.shape[1]
        shares = np.zeros(strong.size)
        places = stems.rows(fingerprints[strong], level)
        discover_loops().descend_buckets(places, weights, left, shares, _PASSES)
        excess = _sums(stems, level, fingerprints, left)
        excess[strong] += shares * full
        noise = variance(left) ** 0.5
    law = NullLaw(left)
    return Support(law.deviates(excess), excess, law.deviation, int(people.sum()))


def _strongest(excess: Vector, noise: float) -> NDArray[np.intp]:
    strong = np.flatnonzero(excess > _STRONG * noise) if noise > 0 else np.zeros(0, np.intp)
    order = np.argsort(-excess[strong], kind="stable")
    return np.asarray(strong[order[:_MOST_STRONG]])


def _sums(stems: Stems, level: int, fingerprints: Words, table: Vector) -> Vector:
    a, b = stems.hashes
    out = np.empty(fingerprints.size)
    discover_loops().sum_buckets(fingerprints, a[level], b[level], np.ascontiguousarray(table), out)
    return out
