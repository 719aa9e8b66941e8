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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.laws import FLAT, Law
from rumor.estimators.ordered.seen import Seen
from rumor.estimators.ordered.splines import basis

ATOM_VARIANCE = 20.0
_RISE = 1e-3
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
        found[:, :curve] = seen.forward(columns)
        found[:, :curve] -= np.outer(outputs, columns.sum(axis=0))
    for place, (value, weight) in enumerate(zip(shape.atoms, atoms, strict=True)):
        found[:, curve + place] = weight * (seen.column(value) - outputs)
    return found


def fit(seen: Seen, shape: Shape, start: Vector | None = None) -> Fit:
    """Raise the penalised likelihood to its top, from `start` or from nothing."""
    here = np.zeros(shape.size) if start is None else start
    outputs = seen.forward(shape.frequency(seen.domain, here))
    height = penalised(seen, shape, here, outputs)
    for _ in range(_STEPS):
        slope = slopes(seen, shape, here, outputs)
        scaled = slope / np.sqrt(outputs)[:, None]
        information = seen.people * (scaled.T @ scaled) + shape.precision
        gradient = slope.T @ (seen.counts / outputs) - shape.precision @ here
        step = np.asarray(np.linalg.solve(information, gradient)) if shape.size else gradient
        rise = float(gradient @ step)
        moved = _raised(seen, shape, here, step, height)
        if moved is not None:
            here, outputs, height = moved
        if moved is None or rise < _RISE:
            break
    spread = np.linalg.slogdet(information)[1] if shape.size else 0.0
    determinant = shape.law.determinant - len(shape.atoms) * math.log(ATOM_VARIANCE)
    evidence = height + (determinant - float(spread)) / 2
    return Fit(shape, here, information, outputs, slope, evidence)


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
