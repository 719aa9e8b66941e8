"""Published estimates of ordered answers: the linear mean, and EM for the distribution.

The mean of ordered answers, unbiased and without any law behind it.

A report's expectation is linear in the value:
    E[y | x] = q Y (Y - 1) / 2 + g (W x + W (W - 1) / 2),
so the mean report, moved and stretched, is the mean value, whatever the distribution.

Expectation-maximisation for the distribution of ordered answers, plain and smoothed.

"em" and "ems" of Li, Wang, Lopuhaä-Zwakenberg, Li and Škorić, Estimating Numerical Distributions
under Local Differential Privacy (2020), with their start, their smoothing (1-2-1, and 2-1 at the
ends) and their stopping rule: when the log-likelihood rises by less than a tolerance, which the
paper sets to e^epsilon / 1000 for "em" and 1 / 1000 for "ems". For any channel: all that is
needed are its products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.likelihood import checked_outputs
from rumor.mechanisms.wave.band import Band


def linear_mean(band: Band, counts: object) -> tuple[float, float]:
    """The mean in bins (of the bins' numbers 0..D-1), and its standard error."""
    seen = checked_outputs(band, counts)
    people = float(seen.sum())
    outputs = np.arange(band.outcomes)
    middle = float(seen @ outputs) / people
    spread = math.sqrt(float(seen @ (outputs - middle) ** 2) / people)
    outside = band.outside * band.outcomes * (band.outcomes - 1) / 2
    inside = band.gain * band.window * (band.window - 1) / 2
    slope = band.gain * band.window
    return (middle - outside - inside) / slope, spread / (math.sqrt(people) * slope)


_TOLERANCE = 1e-3
_MOST = 10_000


class LinearChannel(Protocol):
    """What takes values to outputs."""

    @property
    def domain(self) -> int:
        """How many values there are."""
        ...

    def forward(self, weights: Vector, /) -> Vector:
        """A distribution over the values as that of the outputs."""
        ...

    def adjoint(self, weights: Vector, /) -> Vector:
        """The transpose."""
        ...


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A channel as a matrix, a row for each value."""

    matrix: Vector

    @property
    def domain(self) -> int:
        """The rows."""
        return len(self.matrix)

    def forward(self, weights: Vector) -> Vector:
        """By the matrix."""
        return weights @ self.matrix

    def adjoint(self, weights: Vector) -> Vector:
        """By its transpose."""
        return self.matrix @ weights


def em(
    channel: LinearChannel,
    counts: Vector,
    *,
    tolerance: float = _TOLERANCE,
    iterations: int = _MOST,
) -> Vector:
    """The distribution of largest likelihood, or how near it the stopping rule lets one come.

    The paper's tolerance is e^epsilon / 1000.
    """
    return _iterated(channel, counts, tolerance, iterations, lambda law: law)


def ems(
    channel: LinearChannel,
    counts: Vector,
    *,
    tolerance: float = _TOLERANCE,
    iterations: int = _MOST,
) -> Vector:
    """The same with neighbours averaged after every iteration."""
    return _iterated(channel, counts, tolerance, iterations, smoothed)


def _iterated(
    channel: LinearChannel,
    counts: Vector,
    tolerance: float,
    most: int,
    after: Callable[[Vector], Vector],
) -> Vector:
    domain = channel.domain
    if domain < 2:
        raise InputError(f"a distribution needs at least two values; got {domain}")
    if not tolerance > 0:
        raise InputError(f"tolerance must be a number above 0; got {format_value(tolerance)}")
    here = np.full(domain, 1 / domain)
    outputs = channel.forward(here)
    seen = np.asarray(counts, dtype=np.float64)
    if seen.shape != outputs.shape:
        raise InputError(
            f"counts must be one number for each of the {len(outputs):,} outputs; "
            f"got shape {seen.shape}"
        )
    if not (seen.min() >= 0 and 0 < seen.sum() < math.inf):
        raise InputError("counts must be numbers from 0 on, not all of them 0; got others")
    height = -math.inf
    for _ in range(most):
        moved = here * channel.adjoint(seen / outputs)
        here = after(moved / moved.sum())
        outputs = channel.forward(here)
        reached = float(seen @ np.log(outputs))
        # With smoothing the likelihood may fall too: the rule is about the size of the change.
        if abs(reached - height) < tolerance:
            break
        height = reached
    return here


def smoothed(law: Vector) -> Vector:
    """Every value averaged with its neighbours, 1-2-1; 2-1 at the ends."""
    found = np.empty_like(law)
    found[1:-1] = (law[:-2] + 2 * law[1:-1] + law[2:]) / 4
    found[0] = (2 * law[0] + law[1]) / 3
    found[-1] = (2 * law[-1] + law[-2]) / 3
    return np.asarray(found / found.sum())
