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
        found = np.zeros((self.size, self.size))
        for row in range(_DEGREE + 1):
            for column in range(row, _DEGREE + 1):
                product = weights * self._near[row] * self._near[column]
                sums = np.bincount(self._piece, product, minlength=self.steps)
                place = np.arange(self.steps)
                found[place + row, place + column] += sums
                if row != column:
                    found[place + column, place + row] += sums
        return found

    @cached_property
    def _piece(self) -> Rows:
        """The first of the curves that meet at each value."""
        return np.minimum(self._place.astype(np.intp), self.steps - 1)

    @cached_property
    def _place(self) -> Vector:
        domain = len(self.curves)
        return (np.arange(domain) + 0.5) * self.steps / domain

    @cached_property
    def _near(self) -> list[Vector]:
        """The curves that meet at each value, from the first on."""
        rows = np.arange(len(self.curves))
        return [self.curves[rows, self._piece + shift] for shift in range(_DEGREE + 1)]

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
    place = (np.arange(domain) + 0.5) * steps / domain
    piece = np.minimum(place.astype(np.intp), steps - 1)
    u = place - piece
    values = ((1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3)
    curves = np.zeros((domain, _MOST))
    for shift, value in enumerate(values):
        curves[np.arange(domain), piece + shift] = value / 6
    return Basis(curves, steps)
