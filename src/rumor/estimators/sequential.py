"""Evidence that may be read at any time: normal mixtures, and changes over a declared horizon.

*One difference.* Its evidence is the normal mixture of `core/mixture.py`.

*A change at an unknown period.* The level before a change is unknown as well. Each period is held
against all periods before it: these standardised scores are independent standard normals without a
change, whatever the level. A shift after period k moves the scores of later periods by known
factors, so each k has a martingale E_k, which is 1 up to period k. Over a declared horizon the
average of all E_k is a martingale too: one statement covers every period at which a change may
begin and every look. The prior of the shift has the variance of one average period up to k, which
is known when the first period after k arrives.

*Reports that are few.* Variances are those without a change: at the pooled truth of all periods so
far, never a period's own estimate, which is small where its noise is. Where counts are small,
`Scores` holds two scores for each period: `low` is no larger and `high` no smaller than an exactly
normal score, and evidence of an increase uses the first, of a decrease the second.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.special import log_ndtr

from rumor.core.mixture import PLANNED_RATIO, mixture_quantile
from rumor.core.reports import Mask
from rumor.core.types import Rows, Vector

# Looks up to the planned number, how many times that number is followed, and cells of a deviation.
_LOOKS, _FOLLOWED, _CELL = 400, 6, 0.02


@dataclass(frozen=True)
class WatchedNeed:
    """The people that a difference needs which is tested at any time, not once.

    `times` is the number planned for over that of one test. `found` is the number, over that
    planned for, after which a difference is found on average.
    """

    times: float
    found: float


@functools.cache
def watched_need(alpha: float, power: float) -> WatchedNeed:
    """Return what a two-sided test at level `alpha` needs, so that it has found the difference by
    the planned number with probability `power`.

    With u the people over those planned for, the standardised difference is (c u + B(u)) / sqrt(u)
    with a Brownian motion B: c^2 stands for (z + z')^2 of one test. The law of B before the
    quantile is reached is followed over a grid.
    """
    normal = NormalDist()
    low, high = 1.0, 40.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        enough = _crossings(alpha, middle, _LOOKS).sum() >= power
        low, high = (low, middle) if enough else (middle, high)
    once = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    found = _crossings(alpha, high, _FOLLOWED * _LOOKS)
    rest = 1 - found.sum()
    at = (np.arange(found.size) + 1) / _LOOKS
    return WatchedNeed((high / once) ** 2, float(found @ at + rest * _FOLLOWED))


def _crossings(alpha: float, drift: float, looks: int) -> Vector:
    """Return the chance to reach the quantile first at each of `looks` looks."""
    step = 1 / _LOOKS
    at: Vector = step * np.arange(1, looks + 1, dtype=np.float64)
    ends = np.sqrt(at) * mixture_quantile(PLANNED_RATIO * at, alpha)
    cells = math.ceil(float(ends[-1]) / _CELL)
    place = _CELL * np.arange(-cells, cells + 1)
    reach = math.ceil((6 * math.sqrt(step) + drift * step) / _CELL)
    moved = _CELL * np.arange(-reach, reach + 1) - drift * step
    kernel = np.exp(-(moved**2) / (2 * step))
    kernel /= kernel.sum()
    law, found = (place == 0).astype(np.float64), np.zeros(looks)
    for look in range(looks):
        before = law.sum()
        law = np.convolve(law, kernel)[reach:-reach]
        law[np.abs(place) >= ends[look]] = 0.0
        found[look] = before - law.sum()
    return found


_CELLS = 1 << 14


@dataclass(frozen=True)
class Scores:
    """Standardised differences of every period from all before it, periods by values.

    `precision` is the weight of a period, 1 over its variance in units of one report's.
    """

    low: Vector
    high: Vector
    precision: Vector

    def at(self, columns: Rows | Mask) -> Scores:
        """Return the scores of the values at `columns`."""
        low = self.low[:, columns]
        high = low if self.high is self.low else self.high[:, columns]
        return Scores(low, high, self.precision[:, columns])

    @property
    def tested(self) -> Mask:
        """The values that some period could be compared on."""
        return np.asarray((_loadings(self.precision) > 0).any(axis=0))


def _before(precision: Vector) -> Vector:
    """Return the summed precision of all periods before each."""
    return np.asarray(np.cumsum(precision, axis=0) - precision)


def _loadings(precision: Vector) -> Vector:
    """Return by how much a shift of 1 moves each score, over the precision before the shift."""
    before = _before(precision)
    usable = (precision > 0) & (before > 0)
    inside = np.where(usable, before + before**2 / np.where(usable, precision, 1.0), 1.0)
    return np.where(usable, 1 / np.sqrt(inside), 0.0)


@dataclass(frozen=True)
class ChangeEvidence:
    """The evidence for a change of every value after every period, as of each look.

    `weights` has the prior probability of a change right after each period but the last; what is
    missing from 1 is left for periods to come.
    """

    scores: Scores
    weights: Vector

    def log_by_change(self, look: int, columns: Rows | Mask | None = None) -> Vector:
        """Return log E_k at period `look` (from 0), for k = 1 to `look` by `columns`."""
        some = self.scores if columns is None else self.scores.at(columns)
        loading = _loadings(some.precision)[: look + 1]
        own = np.cumsum(some.precision[: look + 1], axis=0)[:-1]
        squares = np.cumsum(loading**2, axis=0)
        held = np.cumsum(some.precision[: look + 1] > 0, axis=0)[:-1]
        # ratio = T B, with T = held / own and B = own^2 (squares so far - squares before k).
        ratio = held * own * np.maximum(squares[-1] - squares[:-1], 0.0)
        scale = np.sqrt(held * own / (1 + ratio))

        def shift(score: Vector) -> Vector:
            sums = np.cumsum(loading * score[: look + 1], axis=0)
            return np.asarray((sums[-1] - sums[:-1]) * scale)

        up = shift(some.low)
        if some.low is some.high:
            return np.asarray((up * up - np.log1p(ratio)) / 2)
        down = -shift(some.high)
        # Half of either side: a half-normal prior of a shift upwards, and one downwards.
        sides = np.logaddexp(up * up / 2 + log_ndtr(up), down * down / 2 + log_ndtr(down))
        return np.asarray(sides - np.log1p(ratio) / 2)

    def log_at(self, look: int, columns: Rows | Mask | None = None) -> Vector:
        """Return the log evidence of each value at period `look`, for a change at any period."""
        weights = self.weights[:look, None]
        rest = 1 - float(weights.sum())
        own = self.log_by_change(look, columns)
        top = np.maximum(own.max(axis=0, initial=0.0), 0.0)
        total = (weights * np.exp(own - top)).sum(axis=0) + max(rest, 0.0) * np.exp(-top)
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(total))

    def log_by_look(self) -> Vector:
        """Return the log evidence of every value at every look, looks by values."""
        looks, values = self.scores.low.shape
        found = np.zeros((looks, values))
        step = max(1, _CELLS // looks)  # some values at a time stay in the processor's cache
        for start in range(0, values, step):
            columns = np.arange(start, min(start + step, values))
            some = ChangeEvidence(self.scores.at(columns), self.weights)
            for look in range(1, looks):
                found[look, columns] = some.log_at(look)
        return found


def flat_weights(gaps: Vector, horizon: int) -> Vector:
    """Return flat probabilities of a change within `horizon` periods, as `gaps` lie between them.

    A gap of several periods has the probability of a change in any of them.
    """
    ends = np.minimum(np.cumsum(gaps), horizon - 1)
    return np.asarray(np.diff(ends, prepend=0.0) / max(horizon - 1, 1))


def any_look_radius(variance: Vector, prior: Vector, alpha: float) -> Vector:
    """Return by how far a difference of this `variance` errs at any look, tuned to `prior`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(variance > 0, prior / variance, math.inf)
    return np.asarray(np.sqrt(variance) * mixture_quantile(np.minimum(ratio, 1e12), alpha))
