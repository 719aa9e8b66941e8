"""The heavy loops of decoding and of the prefix search, compiled by numba.

Their plain twins are in ../plain/decode.py.

Decoding. A candidate is a row of a map: for each cohort and hash the bit that it sets, as an index
within the cohort; a bit that an earlier hash of the cohort already set is written as `bits`,
one past the last. So tables over the bits have one more column, which holds zero, and a sum over
a row of the map counts every bit once. Free levels, one for each cohort, are eliminated
throughout: `inverse` holds 1 / (total weight of the cohort), or 0 for a cohort without a level.

Prefix search. A candidate is a fingerprint f. Cohort k puts it into bucket floor(g h / 2^32), h the
top half of a_k f + b_k, and `table` has a number for each cohort and bucket.
"""

from __future__ import annotations

import numba
import numpy as np

from rumor.core.loops.compiled.mixing import mix64

_jit = numba.njit(cache=True, nogil=True)
# Dot products may be summed in any order: the compiled order is fixed, so results repeat.
_sums = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
_inline = numba.njit(cache=True, nogil=True, inline="always")

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TOGETHER = 256


@_jit
def pack_map(positions, hashes, bits, out):
    """Copy positions to a map, repeated bits of a cohort written as `bits`."""
    for j in range(positions.shape[0]):
        row, target = positions[j], out[j]
        for first in range(0, row.size, hashes):
            for i in range(first, first + hashes):
                position = np.int64(row[i])
                for earlier in range(first, i):
                    if row[earlier] == row[i]:
                        position = bits
                target[i] = position


@_jit
def column_norms(rows, hashes, weights, inverse, out):
    """Write the weighted squared length of every column, levels taken out, to `out`."""
    for j in range(rows.shape[0]):
        row, total = rows[j], 0.0
        for c in range(inverse.size):
            in_cohort = 0.0
            for i in range(c * hashes, (c + 1) * hashes):
                in_cohort += weights[c, row[i]]
            total += in_cohort - in_cohort * in_cohort * inverse[c]
        out[j] = total


@_sums
def column_scores(rows, hashes, table, out):
    """Write the total of `table` over the bits of every candidate to `out`."""
    for j in range(rows.shape[0]):
        row, total = rows[j], 0.0
        for c in range(table.shape[0]):
            for i in range(c * hashes, (c + 1) * hashes):
                total += table[c, row[i]]
        out[j] = total


@_inline
def _gradient(row, hashes, pull, weights, level):
    """Return the score of one candidate: weighted residuals `pull`, less the levels."""
    total = 0.0
    for c in range(level.size):
        for i in range(c * hashes, (c + 1) * hashes):
            bit = row[i]
            total += pull[c, bit] - level[c] * weights[c, bit]
    return total


@_inline
def _shift(row, hashes, pull, weights, inverse, level, step):
    """Move one coefficient by `step`: residuals and levels follow."""
    for c in range(level.size):
        in_cohort = 0.0
        for i in range(c * hashes, (c + 1) * hashes):
            weight = weights[c, row[i]]
            pull[c, row[i]] -= step * weight
            in_cohort += weight
        level[c] -= step * in_cohort * inverse[c]


@_jit
def descend(fit, tolerance, most):
    """Run cyclic coordinate descent of the non-negative Lasso, and return the number of sweeps.

    The `fit` (rumor.core.loops.descent) moves in place. It ends when no coefficient moves it by
    more than `tolerance` standard deviations.
    """
    rows, hashes, pull, weights, inverse, level, norms, penalties, coefficients = fit
    for sweep in range(most):
        largest = 0.0
        for j in range(rows.shape[0]):
            if norms[j] <= 0.0:
                continue
            old = coefficients[j]
            score = _gradient(rows[j], hashes, pull, weights, level)
            new = max(0.0, old + (score - penalties[j]) / norms[j])
            if new != old:
                coefficients[j] = new
                _shift(rows[j], hashes, pull, weights, inverse, level, new - old)
                largest = max(largest, abs(new - old) * np.sqrt(norms[j]))
        if largest <= tolerance:
            return sweep + 1
    return most


@_jit
def descend_many(fits, barred, tolerance, most):
    """Run `descend` for many fits at once, each without one candidate.

    `pull` (cohorts, bits + 1, fits), `level` (cohorts, fits) and `coefficients` (candidates,
    fits) are updated in place; fit k never takes candidate barred[k]. Fits stand next to each
    other in memory, so a step of all of them costs little more than one of one.
    """
    rows, hashes, pull, weights, inverse, level, norms, penalties, coefficients = fits
    count, many = coefficients.shape
    score, step = np.empty(many), np.empty(many)
    for sweep in range(most):
        largest = 0.0
        for j in range(count):
            if norms[j] <= 0.0:
                continue
            row = rows[j]
            score[:] = 0.0
            for c in range(inverse.size):
                in_cohort = 0.0
                for i in range(c * hashes, (c + 1) * hashes):
                    line = pull[c, row[i]]
                    for k in range(many):
                        score[k] += line[k]
                    in_cohort += weights[c, row[i]]
                for k in range(many):
                    score[k] -= level[c, k] * in_cohort
            held, moved = coefficients[j], 0.0
            for k in range(many):
                new = max(0.0, held[k] + (score[k] - penalties[j]) / norms[j])
                if barred[k] == j:
                    new = 0.0
                step[k] = new - held[k]
                held[k] = new
                moved = max(moved, abs(step[k]))
            if moved == 0.0:
                continue
            largest = max(largest, moved * np.sqrt(norms[j]))
            for c in range(inverse.size):
                in_cohort = 0.0
                for i in range(c * hashes, (c + 1) * hashes):
                    weight, line = weights[c, row[i]], pull[c, row[i]]
                    for k in range(many):
                        line[k] -= step[k] * weight
                    in_cohort += weight
                for k in range(many):
                    level[c, k] -= step[k] * (in_cohort * inverse[c])
        if largest <= tolerance:
            return sweep + 1
    return most


