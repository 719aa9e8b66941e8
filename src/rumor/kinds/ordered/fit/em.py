"""Published estimates of ordered answers: the linear mean, and EM for the distribution.

The linear mean is unbiased, whatever the distribution. A report's expectation is linear in the
value:

    E[y | x] = q Y (Y - 1) / 2 + g (W x + W (W - 1) / 2),

so the mean report, shifted and scaled, is the mean value.

Expectation-maximisation for the distribution comes plain ("em") and smoothed ("ems"): Li, Wang,
Lopuhaä-Zwakenberg, Li and Škorić, Estimating Numerical Distributions under Local Differential
Privacy (2020), with their start, their smoothing (1-2-1, and 2-1 at the ends) and their stopping
rule: when the log-likelihood rises by less than a tolerance, which the paper sets to e^epsilon /
1000 for "em" and 1 / 1000 for "ems". Both run on any channel with its two matrix products.
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


def mean_positions(band: Band) -> Vector:
    """Return the bin that each output stands for, unbiased, as a number that may be negative."""
    outside = band.outside * band.outcomes * (band.outcomes - 1) / 2
    inside = band.gain * band.window * (band.window - 1) / 2
    return np.asarray((np.arange(band.outcomes) - outside - inside) / (band.gain * band.window))


def linear_mean(band: Band, counts: object) -> tuple[float, float]:
    """Return the mean in bins (of the bins' numbers 0..D-1), and its standard error."""
    seen, positions = checked_outputs(band, counts), mean_positions(band)
    people = float(seen.sum())
    middle = float(seen @ positions) / people
    spread = math.sqrt(float(seen @ (positions - middle) ** 2) / people)
    return middle, spread / math.sqrt(people)


_TOLERANCE = 1e-3
_MOST = 10_000


class LinearChannel(Protocol):
    """A channel with the two matrix products that expectation-maximisation needs."""

    @property
    def domain(self) -> int:
        """The number of values."""
        ...

    def forward(self, weights: Vector, /) -> Vector:
        """Return the distribution of outputs for the distribution `weights` of values."""
        ...

    def adjoint(self, weights: Vector, /) -> Vector:
        """Return the transposed product with `weights`, which has an entry for each output."""
        ...


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A channel as a matrix, a row for each value."""

    matrix: Vector

    @property
    def domain(self) -> int:
        """The number of rows."""
        return len(self.matrix)

    def forward(self, weights: Vector) -> Vector:
        """Return the distribution of outputs, by the matrix."""
        return weights @ self.matrix

    def adjoint(self, weights: Vector) -> Vector:
        """Return the transposed product, by the matrix."""
        return self.matrix @ weights


def em(
    channel: LinearChannel,
    counts: Vector,
    *,
    tolerance: float = _TOLERANCE,
    iterations: int = _MOST,
) -> Vector:
    """Return the distribution of largest likelihood, as near as the stopping rule gets.

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
    """Return the result of EM with neighbours averaged after every iteration."""
    return _iterated(channel, counts, tolerance, iterations, average_neighbours)


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


def average_neighbours(law: Vector) -> Vector:
    """Return every value averaged with its neighbours, 1-2-1; 2-1 at the ends."""
    found = np.empty_like(law)
    found[1:-1] = (law[:-2] + 2 * law[1:-1] + law[2:]) / 4
    found[0] = (2 * law[0] + law[1]) / 3
    found[-1] = (2 * law[-1] + law[-2]) / 3
    return np.asarray(found / found.sum())
