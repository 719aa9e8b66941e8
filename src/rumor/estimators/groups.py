"""Groups: unbiased samples of different people, their pooled means, and a test of differences.

Everything that compares or combines groups starts from unbiased estimates whose variance is known
at every candidate truth, never from shrunk estimates: those of a small group are shrunk further,
and would differ by that alone.

*Few reports.* A report of a group moves the weighted mean by the group's weight over its number of
reports. In units of the largest such step, the mean is a sum of independent numbers within 0 and
1, and nothing with its expectation spreads further than as many whole coins as these numbers come
to (Hoeffding, Annals of Mathematical Statistics 27, 1956). So groups whose steps are alike up to a
factor of four are taken for one count of coins, and with them everything that moves the mean by no
more than one of them. Ends of unlike groups are combined by squares (MOVER, Zou and Donner 2008),
as those of a difference are: one person in a small group leaves a precise estimate of all others
precise.

*Pooling.* Samples differ in their epsilon or mechanism. Each has the weight that its variance gives
it *at the common truth*: weights by the number of reports let the noisiest source decide, and
weights by each source's own estimate divide by zero where an estimate happens to lie at an end. The
interval holds every truth at which the weighted mean is not too surprising.

*Differences.* Whether two groups differ in any value is tested by all values at once. The
differences, without their common shift (truths sum to one in both groups, so such a shift is
noise), are compared with the covariance that both groups would have at their common shares: a
chi-squared statistic with as many degrees of freedom as there are values less one. It detects many
small differences that no test of a single value does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from rumor.core.binomial import FEW, coin_ends
from rumor.core.reports import Mask
from rumor.core.types import Rows, Target, Vector
from rumor.core.typing import override
from rumor.mechanisms.support import Score


@dataclass(frozen=True)
class OmnibusTest:
    """An omnibus test: a test of all rows at once, with its p-value."""

    test: str
    statistic: float
    freedom: int
    """The degrees of freedom of the test."""
    p_value: float


Bounds = tuple[Vector, Vector]
_SMALLEST = 1e-300


class FewReports(Protocol):
    """Reports each of which adds a number within known bounds to an estimate, as coins do."""

    @property
    def trials(self) -> Vector:
        """The number of reports that each estimate is a mean of."""
        ...

    @property
    def within(self) -> Bounds:
        """The smallest and the largest number that one report can add."""
        ...

    def is_few(self, rows: Rows) -> Mask:
        """Return whether the reports of these rows are too few for the normal distribution."""
        ...

    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        """Return the exact ends of these rows, each at its own normal quantile `z`."""
        ...


@dataclass(frozen=True)
class SelectedFewReports(FewReports):
    """The rows `rows` of other few reports."""

    whole: FewReports
    rows: Rows

    @property
    @override
    def trials(self) -> Vector:
        return self.whole.trials[self.rows]

    @property
    @override
    def within(self) -> Bounds:
        least, most = self.whole.within
        return least[self.rows], most[self.rows]

    @override
    def is_few(self, rows: Rows) -> Mask:
        return self.whole.is_few(self.rows[rows])

    @override
    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        return self.whole.quantile_ends(self.rows[rows], z)


@dataclass(frozen=True)
class Sample:
    """Unbiased estimates from `reports` reports.

    One report's estimate has, where the truth is f, the variance v0 + v1 f + v2 f**2 with the
    numbers of `spread`.
    """

    mean: Vector
    spread: tuple[Vector, Vector, Vector]
    reports: float
    limits: tuple[float, float] = (-math.inf, math.inf)
    """The limits between which the truth lies."""
    exact: FewReports | None = None
    """The source of exact ends that intervals must hold if reports are few; None otherwise."""

    @classmethod
    def of_score(
        cls,
        score: Score,
        reports: int,
        of: Target,
        exact: FewReports | None = None,
    ) -> Sample:
        """Return a sample of shares from an oracle's `score`, a mean over reports."""
        mean = np.asarray(score.excess / score.gain)
        spread = _like(mean, *(v / score.gain**2 for v in score.spread[of]))
        return cls(mean, spread, reports, (0.0, 1.0), exact)

    @classmethod
    def known(cls, mean: Vector, stderr: Vector) -> Sample:
        """Return a sample of estimates of which only standard errors
        are known, as of one report each.
        """
        return cls(mean, _like(mean, stderr**2, 0.0, 0.0), 1)

    @classmethod
    def coins(cls, mean: float, ends: tuple[float, float], reports: int) -> Sample:
        """Return a mean that is a share of coins, stretched to lie between two ends."""
        where, (zero, one) = np.array([mean]), ends
        return cls(where, _like(where, -zero * one, zero + one, -1.0), reports)

    def at(self, rows: Rows) -> Sample:
        """Return the sample of the estimates at `rows`."""
        spread = _like(*(v[rows] for v in (self.mean, *self.spread)))
        some = None if self.exact is None else SelectedFewReports(self.exact, rows)
        return replace(self, mean=self.mean[rows], spread=spread, exact=some)

    @cached_property
    def few(self) -> Mask:
        """The rows that have too few reports for the normal distribution."""
        if self.exact is None:
            return np.zeros(self.mean.size, dtype=bool)
        return self.exact.is_few(np.arange(self.mean.size))

    def variance(self, truth: Vector | float) -> Vector:
        """Return the variance of the estimates if `truth` is the truth."""
        v0, v1, v2 = self.spread
        each = v0 + v1 * truth + v2 * np.square(truth)
        return np.asarray(np.maximum(each, _SMALLEST) / self.reports)

    @property
    def stderr(self) -> Vector:
        """The standard errors at the estimates, or at the nearest possible truth."""
        return np.sqrt(self.variance(self.plausible(self.mean)))

    def plausible(self, truth: Vector) -> Vector:
        """Return the possible truth nearest to each estimate, which noise may carry outside."""
        return np.clip(truth, *self.limits)

    def bounds(self, z: float | Vector) -> Bounds:
        """Return both roots of (mean - f)^2 = z^2 variance(f): Wilson's interval, not cut off.

        Wilson (Journal of the American Statistical Association 22, 1927) for a binomial. Where
        reports are few, it is stretched to hold the `exact` ends.
        """
        k = z * z / self.reports
        v0, v1, v2 = self.spread
        a, b, c = 1 - k * v2, 2 * self.mean + k * v1, self.mean**2 - k * v0
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        low, high = np.asarray((b - root) / (2 * a)), np.asarray((b + root) / (2 * a))
        if self.exact is None:
            return low, high
        rows = np.flatnonzero(self.few)
        least, most = self.exact.quantile_ends(rows, np.broadcast_to(z, low.shape)[rows])
        low[rows], high[rows] = np.minimum(low[rows], least), np.maximum(high[rows], most)
        return low, high


