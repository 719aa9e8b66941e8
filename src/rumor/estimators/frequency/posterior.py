"""Posterior distributions of frequencies under a prior, given that they sum to one.

Each count is taken as binomial given its value's frequency (for oracles whose counts are
tied, as a draw with the variance that remains once the sum is known). A prior makes the
frequencies independent draws, so conditioning on their sum is one tilt e^(t v) of the
prior, found such that the posterior means sum to one: the saddle-point approximation, and
with it the marginal likelihood of the prior given the sum. Everything is kept in logarithms,
since the tilts are steep. A prior can also be fitted to the counts (`fitted_law`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.estimators.frequency.priors import Grid, next_tilt
from rumor.mechanisms.support import ItemCounts

# Likelihoods below e^-40 of a row's largest are left out.
_BAND = 40.0
_SMALLEST = 1e-300
_LOST = 1e-280
# A prior is given up once its evidence cannot reach e^-36 of the best.
_HOPELESS = 36.0
_TOLERANCE = 1e-8
_MAX_STEPS = 60


@dataclass(frozen=True)
class CountPosteriors:
    """Mean and variance of each distinct count's frequency, and log evidence, under each prior.

    The evidence is relative to the largest likelihood there is; -inf where the prior was
    given up (its means are then without meaning).
    """

    means: Vector
    variances: Vector
    evidence: Vector


@dataclass(frozen=True)
class _Block:
    """Distinct counts whose likelihoods lie on a common interval of the grid."""

    rows: slice
    columns: slice
    likelihood: Vector
    weights: Vector


class CountTable:
    """Likelihoods of the distinct counts on the grid, in narrow blocks around the diagonal."""

    def __init__(self, items: ItemCounts, grid: Grid) -> None:
        self.grid = grid
        count = items.counts.size
        columns = (items.counts, items.trials, items.hit, items.miss)
        if all(np.ndim(column) == 0 for column in columns[1:]):
            counts, where, often = np.unique(items.counts, return_inverse=True, return_counts=True)
            trials, hit, miss = (np.full(counts.size, float(c)) for c in columns[1:])
        else:
            stacked = np.column_stack([np.broadcast_to(c, (count,)) for c in columns])
            distinct, where, often = np.unique(
                stacked, axis=0, return_inverse=True, return_counts=True
            )
            order = np.argsort(
                (distinct[:, 0] / distinct[:, 1] - distinct[:, 3])
                / (distinct[:, 2] - distinct[:, 3])
            )
            distinct, often = distinct[order], often[order]
            where = np.argsort(order)[where]
            counts, trials, hit, miss = distinct.T
        self.where: NDArray[np.intp] = where.reshape(-1)
        """For each value, the row of its count."""
        self.often = often.astype(np.float64)
        self._share, self._trials = counts / trials, trials
        self._miss, self._gain = miss, hit - miss
        self._dispersion, self._most = items.dispersion, items.most
        self._top = self._energy(np.arange(counts.size), self._peaks())
        self._blocks = self._cut()

    def _energy(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Vector:
        """Return log-likelihoods of counts (rows) at grid points (columns), broadcast together."""
        a = self._dispersion
        share, trials = self._share[rows], self._trials[rows]
        support = self._miss[rows] + self._gain[rows] * self.grid.points[columns]
        support = np.maximum(support, _SMALLEST)
        if self._most < 1:
            # A value of that frequency would raise the number of trials, which is then Poisson.
            miss = self._miss[rows]
            more = np.maximum((support - miss) / (self._most - miss), 1.0)
            fewer = trials * (np.log(more) - more + 1)
            support = np.minimum(support, self._most)
            absent = np.log(1 - support)
            return np.asarray(trials * (share * np.log(support) + (1 - share) * absent) + fewer)
        if a < 1e-9:
            return np.asarray(trials * (share * np.log(support) - support))
        absent = np.log(np.maximum(1 - a * support, _SMALLEST)) / a
        return np.asarray(trials * (share * np.log(support) + (1 - a * share) * absent))

    def _peaks(self) -> NDArray[np.intp]:
        """Return, for each row, the grid point of the largest likelihood."""
        rows, points = np.arange(self._share.size), self.grid.points
        seen = np.clip((self._share - self._miss) / self._gain, 0.0, 1.0)
        right = np.searchsorted(points, seen).clip(1, points.size - 1)
        better = self._energy(rows, right) > self._energy(rows, right - 1)
        return np.asarray(np.where(better, right, right - 1))

    def _cut(self) -> list[_Block]:
        rows, last_point = np.arange(self._share.size), self.grid.points.size - 1
        peaks, least = self._peaks(), self._top - _BAND
        first = self._bisect(rows, np.zeros_like(peaks), peaks, least)
        last = self._bisect(rows, np.full_like(peaks, last_point), peaks, least)
        blocks, start = [], 0
        while start < rows.size:
            # Rows join while the block stays narrow, so that matrix products waste little, and
            # while their bands meet, so that a tilt spans no more than a band or two.
            limit = first[start] + 1.6 * (last[start] - first[start] + 1) + 16
            narrow = np.searchsorted(last[start:], limit, side="right")
            meeting = np.searchsorted(first[start:], last[start], side="right")
            stop = start + max(1, int(min(narrow, meeting)))
            columns = np.arange(first[start:stop].min(), last[start:stop].max() + 1)
            energy = self._energy(rows[start:stop, None], columns[None])
            blocks.append(
                _Block(
                    slice(start, stop),
                    slice(int(columns[0]), int(columns[-1]) + 1),
                    np.exp(energy - self._top[start:stop, None]),
                    self.often[start:stop],
                )
            )
            start = stop
        return blocks

    def _bisect(
        self,
        rows: NDArray[np.intp],
        outside: NDArray[np.intp],
        inside: NDArray[np.intp],
        least: Vector,
    ) -> NDArray[np.intp]:
        """Return the grid point farthest from the peak, towards
        `outside`, above the least energy.
        """
        whole = self._energy(rows, outside) >= least
        while (np.abs(outside - inside) > 1).any():
            middle = (outside + inside) // 2
            high = self._energy(rows, middle) >= least
            inside, outside = np.where(high, middle, inside), np.where(high, outside, middle)
        # A likelihood is unimodal, so these ends ascend with the counts; rounding may not.
        ends = np.where(whole, outside, inside)
        return np.asarray(np.maximum.accumulate(ends))

    def even_evidence(self) -> float:
        """Return the log marginal likelihood of all frequencies being 1/D."""
        rows = np.arange(self._share.size)
        energy = self._energy(rows, np.full(rows.size, self.grid.even))
        return float(self.often @ (energy - self._top))

    def condition(self, log_priors: Vector) -> CountPosteriors:
        """Return the posterior under each prior (a column each), given the sum of frequencies."""
        points, members = self.grid.points, log_priors.shape[1]
        spread = (points**2) @ np.exp(log_priors) - (points @ np.exp(log_priors)) ** 2
        correction = np.log(self.grid.domain * np.maximum(spread, _SMALLEST)) / 2
        means = np.zeros((self._share.size, members))
        spreads, evidence = np.zeros_like(means), np.full(members, -np.inf)
        tilt, live = np.zeros(members), np.arange(members)
        low, high = np.full(members, -np.inf), np.full(members, np.inf)
        for step in range(_MAX_STEPS):
            now, variances, logs, broken = self._tilted(log_priors[:, live], tilt[live])
            excess = np.where(broken, np.sign(tilt[live]), self.often @ now - 1)
            leftover = np.maximum(self.often @ variances, _SMALLEST)
            # Without its curvature this falls to its least value at the root: a bound.
            bound = self.often @ logs - tilt[live] + correction[live] - np.log(leftover) / 2
            done = ~broken & (np.abs(excess) < _TOLERANCE)
            means[:, live[done]], spreads[:, live[done]] = now[:, done], variances[:, done]
            evidence[live[done]] = bound[done]
            keep = np.where(broken, excess != 0, bound > evidence.max() - _HOPELESS) & ~done
            live, excess, leftover = live[keep], excess[keep], leftover[keep]
            if not live.size:
                break
            low[live] = np.where(excess < 0, tilt[live], low[live])
            high[live] = np.where(excess > 0, tilt[live], high[live])
            leap = 3.0 / np.sqrt(leftover.min()) * 2.0**step
            tilt[live] = next_tilt(tilt[live], excess / leftover, low[live], high[live], leap)
        return CountPosteriors(means, spreads, evidence)

    def independent_posterior(self, log_priors: Vector) -> CountPosteriors:
        """Return the posterior under each prior (a column each) of
        frequencies without a fixed sum.
        """
        still = np.zeros(log_priors.shape[1])
        means, variances, logs, _ = self._tilted(log_priors, still)
        return CountPosteriors(means, variances, self.often @ logs)

    def _tilted(
        self, log_priors: Vector, tilt: Vector
    ) -> tuple[Vector, Vector, Vector, NDArray[np.bool_]]:
        """Return means, variances and log normalisers (rows by priors) under tilted priors.

        The last result marks priors whose tilt is so steep that some normaliser was lost.
        """
        shape = (self._share.size, tilt.size)
        means, variances, logs = np.empty(shape), np.empty(shape), np.empty(shape)
        broken = np.zeros(tilt.size, dtype=np.bool_)
        for block in self._blocks:
            v = self.grid.points[block.columns]
            middle = (v[0] + v[-1]) / 2
            away = (v - middle)[:, None]
            exponent = log_priors[block.columns] + away * tilt
            largest = exponent.max(axis=0)
            weights = np.exp(exponent - largest)
            moments = block.likelihood @ np.hstack([weights, away * weights, away**2 * weights])
            total, first, second = np.split(moments, 3, axis=1)
            broken |= (total < _LOST).any(axis=0)
            total = np.maximum(total, _SMALLEST)
            mean = first / total
            means[block.rows] = middle + mean
            variances[block.rows] = np.maximum(second / total - mean * mean, 0.0)
            logs[block.rows] = np.log(total) + largest + middle * tilt
        return means, variances, logs, broken

    def responsibilities(self, prior: Vector) -> Vector:
        """Return the number of values that the prior expects at
        each grid point, given the counts.
        """
        expected = np.zeros(self.grid.points.size)
        for block in self._blocks:
            mixed = np.maximum(block.likelihood @ prior[block.columns], _SMALLEST)
            expected[block.columns] += (block.weights / mixed) @ block.likelihood
        return expected * prior

    def concentration(self, prior: Vector, expected: Vector) -> float:
        """Return the effective number of free atoms: sum over
        values and points of R^2 / expected.
        """
        total = 0.0
        for block in self._blocks:
            shares = block.likelihood * prior[block.columns]
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), _SMALLEST)
            each = np.maximum(expected[block.columns], _SMALLEST)
            total += float((block.weights @ (shares * shares) / each).sum())
        return total


PSEUDO = 3.0
"""The number of imaginary values, distributed as `start`, that the fit adds."""
# The law is improved this often: more would fit the noise.
_STEPS = 100


def fitted_law(
    table: CountTable, start: Vector, weigh: Callable[[Vector], Vector]
) -> tuple[Vector, float]:
    """Return the prior that fits the counts best, and its effective number of atoms.

    Expectation-maximisation for the weights of the grid points, with a few imaginary values
    distributed as `start`; `weigh` makes a law of how many values are expected at each.
    """
    law = (start + 1 / start.size) / 2
    expected = law
    for _ in range(_STEPS):
        expected = table.responsibilities(law) + PSEUDO * start
        law = weigh(expected)
    return law, table.concentration(law, expected)


def logistic(x: float) -> float:
    """Return the probability at these log odds."""
    return 0.0 if x < -700 else 1 / (1 + math.exp(-min(x, 700.0)))
