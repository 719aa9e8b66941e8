"""Weighted least squares on the detected words alone.

The Lasso shrinks; least squares on the detected words does not. The normal equations are solved by
a Cholesky factor of our own, so that the result does not depend on how a linear algebra library
splits its work over threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.loops import decode_loops
from rumor.core.types import Vector
from rumor.kinds.text.fit.candidates import Map
from rumor.kinds.text.fit.lasso import Table, combined, padded

# Words with the same bits cannot be distinguished: a ridge of this size divides their shares
# evenly, and their standard errors become large.
_RIDGE = 1e-8


@dataclass(frozen=True, eq=False)
class Refit:
    """Least squares on some rows of a candidate map.

    `unbiased` may be negative, `coefficients` (non-negative least squares) may not. `stderr` and
    `total_stderr` (of the sum) hold when a weight is 1 / variance. `squares` is the weighted sum
    of squared residuals of the unbiased fit; `residual` is the table of residuals of the non-
    negative fit, over all bits, without the levels.
    """

    unbiased: Vector
    coefficients: Vector
    stderr: Vector
    total_stderr: float
    squares: float
    residual: Table


def refit(rows: Map, hashes: int, share: Table, weight: Table, *, levels: bool = True) -> Refit:
    """Fit the shares by weighted least squares on the candidates, with a level for each cohort."""
    total = weight.sum(axis=1)
    inverse = 1.0 / np.where(total > 0, total, np.inf) if levels else np.zeros(total.size)
    centred = share - ((weight * share).sum(axis=1) * inverse)[:, None]
    gram, right = _equations(rows, hashes, centred, weight, inverse)
    factor = cholesky_factor(gram)
    unbiased = cholesky_solve(factor, right)
    variance = np.empty(len(rows))
    decode_loops().inverse_diagonal(factor, variance)
    coefficients = _non_negative(gram, right, unbiased)
    fitted = combined(rows, hashes, coefficients, padded(share))[:, :-1]
    level = (weight * (share - fitted)).sum(axis=1) * inverse
    return Refit(
        unbiased=unbiased,
        coefficients=coefficients,
        stderr=np.sqrt(variance),
        total_stderr=float(np.sqrt(cholesky_solve(factor, np.ones(len(rows))).sum())),
        squares=float(np.sum(weight * centred**2) - np.sum(unbiased * right)),
        residual=share - fitted - level[:, None],
    )


def _equations(
    rows: Map, hashes: int, centred: Table, weight: Table, inverse: Vector
) -> tuple[Table, Vector]:
    """Return the Gram matrix (lower triangle) and the right-hand side of the normal equations."""
    gram, right = np.zeros((len(rows), len(rows))), np.empty(len(rows))
    decode_loops().gram(rows, hashes, padded(weight), inverse, gram)
    decode_loops().column_scores(rows, hashes, padded(weight * centred), right)
    return gram, right


def cholesky_factor(gram: Table) -> Table:
    """Return the Cholesky factor of the matrix `gram`, with a small ridge if `gram` is singular."""
    factor = gram.copy()
    if not decode_loops().factor(factor):
        factor = gram.copy()
        diagonal = np.einsum("ii->i", factor)
        diagonal += _RIDGE * max(float(diagonal.max()), 1e-300)
        decode_loops().factor(factor)
    return factor


def cholesky_solve(factor: Table, right: Vector) -> Vector:
    """Return the solution of L L' x = right for a Cholesky factor L."""
    out = np.empty(right.size)
    decode_loops().solve(factor, right, out)
    return out


def _non_negative(gram: Table, right: Vector, unbiased: Vector) -> Vector:
    """Return least squares without the words that would become negative."""
    kept, solution = np.ones(right.size, dtype=np.bool_), unbiased
    while (solution < 0).any():
        kept[np.flatnonzero(kept)[solution < 0]] = False
        if not kept.any():
            break
        solution = cholesky_solve(
            cholesky_factor(np.ascontiguousarray(gram[kept][:, kept])), right[kept]
        )
    out = np.zeros(right.size)
    out[kept] = solution[: int(kept.sum())]
    return out
