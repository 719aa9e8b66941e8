"""Association of two answers: a test, Cramer's V, ratios and odds ratios, with their intervals.

All of them use the linear estimate and its covariance, never a table that was shrunk towards
independence: a test of such a table would find what the prior put there.

With d = x - rc', the difference between cells and the product of their margins, and S its
covariance (by the derivative), d'S^-d is chi-squared on (A-1)(B-1) degrees where the answers are
independent.

Cramer's V is a function of Q = sum d^2/(rc), a weighted sum of squares of normals: Q is matched in
two moments by b chi2_df(lambda/b), and the ends of the interval are the lambda at which Q would
have either tail probability. Its variance is that of the whole derivative, including the margins
in the denominator. A row and a column that are hardly ever chosen, and then together, add as much
to V as any other: where margins are not significantly above zero, the upper end allows for that.

Ratios of two noisy numbers have Fieller's set, which is unbounded where the denominator may be
zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.kinds.joint.fit.bayes import margin_sums, margins
from rumor.kinds.joint.fit.linear import Matrix, Moments, contrasts

_EMPTY = 1e-9
_TOLD = 2.0  # standard errors above which a margin counts as not empty
_STEPS = 80


@dataclass(frozen=True)
class Independence:
    """Wald's test of independence."""

    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True)
class IntervalEstimate:
    """An estimate and the ends of its interval; the upper end may be infinite."""

    value: float
    low: float
    high: float


def beyond_margins(table: Moments, sizes: tuple[int, int]) -> Moments:
    """Return D = x - rc', and its covariance by the derivative."""
    rows, columns = margins(table.mean, sizes)
    change = _derivative(rows, columns)
    d = table.mean - np.kron(rows, columns)
    return Moments(d, change @ table.covariance @ change.T)


def _derivative(rows: Vector, columns: Vector) -> Matrix:
    """Return the derivative of x - rc' by each cell of x, a row for each cell of the result."""
    change = np.eye(rows.size * columns.size)
    change -= np.kron(np.eye(rows.size), np.outer(columns, np.ones(columns.size)))
    change -= np.kron(np.outer(rows, np.ones(rows.size)), np.eye(columns.size))
    return np.asarray(change)


def independence_test(table: Moments, sizes: tuple[int, int]) -> Independence:
    """Return Wald's test that two answers are independent."""
    from scipy.special import chdtrc

    beyond = beyond_margins(table, sizes)
    basis = np.kron(contrasts(sizes[0]), contrasts(sizes[1]))
    away = basis.T @ beyond.mean
    statistic = float(away @ np.linalg.solve(basis.T @ beyond.covariance @ basis, away))
    degrees = (sizes[0] - 1) * (sizes[1] - 1)
    return Independence(statistic, degrees, float(chdtrc(degrees, statistic)))


def cramers_v(
    table: Moments, sizes: tuple[int, int], shares: Vector, level: float
) -> IntervalEstimate:
    """Return Cramer's V of a `table` with its interval, the margins of `shares` below the squares.

    Rows and columns that may be empty are left out of the value; the upper end allows for the most
    that they may add.
    """
    large, left_out = _known(table, sizes, shares, level)
    kept = np.asarray(np.outer(*large).ravel())
    if not kept.any():  # every margin may be empty: any association is possible
        return IntervalEstimate(0.0, 0.0, 1.0)
    beyond = beyond_margins(table, sizes)
    scale = 1 / np.sqrt(np.kron(*margins(shares, sizes))[kept])
    away = beyond.mean[kept] * scale
    noise = beyond.covariance[np.ix_(kept, kept)] * np.outer(scale, scale)
    seen, first, second = float(away @ away), float(np.trace(noise)), float((noise**2).sum())
    steep = _gradient(table, sizes, shares, kept)
    along = float(steep @ table.covariance @ steep) / (4 * seen) if seen > 0 else first
    most = min(sizes) - 1
    tail = (1 - level) / 2

    def reached(squares: float, chance: float) -> float:
        """Return the least association at which a sum above `squares` has this `chance`."""
        return _crossing(lambda s: _above(squares, s, first, second, along) >= chance, most)

    # Squares below their noise alone, or above it and the strongest association, are chance: they
    # make no interval narrower.
    low, high = reached(min(seen, first + most), tail), reached(max(seen, first), 1 - tail)
    ends = [math.sqrt(min(max(x, 0.0) / most, 1.0)) for x in (seen - first, low, high + left_out)]
    return IntervalEstimate(ends[0], min(ends[0], ends[1]), max(ends[0], ends[2]))


