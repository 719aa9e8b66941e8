"""Tables with less noise: shrunk towards independence, and without negative cells.

A table drawn towards independence, as far as the reports themselves say it should be.

The prior knows nothing of the margins. What cells have beside them is that of a Dirichlet law
around the independent table, given its margins, of a strength kappa; sixteen of these, and
independence itself with half of the weight, are averaged by their evidence. With r and c the
margins' shares and R, C the covariances diag(r) - rr' and diag(c) - cc', that interaction has the
covariance R (x) C / (kappa + 1): Dirichlet's own is R (x) C + R (x) cc' + rr' (x) C over kappa + 1,
and the last two are what the margins do.

The nearest table without negative cells, in the metric of what is known of it.

The plain projection onto the simplex takes the same from every cell and moves margins that are
known well; here what is known well stays.

How much of the answer is the drawn table, and how much the plain one.

A table that is drawn towards independence has less noise, but cells that nobody is in are drawn
away from zero, where the plain estimate would be cut off. Where many cells are empty the plain one
is the better by a tenth. Which it is, the reports say: Stein's unbiased estimate of the risk of
either is its distance from what was observed, in the metric of the noise, and twice its degrees of
freedom. The two are averaged by exp(-risk / 2) (Leung and Barron, "Information theory and mixing
least-squares regressions", 2006).
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


# How much heavier a rule weighs than anything that was observed.
_RULE = 1e4


def nearest_table(known: Moments, fixed: tuple[Matrix, Vector] | None = None) -> Vector:
    """Cells of 0 or more that sum to one, or whose sums (a map of them) are fixed."""
    from scipy.optimize import nnls

    size = known.mean.size
    basis = contrasts(size)
    free = basis.T @ known.covariance @ basis
    # Least eigenvalues may round to 0 where a model knows something for sure.
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
"""What is known of a table, in several ways with their weights, which sum to one."""


def averaged_table(known: Known, fixed: tuple[Matrix, Vector] | None = None) -> Vector:
    """The nearest table of each, averaged."""
    found = [weight * nearest_table(one, fixed) for weight, one in known]
    return np.asarray(np.sum(found, axis=0))


def consistent_tables(
    known: Mapping[Pair, Known], sizes: Sequence[int]
) -> tuple[dict[Pair, Vector], list[Vector]]:
    """Tables of all pairs with the same margins, and these margins."""
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


def averaged(plain: Moments, drawn: Shrunk) -> list[tuple[float, Moments]]:
    """Both, with their weights."""
    weight = weight_of_model(plain, drawn)
    return [(weight, drawn), (1 - weight, plain)]


def weight_of_model(plain: Moments, drawn: Shrunk) -> float:
    """The weight of the drawn table beside the plain one."""
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
    """The degrees of freedom of a nearest table: those of its cells that are not cut off."""
    inside = np.flatnonzero(table > _ROUNDING)
    if inside.size < 2:
        return 0.0
    face = np.zeros((table.size, inside.size - 1))
    face[inside] = contrasts(inside.size)
    directions = basis.T @ face
    rounding = _ROUNDING * np.trace(covariance) * np.eye(len(covariance))
    weighed = np.linalg.solve(covariance + rounding, directions).T
    return float(np.trace(np.linalg.solve(weighed @ directions, weighed @ kept @ directions)))
