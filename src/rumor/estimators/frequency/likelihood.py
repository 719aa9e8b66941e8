"""The likelihood of frequencies, given all reports: one update, in the form that fits.

With L[i, x] proportional to P(report i | value x), an update at h computes the gradient of
the mean log-likelihood, G_x = (1/N) sum_i n_i L[i, x] / (Lh)_i; the generalised iterative
Bayesian update (CSS 2020, equation 10) is then h * G. Reports that occur more than once
are taken once, with their number n_i (equation 11).

For an oracle L is 1 + (odds - 1) Z: two values, whatever the domain, so nothing underflows
and no scaling is needed. Packed bits and lists go through fused loops, the rest through
the oracle's `forward` and `adjoint`. A dense matrix of reports by values never exists.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import bayes_loops
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import Passes
from rumor.estimators.frequency.channels import is_sparse
from rumor.mechanisms.oracle import FrequencyOracle

# Compiled loops pay off for this many times less work than usual: updates are repeated.
_REPEATS = 16
# Reports are split into this many parts for threads, always the same, so that results do
# not depend on the number of processors.
_PARTS, _PART_ROWS = 4, 1 << 12


@dataclass(slots=True)  # not frozen: there are thousands, and on few values making one counts
class Update:
    """The gradient of the mean log-likelihood, and the log-likelihood (up to a constant).

    If the log-likelihood costs as much again, it is a function, evaluated when it is read.
    """

    gradient: Vector
    logs: float | Callable[[], float]

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood."""
        return self.logs() if callable(self.logs) else self.logs

    @property
    def gap(self) -> float:
        """The largest distance of the mean log-likelihood from its maximum."""
        return float(np.maximum.reduce(self.gradient)) - 1.0


class Likelihood(Protocol):
    """The interface of a likelihood that solvers use."""

    values: int
    reports: float
    independent: float
    """The effective number of distinct outputs; outputs of unequal counts are worth less."""

    def update(self, h: Vector) -> Update:
        """Return gradient and log-likelihood at h, at the cost of a plain update."""
        ...

    def curvature(self, h: Vector) -> Vector:
        """Return the variance of L[i, x] / (Lh)_i over the reports, for each value.

        It is the diagonal of the negative Hessian, after taking out what changes nothing
        while frequencies keep their sum. With independent supports there is little else.
        """
        ...


class SupportLikelihood:
    """The two-valued likelihood of an oracle, for any way to sum over supports."""

    def __init__(
        self, sums: Sums, values: int, odds: float, reports: float, independent: float
    ) -> None:
        self._sums, self._c = sums, odds - 1.0
        self.values, self.reports, self.independent = values, reports, independent

    def update(self, h: Vector) -> Update:
        """Return the update at h from one pass over the reports."""
        totals, logs, weight = self._sums(h, self._c, 1)
        return Update((weight + self._c * totals) / self.reports, logs)

    def curvature(self, h: Vector) -> Vector:
        """Return c^2 times the variance of support, with weights w_i^2 = 1 / (Lh)_i^2."""
        totals, _, weight = self._sums(h, self._c, 2)
        share = totals / weight
        return np.asarray(self._c**2 * share * (1 - share) * weight / self.reports)


# From h, c and a power: for every value the total of n_i / d_i^power over the reports that
# support it, the sum of n_i log d_i, and that of n_i / d_i^power; d = 1 + c (Zh).
Sums = Callable[[Vector, float, int], tuple[Vector, float, float]]