def _gradient(
    table: Moments, sizes: tuple[int, int], shares: Vector, kept: NDArray[np.bool_]
) -> Vector:
    """Return the derivative of the sum of d^2/(rc) over the `kept` cells by each cell of a table.

    The margins' changes count in the numerator and in the denominator.
    """
    own, below = margins(table.mean, sizes), margins(shares, sizes)
    share = np.kron(*below)
    d = np.where(kept, table.mean - np.kron(*own), 0.0)
    slope = np.divide(2 * d, share, out=np.zeros_like(d), where=kept)
    squares = (slope * d / 2).reshape(sizes)
    of_rows, of_columns = (
        np.divide(total, margin, out=np.zeros_like(total), where=total > 0)
        for total, margin in zip((squares.sum(axis=1), squares.sum(axis=0)), below, strict=True)
    )
    return np.asarray(_derivative(*own).T @ slope - np.add.outer(of_rows, of_columns).ravel())


def _known(
    table: Moments, sizes: tuple[int, int], shares: Vector, level: float
) -> tuple[list[NDArray[np.bool_]], float]:
    """Return which rows and columns are not empty, and the most that the others may add.

    A term divided by a share that may be zero would dominate the sum. The sum of d^2/(rc) is that
    of p(j|i) p(i|j) over all cells less 1; in a row i this is at most the largest p(i|j), so at
    most r_i over the smallest known column, and at most 1. In a row and a column that are both
    unknown it may be 1, however few people are in them.
    """
    sums = margin_sums(sizes)
    noise = np.sqrt(np.maximum(np.diag(sums @ table.covariance @ sums.T), 0.0))
    z = NormalDist().inv_cdf((1 + level) / 2)
    halves = [np.split(x, [sizes[0]]) for x in (np.concatenate(margins(shares, sizes)), noise)]
    share, error = halves
    large = [
        np.asarray(s > np.maximum(_TOLD * e, _EMPTY)) for s, e in zip(share, error, strict=True)
    ]
    added = float(min((~large[0]).sum(), (~large[1]).sum()))
    for own, other in ((0, 1), (1, 0)):
        least = (share[other] - z * error[other])[large[other]].min(initial=1.0)
        most = (share[own] + z * error[own])[~large[own]]
        added += float(np.minimum(most / max(least, _EMPTY), 1.0).sum())
    return large, added


def _above(seen: float, strength: float, first: float, second: float, along: float) -> float:
    """Return the probability of a larger sum of squares, given the true association `strength`."""
    from scipy.special import chndtr

    b = (2 * second + 4 * strength * along) / (2 * first + 4 * strength)
    return 1 - float(chndtr(seen / b, first / b, strength / b))


def _crossing(reached: object, most: float) -> float:
    """Return the least strength up to `most` at which the increasing condition `reached` holds."""
    assert callable(reached)
    low, high = 0.0, float(most)
    if reached(low):
        return low
    if not reached(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def fieller(
    above: float, below: float, noise: tuple[float, float, float], z: float
) -> tuple[float, float]:
    """Return the range of ratios from 0 on that are not rejected.

    `noise` has both variances, then the covariance. Where the set has two parts, the range covers
    both.
    """
    of_above, of_below, together = noise
    a = below**2 - z**2 * of_below
    b = above * below - z**2 * together
    c = above**2 - z**2 * of_above
    root = math.sqrt(max(b * b - a * c, 0.0))
    if a > 0:
        return max((b - root) / a, 0.0), max((b + root) / a, 0.0)
    # Everything but an interval, or everything; if 0 is rejected, the interval ends at c / (b +
    # root).
    return (c / (b + root) if c > 0 and b + root > 0 else 0.0), math.inf


def ratio_to_independence(
    table: Moments, sizes: tuple[int, int], cell: int, z: float
) -> tuple[float, float]:
    """Return the interval of p_ij / (r_i c_j)."""
    rows, columns = margins(table.mean, sizes)
    row, column = divmod(cell, sizes[1])
    gradients = np.zeros((2, *sizes))
    gradients[0, row, column] = 1.0
    gradients[1, row, :] += columns[column]
    gradients[1, :, column] += rows[row]
    product = float(rows[row] * columns[column])
    return _ratio(table, gradients, float(table.mean[cell]), product, z)


def odds_ratio(
    table: Moments, sizes: tuple[int, int], corners: tuple[int, int, int, int], z: float
) -> tuple[float, float]:
    """Return the interval of p_ij p_kl / (p_il p_kj); `corners` are rows i, k and columns j, l."""
    i, k, j, l = corners  # noqa: E741
    p = table.mean.reshape(sizes)
    gradients = np.zeros((2, *sizes))
    gradients[0, i, j], gradients[0, k, l] = p[k, l], p[i, j]
    gradients[1, i, l], gradients[1, k, j] = p[k, j], p[i, l]
    return _ratio(table, gradients, float(p[i, j] * p[k, l]), float(p[i, l] * p[k, j]), z)


def _ratio(
    table: Moments, gradients: Matrix, above: float, below: float, z: float
) -> tuple[float, float]:
    flat = gradients.reshape(2, -1)
    noise = flat @ table.covariance @ flat.T
    return fieller(above, below, (noise[0, 0], noise[1, 1], noise[0, 1]), z)
