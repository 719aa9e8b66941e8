"""Shapes of a log-density: splines, priors of their roughness, and extra columns.

Curves. A log-density is a combination of K cubic B-splines; with few values each value has its own
coefficient. The roughness of order m is the sum of the squared m-th differences of the
coefficients, scaled by h^(2m-1), h being how many steps the range has: it then approximates the
integral of the squared m-th derivative over a range of length 1, however many values there are.

Priors, from flat to rough, in several orders. A prior is a Gaussian for the coefficients: order m
leaves polynomials of degree m - 1 free and penalises the m-th derivative, the more so the larger
its strength. Order 1 prefers plateaus, order 2 straight log-densities (exponential distributions),
order 3 parabolas (normal distributions). On few values there is also a prior that ignores their
order. No prior depends on the number of values or people.

Shapes. A fit has a curve, a few extra columns, a few atoms, and the weights they give. Cells are
the D values, each with a log-weight that is linear in the parameters, and J atoms: single values
with an additional free log-weight. All weights together sum to one. Extra columns are features
that no smooth curve has: declared marks (round numbers at a spacing, more frequent than their
neighbours by one factor), steps (all values from one on) and levels (some values).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from rumor.core.types import Rows, Vector

# The largest number of pieces; no private histogram resolves more.
_MOST = 80
_DEGREE = 3


@dataclass(frozen=True)
class Basis:
    """The curves of a basis, one a column."""

    curves: Vector
    steps: int

    @cached_property
    def size(self) -> int:
        """The number of curves."""
        return int(self.curves.shape[1])

    def weighed(self, weights: Vector) -> Vector:
        """Return C' diag(w) C of the curves C, of which no more than four meet at a value."""
        if self.size == len(weights):
            return np.diag(weights)
        starts, products, places = self._meetings
        sums = np.add.reduceat(weights * products, starts, axis=1)
        found = np.bincount(places, sums.ravel(), minlength=self.size**2)
        return np.asarray(found.reshape(self.size, self.size))

    @cached_property
    def _meetings(self) -> tuple[Rows, Vector, Rows]:
        """Return where the pieces begin, and the products and places of every two curves of
        a piece.
        """
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
        """Return the matrix P such that the roughness of coefficients t is t'Pt."""
        differences = np.diff(np.eye(self.size), order, axis=0)
        return np.asarray(float(self.steps) ** (2 * order - 1) * (differences.T @ differences))


@lru_cache(maxsize=8)
def basis(domain: int) -> Basis:
    """Return one coefficient for each value where there are few, else cubic B-splines."""
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
    """Return the piece of each value, and the value's place in the piece, from 0 to 1."""
    place = (np.arange(domain) + 0.5) * steps / domain
    piece = np.minimum(place.astype(np.intp), steps - 1)
    return piece, np.asarray(place - piece)


UNORDERED = -1
FLAT = 0
# Strengths, from the smoothest prior to the roughest, as powers of ten.
_POWERS = {
    1: tuple(1 - 0.75 * k for k in range(7)),
    2: tuple(0.0 - k for k in range(8)),
    3: tuple(0 - 1.25 * k for k in range(9)),
    UNORDERED: (1.0, 0.5, 0.0, -0.5, -1.0),
}
# Intervals use no smoother prior: with few people the marginal likelihood prefers smoother ones,
# only because the counts cannot show what those deny.
_FLOOR = {1: 0.06, 2: 0.002, UNORDERED: 1.0}
# Of many values that vary independently, sums hardly vary: a prior without order is as certain of
# sums as a flat one.
_FEW = 16
# The precision of the polynomials that a prior leaves free, small but above zero: all are proper.
_RIDGE = 1e-3
# The prior log-odds of a prior that needs more support than the others.
_ODDS = {UNORDERED: 0.5}


