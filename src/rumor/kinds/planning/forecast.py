"""What the default estimator will make of a crowd of a usual shape.

The error of the linear estimate is a closed form; that of the default ("auto") is not, so it
is calibrated by simulation on Zipf's law. From five values on, the table of calibration.py
is read off: the ratio of the two errors depends on the number of values, on the noise beside
the spread of the frequencies, and on how much of the noise an absent value has. With fewer
values the default is the projection onto the simplex, and some thousand crowds are drawn on
the spot, as counts; so are a few of a Hadamard matrix in blocks, whose noise is uneven.

How far the error of the default estimate depends on the crowd: a range over nine shapes.

The error of the linear estimate is the same whatever people answer, or nearly so. That of the
default is not: it learns the shape of the crowd, and some shapes are easier than others. So a
few crowds of nine shapes, from almost even to one value that has all, are drawn as counts and
estimated in earnest, and a plan tells the lowest and the highest error that came out, with a
fifth to spare on either side for all the shapes that are not among the nine. A crowd in which
values differ by less than a tenth has less error still, down to none: an even law among the
nine would hold it, but a range that begins at nothing tells nobody what to expect.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Tally, Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.planning.calibration import (
    DIGITS,
    DOMAINS,
    KEY_NOISE,
    KEY_RATIOS,
    KEYS,
    NOISE,
    RATIOS,
)
from rumor.mechanisms import FrequencyOracle, HadamardResponse

# From fewer values the default is the projection (estimators/empirical.py).
_FEWEST_VALUES = 5
_CROWDS = 1500
# Crowds by the largest domain: what a plan has time for.
_LARGEST_BLOCKED = 2000
_CROWDS_OF_BLOCKS = {50: 8, 300: 4, _LARGEST_BLOCKED: 1}


@functools.lru_cache(maxsize=8)
def typical_law(domain: int) -> Vector:
    """Zipf's law: the second value is half as frequent as the first, the third a third."""
    law = 1 / np.arange(1, domain + 1)
    law /= law.sum()
    law.setflags(write=False)
    return np.asarray(law)


def linear_error(oracle: FrequencyOracle, users: int) -> float:
    """The root mean squared error over all values of the linear estimate, on Zipf's law."""
    return math.sqrt(float(np.mean(oracle.variance(typical_law(oracle.domain), users))))


def default_error(oracle: FrequencyOracle, users: int) -> float | None:
    """The same of the default estimate; None where it is not known in time."""
    if oracle.domain < _FEWEST_VALUES:
        return _projection_error(oracle, users)
    if isinstance(oracle, HadamardResponse) and oracle.blocks > 1:
        return _blocked_error(oracle, users) if oracle.domain <= _LARGEST_BLOCKED else None
    domain, law, linear = oracle.domain, typical_law(oracle.domain), linear_error(oracle, users)
    if oracle.dispersion < 1:
        # Counts with a fixed total already lack what all values have in common, which the
        # default takes out of the others: as if of noise that is larger by so much.
        linear *= math.sqrt(domain / (domain - 1))
    spread = math.sqrt(float(np.mean((law - 1 / domain) ** 2)))
    still = float(oracle.variance(0.0, users)) / float(np.mean(oracle.variance(law, users)))
    digits = -math.log10(max(1 - still, 1e-9))
    return linear * _ratio(domain, linear / spread, digits)


def typical_keys(keys: int, cap: int | None = None) -> tuple[Vector, Vector]:
    """Shares and means (of [-1, 1]) of keys: a half holds the first, a third the second.

    Means are scattered, unrelated to the shares. With a cap, shares are scaled so that nobody
    need hold more.
    """
    frequency = 1 / np.arange(2, keys + 2)
    if cap is not None:
        frequency *= min(1.0, cap / float(frequency.sum()))
    scattered = np.arange(keys) * (math.sqrt(5) - 1) / 2 % 1
    return np.asarray(frequency), np.asarray(scattered - 0.5)


