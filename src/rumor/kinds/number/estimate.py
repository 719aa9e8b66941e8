"""Means of one number from a summary of reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rumor.core.binomial import FEW
from rumor.core.checks import checked_method
from rumor.core.extras import import_optional
from rumor.core.types import Rows, Target
from rumor.estimators.data import as_summary
from rumor.kinds.number.result import MeanEstimate
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.results.counts import bounded_ends
from rumor.results.intervals import Bounds, EqualTails, Intervals, NormalIntervals, Tails
from rumor.results.sequences import ONE_LOOK, OneLook

OPTIONS: Mapping[str, tuple[str, ...]] = {"auto": (), "inversion": (), "clip": ()}
"""The methods, each with the names of its options."""

# Below this variance of all reports' noise, in squares of the range, a few people at the other end
# of the range decide about the mean.
_FEW_NUMBERS = 5.0


@dataclass(frozen=True)
class ShareIntervals:
    """Score (Wilson) intervals of a binomial share, mapped linearly to the mean.

    Where the count of ones is small, the intervals are widened to contain those of Clopper and
    Pearson.
    """

    share: float
    reports: int
    zero: float
    one: float

    @property
    def few(self) -> bool:
        """Whether the count of ones is too small for the normal distribution."""
        return self.reports * self.share * (1 - self.share) < FEW

    @property
    def ends(self) -> tuple[float, float]:
        """The means that the shares 0 and 1 stand for."""
        return self.zero, self.one

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return both roots of (share - pi)^2 = z^2 pi (1 - pi) / n, mapped to the mean."""
        return self._ends(z, NormalDist().cdf(-z), ONE_LOOK)

    def _ends(self, z: float, tail: float, look: OneLook) -> Bounds:
        """Return the roots at `z`, widened to the exact ends with this `tail` at a `look`."""
        k = z * z / self.reports
        centre = (self.share + k / 2) / (1 + k)
        root = math.sqrt(k * self.share * (1 - self.share) + k * k / 4) / (1 + k)
        low, high = centre - root, centre + root
        if self.few:
            least, most = _few_ends(self.share, self.reports, (0.0, 1.0), EqualTails(tail, look))
            low, high = min(low, least), max(high, most)
        return tuple(np.array([self.zero + (self.one - self.zero) * end]) for end in (low, high))  # type: ignore[return-value]

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the lower end at one tail and the upper end at the other of `tails`."""
        below, above = (float(z[0]) for z in tails.quantiles())
        lower = self._ends(below, float(tails.lower[0]), tails.look)
        return lower[0], self._ends(above, float(tails.upper[0]), tails.look)[1]


@dataclass(frozen=True)
class FewNumbers:
    """Intervals of the mean of a few reports, each of which gives an estimate within two ends.

    A few reports do not show how far they vary: a share of 1/n of the people, at the other end of
    the range, is missing from every third sample. So the interval is Student's, widened to that of
    the widest distribution with this mean: all estimates at one end or the other, as from coins.
    """

    mean: float
    stderr: float
    reports: int
    ends: tuple[float, float]
    """The smallest and the largest estimate that a report can give."""
    few: bool = True

    def bounds(self, z: float, of: Target) -> Bounds:
        """Return the outer ends of Student's interval and of the interval for coins, at `z`."""
        return self._ends(z, NormalDist().cdf(-z), ONE_LOOK)

    def _ends(self, z: float, tail: float, look: OneLook) -> Bounds:
        """Return Student's ends where the normal ones are at `z`, and those for coins at a `look`.

        The coins' ends are exact, and have this `tail`.
        """
        special = import_optional("scipy.special", "an interval of few reports")
        reach = math.inf
        if self.reports > 1:
            student = -float(special.stdtrit(self.reports - 1, NormalDist().cdf(-z)))
            reach = student * self.stderr
        least, most = _few_ends(self.mean, self.reports, self.ends, EqualTails(tail, look))
        ends = min(self.mean - reach, least), max(self.mean + reach, most)
        low, high = (np.clip([end], *self.ends) for end in ends)
        return low, high

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """Return the lower end at one tail and the upper end at the other of `tails`."""
        below, above = (float(z[0]) for z in tails.quantiles())
        lower = self._ends(below, float(tails.lower[0]), tails.look)
        return lower[0], self._ends(above, float(tails.upper[0]), tails.look)[1]


def _few_ends(
    mean: float, reports: int, within: tuple[float, float], tails: EqualTails
) -> tuple[float, float]:
    """Return the interval of the mean of `reports` coins whose two values are the ends `within`."""
    least, most = (np.array([end]) for end in within)
    trials = np.array([float(reports)])
    low, high = bounded_ends(np.array([mean]), trials, (least, most), tails.rows(1))
    return float(low[0]), float(high[0])


def estimate(
    mechanism: MeanMechanism, data: object, method: str, options: Mapping[str, Any]
) -> MeanEstimate:
    """Return the mean from reports or a summary of them."""
    chosen = checked_method(method, options, OPTIONS, f" for {mechanism.name}")
    return estimate_mean(mechanism, as_summary(mechanism, data), chosen)


def estimate_mean(mechanism: MeanMechanism, summary: Summary, method: str) -> MeanEstimate:
    """Return the mean by `method`: "inversion" unclipped, "clip" (and "auto") within the range."""
    n, grid = summary.reports, mechanism.grid
    unbiased, variance = mechanism.moments(summary.tally, n)
    # Few reports may agree by chance; the mechanism's noise is a lower bound on the variance.
    stderr = math.sqrt(max(variance, mechanism.least_variance) / n)
    intervals: Intervals
    coins = mechanism.binomial(summary.tally, n)
    if coins is not None:
        intervals = ShareIntervals(coins.share, n, coins.zero, coins.one)
    elif n * mechanism.least_variance < _FEW_NUMBERS * grid.span**2:
        furthest = mechanism.furthest_estimate  # symmetric about the middle of the range
        intervals = FewNumbers(unbiased, stderr, n, (2 * grid.middle - furthest, furthest))
    else:
        intervals = NormalIntervals(np.array([unbiased]), np.array([stderr]))
    chosen = "clip" if method == "auto" else method
    mean = unbiased if chosen == "inversion" else min(max(unbiased, grid.low), grid.high)
    return MeanEstimate(
        mean=mean,
        unbiased=unbiased,
        stderr=stderr,
        range=(grid.low, grid.high),
        reports=n,
        epsilon=mechanism.epsilon,
        method=chosen,
        intervals=intervals,
        diagnostics={"fake_clients": bound_poisoning(mechanism, n).to_dict()},
    )
