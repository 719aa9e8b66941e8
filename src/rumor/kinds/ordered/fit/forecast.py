"""The expected errors of a distribution's estimate, for plans.

At a uniform distribution, and with a prior on the roughness of the log-density, the linear Bayes
estimate has the covariance S = (C^-1 + n I)^-1: C the prior covariance of the shares, I the
information of one report. Two priors, of order 1 and 2, represent usual distributions; the
forecast is the geometric mean of the two. Domains of more than 128 values are replaced by 128
equal parts: the errors hardly depend on how finely a range is divided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.mechanisms.wave.band import Band

_LARGEST = 128
# Order and strength of the priors.
_LAWS = ((1, 0.05), (2, 0.01))
_RIDGE = 0.01
FOUND = 0.82
"""The ratio of actual to forecast errors, below 1 since atoms, steps and levels are detected.

Measured by benchmarks/ordered_forecast.py, on distributions used for nothing else.
"""


@dataclass(frozen=True, eq=False)
class ErrorForecast:
    """The errors to expect from a number of reports."""

    w1: float
    """The mean distance of the distribution functions (Wasserstein's), as a part of the range."""
    mean_se: float
    """The standard error of the linear mean, in bins."""
    domain: int
    deviations: Vector
    """The standard errors of the distribution function at equal steps, both ends included."""

    def quantile(self, share: float) -> float:
        """Return the standard error of a quantile, in bins, where the distribution is
        nearly uniform.
        """
        if not 0 <= share <= 1:
            raise InputError(f"a quantile's share must be from 0 to 1; got {share!r}")
        steps = np.linspace(0.0, 1.0, self.deviations.size)
        return self.domain * float(np.interp(share, steps, self.deviations))


def forecast(band: Band, people: float) -> ErrorForecast:
    """Return the errors that `people` reports of the channel `band` leave."""
    if not (isinstance(people, (int, float)) and 0 < people < math.inf):
        raise InputError(f"people must be a number above 0; got {format_value(people)}")
    small = _coarse(band)
    logs, distances = np.zeros(small.domain - 1), 0.0
    for order, strength in _LAWS:
        spread = _deviations(small, people, min(order, small.domain - 1), strength)
        logs += np.log(spread) / len(_LAWS)
        distances += math.log(math.sqrt(2 / math.pi) * spread.sum() / small.domain) / len(_LAWS)
    deviations = np.concatenate([[0.0], np.exp(logs), [0.0]])
    distance = FOUND * math.exp(distances)
    even = np.full(band.domain, 1 / band.domain)
    error = mean_error(band, even) / math.sqrt(people)
    return ErrorForecast(distance, error, band.domain, deviations)


def _coarse(band: Band) -> Band:
    """Return the channel over at most 128 values: equal relative window, equal odds."""
    if band.domain <= _LARGEST:
        return band
    odds = band.inside / band.outside
    window = max(1, round(band.window * _LARGEST / band.domain))
    outside = 1 / (window * odds + _LARGEST - 1)
    return Band(_LARGEST, window, odds * outside, outside)


def _deviations(band: Band, people: float, order: int, strength: float) -> Vector:
    """Return the standard deviation of the distribution function after each value but the last."""
    size = band.domain
    even = np.full(size, 1 / size)
    differences = np.diff(np.eye(size), order, axis=0)
    rough = float(size) ** (2 * order - 1) * (differences.T @ differences)
    law = np.linalg.inv(strength * rough + _RIDGE / size * np.eye(size))
    slope = np.diag(even) - np.outer(even, even)
    prior = slope @ law @ slope
    matrix = band.matrix()
    information = people * (matrix.T @ (matrix / band.forward(even)[:, None]))
    # (C^-1 + I)^-1 without inverting C, which is singular as shares sum to one.
    after = prior @ np.linalg.inv(np.eye(size) + information @ prior)
    sums = np.tril(np.ones((size, size)))
    spread = np.einsum("ij,jk,ik->i", sums, after, sums)[:-1]
    return np.asarray(np.sqrt(np.maximum(spread, 1e-300)))


def mean_error(band: Band, held: Vector) -> float:
    """Return the standard deviation of one report's linear mean, in bins, for the shares `held`."""
    outputs = np.arange(band.outcomes)
    law = band.forward(held)
    middle = float(law @ outputs)
    return math.sqrt(float(law @ (outputs - middle) ** 2)) / (band.gain * band.window)
