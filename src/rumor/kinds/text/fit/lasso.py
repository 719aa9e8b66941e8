"""De-biased shares of bits, and the non-negative Lasso on them.

Erlingsson, Pihur and Korolova 2014: a bit that a share s of a cohort's people set is reported as 1
with probability r = p* + (q* - p*) s, so s is estimated by (c/N - p*) / (q* - p*), with the
cohort's own N. For the *population*, c is binomial, with variance N r (1 - r); for these *people*,
c is a sum of two binomials, with variance N (s q*(1-q*) + (1-s) p*(1-p*)).

Every decode begins with the non-negative Lasso over a candidate map, which minimises, over b >= 0
and (where levels are free) a level a_c for each cohort,

    1/2 sum over bits w_i (y_i - a_c - sum_j x_ij b_j)^2 + sum_j penalty_j b_j.

Coordinate descent runs over a working set only, and a pass over all candidates adds those that
violate the optimality conditions; so a dictionary of a million words costs some passes over its
map, and memory for the map and a few numbers per word.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import decode_loops
from rumor.core.loops.descent import Descent
from rumor.core.types import Vector
from rumor.kinds.text.fit.candidates import Map
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.summary import Summary

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BitShares:
    """De-biased shares of every bit of every cohort, (cohorts, bits), and their weights.

    A weight is 1 / variance, and 0 in a cohort without reports.
    """

    sizes: NDArray[np.int64]
    share: Table
    weight: Table
    people_weight: Table


def bit_shares(summary: Summary) -> BitShares:
    """Return the de-biased bit shares of a `summary`."""
    rappor = summary.made_by(Rappor)
    sizes, counts = rappor.cohort_counts(summary.tally)
    p, q = rappor.p_star, rappor.q_star
    gain, reports = q - p, sizes[:, None].astype(np.float64)
    there = np.maximum(reports, 1.0)
    share = np.where(reports > 0, (counts / there - p) / gain, 0.0)
    rate = np.clip((counts + 1) / (reports + 2), p, q)
    plausible = (rate - p) / gain
    people = plausible * q * (1 - q) + (1 - plausible) * p * (1 - p)
    return BitShares(
        sizes=sizes,
        share=share,
        weight=reports * gain**2 / (rate * (1 - rate)),
        people_weight=reports * gain**2 / people,
    )


# The largest change of a coefficient at rest, in standard deviations of its own estimate.
_TOLERANCE = 1e-3
_MOST_SWEEPS = 2_000
_MOST_ROUNDS = 50
# The step between penalties far above the wanted one, where one round each gathers the working set.
_DESCENT = 0.6


@dataclass(frozen=True, eq=False)
class State:
    """A saved state of a Lasso: its active candidates with their coefficients, and the
    residuals.
    """

    active: NDArray[np.intp]
    coefficients: Vector
    pull: Table
    level: Vector


class Lasso:
    """A Lasso that is warm-started as its penalty is lowered.

    `share` and `weight` are tables over the bits, (cohorts, bits). The penalty of a candidate is
    the given penalty times the length of its column, in standard deviations.
    """

    def __init__(
        self,
        rows: Map,
        hashes: int,
        share: Table,
        weight: Table,
        *,
        levels: bool = True,
        tolerance: float = _TOLERANCE,
    ) -> None:
        self.rows, self.hashes, self.tolerance = rows, hashes, tolerance
        self.weight = padded(weight)
        total = weight.sum(axis=1)
        self.inverse = 1.0 / np.where(total > 0, total, np.inf) if levels else np.zeros(total.size)
        self.pull = padded(weight * share)
        self.level = self.pull.sum(axis=1) * self.inverse
        self.norms = np.empty(len(rows))
        decode_loops().column_norms(rows, hashes, self.weight, self.inverse, self.norms)
        self.lengths = np.sqrt(np.maximum(self.norms, 0.0))
        self.coefficients = np.zeros(len(rows))
        self.scores = np.empty(len(rows))
        self._score()
        self.weighted_share = self.pull.copy()
        used = int((weight > 0).sum())
        self.freedom = used - int((total > 0).sum()) if levels else used

    def solve(self, penalties: Vector, *, most_rounds: int = _MOST_ROUNDS) -> None:
        """Minimise at these `penalties`, one for each candidate."""
        inside = self.coefficients > 0
        for _ in range(most_rounds):
            wanted = (self.scores > penalties) & ~inside & (self.norms > 0)
            if not wanted.any() and not inside.any():
                return
            inside |= wanted
            self._descend(np.flatnonzero(inside), penalties)
            self._score()
            # Within the tolerance of the descent a score may exceed its penalty.
            slack = self.tolerance * self.lengths
            if not ((self.scores > penalties + slack) & ~inside).any():
                return

    def approach(self, penalty: float) -> None:
        """Lower the penalty to `penalty` (in standard deviations) in steps of one round each."""
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = float(np.nanmax(np.where(self.norms > 0, self.scores / self.lengths, 0.0)))
        step = highest * _DESCENT
        while step > penalty:
            self.solve(step * self.lengths, most_rounds=1)
            step *= _DESCENT

    def _descend(self, chosen: NDArray[np.intp], penalties: Vector) -> None:
        coefficients = self.coefficients[chosen]
        fit = self.descent(chosen, self.pull, self.level, penalties, coefficients)
        decode_loops().descend(fit, self.tolerance, _MOST_SWEEPS)
        self.coefficients[chosen] = coefficients

    def descent(
        self, chosen: NDArray[np.intp], pull: Table, level: Vector, penalties: Vector, now: Vector
    ) -> Descent:
        """Return the descent of the candidates `chosen`, started at the coefficients `now`."""
        rows, norms = self.rows[chosen], self.norms[chosen]
        fixed = (rows, self.hashes, pull, self.weight, self.inverse)
        return Descent(*fixed, level, norms, penalties[chosen], now)

    def _score(self) -> None:
        decode_loops().column_scores(self.rows, self.hashes, self.residual_pull(), self.scores)

    def residual_pull(self) -> Table:
        """Return weight times residual of every bit, without the levels, padded like the
        weights.
        """
        return np.asarray(self.pull - self.level[:, None] * self.weight)

    def squares(self) -> float:
        """Return the weighted sum of squared residuals."""
        pull, weight = self.residual_pull(), self.weight
        return float(np.sum(pull**2 / np.where(weight > 0, weight, np.inf)))

    def state(self) -> State:
        """Return a copy of the fit's state, for `restore`."""
        active = np.flatnonzero(self.coefficients)
        return State(active, self.coefficients[active], self.pull.copy(), self.level.copy())

    def restore(self, state: State) -> None:
        """Set the fit to a saved `state`."""
        self.coefficients[:] = 0.0
        self.coefficients[state.active] = state.coefficients
        self.pull, self.level = state.pull.copy(), state.level.copy()
        self._score()

    def begin_at(self, active: NDArray[np.intp], coefficients: Vector) -> None:
        """Start from the `coefficients` of the candidates `active` in another fit."""
        fitted = combined(self.rows[active], self.hashes, coefficients, self.weight)
        pull = self.weighted_share - self.weight * fitted
        self.restore(State(active, coefficients, pull, pull.sum(axis=1) * self.inverse))

    @property
    def support(self) -> int:
        """The number of candidates with a positive coefficient."""
        return int((self.coefficients > 0).sum())


def padded(table: Table) -> Table:
    """Return the `table` over the bits with a column of zeros, which repeated bits point to."""
    return np.ascontiguousarray(np.pad(table, ((0, 0), (0, 1))))


def combined(rows: Map, hashes: int, coefficients: Vector, like: Table) -> Table:
    """Return the sum of the candidates' columns times `coefficients`, as a padded table.

    The last column gathers repeated bits and has no meaning.
    """
    first = np.repeat(np.arange(len(like)), hashes) * like.shape[1]
    at = (rows.astype(np.int64) + first).reshape(-1)
    sums = np.bincount(at, np.repeat(coefficients, rows.shape[1]), minlength=like.size)
    return sums.astype(np.float64, copy=False).reshape(like.shape)
