"""The most plausible parameters of a shape, and the evidence of its law.

With f the law of the values, m = M f and J the derivative of m by all parameters t, the penalised
likelihood c' log m - t'Qt/2 of the counts c has
    gradient J'(c/m) - Q t,    expected information n J' diag(1/m) J + Q.
It is raised by Newton's steps, or by those of Fisher scoring where it does not bend down, halved
until they rise. The evidence is Laplace's: the penalised likelihood at the top, plus half of
log |Q| less log |information|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.ordered.seen import Seen
from rumor.estimators.ordered.shape import Shape

_RISE = 1e-2
_STEPS = 60
_HALVINGS = 25


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
    """Of the law and what is beside it, without what that costs beforehand."""

    @cached_property
    def frequency(self) -> Vector:
        """The law of the values."""
        return self.shape.frequency(self.parameters)

    @cached_property
    def covariance(self) -> Vector:
        """Of the parameters."""
        if not self.shape.size:
            return np.zeros((0, 0))
        return np.asarray(np.linalg.inv(self.information))

    @property
    def freedom(self) -> float:
        """How many parameters the counts decide, rather than the law."""
        return self.shape.size - float(np.sum(self.covariance * self.shape.precision))


def penalised(seen: Seen, shape: Shape, parameters: Vector, outputs: Vector) -> float:
    """The penalised log-likelihood."""
    pull = float(parameters @ shape.precision @ parameters)
    return float(seen.counts @ np.log(outputs)) - pull / 2


def slopes(seen: Seen, shape: Shape, parameters: Vector, outputs: Vector) -> Vector:
    """The derivative of M f by the parameters."""
    smooth, atoms = shape.cells(parameters)
    found = np.empty((seen.size, shape.size))
    if shape.curve:
        weighed = smooth[:, None] * shape.columns
        base = seen.band.outside * seen.width
        found[:, : shape.curve] = seen.within(weighed)
        found[:, : shape.curve] -= np.outer(outputs - base, weighed.sum(axis=0))
    for place, (value, weight) in enumerate(zip(shape.atoms, atoms, strict=True)):
        found[:, shape.curve + place] = weight * (seen.column(value) - outputs)
    return found


def likelihood_gradient(seen: Seen, shape: Shape, parameters: Vector, outputs: Vector) -> Vector:
    """The derivative of the log-likelihood by the parameters, without J."""
    smooth, atoms = shape.cells(parameters)
    pull = seen.adjoint(seen.counts / outputs) - seen.people
    curve = shape.columns.T @ (smooth * pull)
    return np.concatenate([curve, atoms * pull[list(shape.atoms)]])


def fit(seen: Seen, shape: Shape, starts: Sequence[Vector] = ()) -> Fit:
    """Raise the penalised likelihood to its top, from the best start or from nothing."""
    begun = [
        (penalised(seen, shape, start, outputs), number, start, outputs)
        for number, start in enumerate(starts or [np.zeros(shape.size)])
        for outputs in [seen.forward(shape.frequency(start))]
    ]
    height, _, here, outputs = max(begun, key=lambda each: each[:2])
    slope = np.zeros((seen.size, 0))
    for _ in range(_STEPS if shape.size else 0):
        slope = slopes(seen, shape, here, outputs)
        gradient = slope.T @ (seen.counts / outputs) - shape.precision @ here
        step = newton(seen, shape, here, outputs, slope, gradient)
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
    evidence = height + (shape.determinant - float(spread)) / 2
    return Fit(shape, here, information, outputs, slope, evidence)


def newton(
    seen: Seen, shape: Shape, here: Vector, outputs: Vector, slope: Vector, gradient: Vector
) -> Vector | None:
    """Newton's step; None where the likelihood does not bend down in every direction.

    With s the weights of all cells, C their derivatives' coefficients and h = s (M'(c/m) - n),
    the second derivative is that of M f, scored, less C' diag(h) C - g a' - a g': g = C'h is the
    likelihood's gradient, a = C's.
    """
    from scipy.linalg.lapack import dposv

    smooth, atoms = shape.cells(here)
    pull = seen.adjoint(seen.counts / outputs) - seen.people
    scaled = slope * (np.sqrt(seen.counts) / outputs)[:, None]
    bent = scaled.T @ scaled + shape.precision
    bent[: shape.curve, : shape.curve] -= shape.weighed(smooth * pull)
    place = np.arange(shape.curve, shape.size)
    bent[place, place] -= atoms * pull[list(shape.atoms)]
    middle = np.concatenate([smooth @ shape.columns, atoms])
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
        outputs = seen.forward(shape.frequency(there))
        reached = penalised(seen, shape, there, outputs)
        if reached >= height:
            return there, outputs, reached
    return None
