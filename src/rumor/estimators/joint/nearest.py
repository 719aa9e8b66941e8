"""The nearest table without negative cells, in the metric of what is known of it.

The plain projection onto the simplex takes the same from every cell and moves margins that are
known well; here what is known well stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.joint.bayes import margin_sums, margins
from rumor.estimators.joint.coordinates import Matrix, Pair, contrasts
from rumor.estimators.joint.linear import Moments

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
