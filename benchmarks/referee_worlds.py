"""Worlds that a referee draws: how many people, which epsilon, how shares fall.

Nothing here is a list of cases. A world follows from a generator, and a generator from the seed
that whoever runs the referee chooses, so that nobody can have tuned anything on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.core.errors import InputError
from rumor.kinds import KINDS
from rumor.kinds.planning.forecast import drawn_tally
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary

Vector = NDArray[np.float64]
Generator = np.random.Generator

BANDS = ((20, 100), (100, 1_000), (1_000, 30_000), (30_000, 1_000_000))
"""Numbers of people, from few to many: each is a block of its own."""
_MOST_CELLS = 4_000_000


def between(rng: Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is even."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def whole_between(rng: Generator, low: int, high: int) -> int:
    """Draw a whole number, all orders of magnitude alike."""
    return min(high, int(between(rng, low, high + 1)))


def epsilon(rng: Generator, low: float = 0.2, high: float = 6.0) -> float:
    """Draw an epsilon as people write one, with two digits."""
    return float(f"{between(rng, low, high):.2g}")


def people_in(rng: Generator, band: tuple[int, int]) -> int:
    """Draw a number of people within a band."""
    return whole_between(rng, *band)


def band_name(band: tuple[int, int]) -> str:
    """Name a band of people."""
    return f"{band[0]:,} to {band[1]:,} people"


def _even(rng: Generator, size: int) -> Vector:
    return np.ones(size)


def _dirichlet(rng: Generator, size: int) -> Vector:
    return np.asarray(rng.gamma(between(rng, 0.1, 10), size=size) + 1e-9)


def _zipf(rng: Generator, size: int) -> Vector:
    return np.asarray(np.arange(1.0, size + 1) ** -rng.uniform(0.3, 2.0))


def _geometric(rng: Generator, size: int) -> Vector:
    return np.exp(-np.arange(size) / (size * between(rng, 0.02, 1.0)))


def _leader(rng: Generator, size: int) -> Vector:
    rest = _dirichlet(rng, size)
    share = rng.uniform(0.4, 0.99)
    rest[0] = rest[1:].sum() * share / (1 - share) + 1e-9
    return rest


def _few(rng: Generator, size: int) -> Vector:
    held = np.zeros(size)
    count = whole_between(rng, 1, max(1, size // 3))
    held[:count] = rng.gamma(2.0, size=count) + 1e-9
    return held


def _two_levels(rng: Generator, size: int) -> Vector:
    cut = rng.uniform(0.05, 0.95) * size
    return np.where(np.arange(size) < cut, between(rng, 1.5, 50), 1.0)


SHAPES: Sequence[Callable[[Generator, int], Vector]] = (
    _even,
    _dirichlet,
    _zipf,
    _geometric,
    _leader,
    _few,
    _two_levels,
)


def law(rng: Generator, size: int) -> Vector:
    """Draw shares of so many values: a shape, its parameters, and which value has which share."""
    raw = SHAPES[int(rng.integers(len(SHAPES)))](rng, size)
    shares: Vector = rng.permutation(raw / raw.sum())
    return shares


def oracle(rng: Generator, domain: int, eps: float, people: int) -> FrequencyOracle:
    """Draw a mechanism: half the time the one that "auto" takes, else one by name."""
    wish = {"domain": domain, "epsilon": eps}
    kind = KINDS["choice"]
    names = list(kind.mechanisms())
    if rng.random() < 0.5 and people * domain <= _MOST_CELLS:
        name = names[int(rng.integers(len(names)))]
        try:
            made: FrequencyOracle = kind.resolve({**wish, "mechanism": name}, None)
            return made
        except InputError:
            pass  # a mechanism that this many values or this epsilon do not suit
    best: FrequencyOracle = kind.resolve(wish, people)
    return best


def counted(mechanism: FrequencyOracle, shares: Vector, people: int, rng: Generator) -> Summary:
    """Draw people and count their reports; the counts alone where reports would take too long."""
    if people * mechanism.domain > _MOST_CELLS:
        return Summary(mechanism, people, drawn_tally(mechanism, shares, people, rng))
    return reported(mechanism, rng.choice(shares.size, people, p=shares), rng)


def reported(mechanism: Mechanism, answers: Any, rng: Generator) -> Summary:
    """Randomise answers and count the reports."""
    source = rumor.Seeded(int(rng.integers(1 << 60)))
    return Summary.empty(mechanism).update(mechanism.privatize(answers, random=source))
