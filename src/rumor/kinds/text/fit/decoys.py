"""Decoys: how high the word of nobody can score.

The hash is keyed, so which bits a word sets says nothing about whether anyone holds it: a
candidate that nobody holds is, to the fit made of all the others, just another random column,
whatever made the counts. So its p-value is the chance that a made-up word, a decoy, scores at
least as high: valid whether or not the dictionary explains the data and whether or not
anything is normal (a conditional randomisation test: Candes, Fan, Janson and Lv 2018; with the
fit made once, Liu, Katsevich, Janson and Ramdas 2022).

A decoy's score is a sum over cohorts of independent terms, each the total of a few random bits'
pulls; so the law of the scores of *all* decoys is a convolution and is computed outright. That
is as if there were infinitely many of them, where a sample of D has no p-value below 1 / (D + 1)
and finds a lone true word among M only with M / level decoys or more. Sampled decoys remain for
filters too large to write the law out, and to check it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import decode_loops
from rumor.core.randomness import encode_context
from rumor.core.types import Vector
from rumor.kinds.text.fit.lasso import Table
from rumor.mechanisms.rappor.bloom import BloomFilter

Spectrum = NDArray[np.complex128]

# Lattice steps to a standard deviation, and the sizes that a lattice may have.
_STEPS = 1024
# Of one word alone, where a p-value need not be told from its neighbours.
_COARSE = 64
_MOST_HASHES = 8
_SIZES = (1 << 12, 1 << 20)
# Cohorts times lattice points times hashes that are still quick.
_MOST_WORK = 1 << 29
# Rounding in the transforms; no p-value is believed below it.
_FLOOR = 1e-13
_CHUNK = 1 << 16
# Lattice points that are transformed at once.
_TOGETHER = 1 << 18
# Sampled decoys: so many cost little, whatever the dictionary.
_FEWEST = 100_000


class Decoys(Protocol):
    """The scores of made-up words."""

    @property
    def least(self) -> float:
        """The smallest p-value there is."""
        ...

    def p_values(self, scores: Vector) -> Vector:
        """For each score the chance that a decoy's is at least as high."""
        ...


def decoys_of(bloom: BloomFilter, pull: Table, candidates: int, level: float) -> Decoys:
    """All decoys where their law can be written out, else enough to find a lone true word."""
    law = decoy_law(bloom, pull)
    if law is not None:
        return law
    return sample_decoys(bloom, pull, max(_FEWEST, math.ceil(candidates / level)))


@dataclass(frozen=True, eq=False)
class DecoyLaw:
    """The law of a decoy's score: tail[i] = P(score >= (first + i) * step)."""

    first: int
    step: float
    tail: Vector
    slack: float
    """How many steps rounding can move a score; p-values allow for them."""
    least: float
    """The chance that a decoy has just the candidate's bits: no p-value can be smaller."""

    def p_values(self, scores: Vector) -> Vector:
        """The tail at each score."""
        at = np.floor(scores / self.step - self.slack) - self.first
        inside = np.clip(at, 0, self.tail.size - 1).astype(np.int64)
        return np.maximum(np.where(at < self.tail.size, self.tail[inside], 0.0), self.least)


class Judge:
    """p-values under one fit: all decoys, or a sample of so many where that is asked for."""

    def __init__(
        self, bloom: BloomFilter, pull: Table, candidates: int, level: float, decoys: int | None
    ) -> None:
        self._bloom, self._pull, self._exact = bloom, pull, decoys is None
        self._decoys = (
            decoys_of(bloom, pull, candidates, level)
            if decoys is None
            else sample_decoys(bloom, pull, decoys)
        )

    @property
    def least(self) -> float:
        """The smallest p-value there is: a word scores above all decoys, however far."""
        return self._decoys.least

    def p_values(self, scores: Vector) -> Vector:
        """The p-values of scores under the fit's own pulls."""
        return self._decoys.p_values(scores)

    def left_out(self, score: float, pull: Table) -> float:
        """The p-value of a word's score under the pulls of the fit without it.

        By the law of decoys under these very pulls. Sampled decoys are not drawn anew for every
        word, and a law of many hashes not written out (it is nearly normal): then the score is
        scaled to the length of the fit's own pulls.
        """
        own_law = self._exact and self._bloom.hashes <= _MOST_HASHES
        law = decoy_law(self._bloom, pull, steps=_COARSE) if own_law else None
        if law is not None:
            return float(law.p_values(np.array([score]))[0])
        length, own = (float(np.sqrt((table**2).sum())) for table in (pull, self._pull))
        scaled = score * own / length if length > 0 else 0.0
        return float(self._decoys.p_values(np.array([scaled]))[0])


