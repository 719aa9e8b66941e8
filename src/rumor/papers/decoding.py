"""Experiments with RAPPOR's decoding: the published simulation as printed, as meant, and ours.

128 bits, 8 cohorts, 20,000 people, 200 candidates of which 100 are held (Zipf 0.7), q = 0.75,
p = 0.5, f = 0. The design matrix is the published one: SHA-256 of secret, cohort, word and hash,
modulo the bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.lasso import BitShares, Lasso
from rumor.kinds.text.fit.literature import CUT, PENALTY, decode_literature
from rumor.mechanisms.rappor.bloom import BloomFilter
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.papers.model import Numbers, Parameters

Bits = NDArray[np.int8]
Vector = NDArray[np.float64]

BITS, WORDS, HELD, COHORTS, PEOPLE = 128, 200, 100, 8, 20_000
P, Q, LEVEL = 0.5, 0.75, 0.05


def design_matrix(
    secret: str, hashes: int, words: int = WORDS, *, bits: int = BITS, cohorts: int = COHORTS
) -> Bits:
    """Return the filters of `words` words in `cohorts` cohorts, (bits x cohorts, words).

    The paper calls the numbers B (`bits`), M (`words`), m (`cohorts`) and h (`hashes`).
    """
    matrix = np.zeros((cohorts * bits, words), dtype=np.int8)
    for cohort in range(cohorts):
        for word in range(1, words + 1):
            for i in range(1, hashes + 1):
                text = f"{secret}_{cohort:02d}_{word:03d}_{i:02d}"
                digest = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
                matrix[cohort * bits + digest % bits, word - 1] = 1
    return matrix


def zipf(words: int, alpha: float = 0.7) -> Vector:
    """Return the shares of `words` words under Zipf's law with exponent `alpha`."""
    ranks = np.arange(1, words + 1, dtype=np.float64) ** -alpha
    return np.asarray(ranks / ranks.sum())


def word_shares(alpha: float) -> Vector:
    """Return Zipf's law over the words held, and 0 for the other words."""
    return np.concatenate([zipf(HELD, alpha), np.zeros(WORDS - HELD)])


def response(
    design: Bits, counts: NDArray[np.int64], random: np.random.Generator, *, printed: bool
) -> Vector:
    """Return the vector that is regressed: bit counts of each cohort, de-biased (equation 3).

    As printed, the line that de-biases stands inside the loop over words, so each cohort's
    bits are de-biased a hundred times, once after every word.
    """
    y = np.zeros((COHORTS, BITS))
    per_cohort = PEOPLE // COHORTS
    for cohort in range(COHORTS):
        filters = design[cohort * BITS : (cohort + 1) * BITS].T
        for word in range(HELD):
            chance = np.where(filters[word] == 1, Q, P)
            y[cohort] += random.binomial(counts[cohort, word], chance)
            if printed:
                y[cohort] = (y[cohort] - P * per_cohort) / (Q - P)
        if not printed:
            y[cohort] = (y[cohort] - P * per_cohort) / (Q - P)
    return y.reshape(-1)


def candidates_of(design: Bits, hashes: int) -> Candidates:
    """Return the design matrix as a candidate map: each cohort's bits without repetitions."""
    words = design.shape[1]
    rows = np.full((words, COHORTS * hashes), BITS, dtype=np.uint8)
    for word in range(words):
        for cohort in range(COHORTS):
            found = np.flatnonzero(design[cohort * BITS : (cohort + 1) * BITS, word])
            rows[word, cohort * hashes : cohort * hashes + found.size] = found
    bloom = BloomFilter(bits=BITS, hashes=hashes, cohorts=COHORTS, key=b"design matrix")
    names = [f"{word:03d}" for word in range(1, words + 1)]
    return Candidates(names, bloom, np.arange(words), rows)


def shares_of(y: Vector) -> BitShares:
    """Return counts per cohort as shares, for the decode of the literature."""
    per_cohort = PEOPLE // COHORTS
    weight = np.full((COHORTS, BITS), per_cohort * (Q - P) ** 2 / (P * (1 - P)))
    sizes = np.full(COHORTS, per_cohort, dtype=np.int64)
    return BitShares(sizes, y.reshape(COHORTS, BITS) / per_cohort, weight, weight)


def kept_by_lasso(candidates: Candidates, y: Vector) -> int:
    """Return how many words the positive Lasso keeps."""
    counts, ones = y.reshape(COHORTS, BITS), np.ones((COHORTS, BITS))
    lasso = Lasso(candidates.rows, candidates.bloom.hashes, counts, ones, levels=False)
    lasso.solve(np.full(len(candidates), PENALTY * counts.size))
    return int((lasso.coefficients > CUT).sum())


def rates(detected: NDArray[np.bool_]) -> tuple[float, float]:
    """Return precision and recall; precision is 0 where nothing was found, as in the listing."""
    true, all_ = int(detected[:HELD].sum()), int(detected.sum())
    return true / max(all_, 1), true / HELD