@dataclass(frozen=True, eq=False)
class Law:
    """One smoothness prior for the coefficients."""

    order: int
    strength: float
    precision: Vector
    determinant: float
    """The logarithm of the precision's determinant."""

    @cached_property
    def odds(self) -> float:
        """The logarithm of the prior's own probability."""
        return float(np.log(_ODDS.get(self.order, 1.0)))

    @property
    def rough(self) -> bool:
        """Whether intervals may rest on this prior."""
        if self.order == UNORDERED and len(self.precision) > _FEW:
            return False
        return self.order in _FLOOR and self.strength <= _FLOOR[self.order]


@lru_cache(maxsize=8)
def families(domain: int) -> tuple[tuple[Law, ...], ...]:
    """Return the priors of every order, from the smoothest to the roughest."""
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


ATOM_VARIANCE = 20.0


@dataclass(frozen=True)
class Marks:
    """Round numbers: values at one spacing, from the first on."""

    spacing: int
    first: int
    variance = 9.0

    def column(self, domain: int) -> Vector:
        """Return a column with 1 on the marks."""
        return np.where(np.arange(domain) % self.spacing == self.first, 1.0, 0.0)


@dataclass(frozen=True)
class Step:
    """A jump of the log-density at one value."""

    at: int
    variance = 20.0

    def column(self, domain: int) -> Vector:
        """Return a column with 1/2 from the value on, -1/2 before."""
        return np.where(np.arange(domain) >= self.at, 0.5, -0.5)


@dataclass(frozen=True)
class Level:
    """A set of values with one frequency, wherever they lie, and all others with another."""

    values: tuple[int, ...]
    variance = 20.0

    def column(self, domain: int) -> Vector:
        """Return a column with 1 on the values."""
        return np.where(np.isin(np.arange(domain), self.values), 1.0, 0.0)


Extra = Marks | Step | Level


@dataclass(frozen=True, eq=False)
class Shape:
    """A prior of the curve, the extra columns, and the values that are atoms."""

    domain: int
    law: Law
    extras: tuple[Extra, ...] = ()
    atoms: tuple[int, ...] = ()

    @cached_property
    def curve(self) -> int:
        """The number of parameters without the atoms."""
        return len(self.law.precision) + len(self.extras)

    @cached_property
    def size(self) -> int:
        """The number of parameters: of the curve, the columns and the atoms, in this order."""
        return self.curve + len(self.atoms)

    @cached_property
    def precision(self) -> Vector:
        """The prior precision Q of all parameters."""
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

    @cached_property
    def columns(self) -> Vector:
        """The derivatives of the values' log-weights by the parameters."""
        return _columns(self.domain, self.law.order == FLAT, self.extras)

    def weighed(self, weights: Vector) -> Vector:
        """Return C' diag(w) C of the columns C."""
        curve = len(self.law.precision)
        found = np.empty((self.curve, self.curve))
        if curve:
            found[:curve, :curve] = basis(self.domain).weighed(weights)
        if self.extras:
            crossed = self.columns.T @ (weights[:, None] * self.columns[:, curve:])
            found[:, curve:], found[curve:, :] = crossed, crossed.T
        return found

    def heights(self, parameters: Vector) -> Vector:
        """Return the log-weights of the values, up to a constant."""
        return np.asarray(self.columns @ parameters[: self.curve])

    def cells(self, parameters: Vector) -> tuple[Vector, Vector]:
        """Return the weights of the values without the atoms, and those of the atoms."""
        heights, single = self.heights(parameters), parameters[self.curve :]
        top = max(float(heights.max()), float(single.max(initial=-np.inf)))
        smooth, atoms = np.exp(heights - top), np.exp(single - top)
        total = float(smooth.sum() + atoms.sum())
        return smooth / total, atoms / total

    def frequency(self, parameters: Vector) -> Vector:
        """Return the distribution of the values."""
        smooth, atoms = self.cells(parameters)
        np.add.at(smooth, list(self.atoms), atoms)
        return smooth

    def derivative(self, parameters: Vector) -> Vector:
        """Return the derivative of the distribution of the values by the parameters, a
        column each.
        """
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
