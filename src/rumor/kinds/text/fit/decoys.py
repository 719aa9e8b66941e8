"""Decoys: random words from which p-values of candidates are computed.

The hash is keyed, so the bits that a word sets do not depend on whether anyone has the word: a
candidate that nobody has is, to the fit made of all the others, another random column, whatever
made the counts. So its p-value is the probability that a decoy, a made-up word, scores at least as
high. The p-value is valid whether or not the dictionary explains the data and whether or not
anything is normal (a conditional randomisation test: Candes, Fan, Janson and Lv 2018; with the fit
made once, Liu, Katsevich, Janson and Ramdas 2022).

A decoy's score is a sum over cohorts of independent terms, each the sum of a few random bits'
pulls; so the distribution of the scores of *all* decoys is a convolution and is computed exactly.
That equals an infinite sample, where a sample of D has no p-value below 1 / (D + 1) and finds a
lone true word among M only with M / level decoys or more. Sampled decoys remain for filters too
large for the exact distribution, and to check it.
"""

from __future__ import annotations

import hashlib
import math
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

# Lattice steps to a standard deviation, and the smallest and largest size of a lattice.
_STEPS = 1024
# Lattice steps for a single word, whose p-value need not be ordered among others.
_COARSE = 64
_MOST_HASHES = 8
_SIZES = (1 << 12, 1 << 20)
# The largest product of cohorts, lattice points and hashes that is computed exactly.
_MOST_WORK = 1 << 29
# The rounding error of the transforms, and the smallest p-value that is reported.
_FLOOR = 1e-13
_CHUNK = 1 << 16
# Lattice points that are transformed at once: they stay in the processor's cache.
_TOGETHER = 1 << 16
# The number of sampled decoys, cheap for any dictionary.
_FEWEST = 100_000


class Decoys(Protocol):
    """The distribution of the scores of made-up words."""

    @property
    def least(self) -> float:
        """The smallest p-value that can occur."""
        ...

    def p_values(self, scores: Vector) -> Vector:
        """Return, for each score, the probability that a decoy's score is at least as high."""
        ...


def decoys_of(bloom: BloomFilter, pull: Table, candidates: int, level: float) -> Decoys:
    """Return all decoys where their distribution can be computed, else a sample.

    The sample is large enough to detect a lone true word.
    """
    law = decoy_law(bloom, pull)
    if law is not None:
        return law
    return sample_decoys(bloom, pull, max(_FEWEST, math.ceil(candidates / level)))


@dataclass(frozen=True, eq=False)
class DecoyLaw:
    """The distribution of a decoy's score: tail[i] = P(score >= (first + i) * step)."""

    first: int
    step: float
    tail: Vector
    slack: float
    """The number of steps that rounding can move a score, added to every p-value's tail."""
    least: float
    """The probability that a decoy has exactly the candidate's bits, a lower bound on p-values."""

    def p_values(self, scores: Vector) -> Vector:
        """Return the tail at each score."""
        at = np.floor(scores / self.step - self.slack) - self.first
        inside = np.clip(at, 0, self.tail.size - 1).astype(np.int64)
        return np.maximum(np.where(at < self.tail.size, self.tail[inside], 0.0), self.least)


class Judge:
    """The p-values under one fit, from all decoys or from a sample of a given size."""

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
        """The smallest p-value that can occur, of a word that scores above all decoys."""
        return self._decoys.least

    def p_values(self, scores: Vector) -> Vector:
        """Return the p-values of `scores` under the fit's own pulls."""
        return self._decoys.p_values(scores)

    def left_out(self, score: float, pull: Table) -> float:
        """Return the p-value of a word's `score` under the `pull` of the fit without the word.

        The p-value comes from the distribution of decoys under these very pulls. Sampled decoys
        are not drawn anew for every word, and a distribution of many hashes is not computed (it is
        nearly normal): then the score is scaled to the length of the fit's own pulls.
        """
        own_law = self._exact and self._bloom.hashes <= _MOST_HASHES
        law = decoy_law(self._bloom, pull, steps=_COARSE) if own_law else None
        if law is not None:
            return float(law.p_values(np.array([score]))[0])
        length, own = (float(np.sqrt((table**2).sum())) for table in (pull, self._pull))
        scaled = score * own / length if length > 0 else 0.0
        return float(self._decoys.p_values(np.array([scaled]))[0])


