"""Trends of shares: a smooth line whose step size is learned, and one change.

Days differ by noise whose size is known, and by what people do. The line is a random walk observed
with that noise; its step size is averaged by marginal likelihood, from 0 to as far as the noise
(Kalman 1960; Rauch, Tung and Striebel 1965). The change is where days before and after differ most,
in standard deviations. Its p-value is that of the largest of all such differences when nothing
changes, which is simulated with equal days and a fixed seed. Far out, where no simulated difference
lies, it is Bonferroni's bound over all splits, which is tight there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from rumor.core.types import Rows, Vector

_WIDEST, _TRIED = 16.0, 12
_DRAWS = 20_000
_SEED = 20_260_301
_CELLS = 1 << 22
_DIGITS = 9


@dataclass(frozen=True)
class Line:
    """A smoothed line for each column: its height and standard deviation on every day."""

    mean: Vector
    deviation: Vector
    step: Vector
    """The mean standard deviation of a step, by marginal likelihood: 0 if nothing moves."""


def smooth(observed: Vector, variance: Vector, gaps: Vector) -> Line:
    """Smooth `observed`, days by columns; `gaps` are the steps before each day but the first."""
    scale = variance.mean(axis=0)
    steps = _candidates(len(observed))[:, None] * scale
    ahead, spread, evidence = _filter(observed, variance, gaps, steps)
    means, variances = _smooth_backwards(ahead, spread, gaps, steps)
    weights = np.exp(evidence - evidence.max(axis=0))
    weights /= weights.sum(axis=0)
    mean = (weights[:, None] * means).sum(axis=0)
    around = (weights[:, None] * (variances + (means - mean) ** 2)).sum(axis=0)
    return Line(mean, np.sqrt(around), (weights * np.sqrt(steps)).sum(axis=0))


def _candidates(days: int) -> Vector:
    """Return variances of a step relative to a day's noise, from 0 to far above it."""
    return np.concatenate([[0.0], np.geomspace(1 / days**2, _WIDEST, _TRIED)])


def _filter(
    observed: Vector, variance: Vector, gaps: Vector, steps: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return each day's estimate from the days so far, for every step, and the likelihoods."""
    days, columns = observed.shape
    mean, spread = (np.empty((len(steps), days, columns)) for _ in range(2))
    mean[:, 0], spread[:, 0] = observed[0], variance[0]
    evidence = np.zeros((len(steps), columns))
    for day in range(1, days):
        before = spread[:, day - 1] + gaps[day - 1] * steps
        total = before + variance[day]
        surprise = observed[day] - mean[:, day - 1]
        evidence -= (np.log(total) + surprise**2 / total) / 2
        gain = before / total
        mean[:, day] = mean[:, day - 1] + gain * surprise
        spread[:, day] = (1 - gain) * before
    return mean, spread, evidence


def _smooth_backwards(
    mean: Vector, spread: Vector, gaps: Vector, steps: Vector
) -> tuple[Vector, Vector]:
    """Return each day's estimate from all days, for every step, backwards from the last."""
    mean, spread = mean.copy(), spread.copy()
    for day in range(mean.shape[1] - 2, -1, -1):
        ahead = spread[:, day] + gaps[day] * steps
        gain = spread[:, day] / ahead
        spread[:, day] += gain**2 * (spread[:, day + 1] - ahead)
        mean[:, day] += gain * (mean[:, day + 1] - mean[:, day])
    return mean, spread


@dataclass(frozen=True)
class ChangePoint:
    """The first day after the change, both levels and the p-value, for each column."""

    day: Rows
    before: Vector
    after: Vector
    statistic: Vector
    p_value: Vector


def find_change(observed: Vector, variance: Vector) -> ChangePoint:
    """Find the largest change in `observed`, days by columns, with variances without a change."""
    weights = 1 / variance
    first, second = _sides(weights), _sides(weights * observed)
    before, after = second[0] / first[0], second[1] / first[1]
    deviations = (after - before) / np.sqrt(1 / first[0] + 1 / first[1])
    at = np.abs(deviations).argmax(axis=0)
    columns = np.arange(observed.shape[1])
    largest = np.abs(deviations[at, columns])
    p_value = _simulated_p_value(weights, largest)
    return ChangePoint(
        at + 1, before[at, columns], after[at, columns], deviations[at, columns], p_value
    )


def _sides(numbers: Vector) -> tuple[Vector, Vector]:
    """Return the sums before and after every split, one fewer than the days."""
    sums = np.cumsum(numbers, axis=0)
    return sums[:-1], sums[-1] - sums[:-1]


def _simulated_p_value(weights: Vector, largest: Vector) -> Vector:
    """Return how often the largest difference of any split is as large without a change.

    Only the proportions of a column's weights matter, so most columns share one simulation.
    """
    parts = np.round(weights / weights.sum(axis=0), _DIGITS)
    distinct, which = np.unique(parts.T, axis=0, return_inverse=True)
    found = np.empty(largest.size)
    for number, shares in enumerate(distinct):
        mine = which.reshape(-1) == number
        drawn = np.sort(_simulate_largest(shares))
        seen = _DRAWS - np.searchsorted(drawn, largest[mine], side="left")
        found[mine] = (1 + seen) / (1 + _DRAWS)
    return np.minimum(found, _tail_bound(largest, splits=len(weights) - 1))


def _tail_bound(largest: Vector, splits: int) -> Vector:
    """Bound the chance that any of `splits` splits differs by `largest` deviations or more."""
    bound = np.exp(np.log(2 * splits) + log_ndtr(-largest))
    return np.asarray(np.maximum(bound, np.finfo(float).tiny))


def _simulate_largest(weights: Vector) -> Vector:
    """Simulate the largest differences of days on which nothing changes."""
    rng, size = np.random.default_rng(_SEED), max(1, _CELLS // weights.size)
    before = np.cumsum(weights)
    whole, before = before[-1], before[:-1]
    scale = np.sqrt(before * (whole - before) / whole)
    found = []
    for start in range(0, _DRAWS, size):
        count = min(size, _DRAWS - start)
        walks = np.cumsum(rng.standard_normal((count, weights.size)) * np.sqrt(weights), axis=1)
        bridge = walks[:, :-1] - np.outer(walks[:, -1], before / whole)
        found.append(np.abs(bridge / scale).max(axis=1))
    return np.concatenate(found)
