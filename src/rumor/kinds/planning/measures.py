"""How well is well enough: mean squares of errors, and what a test notices.

A test has the level 5 % and, at what is called detectable, the power 90 %.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

from rumor.core.types import Vector

LEVEL, POWER = 0.05, 0.9
CONFIDENCE = 0.95
"""The confidence level of tables."""


def mean_square(errors: Vector) -> float:
    """Over all values."""
    return float((errors**2).mean())


def noticed(error: float, most: float) -> float:
    """The distance from a known number that a one-sided test notices; `most` when there is none."""
    quantiles = NormalDist().inv_cdf(1 - LEVEL) + NormalDist().inv_cdf(POWER)
    return min(quantiles * error, most)


def told_apart(deviation: Callable[[float], float], level: float = LEVEL) -> float:
    """The f with f = z(level) sd(0) + z(power) sd(f), by iteration; 1 when there is none."""
    first, power = NormalDist().inv_cdf(1 - level), NormalDist().inv_cdf(POWER)
    noise = deviation(0.0)
    f = (first + power) * noise
    for _ in range(50):
        if f >= 1:
            return 1.0
        f = first * noise + power * deviation(f)
    return min(f, 1.0)