def decode(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return precision and recall of one way to decode, for one number of hashes.

    "as printed" and "as meant" run the listing; "all runs share the words" seeds the words as
    the listing does; "ours" is Rumor's decoder with the same hashes, noise and people; "ours,
    one hash" with one hash and the noise of least variance at the same epsilon.
    """
    hashes, reading = parameters["hashes"], parameters["reading"]
    found: dict[str, list[float]] = {"precision": [], "recall": []}
    for trial in range(seed, seed + trials):
        random = np.random.default_rng([trial, hashes])
        words = np.random.default_rng(10) if parameters.get("shared words") else random
        shares = word_shares(parameters.get("alpha", 0.7))
        counts = words.multinomial(PEOPLE // COHORTS, shares, size=COHORTS)
        detected, kept = _READINGS[reading](hashes, counts, random, trial)
        precision, recall = rates(detected)
        found["precision"].append(precision)
        found["recall"].append(recall)
        if kept is not None:
            found.setdefault("kept by the Lasso", []).append(kept)
    return found


Decoded = tuple[NDArray[np.bool_], float | None]


def _literature(
    hashes: int, counts: NDArray[np.int64], random: np.random.Generator, trial: int, printed: bool
) -> Decoded:
    design = design_matrix(f"{random.random()}secret", hashes)
    y, made = response(design, counts, random, printed=printed), candidates_of(design, hashes)
    if kept_by_lasso(made, y) == 0:
        return np.zeros(WORDS, dtype=np.bool_), 0.0
    decoded = decode_literature(made, shares_of(y), level=LEVEL, penalty=PENALTY, cut=CUT)
    return made.restore(decoded.detected), float(decoded.kept)


def _as_printed(
    hashes: int, counts: NDArray[np.int64], random: np.random.Generator, trial: int
) -> Decoded:
    return _literature(hashes, counts, random, trial, printed=True)


def _as_meant(
    hashes: int, counts: NDArray[np.int64], random: np.random.Generator, trial: int
) -> Decoded:
    return _literature(hashes, counts, random, trial, printed=False)


def _ours(rappor: rumor.Rappor, counts: NDArray[np.int64], trial: int) -> Decoded:
    names = [f"{word:03d}" for word in range(1, WORDS + 1)]
    held = np.ascontiguousarray(counts.T[:HELD])
    summary = simulate_counts(rappor, names[:HELD], held, random=rumor.Seeded(trial))
    made = candidate_map(rappor.bloom, names)
    return rumor.estimate(rappor, summary, candidates=made, level=LEVEL).detected, None


def _same_hashes(
    hashes: int, counts: NDArray[np.int64], random: np.random.Generator, trial: int
) -> Decoded:
    key = f"seike {trial}".encode()
    rappor = rumor.Rappor(bits=BITS, hashes=hashes, cohorts=COHORTS, f=0, p=P, q=Q, key=key)
    return _ours(rappor, counts, trial)


def one_hash(hashes: int, key: bytes = b"one hash") -> rumor.Rappor:
    """Return RAPPOR with one hash, q = 1/2 and the paper's epsilon for `hashes` hashes."""
    epsilon = hashes * np.log(Q * (1 - P) / (P * (1 - Q)))
    p = float(1 / (1 + np.exp(epsilon)))
    return rumor.Rappor(bits=BITS, hashes=1, cohorts=COHORTS, f=0, p=p, q=0.5, key=key)


def _one_hash(
    hashes: int, counts: NDArray[np.int64], random: np.random.Generator, trial: int
) -> Decoded:
    return _ours(one_hash(hashes, f"seike {trial}".encode()), counts, trial)


_READINGS: Mapping[str, Callable[[int, NDArray[np.int64], np.random.Generator, int], Decoded]] = {
    "as printed": _as_printed,
    "as meant": _as_meant,
    "ours": _same_hashes,
    "ours, one hash": _one_hash,
}


def loss(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return epsilon of the published noise, and of one hash that is set to match it."""
    hashes = parameters["hashes"]
    rappor = rumor.Rappor(bits=BITS, hashes=hashes, cohorts=COHORTS, f=0, p=P, q=Q, key=b"loss")
    return {"epsilon": [rappor.epsilon], "epsilon of one hash": [one_hash(hashes).epsilon]}


def null(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return how often words are found although no candidate is held."""
    found: dict[str, list[float]] = {"published": [], "ours": []}
    for trial in range(seed, seed + trials):
        rappor = rumor.Rappor(
            bits=BITS, hashes=2, cohorts=COHORTS, f=0, p=P, q=Q, key=f"null {trial}".encode()
        )
        shares = word_shares(0.7)[:HELD]
        held = np.random.default_rng(trial).multinomial(PEOPLE, shares)
        unlisted = [f"unlisted {i}" for i in range(HELD)]
        summary = simulate_counts(rappor, unlisted, held, random=rumor.Seeded(trial))
        made = candidate_map(rappor.bloom, [f"{word:03d}" for word in range(1, WORDS + 1)])
        for name, method in (("published", "lasso-ols"), ("ours", "auto")):
            decoded = rumor.estimate(rappor, summary, candidates=made, method=method, level=LEVEL)
            found[name].append(float(decoded.detected.any()))
    return found
