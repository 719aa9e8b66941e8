"""The decode of the literature, on RAPPOR's counts and on any matrix.

The decode is a Lasso, then least squares, then a t-test on the remaining words: Erlingsson, Pihur
and Korolova 2014, as evaluated by Seike, "Evaluating the decoding of RAPPOR", 2025.

On RAPPOR's counts: counts are de-biased once for each cohort (Seike's equations 2 and 3) with the
cohort's own size; a positive Lasso without intercept (1/(2n) RSS + 0.1 sum b over the n bits)
drops the words whose coefficient is at most 0.001; least squares without intercept on the others;
a one-sided t-test at level 0.05. The p-values ignore that the same counts chose the words, and
nothing corrects for their number: the false discovery rate is NOT controlled, and with no true
candidate at all a false one is reported with near certainty. The decode is kept for comparison.

On a matrix and counts from elsewhere (any design, any hashes): counts are de-biased (equation 3)
and regressed on the bits of every word by a positive Lasso without intercept, 1/(2n) RSS + penalty
sum b; words with coefficients of at most `cut` are dropped; least squares on the rest; a one-sided
t-test. No error rate is controlled. `rumor.estimate` on a `rumor.Rappor` has a decoder that
controls one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.kinds.text.fit.candidates import Candidates
from rumor.kinds.text.fit.lasso import BitShares, Lasso
from rumor.kinds.text.fit.refit import refit

PENALTY = 0.1
CUT = 0.001
# The solver's tolerance in standard deviations, finer than elsewhere since the cut is fine.
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class LiteratureDecoded:
    """The result of the decode; vectors are over the rows of the candidate map, as shares of
    people.

    Words that the Lasso dropped have share 0, p-value 1 and an infinite standard error.
    """

    frequency: Vector
    stderr: Vector
    p_value: Vector
    detected: NDArray[np.bool_]
    kept: int
    total_stderr: float


def decode_literature(
    candidates: Candidates, shares: BitShares, *, level: float, penalty: float, cut: float
) -> LiteratureDecoded:
    """Decode the bit `shares` of each cohort by Lasso, least squares and a t-test.

    A coefficient is a count per cohort. Cohorts differ in size, so every cohort's shares are
    scaled to the mean size; with equal sizes the scaled share is the count itself.
    """
    present = shares.sizes > 0
    mean = float(shares.sizes[present].mean())
    counts = shares.share * mean
    weight = np.repeat(present[:, None].astype(np.float64), counts.shape[1], axis=1)
    rows, hashes = candidates.rows, candidates.bloom.hashes
    bits = int(weight.sum())
    noise = mean / float(
        np.sqrt(shares.weight[present].mean())
    )  # the standard deviation of a bit, in counts
    lasso = Lasso(rows, hashes, counts, weight, levels=False, tolerance=_TOLERANCE * noise)
    lasso.approach(float(penalty * bits / max(lasso.lengths.max(), 1e-300)))
    lasso.solve(np.full(len(rows), penalty * bits))
    kept = np.flatnonzero(lasso.coefficients > cut)
    freedom = bits - kept.size
    if freedom < 1:
        raise InputError(
            f"the Lasso must keep fewer words than there are bits, {bits:,}; "
            f"got {kept.size:,} at penalty {penalty:g} (a larger one keeps fewer)"
        )
    found = refit(rows[kept], hashes, counts, weight, levels=False)
    # Unlike "auto", the literature estimates the variance from the residuals.
    sigma = float(np.sqrt(found.squares / freedom))
    stderr, p_value = np.full(len(rows), np.inf), np.ones(len(rows))
    stderr[kept] = sigma * found.stderr / mean
    p_value[kept] = one_sided_t(found.unbiased / (sigma * found.stderr), freedom)
    frequency = np.zeros(len(rows))
    frequency[kept] = found.unbiased / mean
    return LiteratureDecoded(
        frequency=frequency,
        stderr=stderr,
        p_value=p_value,
        detected=p_value < level,
        kept=int(kept.size),
        total_stderr=sigma * found.total_stderr / mean,
    )


def one_sided_t(statistic: Vector, freedom: int) -> Vector:
    """Return the one-sided p-values of t statistics, for the null hypothesis of at most 0."""
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, -statistic))


LEVEL = 0.05
# The largest gradient at which a coordinate is at rest, relative to the largest pull.
_REST = 1e-10
_MOST_SWEEPS = 20_000


@dataclass(frozen=True, eq=False)
class MatrixDecoded:
    """The result for every column; columns that the Lasso dropped have count 0 and p-value 1.

    `count` is in units of `y`: people of a cohort, where rows are bits of cohorts.
    """

    names: Sequence[str]
    lasso: Vector
    count: Vector
    stderr: Vector
    p_value: Vector
    detected: NDArray[np.bool_]
    kept: int

    @property
    def found(self) -> list[str]:
        """The names of the detected columns."""
        return [name for name, there in zip(self.names, self.detected, strict=True) if there]

    def to_dict(self) -> dict[str, object]:
        """Return the result as plain data for JSON."""
        columns = ("lasso", "count", "stderr", "p_value", "detected")
        rows = [
            {"name": name, **{column: getattr(self, column)[i].item() for column in columns}}
            for i, name in enumerate(self.names)
        ]
        return {"kept": self.kept, "words": rows}


def decode(
    X: object,  # noqa: N803 (the name in the literature)
    y: object,
    *,
    names: Sequence[str] | None = None,
    penalty: float = PENALTY,
    cut: float = CUT,
    level: float = LEVEL,
    p: float | None = None,
    q: float | None = None,
    reports: object = None,
) -> MatrixDecoded:
    """Detect the columns of X that explain y, by Lasso, least squares and a one-sided t-test.

    X has a row for each bit of each cohort and a column for each word; y is the number of people
    of the cohort who set the bit. With `p`, `q` and `reports` (of each cohort, or of all of them
    alike, cohorts one after another) y is the number of reports with the bit, and is de-biased
    here.
    """
    matrix = _matrix(X)
    rows, columns = matrix.shape
    counts = _vector("y", y, rows)
    if names is not None and len(names) != columns:
        raise InputError(f"names must be one for each of the {columns:,} columns; got {len(names)}")
    for name, value, least in (("penalty", penalty, 0.0), ("cut", cut, 0.0)):
        if not isinstance(value, (int, float)) or not least <= value < np.inf:
            raise InputError(f"{name} must be a number of at least 0; got {format_value(value)}")
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number above 0 and below 1; got {format_value(level)}")
    if (p, q, reports) != (None, None, None):
        counts = _debiased(counts, p, q, reports)
    lasso = positive_lasso(matrix, counts, penalty)
    kept = np.flatnonzero(lasso > cut)
    count, stderr, p_value = np.zeros(columns), np.full(columns, np.inf), np.ones(columns)
    if kept.size:
        count[kept], stderr[kept], p_value[kept] = _least_squares(matrix[:, kept], counts)
    called = list(names) if names is not None else [str(i) for i in range(columns)]
    return MatrixDecoded(called, lasso, count, stderr, p_value, p_value < level, int(kept.size))


def positive_lasso(matrix: Vector, y: Vector, penalty: float) -> Vector:
    """Return the minimum of 1/(2n) |y - X b|^2 + penalty sum b over b >= 0, by coordinate descent.

    At the minimum the gradient is 0 where a coordinate is above 0, and not negative where it is 0.
    """
    rows, columns = matrix.shape
    gram = matrix.T @ matrix
    pull = matrix.T @ y - rows * penalty  # minus the gradient at b = 0, times n
    b, lengths = np.zeros(columns), np.diagonal(gram).copy()
    limit = _REST * max(float(np.abs(pull).max()), 1e-300)
    movable = np.flatnonzero(lengths > 0)
    for _ in range(_MOST_SWEEPS):
        open_ = movable[(b[movable] > 0) | (pull[movable] > limit)]
        if not open_.size or float(np.abs(pull[open_]).max()) <= limit:
            break
        for j in open_:
            moved = max(0.0, b[j] + pull[j] / lengths[j])
            if moved != b[j]:
                pull -= gram[j] * (moved - b[j])
                b[j] = moved
    return b


def _least_squares(matrix: Vector, y: Vector) -> tuple[Vector, Vector, Vector]:
    """Return coefficients without intercept, their standard errors and one-sided p-values."""
    rows, columns = matrix.shape
    if columns >= rows or np.linalg.matrix_rank(matrix) < columns:
        raise InputError(
            f"the Lasso must keep fewer columns than there are rows ({rows:,}), none of which "
            f"follows from others; got {columns:,} (a larger penalty keeps fewer)"
        )
    inverse = np.linalg.inv(matrix.T @ matrix)
    count = inverse @ (matrix.T @ y)
    residual = y - matrix @ count
    stderr = np.sqrt(residual @ residual / (rows - columns) * np.diagonal(inverse))
    # A perfect fit leaves no noise to test against: every positive coefficient is significant.
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(stderr > 0, count / stderr, np.where(count > 0, np.inf, -np.inf))
    return count, stderr, one_sided_t(statistic, rows - columns)


def _debiased(counts: Vector, p: object, q: object, reports: object) -> Vector:
    """Return de-biased counts by equation 3: (c - p N) / (q - p), with the cohort's own N."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
            raise InputError(
                f"{name} must be a number from 0 to 1 with reports; got {format_value(value)}"
            )
    assert isinstance(p, (int, float))
    assert isinstance(q, (int, float))
    if not q > p:
        raise InputError(f"q must be above p; got {q:g} and {p:g}")
    try:
        sizes = np.atleast_1d(np.asarray(reports, dtype=np.float64))
    except (TypeError, ValueError):
        sizes = np.zeros(0)
    if sizes.ndim != 1 or not sizes.size or counts.size % sizes.size or not (sizes > 0).all():
        raise InputError(
            "reports must be how many there are in each cohort, or in all alike; "
            f"got {format_value(reports)}"
        )
    return (counts - p * np.repeat(sizes, counts.size // sizes.size)) / (q - p)


def _matrix(given: object) -> Vector:
    try:
        matrix = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2 or min(matrix.shape) < 1 or not np.isfinite(matrix).all():
        raise InputError(f"X must be a matrix of numbers, bits by words; got {format_value(given)}")
    return matrix


def _vector(name: str, given: object, size: int) -> Vector:
    try:
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise InputError(
            f"{name} must be one number for each of the {size:,} rows of X; "
            f"got shape {vector.shape}"
        )
    return vector
