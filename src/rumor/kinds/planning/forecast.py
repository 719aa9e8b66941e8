"""What the default estimator will make of a crowd of a usual shape.

The error of the linear estimate is a closed form; that of the default ("auto") is not, so it
is calibrated by simulation on Zipf's law. From five values on, the table of calibration.py
is read off: the ratio of the two errors depends on the number of values, on the noise beside
the spread of the frequencies, and on how much of the noise an absent value has. With fewer
values the default is the projection onto the simplex, and some thousand crowds are drawn on
the spot, as counts; so are a few of a Hadamard matrix in blocks, whose noise is uneven.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.simplex import project
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
        if oracle.counts_outputs:
            return np.array([oracle.unbiased(tally, users) for tally in tallies])
        supports = np.array([oracle.forward(outputs, row) for row in np.eye(oracle.domain)])
        counts = tallies @ np.rint(supports).T
    else:
        held = rng.multinomial(users, law, size=crowds)
        counts = rng.binomial(held, oracle.hit) + rng.binomial(users - held, oracle.miss)
    return np.asarray((counts / users - oracle.miss) / (oracle.hit - oracle.miss))
