"""A table drawn towards independence, as far as the reports themselves say it should be.

The prior knows nothing of the margins. What cells have beside them is that of a Dirichlet law
around the independent table, given its margins, of a strength kappa; sixteen of these, and
independence itself with half of the weight, are averaged by their evidence. With r and c the
margins' shares and R, C the covariances diag(r) - rr' and diag(c) - cc', that interaction has the
covariance R (x) C / (kappa + 1): Dirichlet's own is R (x) C + R (x) cc' + rr' (x) C over kappa + 1,
and the last two are what the margins do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.simplex import project
from rumor.estimators.joint.coordinates import Matrix, contrasts
from rumor.estimators.joint.linear import Moments

_KAPPAS = np.geomspace(1.0, 3e4, 16)


@dataclass(frozen=True)
class Shrunk(Moments):
    """The mean and the covariance of all models together."""

    independence: float
    """How much of the weight the model of independence has."""
    kept: Matrix
    """How much of what was observed is kept, in the basis of tables that sum to zero."""


def shrunk(table: Moments, sizes: tuple[int, int]) -> Shrunk:
    """The average of all models, given the linear estimate of a table."""
    basis = contrasts(table.mean.size)
    rows, columns = (project(m) for m in margins(table.mean, sizes))
    middle = np.kron(rows, columns)
    # Priors by their roots: a covariance that is a square has no negative part, even where
    # nothing is left of it but rounding.
    along = (
        np.kron(contrasts(sizes[0]), columns[:, None]),
        np.kron(rows[:, None], contrasts(sizes[1])),
    )
    flat = basis.T @ np.hstack(along)
    interaction = basis.T @ np.kron(_root(rows), _root(columns))
    noise = basis.T @ table.covariance @ basis
    away = basis.T @ (table.mean - middle)
    scales = [0.0, *(1 / (_KAPPAS + 1))]
    means, covariances, evidence = [], [], []
    for scale in scales:
        root = np.hstack([flat, np.sqrt(scale) * interaction])
        prior = root @ root.T
        total = noise + prior
        lower = np.linalg.cholesky(total)
        whitened = np.linalg.solve(lower, away)
        observed, model = np.hsplit(np.linalg.solve(total, np.hstack([prior, noise])), 2)
        left = root.T @ model
        means.append(observed.T @ away)
        covariances.append(observed.T @ noise @ observed + left.T @ left)
        evidence.append(-0.5 * whitened @ whitened - np.log(np.diag(lower)).sum())
    weights = np.exp(np.array(evidence) - max(evidence))
    weights[0] *= _KAPPAS.size  # independence has as much as all the others
    weights /= weights.sum()
    mean = np.einsum("k,ki->i", weights, np.array(means))
    covariance = np.einsum("k,kij->ij", weights, np.array(covariances))
    kept = np.linalg.solve(noise, covariance).T
    apart = np.array(means) - mean
    covariance += np.einsum("k,ki,kj->ij", weights, apart, apart)
    return Shrunk(
        middle + basis @ mean,
        basis @ covariance @ basis.T,
        independence=float(weights[0]),
        kept=np.asarray(kept, dtype=np.float64),
    )


def _root(shares: Vector) -> Matrix:
    """A root of diag(m) - mm', the covariance of one draw from these shares."""
    root = np.sqrt(shares)
    return np.asarray(np.diag(root) - np.outer(shares, root))


def margins(table: Vector, sizes: tuple[int, int]) -> tuple[Vector, Vector]:
    """The two margins of a table whose cells are in one row."""
    square = table.reshape(sizes)
    return square.sum(axis=1), square.sum(axis=0)


def margin_sums(sizes: tuple[int, int]) -> Matrix:
    """The map from the cells of a table to both of its margins."""
    rows = np.kron(np.eye(sizes[0]), np.ones((1, sizes[1])))
    columns = np.kron(np.ones((1, sizes[0])), np.eye(sizes[1]))
    return np.vstack([rows, columns])
