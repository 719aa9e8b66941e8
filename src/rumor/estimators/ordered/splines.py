"""Smooth curves over the values: cubic B-splines, and how rough a curve is.

A log-density is a combination of K splines; with few values each value has its own coefficient.
The roughness of order m is the sum of the squared m-th differences of the coefficients, scaled
by h^(2m-1), h being how many steps the range has: it then approximates the integral of the
squared m-th derivative over a range of length 1, however many values there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rumor.core.types import Rows, Vector

# More pieces than this no private histogram resolves.
_MOST = 80
_DEGREE = 3


@dataclass(frozen=True)
class Basis:
    """The curves, a column each."""

    curves: Vector
    steps: int

    @property
    def size(self) -> int:
        """How many curves there are."""
        return int(self.curves.shape[1])

    def weighed(self, weights: Vector) -> Vector:
        """C' diag(w) C of the curves C, of which no more than four meet at a value."""
        if self.size == len(weights):
            return np.diag(weights)
        starts, products, places = self._meetings
        sums = np.add.reduceat(weights * products, starts, axis=1)
        found = np.bincount(places, sums.ravel(), minlength=self.size**2)
        return np.asarray(found.reshape(self.size, self.size))

    @cached_property
    def _meetings(self) -> tuple[Rows, Vector, Rows]:
        """Where the pieces begin, and of every two curves of a piece the product and the place."""
        domain = len(self.curves)
        values, piece = np.arange(domain), _pieces(domain, self.steps)[0]
        pairs = [(i, j) for i in range(_DEGREE + 1) for j in range(_DEGREE + 1)]
        near = [self.curves[values, piece + shift] for shift in range(_DEGREE + 1)]
        places = np.arange(self.steps)
        return (
            np.searchsorted(piece, places),
            np.array([near[i] * near[j] for i, j in pairs]),
            np.concatenate([(places + i) * self.size + places + j for i, j in pairs]),
        )

    def roughness(self, order: int) -> Vector:
        """The matrix P such that the roughness of coefficients t is t'Pt."""
        differences = np.diff(np.eye(self.size), order, axis=0)
        return np.asarray(float(self.steps) ** (2 * order - 1) * (differences.T @ differences))


@lru_cache(maxsize=8)
def basis(domain: int) -> Basis:
    """One coefficient for each value where there are few, else cubic B-splines."""
    if domain <= _MOST:
        return Basis(np.eye(domain), domain)
    steps = _MOST - _DEGREE
    piece, u = _pieces(domain, steps)
    values = ((1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3)
    curves = np.zeros((domain, _MOST))
    for shift, value in enumerate(values):
        curves[np.arange(domain), piece + shift] = value / 6
    return Basis(curves, steps)


def _pieces(domain: int, steps: int) -> tuple[Rows, Vector]:
    """The piece that each value lies in, and where in it, from 0 to 1."""
    place = (np.arange(domain) + 0.5) * steps / domain
    piece = np.minimum(place.astype(np.intp), steps - 1)
    return piece, np.asarray(place - piece)
