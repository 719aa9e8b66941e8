"""Laws that the curve of a log-density may follow: from flat to rough, in several orders.

A law is a Gaussian for the coefficients: order m leaves polynomials of degree m - 1 free and
holds the m-th derivative down, the more so the larger its strength. Order 1 likes plateaus, order
2 straight log-densities (exponential laws), order 3 parabolas (normal laws). On few values there
is a law too to which their order means nothing. None knows how many values or people there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.splines import Basis, basis

UNORDERED = -1
FLAT = 0
# Strengths, from the smoothest law to the roughest, as powers of ten.
_POWERS = {
    1: tuple(1 - 0.75 * k for k in range(7)),
    2: tuple(0.0 - k for k in range(8)),
    3: tuple(0 - 1.25 * k for k in range(9)),
    UNORDERED: (1.0, 0.5, 0.0, -0.5, -1.0),
}
# Intervals trust no law that is smoother: with few people the evidence prefers those, and only
# because it cannot see what they deny.
_FLOOR = {1: 0.06, 2: 0.002, UNORDERED: 1.0}
# Of many values each of which varies on its own, sums hardly vary: a law without order is as sure
# of them as a flat one.
_FEW = 16
# What leaves a law's polynomials free is given a little strength: all must be proper.
_RIDGE = 1e-3
# How likely a law is beforehand, where it needs better reasons than the others.
_ODDS = {UNORDERED: 0.5}


@dataclass(frozen=True, eq=False)
class Law:
    """One law of the coefficients."""

    order: int
    strength: float
    precision: Vector
    determinant: float
    """The logarithm of the precision's determinant."""

    @cached_property
    def odds(self) -> float:
        """The logarithm of how likely the law is beforehand."""
        return float(np.log(_ODDS.get(self.order, 1.0)))

    @property
    def rough(self) -> bool:
        """Whether intervals may rest on it."""
        if self.order == UNORDERED and len(self.precision) > _FEW:
            return False
        return self.order in _FLOOR and self.strength <= _FLOOR[self.order]


@lru_cache(maxsize=8)
def families(domain: int) -> tuple[tuple[Law, ...], ...]:
    """The laws of every order, from the smoothest to the roughest."""
    curves = basis(domain)
    flat = Law(FLAT, np.inf, np.zeros((0, 0)), 0.0)
    found: list[tuple[Law, ...]] = [(flat,)]
    found += [
        tuple(_law(curves, order, 10.0**power) for power in _POWERS[order])
        for order in (1, 2, 3)
        if order < domain
    ]
    if curves.size == domain:
        found.append(tuple(_law(curves, UNORDERED, 10.0**power) for power in _POWERS[UNORDERED]))
    return tuple(found)


def _law(curves: Basis, order: int, strength: float) -> Law:
    size = curves.size
    rough = np.eye(size) if order == UNORDERED else curves.roughness(order)
    precision = strength * rough + _RIDGE / size * np.eye(size) + 1 / size
    return Law(order, strength, precision, float(np.linalg.slogdet(precision)[1]))