@_jit
def exceeding(rows, hashes, tables, bounds, excess, who):
    """Find, for each of many tables, the candidates that are most above a bound.

    Candidate j exceeds its bound by its total over the bits of a table (cohorts, bits + 1, fits)
    less bounds[j]. The largest excesses of every table, above 0, are written to `excess` and the
    candidates to `who` (fits, places); -1 fills unused places.
    """
    many = who.shape[0]
    least, last = np.zeros(many, dtype=tables.dtype), np.zeros(many, dtype=np.int64)
    score = np.empty((_TOGETHER, many), dtype=tables.dtype)
    excess[:] = 0.0
    who[:] = -1
    for start in range(0, rows.shape[0], _TOGETHER):
        size = min(_TOGETHER, rows.shape[0] - start)
        score[:] = 0.0
        # Some candidates together, cohort by cohort: a cohort's part of the tables stays near.
        for c in range(tables.shape[0]):
            for j in range(size):
                for i in range(c * hashes, (c + 1) * hashes):
                    bit = rows[start + j, i]
                    for k in range(many):
                        score[j, k] += tables[c, bit, k]
        for j in range(size):
            bound, highest = bounds[start + j], score[j, 0] - least[0]
            for k in range(1, many):
                highest = max(highest, score[j, k] - least[k])
            if highest <= bound:
                continue
            for k in range(many):
                if score[j, k] - least[k] > bound:
                    excess[k, last[k]] = score[j, k] - bound
                    who[k, last[k]] = start + j
                    last[k] = np.argmin(excess[k])
                    least[k] = excess[k, last[k]]


@_jit
def decoy_scores(seed, start, hashes, bits, table, out):
    """Write the total of `table` over the bits of decoy words start, start + 1, ... to `out`.

    Their bits come from SplitMix64, as many to a word as fit.
    """
    width, mask = 0, np.uint64(bits - 1)
    while (1 << width) < bits:
        width += 1
    shift, fit = np.uint64(width), 64 // width
    cohorts = table.shape[0]
    words = (cohorts * hashes + fit - 1) // fit
    chosen = np.empty(hashes, dtype=np.int64)
    for d in range(out.size):
        counter = seed + _GOLDEN * np.uint64((start + d) * words)
        left, word, total = 0, np.uint64(0), 0.0
        for c in range(cohorts):
            for i in range(hashes):
                if left == 0:
                    counter += _GOLDEN
                    word, left = mix64(counter), fit
                bit = np.int64(word & mask)
                word >>= shift
                left -= 1
                for earlier in range(i):
                    if chosen[earlier] == bit:
                        bit = bits
                        break
                chosen[i] = bit
                total += table[c, bit]
        out[d] = total


# Frequencies taken together: their powers and polynomials stay in the first-level cache.
_POINTS = 256


@_sums
def multiply_terms(half, chances, ratios, spectrum):
    """Multiply `spectrum` by the characteristic function of every cohort's term.

    A row of `half` is the transform of a cohort's histogram at the frequencies 0 to n/2 of n, a
    power of two. A term is the sum over d different bits with probability chances[d - 1]; its
    elementary symmetric polynomial e_d / C(bits, d) is, by Newton's identities, minus the sum
    over a of ratios[d - 1, a - 1] e_(d-a) / C(bits, d - a) times the power sum at a times the
    frequency.
    """
    cohorts, points = half.shape
    size, reach = 2 * (points - 1), chances.size
    real, imag = np.empty(_POINTS), np.empty(_POINTS)
    power_real, power_imag = np.empty((reach, _POINTS)), np.empty((reach, _POINTS))
    shape = (reach + 1, _POINTS)
    poly_real, poly_imag = np.ones(shape), np.zeros(shape)
    for first in range(0, points, _POINTS):
        count = min(_POINTS, points - first)
        for k in range(count):
            real[k], imag[k] = spectrum[first + k].real, spectrum[first + k].imag
        for c in range(cohorts):
            for a in range(reach):
                for k in range(count):
                    at = (first + k) * (a + 1) & (size - 1)
                    folded = at >= points
                    value = half[c, size - at if folded else at]
                    power_real[a, k] = value.real
                    power_imag[a, k] = -value.imag if folded else value.imag
            for d in range(1, reach + 1):
                poly_real[d, :count] = 0.0
                poly_imag[d, :count] = 0.0
                for a in range(d):
                    ratio, before = ratios[d - 1, a], d - a - 1
                    for k in range(count):
                        x, y = poly_real[before, k], poly_imag[before, k]
                        u, v = power_real[a, k], power_imag[a, k]
                        poly_real[d, k] -= ratio * (x * u - y * v)
                        poly_imag[d, k] -= ratio * (x * v + y * u)
            for k in range(count):
                x, y = 0.0, 0.0
                for d in range(reach):
                    x += chances[d] * poly_real[d + 1, k]
                    y += chances[d] * poly_imag[d + 1, k]
                u, v = real[k], imag[k]
                real[k], imag[k] = u * x - v * y, u * y + v * x
        for k in range(count):
            spectrum[first + k] = complex(real[k], imag[k])


