"""Simulated bit counts of RAPPOR, drawn directly: millions of people in a moment, exact in law.

Given how many people in each cohort set each bit, t_ij, the bits of different people are
independent, so the counts are c_ij = Bin(t_ij, q*) + Bin(N_j - t_ij, p*), independent over
bits and cohorts; and people fall into cohorts uniformly, so each word's people are spread
over them by a multinomial. No report is made: the cost grows with words, bits and cohorts,
not with people. Exact for one report per person (Seike, "Evaluating the decoding of
RAPPOR", 2025); the reports of one person share their permanent noise and are not such sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.randomness import RandomSource, System
from rumor.core.types import Tally
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.summary import Summary

# Words spread over the cohorts at a time.
_WORDS = 1 << 12


def simulate_counts(
    rappor: Rappor, words: Sequence[str], counts: object, *, random: RandomSource | None = None
) -> Summary:
    """Return a simulated summary in which counts[i] people hold words[i], one report each.

    People draw their cohorts, unless counts[i, j] says how many in cohort j hold words[i].
    """
    held = _checked_counts(rappor, words, counts)
    seed = (System() if random is None else random).stream().words(4)
    rng = np.random.Generator(np.random.PCG64([int(word) for word in seed]))
    sizes, true = _true_counts(rappor, words, held, rng)
    p, q = rappor.p_star, rappor.q_star
    drawn = rng.binomial(true, q) + rng.binomial(sizes[:, None] - true, p)
    table = np.concatenate([sizes[:, None], drawn], axis=1).astype(np.int64)
    return Summary(rappor, int(held.sum()), table.reshape(-1))


def _true_counts(
    rappor: Rappor, words: Sequence[str], held: Tally, rng: np.random.Generator
) -> tuple[Tally, NDArray[np.int64]]:
    """Return the people in each cohort, and how many of them set each bit before any noise."""
    cohorts, bits, hashes = rappor.cohorts, rappor.bits, rappor.hashes
    sizes = np.zeros(cohorts, dtype=np.int64)
    true = np.zeros((cohorts, bits), dtype=np.int64)
    shares, first = np.full(cohorts, 1.0 / cohorts), np.arange(cohorts)[:, None] * bits
    present = np.flatnonzero(held if held.ndim == 1 else held.sum(axis=1))
    for start in range(0, present.size, _WORDS):
        part = present[start : start + _WORDS]
        spread = rng.multinomial(held[part], shares) if held.ndim == 1 else held[part]
        sizes += spread.sum(axis=0)
        positions = rappor.bloom.map(rappor.bloom.seeds([words[i] for i in part]))
        ordered = np.sort(positions.reshape(-1, cohorts, hashes).astype(np.int64), axis=2)
        new = np.ones(ordered.shape, dtype=np.bool_)  # a bit that two hashes share is set once
        new[:, :, 1:] = ordered[:, :, 1:] != ordered[:, :, :-1]
        people = np.broadcast_to(spread[:, :, None], ordered.shape)
        np.add.at(true.reshape(-1), (first + ordered)[new], people[new])
    return sizes, true


def _checked_counts(rappor: Rappor, words: Sequence[str], counts: object) -> Tally:
    held = np.asarray(counts)
    shapes = ((len(words),), (len(words), rappor.cohorts))
    if held.shape not in shapes or held.dtype.kind not in "iu" or (held < 0).any():
        raise InputError(
            f"counts must be an integer of 0 or more for each of the {len(words):,} words "
            f"(or for each and every cohort); got shape {held.shape} of dtype {held.dtype}"
        )
    if not held.sum():
        raise InputError("a simulation needs at least one person; got none")
    return held.astype(np.int64)