def _like(mean: Vector, *spread: Vector | float) -> tuple[Vector, Vector, Vector]:
    """Return `spread` as a number for each estimate."""
    first, second, third = (np.broadcast_to(np.asarray(v, np.float64), mean.shape) for v in spread)
    return first, second, third


def two_sided_p_value(z: Vector) -> Vector:
    """Return the chance of a normal deviation at least as large on either side."""
    return np.array([math.erfc(abs(value) / math.sqrt(2)) for value in np.atleast_1d(z)])


_ALIKE = 4.0  # ratio of steps up to which groups are counted together
_MOST_CLASSES = 30


def few_ends(samples: Sequence[Sample], weights: Vector, z: float | Vector) -> Bounds:
    """Return ends of the mean of `samples` with these `weights` (samples by rows).

    Where no sample has few reports, a lower end is infinite and an upper one minus infinity.
    """
    few = np.flatnonzero(np.logical_or.reduce([sample.few for sample in samples]))
    low, high = np.full(weights.shape[1], np.inf), np.full(weights.shape[1], -np.inf)
    if few.size:
        each = np.broadcast_to(np.asarray(z, dtype=np.float64), low.shape)[few]
        low[few], high[few] = _ends([s.at(few) for s in samples], weights[:, few], each)
    return low, high


def _ends(samples: Sequence[Sample], weights: Vector, z: Vector) -> Bounds:
    """Return the ends, with squares of the distances of all classes added up."""
    means = np.array([sample.mean for sample in samples])
    span, least, trials = (np.zeros(weights.shape) for _ in range(3))
    for k, sample in enumerate(samples):
        if sample.exact is not None:
            within = sample.exact.within
            span[k], least[k] = within[1] - within[0], within[0]
            trials[k] = np.maximum(sample.exact.trials, 1.0)
    # What is not made of coins has no step, and is normal.
    coins = span > 0
    steps = np.divide(weights * span, trials, out=np.zeros_like(span), where=coins)
    longest = steps.max(axis=0)
    ratio = np.divide(longest, steps, out=np.ones_like(steps), where=steps > 0)
    classes = np.minimum(np.floor(np.log(ratio) / np.log(_ALIKE)), _MOST_CLASSES)
    for each in np.unique(classes):
        mine = classes == each
        whole = (weights * span * (mine & coins)).sum(axis=0)
        classes = np.where(mine & (whole <= longest), 0.0, classes)
    errors = np.array([sample.stderr for sample in samples])
    total, tail = (weights * means).sum(axis=0), ndtr(-z)
    normal = np.where(coins, 0.0, weights * errors)
    below = above = z * z * (normal**2).sum(axis=0)
    for each in np.unique(classes):
        mine = np.where((classes == each) & coins, weights, 0.0)
        start, length = (mine * least).sum(axis=0), (mine * span).sum(axis=0)
        step = (steps * (mine > 0)).max(axis=0)
        count = np.divide(length, step, out=np.zeros_like(length), where=step > 0)
        mean = (mine * means).sum(axis=0)
        share = np.divide(mean - start, length, out=np.zeros_like(mean), where=length > 0)
        ends = coin_ends(mean, np.maximum(count, 1.0), (start, start + length), tail, tail)
        many = count * share * (1 - share) >= FEW
        reach = z * np.sqrt((np.square(mine * errors)).sum(axis=0))
        below = below + np.square(np.where(many, reach, np.maximum(mean - ends[0], 0.0)))
        above = above + np.square(np.where(many, reach, np.maximum(ends[1] - mean, 0.0)))
    return total - np.sqrt(below), total + np.sqrt(above)


