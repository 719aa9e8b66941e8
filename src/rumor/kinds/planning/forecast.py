"""Forecasts of the default estimator's error on populations of usual shapes.

The error of the linear estimate is a closed form. That of the default ("auto") is not, so the
error is calibrated by simulation on Zipf's law. From five values on, the table of calibration.py
gives the ratio of the two errors, which depends on the number of values, on the noise relative to
the spread of the frequencies, and on how much of the noise an absent value has. With fewer values
the default is the projection onto the simplex, and some thousand populations are drawn during the
plan, as counts; so are a few of a Hadamard matrix in blocks, whose noise is uneven.

The range of the default estimator's error over nine distributions:

The error of the linear estimate hardly depends on the distribution of answers. That of the default
does: the estimator learns the distribution, and some are easier than others. So a few populations
of nine distributions, from almost even to one value that has all, are drawn as counts and
estimated, and a plan shows the lowest and the highest error, widened by a fifth on either side for
the distributions that are not among the nine. Values that differ by less than a tenth give smaller
errors still, down to none. An even distribution would cover that case, but a range from zero would
tell nobody what to expect.
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

# With fewer values the default is the projection (estimators/empirical.py).
_FEWEST_VALUES = 5
_CROWDS = 1500
# The number of simulated populations by the largest domain, limited by a plan's running time.
_LARGEST_BLOCKED = 2000
_CROWDS_OF_BLOCKS = {50: 8, 300: 4, _LARGEST_BLOCKED: 1}


@functools.lru_cache(maxsize=8)
def typical_law(domain: int) -> Vector:
    """Return Zipf's law on `domain` values: the k-th share is 1/k of the first."""
    law = 1 / np.arange(1, domain + 1)
    law /= law.sum()
    law.setflags(write=False)
    return np.asarray(law)


def linear_error(oracle: FrequencyOracle, users: int) -> float:
    """Return the root mean squared error of the linear estimate over all values, on Zipf's law."""
    return math.sqrt(float(np.mean(oracle.variance(typical_law(oracle.domain), users))))


def default_error(oracle: FrequencyOracle, users: int) -> float | None:
    """Return the error of the default estimate on Zipf's law; None where a forecast would take
    too long.
    """
    if oracle.domain < _FEWEST_VALUES:
        return _projection_error(oracle, users)
    if isinstance(oracle, HadamardResponse) and oracle.blocks > 1:
        return _blocked_error(oracle, users) if oracle.domain <= _LARGEST_BLOCKED else None
    domain, law, linear = oracle.domain, typical_law(oracle.domain), linear_error(oracle, users)
    if oracle.dispersion < 1:
        # Counts with a fixed total lack the noise that all values share, which the default removes
        # from other counts; their noise therefore acts as if it were larger by this factor.
        linear *= math.sqrt(domain / (domain - 1))
    spread = math.sqrt(float(np.mean((law - 1 / domain) ** 2)))
    still = float(oracle.variance(0.0, users)) / float(np.mean(oracle.variance(law, users)))
    digits = -math.log10(max(1 - still, 1e-9))
    return linear * _ratio(domain, linear / spread, digits)


def typical_keys(keys: int, cap: int | None = None) -> tuple[Vector, Vector]:
    """Return typical shares and means (in [-1, 1]) of `keys` keys: shares of 1/2, 1/3, and so on.

    Means are scattered, unrelated to the shares. With a `cap`, shares are scaled so that their sum
    is at most the cap.
    """
    frequency = 1 / np.arange(2, keys + 2)
    if cap is not None:
        frequency *= min(1.0, cap / float(frequency.sum()))
    scattered = np.arange(keys) * (math.sqrt(5) - 1) / 2 % 1
    return np.asarray(frequency), np.asarray(scattered - 0.5)