@_jit
def gram(rows, hashes, weights, inverse, out):
    """Write the weighted Gram matrix of candidates, levels taken out (lower triangle and
    diagonal).
    """
    count, cohorts = rows.shape[0], inverse.size
    marked = np.zeros(weights.shape, dtype=np.float64)
    sums = np.zeros((count, cohorts), dtype=np.float64)
    for j in range(count):
        for c in range(cohorts):
            for i in range(c * hashes, (c + 1) * hashes):
                sums[j, c] += weights[c, rows[j, i]]
    for j in range(count):
        for c in range(cohorts):
            for i in range(c * hashes, (c + 1) * hashes):
                marked[c, rows[j, i]] = weights[c, rows[j, i]]
        for other in range(j + 1):
            total = 0.0
            for c in range(cohorts):
                for i in range(c * hashes, (c + 1) * hashes):
                    total += marked[c, rows[other, i]]
                total -= sums[j, c] * sums[other, c] * inverse[c]
            out[j, other] = total
        for c in range(cohorts):
            for i in range(c * hashes, (c + 1) * hashes):
                marked[c, rows[j, i]] = 0.0


@_sums
def factor(matrix):
    """Replace `matrix` by its Cholesky factor (lower triangle); False if not positive definite."""
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += matrix[i, k] * matrix[j, k]
            if i == j:
                rest = matrix[i, i] - total
                if not rest > 1e-10 * matrix[i, i]:
                    return False
                matrix[i, i] = np.sqrt(rest)
            else:
                matrix[i, j] = (matrix[i, j] - total) / matrix[j, j]
    return True


@_sums
def solve(lower, right, out):
    """Solve L L' x = right for a Cholesky factor L."""
    size = lower.shape[0]
    for i in range(size):
        total = 0.0
        for k in range(i):
            total += lower[i, k] * out[k]
        out[i] = (right[i] - total) / lower[i, i]
    for i in range(size - 1, -1, -1):
        out[i] /= lower[i, i]
        for k in range(i):
            out[k] -= lower[i, k] * out[i]


@_sums
def inverse_diagonal(lower, out):
    """Write the diagonal of (L L')^-1, the squared lengths of the columns of L^-1, to `out`."""
    size = lower.shape[0]
    column = np.empty(size, dtype=np.float64)
    for start in range(size):
        column[start] = 1.0 / lower[start, start]
        squares = column[start] * column[start]
        for i in range(start + 1, size):
            total = 0.0
            for k in range(start, i):
                total += lower[i, k] * column[k]
            column[i] = -total / lower[i, i]
            squares += column[i] * column[i]
        out[start] = squares


# Candidates summed up at a time: their sums stay in the first-level cache.
_BLOCK = 1024


@_jit
def sum_buckets(fingerprints, a, b, table, out):
    """Write, for each candidate, the total of `table` over its buckets, one in each cohort."""
    half, buckets = np.uint64(32), np.uint64(table.shape[1])
    for start in range(0, fingerprints.size, _BLOCK):
        own = fingerprints[start : start + _BLOCK]
        sums = out[start : start + own.size]
        sums[:] = 0.0
        for k in range(a.size):
            ak, bk, row = a[k], b[k], table[k]
            for i in range(own.size):
                sums[i] += row[((ak * own[i] + bk) >> half) * buckets >> half]


@_jit
def descend_buckets(places, people, table, shares, passes):
    """Fit non-negative shares to `table` by coordinate descent; leave the residual in `table`.

    Row w of `places` has the buckets of word w. A share f of people_k people in cohort k is
    f people_k more in its bucket, taken evenly from all, so that rows keep their sums.
    """
    cohorts, buckets = table.shape
    square = 0.0
    for k in range(cohorts):
        square += people[k] * people[k]
    square *= 1.0 - 1.0 / buckets
    if square == 0.0:
        return
    for _ in range(passes):
        for w in range(places.shape[0]):
            pull = 0.0
            for k in range(cohorts):
                pull += people[k] * table[k, places[w, k]]
            share = max(0.0, shares[w] + pull / square)
            moved = share - shares[w]
            shares[w] = share
            if moved != 0.0:
                for k in range(cohorts):
                    even = moved * people[k] / buckets
                    for y in range(buckets):
                        table[k, y] += even
                    table[k, places[w, k]] -= moved * people[k]