class MatrixLikelihood:
    """The likelihood under an explicit channel of outputs (rows) by inputs, with counts of outputs.

    Rows are an array or a sparse matrix; a factor that all entries share changes nothing.
    """

    def __init__(self, rows: Any, counts: Vector) -> None:
        self._rows, self._counts = rows, counts
        self._across = rows.T
        self.values, self.reports = int(rows.shape[1]), float(counts.sum())
        self._shares = counts / self.reports
        self.independent = self.reports**2 / float(counts @ counts)

    def update(self, h: Vector) -> Update:
        """Return the update at h from two products with the seen columns of the channel."""
        d = self._rows @ h
        gradient = self._across @ (self._shares / d)
        return Update(gradient, lambda: float(self._counts @ np.log(d)))

    def curvature(self, h: Vector) -> Vector:
        """Return the variance of L / (Lh) with weights n / (Lh)^2, for each value."""
        weights = self._counts / (self._rows @ h) ** 2
        total = weights.sum()
        mean = self._across @ weights / total
        # A sparse matrix less its mean would be dense, so the mean is taken out of the square.
        square = self._across.multiply(self._across) if is_sparse(self._rows) else None
        if square is not None:
            spread = np.maximum(square @ weights - total * mean**2, 0.0)
            return np.asarray(spread / self.reports)
        return np.asarray(weights @ (self._rows - mean) ** 2 / self.reports)