def holders(frequency: Vector, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Who holds which key: each key with its frequency, everybody as many keys as anybody.

    Systematic sampling: keys are laid side by side, each as long as its frequency, and a comb
    with a random offset picks those that its teeth fall into.
    """
    order = rng.permutation(frequency.size)
    ends = np.concatenate([[0.0], np.cumsum(frequency[order])])
    teeth = np.floor(ends[None, :] - rng.random((people, 1)))
    held = np.empty((people, frequency.size), dtype=np.bool_)
    held[:, order] = np.diff(teeth, axis=1) > 0
    return held


def key_ratio(frequency: Vector, linear: float) -> float:
    """The error of the default estimate of keys' shares over the linear one, given the latter."""
    spread = float(np.std(frequency)) or float(frequency.mean())
    axes = [np.log(KEYS), np.log(KEY_NOISE)]
    beyond = max(1.0, linear / spread / KEY_NOISE[-1])
    at = (math.log(frequency.size), math.log(linear / spread))
    return _interpolated(axes, np.log(KEY_RATIOS), at) / beyond


def _ratio(domain: int, noise: float, digits: float) -> float:
    """The table at a point.

    With more noise than the table has, the answer no longer depends on it: the ratio falls
    as the noise grows.
    """
    axes = [np.log(DOMAINS), np.log(NOISE), np.asarray(DIGITS)]
    at = (math.log(domain), math.log(noise), digits)
    return _interpolated(axes, np.log(RATIOS), at) / max(1.0, noise / NOISE[-1])


def _interpolated(axes: Sequence[Vector], logarithms: Vector, at: Sequence[float]) -> float:
    """A table of logarithms, linear in between; beyond its ends as at the ends."""
    table = logarithms
    for axis, place in zip(axes, at, strict=True):
        inside = min(max(place, axis[0]), axis[-1])
        right = min(max(int(np.searchsorted(axis, inside)), 1), axis.size - 1)
        part = (inside - axis[right - 1]) / (axis[right] - axis[right - 1])
        table = (1 - part) * table[right - 1] + part * table[right]
    return math.exp(float(table))


def _blocked_error(oracle: HadamardResponse, users: int) -> float:
    """Of a matrix in blocks: values of a full block have more noise, which no table foresees.

    A few crowds are estimated in earnest; the linear error, which is known, takes most of
    the chance out of them.
    """
    from rumor.kinds.estimating import estimate
    from rumor.mechanisms.summary import Summary

    law, rng = typical_law(oracle.domain), np.random.default_rng(1)
    outputs = oracle.outputs()
    chances = 1 + (oracle.odds - 1) * oracle.forward(outputs, law)
    crowds = next(count for size, count in _CROWDS_OF_BLOCKS.items() if oracle.domain <= size)
    default = linear = 0.0
    for tally in rng.multinomial(users, chances / chances.sum(), size=crowds):
        found = estimate(oracle, Summary(oracle, users, tally.astype(np.int64)))
        default += float(((found.frequency - law) ** 2).sum())
        linear += float(((found.unbiased - law) ** 2).sum())
    return linear_error(oracle, users) * math.sqrt(default / linear)


def _projection_error(oracle: FrequencyOracle, users: int) -> float:
    law, rng = typical_law(oracle.domain), np.random.default_rng(1)
    squares = [
        float(((project(estimate) - law) ** 2).mean())
        for estimate in drawn_estimates(oracle, law, users, _CROWDS, rng)
    ]
    return math.sqrt(float(np.mean(squares)))


def drawn_estimates(
    oracle: FrequencyOracle, law: Vector, users: int, crowds: int, rng: np.random.Generator
) -> Vector:
    """Linear estimates of crowds drawn from a law, a row each, from their counts alone.

    Where all reports have the same factor (everything but bits and hashes), the reports
    themselves are counted by a multinomial; bits, and hashes pair by pair, are independent.
    """
    if oracle.dispersion < 1 or oracle.name == "hadamard":
        outputs = oracle.outputs()
        chances = 1 + (oracle.odds - 1) * oracle.forward(outputs, law)
        tallies = rng.multinomial(users, chances / chances.sum(), size=crowds)
        if oracle.tally_is_lossless:
            return np.array([oracle.unbiased(tally, users) for tally in tallies])
        supports = np.array([oracle.forward(outputs, row) for row in np.eye(oracle.domain)])
        counts = tallies @ np.rint(supports).T
    else:
        held = rng.multinomial(users, law, size=crowds)
        counts = rng.binomial(held, oracle.hit) + rng.binomial(users - held, oracle.miss)
    return np.asarray((counts / users - oracle.miss) / (oracle.hit - oracle.miss))


# Beyond so many values a plan would take seconds.
LARGEST = 20_000
# Chosen with benchmarks/range_tuning.py, on shapes that nothing is judged by.
MARGIN = 1.2
# Crowds of each shape, by the largest domain.
_RANGE_CROWDS = {4: 25, 50: 4, 300: 3, LARGEST: 1}


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
    crowds = next(count for size, count in _RANGE_CROWDS.items() if oracle.domain <= size)
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
    if oracle.tally_is_lossless:
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
