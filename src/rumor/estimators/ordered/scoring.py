"""The most plausible log-density under one law, and the law's evidence.

Cells are the D values, with log-weight (curve + what is declared), and J atoms: single values
with a free log-weight of their own, N(0, 20). All weights together sum to one. The penalised
likelihood of the counts is raised by Fisher scoring: with f the law of values, m = M f and J the
derivative of m by all parameters t,
    gradient J'(c/m) - Q t,    information n J' diag(1/m) J + Q,
and steps are halved until they rise. The evidence is Laplace's: the penalised likelihood at the
top, plus half of log |Q| less log |information|.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.laws import FLAT, Law
from rumor.estimators.ordered.seen import Seen
from rumor.estimators.ordered.splines import basis

ATOM_VARIANCE = 20.0
_RISE = 1e-2
_STEPS = 60
_HALVINGS = 25


@dataclass(frozen=True, eq=False)
class Shape:
    """What is fitted: a law, the values that are atoms, and what is declared."""

    law: Law
    atoms: tuple[int, ...]
    offset: Vector | None = None
    """What is declared, as log-weights of the values."""

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.law.precision) + len(self.atoms)

    @cached_property
    def precision(self) -> Vector:
        """Q, of the curve's coefficients and the atoms' log-weights."""
        found = np.zeros((self.size, self.size))
        curve = len(self.law.precision)
        found[:curve, :curve] = self.law.precision
        found[range(curve, self.size), range(curve, self.size)] = 1 / ATOM_VARIANCE
        return found

    def curves(self, domain: int) -> Vector:
        """The curves; none where the law is flat."""
        whole = basis(domain).curves
        return whole[:, :0] if self.law.order == FLAT else whole

    def cells(self, domain: int, parameters: Vector) -> tuple[Vector, Vector]:
        """The weights of the values without the atoms, and those of the atoms."""
        curve = len(self.law.precision)
        heights = self.curves(domain) @ parameters[:curve]
        if self.offset is not None:
            heights = heights + self.offset
        extra = parameters[curve:]
        top = max(float(heights.max()), float(extra.max(initial=-np.inf)))
        smooth, atoms = np.exp(heights - top), np.exp(extra - top)
        total = float(smooth.sum() + atoms.sum())
        return smooth / total, atoms / total

    def frequency(self, domain: int, parameters: Vector) -> Vector:
        """The law of the values."""
        smooth, atoms = self.cells(domain, parameters)
        np.add.at(smooth, list(self.atoms), atoms)
        return smooth


@dataclass(frozen=True, eq=False)
class Fit:
    """A shape at its most plausible."""

    shape: Shape
    parameters: Vector
    information: Vector
    outputs: Vector
    """M f."""
    slopes: Vector
    """The derivative of M f by the parameters."""
    evidence: float
    """Of the law and its atoms, without what they cost beforehand."""

    def frequency(self, domain: int) -> Vector:
        """The law of the values."""
        return self.shape.frequency(domain, self.parameters)

    @cached_property
    def covariance(self) -> Vector:
        """Of the parameters."""
        if not self.shape.size:
            return np.zeros((0, 0))
        return np.asarray(np.linalg.inv(self.information))

    def derivative(self, domain: int) -> Vector:
        """The derivative of the law of the values by the parameters, a column each."""
        smooth, atoms = self.shape.cells(domain, self.parameters)
        whole = self.frequency(domain)
        columns = smooth[:, None] * self.shape.curves(domain)
        columns -= np.outer(whole, columns.sum(axis=0))
        single = np.outer(whole, -atoms)
        single[list(self.shape.atoms), range(len(atoms))] += atoms
        return np.hstack([columns, single])


def penalised(seen: Seen, shape: Shape, parameters: Vector, outputs: Vector) -> float:
    """The penalised log-likelihood."""
    pull = float(parameters @ shape.precision @ parameters)
    return float(seen.counts @ np.log(outputs)) - pull / 2


def slopes(seen: Seen, shape: Shape, parameters: Vector, outputs: Vector) -> Vector:
    """The derivative of M f by the parameters."""
    smooth, atoms = shape.cells(seen.domain, parameters)
    columns = smooth[:, None] * shape.curves(seen.domain)
    found = np.empty((seen.size, shape.size))
    curve = columns.shape[1]
    if curve:
        found[:, :curve] = seen.within(columns)
        base = seen.band.outside * seen.width
        found[:, :curve] -= np.outer(outputs - base, columns.sum(axis=0))
    for place, (value, weight) in enumerate(zip(shape.atoms, atoms, strict=True)):
        found[:, curve + place] = weight * (seen.column(value) - outputs)
    return found


def fit(seen: Seen, shape: Shape, starts: Sequence[Vector] = ()) -> Fit:
    """Raise the penalised likelihood to its top, from the best start or from nothing."""
    begun = [
        (penalised(seen, shape, start, outputs), number, start, outputs)
        for number, start in enumerate(starts or [np.zeros(shape.size)])
        for outputs in [seen.forward(shape.frequency(seen.domain, start))]
    ]
    height, _, here, outputs = max(begun, key=lambda each: each[:2])
    slope = np.zeros((seen.size, 0))
    for _ in range(_STEPS if shape.size else 0):
        slope = slopes(seen, shape, here, outputs)
        gradient = slope.T @ (seen.counts / outputs) - shape.precision @ here
        step = _newton(seen, shape, here, outputs, slope, gradient)
        if step is None:
            expected = _information(seen, shape, outputs, slope)
            step = np.asarray(np.linalg.solve(expected, gradient), dtype=np.float64)
        rise = float(gradient @ step)
        moved = _raised(seen, shape, here, step, height)
        if moved is not None:
            here, outputs, height = moved
        if moved is None or rise < _RISE:
            break
    information = _information(seen, shape, outputs, slope)
    spread = np.linalg.slogdet(information)[1] if shape.size else 0.0
    determinant = shape.law.determinant - len(shape.atoms) * math.log(ATOM_VARIANCE)
    evidence = height + (determinant - float(spread)) / 2
    return Fit(shape, here, information, outputs, slope, evidence)


def _newton(
    seen: Seen, shape: Shape, here: Vector, outputs: Vector, slope: Vector, gradient: Vector
) -> Vector | None:
    """Newton's step; None where the likelihood does not bend down in every direction.

    With s the weights of all cells, C their derivatives' coefficients and h = s (M'(c/m) - n),
    the second derivative is that of M f, scored, less C' diag(h) C - g a' - a g': g = C'h is the
    likelihood's gradient, a = C's.
    """
    from scipy.linalg.lapack import dposv

    smooth, atoms = shape.cells(seen.domain, here)
    share = seen.counts / outputs
    pull = seen.adjoint(share) - seen.people
    scaled = slope * (np.sqrt(seen.counts) / outputs)[:, None]
    bent = scaled.T @ scaled + shape.precision
    curve = len(shape.law.precision)
    middle = np.empty(shape.size)
    if curve:
        bent[:curve, :curve] -= basis(seen.domain).weighed(smooth * pull)
        middle[:curve] = smooth @ shape.curves(seen.domain)
    place = np.arange(curve, shape.size)
    bent[place, place] -= atoms * pull[list(shape.atoms)]
    middle[curve:] = atoms
    turned = np.outer(gradient + shape.precision @ here, middle)
    bent += turned + turned.T
    _, step, broken = dposv(bent, gradient)
    return None if broken else np.asarray(step)


def _information(seen: Seen, shape: Shape, outputs: Vector, slope: Vector) -> Vector:
    """The expected information."""
    scaled = slope * np.sqrt(seen.people / outputs)[:, None]
    return np.asarray(scaled.T @ scaled + shape.precision)


def _raised(
    seen: Seen, shape: Shape, here: Vector, step: Vector, height: float
) -> tuple[Vector, Vector, float] | None:
    """The step, halved until it rises; None where it does not."""
    for halving in range(_HALVINGS):
        there = here + step * 0.5**halving
        outputs = seen.forward(shape.frequency(seen.domain, there))
        reached = penalised(seen, shape, there, outputs)
        if reached >= height:
            return there, outputs, reached
    return None