def holders(frequency: Vector, people: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which of `people` has which key, at the given `frequency`, with equally many keys each.

    Systematic sampling: keys are laid side by side, each as long as its frequency, and a comb with
    a random offset picks the keys that its teeth fall into.
    """
    order = rng.permutation(frequency.size)
    ends = np.concatenate([[0.0], np.cumsum(frequency[order])])
    teeth = np.floor(ends[None, :] - rng.random((people, 1)))
    held = np.empty((people, frequency.size), dtype=np.bool_)
    held[:, order] = np.diff(teeth, axis=1) > 0
    return held


def key_ratio(frequency: Vector, linear: float) -> float:
    """Return the default's error over the linear one for keys' shares, given the `linear` error."""
    spread = float(np.std(frequency)) or float(frequency.mean())
    axes = [np.log(KEYS), np.log(KEY_NOISE)]
    beyond = max(1.0, linear / spread / KEY_NOISE[-1])
    at = (math.log(frequency.size), math.log(linear / spread))
    return _interpolated(axes, np.log(KEY_RATIOS), at) / beyond


def _ratio(domain: int, noise: float, digits: float) -> float:
    """Return the calibrated ratio of errors at `domain` values, `noise` and report length `digits`.

    Beyond the largest noise of the table the ratio is constant, since the ratio falls as the noise
    grows.
    """
    axes = [np.log(DOMAINS), np.log(NOISE), np.asarray(DIGITS)]
    at = (math.log(domain), math.log(noise), digits)
    return _interpolated(axes, np.log(RATIOS), at) / max(1.0, noise / NOISE[-1])


def _interpolated(axes: Sequence[Vector], logarithms: Vector, at: Sequence[float]) -> float:
    """Return the table of `logarithms` at the point `at`, interpolated linearly, clamped at
    the edges.
    """
    table = logarithms
    for axis, place in zip(axes, at, strict=True):
        inside = min(max(place, axis[0]), axis[-1])
        right = min(max(int(np.searchsorted(axis, inside)), 1), axis.size - 1)
        part = (inside - axis[right - 1]) / (axis[right] - axis[right - 1])
        table = (1 - part) * table[right - 1] + part * table[right]
    return math.exp(float(table))


def _blocked_error(oracle: HadamardResponse, users: int) -> float:
    """Return the default's error for a Hadamard matrix in blocks, by simulation.

    Values of a full block have more noise, which the calibrated table does not cover. A few
    populations are estimated; scaling by the known linear error removes most of the simulation's
    randomness.
    """
    from rumor.kinds.estimating import estimate
    from rumor.mechanisms.summary import Summary

    law, rng = typical_law(oracle.domain), np.random.default_rng(1)
    chances = oracle.output_chances(law)
    crowds = next(count for size, count in _CROWDS_OF_BLOCKS.items() if oracle.domain <= size)
    default = linear = 0.0
    for tally in rng.multinomial(users, chances, size=crowds):
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
    """Return linear estimates of `crowds` populations drawn from `law`, one a row, from counts
    alone.

    Where all reports have the same factor (everything but bits and hashes), the reports themselves
    are counted by a multinomial; bits, and hashes pair by pair, are independent.
    """
    if oracle.dispersion < 1 or oracle.name == "hadamard":
        tallies = rng.multinomial(users, oracle.output_chances(law), size=crowds)
        if oracle.tally_is_lossless:
            return np.array([oracle.unbiased(tally, users) for tally in tallies])
        outputs = oracle.outputs()
        supports = np.array([oracle.forward(outputs, row) for row in np.eye(oracle.domain)])
        counts = tallies @ np.rint(supports).T
    else:
        held = rng.multinomial(users, law, size=crowds)
        counts = rng.binomial(held, oracle.hit) + rng.binomial(users - held, oracle.miss)
    return np.asarray((counts / users - oracle.miss) / (oracle.hit - oracle.miss))


# On larger domains a plan would take seconds.
LARGEST = 20_000
# Chosen with benchmarks/range_tuning.py, on distributions outside the tests and the nine.
MARGIN = 1.2
# The number of populations of each distribution, by the largest domain.
_RANGE_CROWDS = {4: 25, 50: 4, 300: 3, LARGEST: 1}


@dataclass(frozen=True)
class Range:
    """The lowest and the highest root mean squared error of the default over nine distributions."""

    low: float
    high: float
    zipf: float
    """The error on Zipf's law, one of the nine distributions."""


def shapes(domain: int) -> dict[str, Vector]:
    """Return nine distributions on `domain` values, by name."""
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
    """Return the default's range of errors, or None on a large domain; `zipf` is Zipf's
    forecast.
    """
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
    """Draw the tally of a population of `users` with the distribution `law`, without its reports.

    Where a tally counts outputs it is a multinomial. Else counts are binomials, exactly so where
    values are supported independently. Where a report supports a fixed number of values, they are
    moved to the sum that this fixes, and stretched by what moving took from their variance.
    """
    if oracle.tally_is_lossless:
        return np.asarray(rng.multinomial(users, oracle.output_chances(law)), dtype=np.int64)
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
    """Return the default's root mean squared error over `crowds` populations drawn from `law`."""
    from rumor.kinds.estimating import estimate
    from rumor.mechanisms.summary import Summary

    squares = 0.0
    for _ in range(crowds):
        summary = Summary(oracle, users, drawn_tally(oracle, law, users, rng))
        squares += float(((estimate(oracle, summary).frequency - law) ** 2).mean())
    return math.sqrt(squares / crowds)
