"""What is fitted: a curve, a few columns of its own, a few atoms; and the weights they give.

Cells are the D values, each with a log-weight that is linear in the parameters, and J atoms:
single values with a free log-weight beside. All weights together sum to one. Columns of their own
are what no smooth curve has: declared marks (every so many values a mark, which is more frequent
than its neighbours by one factor), steps (all values from one on) and levels (some values).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.laws import FLAT, Law
from rumor.estimators.ordered.splines import basis

ATOM_VARIANCE = 20.0


@dataclass(frozen=True)
class Marks:
    """Values that are round numbers: every so many, from the first on."""

    spacing: int
    first: int
    variance = 9.0

    def column(self, domain: int) -> Vector:
        """1 on the marks."""
        return np.where(np.arange(domain) % self.spacing == self.first, 1.0, 0.0)


@dataclass(frozen=True)
class Step:
    """From one value on the log-density is another."""

    at: int
    variance = 20.0

    def column(self, domain: int) -> Vector:
        """1/2 from the value on, -1/2 before."""
        return np.where(np.arange(domain) >= self.at, 0.5, -0.5)


@dataclass(frozen=True)
class Level:
    """Some values have one frequency, wherever they lie, and all others another."""

    values: tuple[int, ...]
    variance = 20.0

    def column(self, domain: int) -> Vector:
        """1 on the values."""
        return np.where(np.isin(np.arange(domain), self.values), 1.0, 0.0)


Extra = Marks | Step | Level


@dataclass(frozen=True, eq=False)
class Shape:
    """A law of the curve, the columns beside it, and the values that are atoms."""

    domain: int
    law: Law
    extras: tuple[Extra, ...] = ()
    atoms: tuple[int, ...] = ()

    @property
    def curve(self) -> int:
        """The number of parameters without the atoms."""
        return len(self.law.precision) + len(self.extras)

    @property
    def size(self) -> int:
        """The number of parameters: of the curve, the columns and the atoms, in this order."""
        return self.curve + len(self.atoms)

    @cached_property
    def precision(self) -> Vector:
        """Q, of all parameters."""
        found = np.zeros((self.size, self.size))
        curve = len(self.law.precision)
        found[:curve, :curve] = self.law.precision
        own = [1 / extra.variance for extra in self.extras]
        own += [1 / ATOM_VARIANCE] * len(self.atoms)
        found[range(curve, self.size), range(curve, self.size)] = own
        return found

    @property
    def determinant(self) -> float:
        """The logarithm of the determinant of Q."""
        own = sum(float(np.log(extra.variance)) for extra in self.extras)
        return self.law.determinant - own - len(self.atoms) * float(np.log(ATOM_VARIANCE))

    @property
    def columns(self) -> Vector:
        """The derivatives of the values' log-weights by the parameters."""
        return _columns(self.domain, self.law.order == FLAT, self.extras)

    def weighed(self, weights: Vector) -> Vector:
        """C' diag(w) C of the columns C."""
        curve = len(self.law.precision)
        found = np.empty((self.curve, self.curve))
        if curve:
            found[:curve, :curve] = basis(self.domain).weighed(weights)
        if self.extras:
            crossed = self.columns.T @ (weights[:, None] * self.columns[:, curve:])
            found[:, curve:], found[curve:, :] = crossed, crossed.T
        return found

    def heights(self, parameters: Vector) -> Vector:
        """The log-weights of the values, up to a constant."""
        return np.asarray(self.columns @ parameters[: self.curve])

    def cells(self, parameters: Vector) -> tuple[Vector, Vector]:
        """The weights of the values without the atoms, and those of the atoms."""
        heights, single = self.heights(parameters), parameters[self.curve :]
        top = max(float(heights.max()), float(single.max(initial=-np.inf)))
        smooth, atoms = np.exp(heights - top), np.exp(single - top)
        total = float(smooth.sum() + atoms.sum())
        return smooth / total, atoms / total

    def frequency(self, parameters: Vector) -> Vector:
        """The law of the values."""
        smooth, atoms = self.cells(parameters)
        np.add.at(smooth, list(self.atoms), atoms)
        return smooth

    def derivative(self, parameters: Vector) -> Vector:
        """The derivative of the law of the values by the parameters, a column each."""
        smooth, atoms = self.cells(parameters)
        whole = self.frequency(parameters)
        curve = smooth[:, None] * self.columns
        curve -= np.outer(whole, curve.sum(axis=0))
        single = np.outer(whole, -atoms)
        single[list(self.atoms), range(len(atoms))] += atoms
        return np.hstack([curve, single])


@lru_cache(maxsize=16)
def _columns(domain: int, flat: bool, extras: tuple[Extra, ...]) -> Vector:
    curves = basis(domain).curves
    curves = curves[:, :0] if flat else curves
    if not extras:
        return curves
    own = np.column_stack([extra.column(domain) for extra in extras])
    return np.ascontiguousarray(np.hstack([curves, own]))
