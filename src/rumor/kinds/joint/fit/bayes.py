"""Tables with less noise: shrunk towards independence, and without negative cells.

The shrinkage is learned from the reports. The prior is flat on the margins. The interaction of two
parts has, given the margins, a Dirichlet distribution of strength kappa around the independent
table; sixteen strengths, and independence itself with half of the weight, are averaged by their
marginal likelihood. With r and c the margins' shares and R, C the covariances diag(r) - rr' and
diag(c) - cc', the interaction has the covariance R (x) C / (kappa + 1): Dirichlet's own is R (x) C
+ R (x) cc' + rr' (x) C over kappa + 1, and the last two terms are those of the margins.

A table without negative cells is the nearest one in the metric of the estimate's precision. The
Euclidean projection onto the simplex subtracts equally from every cell and moves margins that are
known well; in the metric of the precision well-known margins stay.

The estimate is a weighted average of the shrunk table and the plain one. A table that is shrunk
towards independence has less noise, but empty cells are shrunk away from zero, where the plain
estimate would be cut off. Where many cells are empty the plain table is better by a tenth. Stein's
unbiased estimate of the risk of either table is its distance from the observation, in the metric
of the noise, plus twice its degrees of freedom. The two are averaged by exp(-risk / 2) (Leung and
Barron, "Information theory and mixing least-squares regressions", 2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.joint.fit.linear import Matrix, Moments, Pair, contrasts

_KAPPAS = np.geomspace(1.0, 3e4, 16)


@dataclass(frozen=True)
class TablePosterior(Moments):
    """The posterior mean and covariance of a table, averaged over all models."""

    independence: float
    """The posterior weight of the model of independence."""
    kept: Matrix
    """The matrix that maps the observation to the mean, in the basis of tables that sum to zero."""


def table_posterior(table: Moments, sizes: tuple[int, int]) -> TablePosterior:
    """Return the posterior of a table, averaged over all models, from its linear estimate."""
    basis = contrasts(table.mean.size)
    rows, columns = (project(m) for m in margins(table.mean, sizes))
    middle = np.kron(rows, columns)
    # Priors are given by their roots: a covariance that is a square is never negative, even where
    # rounding is all that remains.
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
    weights[0] *= _KAPPAS.size  # independence weighs as much as all strengths together
    weights /= weights.sum()
    mean = np.einsum("k,ki->i", weights, np.array(means))
    covariance = np.einsum("k,kij->ij", weights, np.array(covariances))
    kept = np.linalg.solve(noise, covariance).T
    apart = np.array(means) - mean
    covariance += np.einsum("k,ki,kj->ij", weights, apart, apart)
    return TablePosterior(
        middle + basis @ mean,
        basis @ covariance @ basis.T,
        independence=float(weights[0]),
        kept=np.asarray(kept, dtype=np.float64),
    )


def _root(shares: Vector) -> Matrix:
    """Return a root of diag(m) - mm', the covariance of one draw from these shares."""
    root = np.sqrt(shares)
    return np.asarray(np.diag(root) - np.outer(shares, root))


def margins(table: Vector, sizes: tuple[int, int]) -> tuple[Vector, Vector]:
    """Return the two margins of a table whose cells are in one row."""
    square = table.reshape(sizes)
    return square.sum(axis=1), square.sum(axis=0)


def margin_sums(sizes: tuple[int, int]) -> Matrix:
    """Return the map from the cells of a table to both of its margins."""
    rows = np.kron(np.eye(sizes[0]), np.ones((1, sizes[1])))
    columns = np.kron(np.ones((1, sizes[0])), np.eye(sizes[1]))
    return np.vstack([rows, columns])


# The weight of a constraint relative to any observation.
_RULE = 1e4


