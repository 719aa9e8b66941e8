"""The heavy loops of decoding and of the prefix search in plain numpy.

Their compiled twins are in ../compiled/decode.py. They serve installations without numba, and the
tests hold the compiled loops to them. Sums of floats may differ in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops.descent import F64, Descent
from rumor.core.mixing import mix64_array
from rumor.core.reports import slices

Map = NDArray[np.unsignedinteger]
C128 = NDArray[np.complex128]
_Places = tuple[NDArray[np.int64], NDArray[np.int64]]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_CHUNK = 1 << 14


def pack_map(positions: NDArray[np.uint16], hashes: int, bits: int, out: Map) -> None:
    """Copy positions to a map, repeated bits of a cohort written as `bits`."""
    grouped = positions.reshape(len(positions), -1, hashes).astype(np.int64)
    out.reshape(grouped.shape)[:] = _once(grouped, bits)


def _once(grouped: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Write repeated positions of a cohort as `bits`, so that every bit counts once."""
    marked = grouped.copy()
    for i in range(1, grouped.shape[2]):
        again = (grouped[:, :, :i] == grouped[:, :, i : i + 1]).any(axis=2)
        marked[:, :, i][again] = bits
    return marked


def _taken(table: F64, rows: Map, hashes: int) -> F64:
    """Return the entries of `table` at the bits of every candidate, (candidates, cohorts,
    hashes).
    """
    grouped = rows.reshape(len(rows), -1, hashes).astype(np.int64)
    return np.asarray(table[np.arange(len(table))[:, None], grouped])


def column_norms(rows: Map, hashes: int, weights: F64, inverse: F64, out: F64) -> None:
    """Write the weighted squared length of every column, levels taken out, to `out`."""
    for part in slices(len(rows), _CHUNK):
        in_cohort = _taken(weights, rows[part], hashes).sum(axis=2)
        out[part] = (in_cohort - in_cohort**2 * inverse).sum(axis=1)


def column_scores(rows: Map, hashes: int, table: F64, out: F64) -> None:
    """Write the total of `table` over the bits of every candidate to `out`."""
    for part in slices(len(rows), _CHUNK):
        out[part] = _taken(table, rows[part], hashes).sum(axis=(1, 2))


def descend(fit: Descent, tolerance: float, most: int) -> int:
    """Run cyclic coordinate descent of the non-negative Lasso, and return the number of sweeps."""
    pull, weights, level, coefficients = fit.pull, fit.weights, fit.level, fit.coefficients

    def move(j: int, at: _Places) -> float:
        weight, old, norm = weights[at], coefficients[j], fit.norms[j]
        score = float((pull[at] - level[:, None] * weight).sum())
        new = max(0.0, old + (score - fit.penalties[j]) / norm)
        if new == old:
            return 0.0
        coefficients[j] = new
        # No bit of a row is named twice, but for the one that has no weight.
        pull[at] -= (new - old) * weight
        level[:] -= (new - old) * weight.sum(axis=1) * fit.inverse
        return float(abs(new - old) * np.sqrt(norm))

    return _sweeps(fit, move, tolerance, most)


def descend_many(fits: Descent, barred: NDArray[np.int64], tolerance: float, most: int) -> int:
    """Run `descend` for many fits at once, each without one candidate."""
    pull, level, coefficients = fits.pull, fits.level, fits.coefficients

    def move(j: int, at: _Places) -> float:
        weight, old = fits.weights[at], coefficients[j].copy()
        in_cohort = weight.sum(axis=1)
        score = pull[at].sum(axis=(0, 1)) - in_cohort @ level
        new = np.maximum(0.0, old + (score - fits.penalties[j]) / fits.norms[j])
        new[barred == j] = 0.0
        step = new - old
        if not step.any():
            return 0.0
        coefficients[j] = new
        pull[at] -= weight[:, :, None] * step
        level[:] -= (in_cohort * fits.inverse)[:, None] * step
        return float(np.abs(step).max() * np.sqrt(fits.norms[j]))

    return _sweeps(fits, move, tolerance, most)


def _sweeps(
    fit: Descent, move: Callable[[int, _Places], float], tolerance: float, most: int
) -> int:
    """Move one coefficient after the other until none moves the fit by more than `tolerance`."""
    grouped = fit.rows.reshape(len(fit.rows), -1, fit.hashes).astype(np.int64)
    cohort = np.arange(len(fit.level))[:, None]
    able = np.flatnonzero(fit.norms > 0).tolist()
    for sweep in range(most):
        if max((move(j, (cohort, grouped[j])) for j in able), default=0.0) <= tolerance:
            return sweep + 1
    return most