_ROUNDS = 6
_DOUBLINGS = 60
_HALVINGS = 60


@dataclass(frozen=True)
class PooledSamples:
    """One quantity for each row, from several samples of different people."""

    samples: Sequence[Sample]

    @property
    def mean(self) -> Vector:
        """The weighted mean, with weights from the variances at that mean."""
        people = sum(s.reports for s in self.samples)
        found = np.asarray(sum(s.mean * s.reports for s in self.samples) / people)
        for _ in range(_ROUNDS):
            found = self._weighted(found)
        return found

    def _weighted(self, truth: Vector) -> Vector:
        """Return the mean with the weights of a truth, or that
        truth where no sample says anything.
        """
        weights = self._weights(truth)
        added = sum(w * s.mean for w, s in zip(weights, self.samples, strict=True))
        total = np.asarray(sum(weights))
        return np.asarray(np.divide(added, total, out=truth.copy(), where=total > 0))

    def _weights(self, truth: Vector) -> list[Vector]:
        return [1 / s.variance(s.plausible(truth)) for s in self.samples]

    @property
    def stderr(self) -> Vector:
        """The standard error of the weighted mean; infinite if no sample tells anything."""
        total = np.asarray(sum(self._weights(self.mean)))
        nothing = np.full(total.shape, np.inf)
        return np.asarray(np.divide(1, np.sqrt(total), out=nothing, where=total > 0))

    def bounds(self, z: float) -> Bounds:
        """Return the interval of truths within z standard errors of their weighted mean.

        If reports are few, the ends are stretched to exact ones.
        """
        known = np.isfinite(self.stderr)
        if not known.all():
            low, high = np.full(known.shape, -np.inf), np.full(known.shape, np.inf)
            rows = np.flatnonzero(known)
            low[rows], high[rows] = PooledSamples([s.at(rows) for s in self.samples]).bounds(z)
            return low, high
        middle, step = self.mean, self.stderr

        def surprise(truth: Vector) -> Vector:
            weights = self._weights(truth)
            added = sum(
                w * (s.mean - truth) for w, s in zip(weights, self.samples, strict=True)
            ) / np.sqrt(sum(weights))
            return np.abs(added)

        low, high = _edge(surprise, middle, -step, z), _edge(surprise, middle, step, z)
        return np.minimum(low, self._few(low, z)[0]), np.maximum(high, self._few(high, z)[1])

    def _few(self, truth: Vector, z: float) -> Bounds:
        """Return exact ends for few reports, with the weights at the `truth` in question.

        At an estimate of 0, sources of little noise would have all the weight, however few their
        reports.
        """
        weights = np.array(self._weights(truth))
        return few_ends(self.samples, weights / weights.sum(axis=0), z)


def _edge(surprise: Callable[[Vector], Vector], middle: Vector, step: Vector, z: float) -> Vector:
    """Return the last truth on one side that is not more surprising than z."""
    inside, outside = middle.copy(), middle + max(z, 1.0) * step
    for _ in range(_DOUBLINGS):
        fits = surprise(outside) <= z
        if not fits.any():
            break
        inside = np.where(fits, outside, inside)
        outside = np.where(fits, middle + 2 * (outside - middle), outside)
    for _ in range(_HALVINGS):
        half = (inside + outside) / 2
        fits = surprise(half) <= z
        inside, outside = np.where(fits, half, inside), np.where(fits, outside, half)
    return np.asarray(inside)


MAX_VALUES = 2000
"""The most values whose full covariance is worth its time."""


def chi_squared_tail(statistic: float, freedom: int) -> float:
    """Return the chance that a chi-squared number exceeds this one."""
    from scipy.special import chdtrc

    return 1.0 if freedom == 0 else float(chdtrc(freedom, statistic))


def chi_squared(difference: Vector, covariance: Vector) -> OmnibusTest:
    """Return the chi-squared test of differences that sum to 0 in truth, with known covariance."""
    contrast = difference[:-1] - difference[-1]
    last = covariance[-1]
    spread = covariance[:-1, :-1] - last[:-1] - last[:-1, None] + last[-1]
    statistic = float(contrast @ np.linalg.pinv(spread, hermitian=True) @ contrast)
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    return OmnibusTest("chi-squared", statistic, freedom, chi_squared_tail(statistic, freedom))