def decoy_law(bloom: BloomFilter, pull: Table, *, steps: int = _STEPS) -> DecoyLaw | None:
    """The law of the scores under a table of pulls (cohorts, bits), or None if too large.

    A cohort's bits are those of h uniform hashes, counted once. With d of them distinct (its
    chances are those of throwing h balls into k bins), the set is uniform among those of its
    size, so the characteristic function is the mean over d of e_d / C(k, d), e_d being the
    elementary symmetric polynomial of exp(i omega pull), by Newton's identities from the sums
    of powers, which are the transform of the pulls' histogram at multiples of omega.
    """
    hashes, (cohorts, bits) = bloom.hashes, pull.shape
    ordered = np.sort(pull, axis=1)
    reach = min(hashes, bits)
    high = float(np.maximum(ordered[:, -reach:], 0.0).sum())
    low = float(np.minimum(ordered[:, :reach], 0.0).sum())
    spread = math.sqrt(hashes * float((pull**2).mean(axis=1).sum()))
    if not spread > 0:
        return None
    wanted = steps * (high - low) / spread + 4 * reach * cohorts
    size = min(max(1 << math.ceil(math.log2(wanted)), _SIZES[0]), _SIZES[1])
    if cohorts * size * hashes > _MOST_WORK or 4 * reach * cohorts > size:
        return None
    step = (high - low) / (size - 2 * reach * cohorts)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    lattice = np.rint(pull / step).astype(np.int64) % size
    chances = [_distinct(hashes, bits, d) for d in range(1, reach + 1)]
    together = max(1, _TOGETHER // size)
    for first in range(0, cohorts, together):
        some = lattice[first : first + together]
        places = some + size * np.arange(len(some))[:, None]
        counts = np.bincount(places.reshape(-1), minlength=len(some) * size)
        half = np.fft.rfft(counts.reshape(len(some), size).astype(np.float64), axis=1)
        parts = half / bits if hashes == 1 else _by_cohort(half, size, chances, bits)
        spectrum *= parts.prod(axis=0)
    masses = np.maximum(np.fft.irfft(spectrum, size), 0.0)
    first = math.floor(low / step) - reach * cohorts
    tail = np.cumsum(np.roll(masses, -first)[::-1])[::-1]
    return DecoyLaw(
        first,
        step,
        np.minimum(tail, 1.0),
        slack=1.0 + 2.0 * math.sqrt(reach * cohorts / 12.0),
        least=max(float(bits) ** -(hashes * cohorts), _FLOOR),
    )


def _by_cohort(half: Spectrum, size: int, chances: Sequence[float], bits: int) -> Spectrum:
    """The characteristic functions of cohorts' parts, from the transforms of their histograms."""
    whole = np.concatenate([half, np.conj(half[:, -2:0:-1])], axis=1)
    at = np.arange(size // 2 + 1)
    powers = [half, *(whole[:, at * a % size] for a in range(2, len(chances) + 1))]
    # Divided by C(k, d) as it goes, so that nothing grows: symmetric[d] = e_d / C(k, d).
    symmetric = [np.ones_like(half)]
    out = np.zeros_like(half)
    for d, chance in enumerate(chances, start=1):
        total = np.zeros_like(half)
        ratio = 1.0 / d
        for a in range(1, d + 1):
            ratio *= -(d - a + 1) / (bits - d + a)  # (-1)^a C(k, d - a) / C(k, d) / d
            total -= ratio * (symmetric[d - a] * powers[a - 1] if a < d else powers[a - 1])
        symmetric.append(total)
        out += chance * total
    return out


def _distinct(hashes: int, bits: int, d: int) -> float:
    """The chance that h hashes set d different bits of k: S(h, d) k! / (k - d)! / k^h."""
    surjections: int = sum((-1) ** i * math.comb(d, i) * (d - i) ** hashes for i in range(d + 1))
    return float(Fraction(surjections * math.comb(bits, d), bits**hashes))


@dataclass(frozen=True, eq=False)
class SampledDecoys:
    """The scores of some decoys, in ascending order."""

    scores: NDArray[np.float32]

    @property
    def least(self) -> float:
        """That of a score above all decoys."""
        return 1.0 / (1.0 + self.scores.size)

    def p_values(self, scores: Vector) -> Vector:
        """The rank of each score: (1 + decoys at least as high) / (1 + decoys)."""
        asked = scores.astype(np.float32)  # as the decoys', so that equal columns tie
        order = np.argsort(asked, kind="stable")
        above = np.empty(asked.size, dtype=np.int64)
        # In order, neighbouring searches touch the same memory.
        below = np.searchsorted(self.scores, asked[order], side="left")
        above[order] = self.scores.size - below
        return np.asarray((1.0 + above) / (1.0 + self.scores.size))


def sample_decoys(bloom: BloomFilter, pull: Table, count: int) -> SampledDecoys:
    """So many decoys; they follow from the filter's key, so a decode repeats."""
    seed = hashlib.sha256(encode_context("rumor decoys", bloom.key)).digest()[:8]
    number = np.uint64(int.from_bytes(seed, "little"))
    table = np.ascontiguousarray(np.pad(pull, ((0, 0), (0, 1))))
    out = np.empty(count, dtype=np.float32)
    for start in range(0, count, _CHUNK):
        part = out[start : start + _CHUNK]
        decode_loops().decoy_scores(number, start, bloom.hashes, bloom.bits, table, part)
    out.sort()
    return SampledDecoys(out)