def exceeding(
    rows: Map,
    hashes: int,
    tables: NDArray[np.float32],
    bounds: NDArray[np.float32],
    excess: NDArray[np.float32],
    who: NDArray[np.int64],
) -> None:
    """Find, for each of many tables, the candidates that are most above a bound."""
    cohort, found = np.arange(len(tables))[:, None], []
    for part in slices(len(rows), _CHUNK // 16):
        some = rows[part]
        grouped = some.reshape(len(some), -1, hashes).astype(np.int64)
        found.append(tables[cohort, grouped].sum(axis=(1, 2)))
    above = (np.concatenate(found) - bounds[:, None]).T
    places = who.shape[1]
    order = np.argsort(-above, axis=1, kind="stable")[:, :places]
    best = np.take_along_axis(above, order, axis=1)
    excess[:], who[:] = 0.0, -1
    excess[:, : order.shape[1]] = np.maximum(best, 0.0)
    who[:, : order.shape[1]] = np.where(best > 0, order, -1)


def decoy_scores(
    seed: np.uint64, start: int, hashes: int, bits: int, table: F64, out: NDArray[np.float32]
) -> None:
    """Write the total of `table` over the bits of decoy words start, start + 1, ... to `out`."""
    width, cohorts = bits.bit_length() - 1, len(table)
    fit, size = 64 // width, cohorts * hashes
    words = -(-size // fit)
    steps = np.arange(1, words + 1, dtype=np.uint64)
    shifts = np.arange(fit, dtype=np.uint64) * np.uint64(width)
    for first in range(0, out.size, _CHUNK):
        part = out[first : first + _CHUNK]
        numbers = np.arange(start + first, start + first + part.size, dtype=np.uint64)
        counters = seed + _GOLDEN * (numbers[:, None] * np.uint64(words) + steps)
        spread = mix64_array(counters)[:, :, None] >> shifts & np.uint64(bits - 1)
        positions = spread.reshape(part.size, -1)[:, :size].astype(np.int64)
        grouped = _once(positions.reshape(part.size, cohorts, hashes), bits)
        part[:] = table[np.arange(cohorts)[:, None], grouped].sum(axis=(1, 2))


def multiply_terms(half: C128, chances: F64, ratios: F64, spectrum: C128) -> None:
    """Multiply `spectrum` by the characteristic function of every cohort's term."""
    points = half.shape[1]
    size, reach = 2 * (points - 1), chances.size
    whole = np.concatenate([half, np.conj(half[:, -2:0:-1])], axis=1)
    at = np.arange(points)
    powers = [whole[:, at * a % size] for a in range(1, reach + 1)]
    symmetric, total = [np.ones_like(half)], np.zeros_like(half)
    for d in range(1, reach + 1):
        terms = (ratios[d - 1, a] * symmetric[d - a - 1] * powers[a] for a in range(d))
        symmetric.append(-sum(terms, start=np.zeros_like(half)))
        total += chances[d - 1] * symmetric[d]
    spectrum *= total.prod(axis=0)


def gram(rows: Map, hashes: int, weights: F64, inverse: F64, out: F64) -> None:
    """Write the weighted Gram matrix of candidates, levels taken out (lower triangle and
    diagonal).
    """
    count, (cohorts, columns) = len(rows), weights.shape
    grouped = rows.reshape(count, -1, hashes).astype(np.int64)
    dense = np.zeros((count, cohorts, columns))
    dense[np.arange(count)[:, None, None], np.arange(cohorts)[:, None], grouped] = 1.0
    sums = (dense * weights).sum(axis=2)
    flat = dense.reshape(count, -1)
    out[:] = np.tril((flat * weights.reshape(-1)) @ flat.T - (sums * inverse) @ sums.T)


def factor(matrix: F64) -> bool:
    """Replace `matrix` by its Cholesky factor (lower triangle); False if not positive definite."""
    lower = np.tril(matrix)
    full, before = lower + np.tril(matrix, -1).T, np.diag(matrix).copy()
    try:
        found = np.linalg.cholesky(full)
    except np.linalg.LinAlgError:
        return False
    if (np.diag(found) ** 2 <= 1e-10 * before).any():
        return False
    matrix[:] = found
    return True


def solve(lower: F64, right: F64, out: F64) -> None:
    """Solve L L' x = right for a Cholesky factor L."""
    tidy = np.tril(lower)
    out[:] = np.linalg.solve(tidy.T, np.linalg.solve(tidy, right))


def inverse_diagonal(lower: F64, out: F64) -> None:
    """Write the diagonal of (L L')^-1, the squared lengths of the columns of L^-1, to `out`."""
    tidy = np.tril(lower)
    out[:] = (np.linalg.solve(tidy, np.eye(len(tidy))) ** 2).sum(axis=0)


U64 = NDArray[np.uint64]

_BLOCK = 1 << 13


def sum_buckets(fingerprints: U64, a: U64, b: U64, table: F64, out: F64) -> None:
    """Write, for each candidate, the total of `table` over its buckets, one in each cohort."""
    half, buckets = np.uint64(32), np.uint64(table.shape[1])
    for part in slices(fingerprints.size, _BLOCK):
        own, sums = fingerprints[part], out[part]
        sums[:] = 0.0
        for k in range(a.size):
            sums += table[k][((a[k] * own + b[k]) >> half) * buckets >> half]


def descend_buckets(
    places: NDArray[np.int64], people: F64, table: F64, shares: F64, passes: int
) -> None:
    """Fit non-negative shares to `table` by coordinate descent; leave the residual in `table`."""
    cohorts, buckets = table.shape
    square = float((people**2).sum()) * (1.0 - 1.0 / buckets)
    if square == 0.0:
        return
    each = np.arange(cohorts)
    for _ in range(passes):
        for w, row in enumerate(places):
            share = max(0.0, shares[w] + float((people * table[each, row]).sum()) / square)
            moved = share - shares[w]
            shares[w] = share
            if moved != 0.0:
                table += (moved * people / buckets)[:, None]
                table[each, row] -= moved * people