def oracle_likelihood(
    oracle: FrequencyOracle,
    reports: Reports | Passes,
    weights: Vector | None,
    *,
    threads: int | None = None,
) -> SupportLikelihood:
    """Return the likelihood of `reports`, each counted by its weight if there are `weights`."""
    if isinstance(reports, Passes):
        count = float(reports.count)
        return SupportLikelihood(
            _PassSums(oracle, reports), oracle.domain, oracle.odds, count, count
        )
    often = np.zeros(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    total = independent = float(len(reports))
    if weights is not None:
        total = float(often.sum())
        independent = total**2 / float(often @ often)
    sums = _sums(oracle, reports, often, _Parts(len(reports), threads))
    return SupportLikelihood(sums, oracle.domain, oracle.odds, total, independent)


def _sums(oracle: FrequencyOracle, reports: Reports, weights: Vector, parts: _Parts) -> Sums:
    lists = oracle.lists(reports)
    if lists is not None:
        flat = np.ascontiguousarray(lists).reshape(-1)
        starts = np.arange(len(reports) + 1, dtype=np.int64) * lists.shape[1]
        return _ListSums(starts, flat, weights, oracle.domain, parts)
    bitmaps = oracle.bitmaps(reports)
    if bitmaps is None:
        return _OracleSums(oracle, reports, weights)
    lengths = np.bitwise_count(bitmaps).sum(axis=1, dtype=np.int64)
    if lengths.sum() * 2 <= bitmaps.size:
        # Sparse: a list is shorter than the bitmap, and as many times faster.
        starts = np.concatenate([[0], np.cumsum(lengths)])
        wide = np.uint16 if oracle.domain <= 1 << 16 else np.uint32
        flat = np.empty(int(starts[-1]), dtype=wide)
        bayes_loops(bitmaps.nbytes * _REPEATS).fill_lists(bitmaps, starts, flat)
        return _ListSums(starts, flat, weights, oracle.domain, parts)
    return _BitSums(bitmaps, weights, oracle.domain, parts)


class _PassSums:
    """Sums by passes over reports held elsewhere: the state goes there, and a sum comes back."""

    def __init__(self, oracle: FrequencyOracle, reports: Passes) -> None:
        self._reports, self._sums = reports, SupportSums(oracle)

    def __call__(self, h: Vector, c: float, power: int) -> tuple[Vector, float, float]:
        found = self._reports.total(self._sums, (h, c, power))
        return found[:-2], float(found[-2]), float(found[-1])


@dataclass(frozen=True)
class SupportSums:
    """The sums over one batch as one vector, in one thread, since batches run in parallel.

    An engine that has a way of its own to sum over supports may take that instead.
    """

    oracle: FrequencyOracle

    def __call__(self, reports: Reports, state: tuple[Vector, float, int]) -> Vector:
        """Return for every value its total, then those of all logarithms and of all weights."""
        sums = _sums(self.oracle, reports, np.zeros(0), _Parts(len(reports), threads=1))
        totals, logs, weight = sums(*state)
        return np.append(totals, [logs, weight])


class _OracleSums:
    """Sums by the oracle's own linear maps."""

    def __init__(self, oracle: FrequencyOracle, reports: Reports, weights: Vector) -> None:
        self._oracle, self._reports = oracle, reports
        self._weights = weights if weights.size else np.ones(len(reports))

    def __call__(self, h: Vector, c: float, power: int) -> tuple[Vector, float, float]:
        d = 1.0 + c * self._oracle.forward(self._reports, h)
        share = self._weights / d**power
        totals = self._oracle.adjoint(self._reports, share)
        return totals, float(self._weights @ np.log(d)), float(share.sum())


class _BitSums:
    """Sums by the byte tables of the compiled loops."""

    def __init__(self, bitmaps: Reports, weights: Vector, values: int, parts: _Parts) -> None:
        self._bitmaps, self._weights, self._values = bitmaps, weights, values
        self._words = (bitmaps.shape[1] + 7) // 8
        self._loops = bayes_loops(bitmaps.nbytes * _REPEATS)
        self._parts = parts
        self._collected = np.zeros((parts.count, self._words * 2048))

    def __call__(self, h: Vector, c: float, power: int) -> tuple[Vector, float, float]:
        table = self._loops.byte_table(h, self._words)

        def part(number: int, rows: slice) -> tuple[float, float]:
            collected = self._collected[number]
            collected[:] = 0
            found: tuple[float, float] = self._loops.bits_update(
                self._bitmaps[rows], table, c, self._weights[rows], power, collected
            )
            return found

        logs, weight = self._parts.run(part)
        total = self._collected.sum(axis=0)
        return self._loops.fold_bytes(total, self._values), logs, weight


class _ListSums:
    """Sums by lists of supported values."""

    def __init__(
        self,
        starts: NDArray[np.int64],
        flat: NDArray[np.integer],
        weights: Vector,
        values: int,
        parts: _Parts,
    ) -> None:
        self._starts, self._flat, self._weights = starts, flat, weights
        self._loops = bayes_loops(flat.nbytes * _REPEATS)
        self._parts = parts
        self._collected = np.zeros((parts.count, values))

    def __call__(self, h: Vector, c: float, power: int) -> tuple[Vector, float, float]:
        def part(number: int, rows: slice) -> tuple[float, float]:
            collected = self._collected[number]
            collected[:] = 0
            starts = self._starts[rows.start : rows.stop + 1]
            flat = self._flat[starts[0] : starts[-1]]
            found: tuple[float, float] = self._loops.lists_update(
                starts - starts[0], flat, h, c, self._weights[rows], power, collected
            )
            return found

        logs, weight = self._parts.run(part)
        return self._collected.sum(axis=0), logs, weight


class _Parts:
    """The rows in a few parts: a function runs over the parts
    in threads, and its results add up.
    """

    def __init__(self, rows: int, threads: int | None) -> None:
        self.count = _PARTS if rows >= _PARTS * _PART_ROWS else 1
        # Parts begin at multiples of 8 rows, where rows of any width begin at a whole word.
        ends = [rows * k // self.count // 8 * 8 for k in range(self.count)] + [rows]
        self._slices = list(itertools.starmap(slice, itertools.pairwise(ends)))
        self._threads = min(self.count, threads or os.cpu_count() or 1)

    def run(self, part: Callable[[int, slice], tuple[float, float]]) -> tuple[float, float]:
        """Return the sums, always added in one order."""
        numbers = range(self.count)
        if self._threads > 1:
            pool = _pool(self._threads, os.getpid())
            results = list(pool.map(part, numbers, self._slices))
        else:
            results = list(map(part, numbers, self._slices))
        return sum(found[0] for found in results), sum(found[1] for found in results)


@functools.lru_cache(maxsize=4)
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return the shared threads: starting new ones takes as long as a tenth of an update."""
    return ThreadPoolExecutor(threads, thread_name_prefix="rumor-bayes")