def nearest_table(known: Moments, fixed: tuple[Matrix, Vector] | None = None) -> Vector:
    """Return the nearest non-negative table that sums to one or, if given, meets the
    `fixed` sums.
    """
    from scipy.optimize import nnls

    size = known.mean.size
    basis = contrasts(size)
    free = basis.T @ known.covariance @ basis
    # The smallest eigenvalues may round to 0 where a model is certain.
    free += np.eye(size - 1) * (1e-9 * np.trace(free) / (size - 1) + 1e-18)
    whiten = np.linalg.solve(np.linalg.cholesky(free), basis.T)
    rules, sums = (np.ones((1, size)), np.ones(1)) if fixed is None else fixed
    weight = _RULE * float(np.sqrt((whiten**2).sum() / size))
    found, _ = nnls(
        np.vstack([whiten, weight * rules]),
        np.concatenate([whiten @ known.mean, weight * sums]),
        maxiter=30 * size,
    )
    return np.asarray(found / found.sum())


Known = Sequence[tuple[float, Moments]]
"""Estimates of one table with their weights, which sum to one."""


def averaged_table(known: Known, fixed: tuple[Matrix, Vector] | None = None) -> Vector:
    """Return the weighted average of each estimate's nearest table."""
    found = [weight * nearest_table(one, fixed) for weight, one in known]
    return np.asarray(np.sum(found, axis=0))


def consistent_tables(
    known: Mapping[Pair, Known], sizes: Sequence[int]
) -> tuple[dict[Pair, Vector], list[Vector]]:
    """Return tables of all pairs that agree on the margins, and these margins."""
    shapes = {pair: (sizes[pair[0]], sizes[pair[1]]) for pair in known}
    tables = {pair: averaged_table(one) for pair, one in known.items()}
    seen: list[list[Vector]] = [[] for _ in sizes]
    for pair, table in tables.items():
        for part, margin in zip(pair, margins(table, shapes[pair]), strict=True):
            seen[part].append(margin)
    agreed = [np.mean(own, axis=0) for own in seen]
    if len(known) > 1:
        for pair, one in known.items():
            sums = np.concatenate([agreed[pair[0]], agreed[pair[1]]])
            tables[pair] = averaged_table(one, (margin_sums(shapes[pair]), sums))
    return tables, agreed


_ROUNDING = 1e-12


def averaged(plain: Moments, drawn: TablePosterior) -> list[tuple[float, Moments]]:
    """Return the `drawn` and the `plain` table with their weights."""
    weight = weight_of_model(plain, drawn)
    return [(weight, drawn), (1 - weight, plain)]


def weight_of_model(plain: Moments, drawn: TablePosterior) -> float:
    """Return the weight of the `drawn` table against the `plain` one, from their estimated
    risks.
    """
    basis = contrasts(plain.mean.size)
    noise = basis.T @ plain.covariance @ basis
    identity = np.eye(len(noise))
    risks = []
    for known, kept in ((drawn, drawn.kept), (plain, identity)):
        found = nearest_table(known)
        away = basis.T @ (plain.mean - found)
        freedom = _freedom(found, basis.T @ known.covariance @ basis, kept, basis)
        risks.append(float(away @ np.linalg.solve(noise, away)) + 2 * freedom)
    return 1 / (1 + math.exp(min(max((risks[0] - risks[1]) / 2, -700.0), 700.0)))


def _freedom(table: Vector, covariance: Matrix, kept: Matrix, basis: Matrix) -> float:
    """Return the degrees of freedom of a nearest table: those of its positive cells."""
    inside = np.flatnonzero(table > _ROUNDING)
    if inside.size < 2:
        return 0.0
    face = np.zeros((table.size, inside.size - 1))
    face[inside] = contrasts(inside.size)
    directions = basis.T @ face
    rounding = _ROUNDING * np.trace(covariance) * np.eye(len(covariance))
    weighed = np.linalg.solve(covariance + rounding, directions).T
    return float(np.trace(np.linalg.solve(weighed @ directions, weighed @ kept @ directions)))
