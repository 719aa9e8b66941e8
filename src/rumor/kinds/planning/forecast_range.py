"""How far the error of the default estimate depends on the crowd: a range over nine shapes.

The error of the linear estimate is the same whatever people answer, or nearly so. That of the
default is not: it learns the shape of the crowd, and some shapes are easier than others. So a
few crowds of nine shapes, from almost even to one value that has all, are drawn as counts and
estimated in earnest, and a plan tells the lowest and the highest error that came out, with a
fifth to spare on either side for all the shapes that are not among the nine. A crowd in which
values differ by less than a tenth has less error still, down to none: an even law among the
nine would hold it, but a range that begins at nothing tells nobody what to expect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from rumor.core.types import Tally, Vector
from rumor.mechanisms import FrequencyOracle

# Beyond so many values a plan would take seconds.
LARGEST = 20_000
# Chosen with benchmarks/range_tuning.py, on shapes that nothing is judged by.
MARGIN = 1.2
# Crowds of each shape, by the largest domain.
_CROWDS = {4: 25, 50: 4, 300: 3, LARGEST: 1}


@dataclass(frozen=True)
class Range:
    """Root mean squared errors of the default: the lowest and the highest over nine shapes."""

    low: float
    high: float
    zipf: float
    """Of Zipf's law, which is one of them."""


def shapes(domain: int) -> dict[str, Vector]:
    """The nine laws, by name."""
    rank = np.arange(1.0, domain + 1)
    normal = np.array([NormalDist().inv_cdf(1 - (r - 0.5) / domain) for r in rank])
    raw = {
        "lognormal 0.1": np.exp(0.1 * normal),
        "lognormal 0.3": np.exp(0.3 * normal),
        "zipf 0.5": rank**-0.5,
        "zipf 1": 1 / rank,
        "zipf 1.5": rank**-1.5,
        "geometric": np.exp(-rank / (0.02 * domain)),
        "one value": (rank == 1).astype(np.float64),
        "three values": np.where(rank <= 3, 0.1, 0.7 / max(domain - 3, 1)),
        "two halves": np.where(rank <= domain / 2, 9.0, 1.0),
    }
    return {name: np.asarray(law / law.sum()) for name, law in raw.items()}


def default_range(oracle: FrequencyOracle, users: int, zipf: float) -> Range | None:
    """The range for an oracle, `zipf` being what is foretold for Zipf's law; None if too large."""
    if oracle.domain > LARGEST:
        return None
    crowds = next(count for size, count in _CROWDS.items() if oracle.domain <= size)
    rng = np.random.default_rng(1)
    errors = [
        _error(oracle, law, users, crowds, rng)
        for name, law in shapes(oracle.domain).items()
        if name != "zipf 1"
    ]
    return Range(min(*errors, zipf) / MARGIN, max(*errors, zipf) * MARGIN, zipf)


def drawn_tally(
    oracle: FrequencyOracle, law: Vector, users: int, rng: np.random.Generator
) -> Tally:
    """The tally of a crowd drawn from a law, without its reports.

    Where a tally counts outputs it is a multinomial. Else counts are binomials, exactly so where
    values are supported independently. Where a report supports a fixed number of values, they are
    moved to the sum that this fixes, and stretched by what moving took from their variance.
    """
    if oracle.counts_outputs:
        outputs = oracle.outputs()
        chances = 1 + (oracle.odds - 1) * oracle.forward(outputs, law)
        chances *= oracle.factors(outputs)
        return np.asarray(rng.multinomial(users, chances / chances.sum()), dtype=np.int64)
    held = rng.multinomial(users, law)
    counts = rng.binomial(held, oracle.hit) + rng.binomial(users - held, oracle.miss)
    if oracle.dispersion < 1:
        expected = held * oracle.hit + (users - held) * oracle.miss
        noise = counts - expected
        noise = (noise - noise.mean()) * math.sqrt(counts.size / (counts.size - 1))
        counts = np.rint(np.clip(expected + noise, 0, users))
    return np.asarray(counts, dtype=np.int64)


def _error(
    oracle: FrequencyOracle, law: Vector, users: int, crowds: int, rng: np.random.Generator
) -> float:
    """The default's root mean squared error over some crowds of a law."""
    from rumor.kinds.estimating import estimate
    from rumor.mechanisms.summary import Summary

    squares = 0.0
    for _ in range(crowds):
        summary = Summary(oracle, users, drawn_tally(oracle, law, users, rng))
        squares += float(((estimate(oracle, summary).frequency - law) ** 2).mean())
    return math.sqrt(squares / crowds)
