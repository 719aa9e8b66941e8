"""De-biased shares of bits, and the non-negative Lasso on them.

From bit counts to what a decode fits: for every bit a de-biased share and its variance.

Erlingsson, Pihur and Korolova 2014: a bit that a share s of a cohort's people set is reported
as 1 with probability r = p* + (q* - p*) s, so s is estimated by (c/N - p*) / (q* - p*), with the
cohort's own N. Of the *population*, c is binomial, with variance N r (1 - r); of these *people*,
it is a sum of two binomials, with variance N (s q*(1-q*) + (1-s) p*(1-p*)).

The non-negative Lasso over a candidate map: the fit that every decode begins with.

It minimises, over b >= 0 and (where levels are free) a level a_c for each cohort,

    1/2 sum over bits w_i (y_i - a_c - sum_j x_ij b_j)^2 + sum_j penalty_j b_j.

Coordinate descent runs over a working set only, and a pass over all candidates adds those
that violate the optimality conditions; so a dictionary of a million words costs some passes
over its map, and memory for the map and a few numbers per word.
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
    """The shares of a summary's bits."""
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


# No coefficient moves by more than this, in standard deviations of its own estimate.
_TOLERANCE = 1e-3
_MOST_SWEEPS = 2_000
_MOST_ROUNDS = 50
# Far above the penalties that matter, one round for each gathers the working set.
_DESCENT = 0.6


@dataclass(frozen=True, eq=False)
class State:
    """Where a fit stands: its candidates with their coefficients, and the residuals."""

    active: NDArray[np.intp]
    coefficients: Vector
    pull: Table
    level: Vector


class Lasso:
    """A fit that goes on from where it stands as the penalty is lowered.

    `share` and `weight` are tables over the bits, (cohorts, bits). The penalty of a candidate
    is the one given times the length of its column, so it is in standard deviations.
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
        """Minimise at these penalties, one for each candidate."""
        inside = self.coefficients > 0
        for _ in range(most_rounds):
            wanted = (self.scores > penalties) & ~inside & (self.norms > 0)
            if not wanted.any() and not inside.any():
                return
            inside |= wanted
            self._descend(np.flatnonzero(inside), penalties)
            self._score()
            # Within the tolerance of the descent a score may stand above its penalty.
            slack = self.tolerance * self.lengths
            if not ((self.scores > penalties + slack) & ~inside).any():
                return

    def approach(self, penalty: float) -> None:
        """Go down to a penalty (in standard deviations) in steps, a round for each."""
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
        """A descent of these candidates from where their coefficients are `now`."""
        rows, norms = self.rows[chosen], self.norms[chosen]
        fixed = (rows, self.hashes, pull, self.weight, self.inverse)
        return Descent(*fixed, level, norms, penalties[chosen], now)

    def _score(self) -> None:
        decode_loops().column_scores(self.rows, self.hashes, self.residual_pull(), self.scores)

    def residual_pull(self) -> Table:
        """Weight times residual of every bit, the levels taken out, padded like the weights."""
        return np.asarray(self.pull - self.level[:, None] * self.weight)

    def squares(self) -> float:
        """The weighted sum of squared residuals."""
        pull, weight = self.residual_pull(), self.weight
        return float(np.sum(pull**2 / np.where(weight > 0, weight, np.inf)))

    def state(self) -> State:
        """Where the fit stands, to come back to."""
        active = np.flatnonzero(self.coefficients)
        return State(active, self.coefficients[active], self.pull.copy(), self.level.copy())

    def restore(self, state: State) -> None:
        """Go back to where the fit stood."""
        self.coefficients[:] = 0.0
        self.coefficients[state.active] = state.coefficients
        self.pull, self.level = state.pull.copy(), state.level.copy()
        self._score()

    def begin_at(self, active: NDArray[np.intp], coefficients: Vector) -> None:
        """Go on from coefficients that another fit of the same candidates found."""
        fitted = combined(self.rows[active], self.hashes, coefficients, self.weight)
        pull = self.weighted_share - self.weight * fitted
        self.restore(State(active, coefficients, pull, pull.sum(axis=1) * self.inverse))

    @property
    def support(self) -> int:
        """How many candidates have a positive coefficient."""
        return int((self.coefficients > 0).sum())


def padded(table: Table) -> Table:
    """A table over the bits with the column of zeros that repeated bits point to."""
    return np.ascontiguousarray(np.pad(table, ((0, 0), (0, 1))))


def combined(rows: Map, hashes: int, coefficients: Vector, like: Table) -> Table:
    """The sum of the candidates' columns times their coefficients, a table like a padded one.

    Its last column gathers repeated bits and means nothing.
    """
    first = np.repeat(np.arange(len(like)), hashes) * like.shape[1]
    at = (rows.astype(np.int64) + first).reshape(-1)
    sums = np.bincount(at, np.repeat(coefficients, rows.shape[1]), minlength=like.size)
    return sums.astype(np.float64, copy=False).reshape(like.shape)
