"""Least squares of private numbers on public columns, by their unbiased reports.

A report's score is an unbiased estimate of its person's answer, whatever the answer is: so its
regression on columns has the coefficients of the answers themselves, and the noise adds to the
variance alone. Errors are those of a sandwich, whose residuals are scaled by their leverage (HC2:
MacKinnon and White, Journal of Econometrics 29, 1985), or of a survey design.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.survey import Scores

_LEAST_LEFT = 1e-9  # of a person's residual, where the columns fit it exactly


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Coefficients (columns by quantities), and how far each person moves them."""

    coefficients: Vector
    moved: Vector
    """The derivatives of coefficients, quantity by quantity, by each person's weight."""
    leverage: Vector
    """The leverage of each person on each quantity (people by quantities)."""

    def covariance(self) -> Vector:
        """Return the covariance of the coefficients for people who count alike (HC2)."""
        left = np.sqrt(np.maximum(1 - self.leverage, _LEAST_LEFT))
        scaled = self.moved / np.repeat(left, self.coefficients.shape[0], axis=1)
        return np.asarray(scaled.T @ scaled)


def fit_linear(
    columns: Vector, scores: Scores, rows: Sequence[int], people: Vector
) -> LeastSquares:
    """Return the coefficients, by `columns`, of those `rows` of quantities that have `scores`.

    A report of several trials, or of none, counts as often; `people` are weights.
    """
    trials = np.ones((len(columns), 1)) if scores.trials is None else scores.trials
    trials = np.broadcast_to(trials, scores.hits.shape)
    known = (scores.hits - scores.zero * trials) / scores.gain
    trials, known = trials[:, rows], known[:, rows]
    unit = np.sqrt((columns**2).mean(axis=0))
    x = columns / unit
    coefficients, moved, leverage = [], [], []
    for value in range(len(rows)):
        counted = trials[:, value]
        gram = x.T @ (x * (people * counted)[:, None])
        if np.linalg.matrix_rank(gram, hermitian=True) < x.shape[1]:
            raise InputError(
                f"a regression needs more reports than columns; got {np.count_nonzero(counted):,} "
                f"reports for {x.shape[1]:,} columns"
            )
        inverse = np.linalg.inv(gram)
        found = inverse @ (x.T @ (people * known[:, value]))
        reach = x @ inverse
        left = known[:, value] - counted * (x @ found)
        coefficients.append(found / unit)
        moved.append(reach * left[:, None] / unit)
        leverage.append(counted * people * (reach * x).sum(axis=1))
    return LeastSquares(np.column_stack(coefficients), np.hstack(moved), np.column_stack(leverage))


def expect_means(columns: Vector, coefficients: Vector) -> tuple[Vector, Vector]:
    """Return the mean of each quantity for rows, and its derivatives by all `coefficients`."""
    terms, values = coefficients.shape
    slopes = np.zeros((len(columns), values, values, terms))
    for value in range(values):
        slopes[:, value, value] = columns
    return columns @ coefficients, slopes.reshape(len(columns), values, -1)