def decoy_law(bloom: BloomFilter, pull: Table, *, steps: int = _STEPS) -> DecoyLaw | None:
    """Return the distribution of decoy scores under the table `pull`, or None if too large.

    A cohort's bits are those of h uniform hashes, counted once. Given d distinct bits (with the
    probability that h balls occupy d of k bins), the set is uniform among those of its size, so
    the characteristic function is the mean over d of e_d / C(k, d), e_d being the elementary
    symmetric polynomial of exp(i omega pull), by Newton's identities from the sums of powers,
    which are the transform of the pulls' histogram at multiples of omega.
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
    chances = np.array([_distinct(hashes, bits, d) for d in range(1, reach + 1)])
    ratios = newton_ratios(bits, reach)
    together = max(1, _TOGETHER // size)
    for first in range(0, cohorts, together):
        some = lattice[first : first + together]
        places = some + size * np.arange(len(some))[:, None]
        counts = np.bincount(places.reshape(-1), minlength=len(some) * size)
        half = np.fft.rfft(counts.reshape(len(some), size).astype(np.float64), axis=1)
        decode_loops().multiply_terms(half, chances, ratios, spectrum)
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


def newton_ratios(bits: int, reach: int) -> Table:
    """Return the factors of Newton's identities for e_d / C(`bits`, d), up to d = `reach`.

    The factor in row d - 1 and column a - 1 is (-1)^a C(k, d - a) / C(k, d) / d: divided by
    C(k, d) at each step, nothing grows.
    """
    ratios = np.zeros((reach, reach))
    for d in range(1, reach + 1):
        ratio = 1.0 / d
        for a in range(1, d + 1):
            ratio *= -(d - a + 1) / (bits - d + a)
            ratios[d - 1, a - 1] = ratio
    return ratios


def _distinct(hashes: int, bits: int, d: int) -> float:
    """Return P(h hashes set d different bits of k) = S(h, d) k! / (k - d)! / k^h."""
    surjections: int = sum((-1) ** i * math.comb(d, i) * (d - i) ** hashes for i in range(d + 1))
    return float(Fraction(surjections * math.comb(bits, d), bits**hashes))


@dataclass(frozen=True, eq=False)
class SampledDecoys:
    """The scores of sampled decoys, in ascending order."""

    scores: NDArray[np.float32]

    @property
    def least(self) -> float:
        """The p-value of a score above all decoys."""
        return 1.0 / (1.0 + self.scores.size)

    def p_values(self, scores: Vector) -> Vector:
        """Return the rank of each score: (1 + decoys at least as high) / (1 + decoys)."""
        asked = scores.astype(np.float32)  # float32 as for the decoys, so that equal columns tie
        order = np.argsort(asked, kind="stable")
        above = np.empty(asked.size, dtype=np.int64)
        # Sorted, neighbouring searches touch the same memory.
        below = np.searchsorted(self.scores, asked[order], side="left")
        above[order] = self.scores.size - below
        return np.asarray((1.0 + above) / (1.0 + self.scores.size))


def sample_decoys(bloom: BloomFilter, pull: Table, count: int) -> SampledDecoys:
    """Draw `count` decoys from the filter's key, so that a decode is reproducible."""
    seed = hashlib.sha256(encode_context("rumor decoys", bloom.key)).digest()[:8]
    number = np.uint64(int.from_bytes(seed, "little"))
    table = np.ascontiguousarray(np.pad(pull, ((0, 0), (0, 1))))
    out = np.empty(count, dtype=np.float32)
    for start in range(0, count, _CHUNK):
        part = out[start : start + _CHUNK]
        decode_loops().decoy_scores(number, start, bloom.hashes, bloom.bits, table, part)
    out.sort()
    return SampledDecoys(out)
