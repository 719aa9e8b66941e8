"""How shares move from day to day: a line as smooth as the evidence says, and one change.

Days differ by noise whose size is known, and by what people do. The line is a random walk
observed with that noise; how far it may step in a day is averaged over by its evidence, from not at
all to as far as the noise (Kalman 1960; Rauch, Tung and Striebel 1965). The change is where days
before and after differ most, in standard deviations. Its p-value is that of the largest of all such
differences when nothing changes, which is simulated with the same days and the same seed. Far out,
where no simulated difference lies, it is Bonferroni's bound over all splits, which is tight there.
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
    """The mean standard deviation of a step, by evidence: 0 where nothing moves."""


def smooth(observed: Vector, variance: Vector, gaps: Vector) -> Line:
    """Days by columns; `gaps` are how many steps lie before each day but the first."""
    scale = variance.mean(axis=0)
    steps = _candidates(len(observed))[:, None] * scale
    ahead, spread, evidence = _filtered(observed, variance, gaps, steps)
    means, variances = _smoothed(ahead, spread, gaps, steps)
    weights = np.exp(evidence - evidence.max(axis=0))
    weights /= weights.sum(axis=0)
    mean = (weights[:, None] * means).sum(axis=0)
    around = (weights[:, None] * (variances + (means - mean) ** 2)).sum(axis=0)
    return Line(mean, np.sqrt(around), (weights * np.sqrt(steps)).sum(axis=0))


def _candidates(days: int) -> Vector:
    """Variances of a step over that of a day: from what so many days do not notice, and none."""
    return np.concatenate([[0.0], np.geomspace(1 / days**2, _WIDEST, _TRIED)])


def _filtered(
    observed: Vector, variance: Vector, gaps: Vector, steps: Vector
) -> tuple[Vector, Vector, Vector]:
    """What is known on each day from it and those before, for every step; and the evidence."""
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


def _smoothed(mean: Vector, spread: Vector, gaps: Vector, steps: Vector) -> tuple[Vector, Vector]:
    """The same from all days, backwards from the last."""
    mean, spread = mean.copy(), spread.copy()
    for day in range(mean.shape[1] - 2, -1, -1):
        ahead = spread[:, day] + gaps[day] * steps
        gain = spread[:, day] / ahead
        spread[:, day] += gain**2 * (spread[:, day + 1] - ahead)
        mean[:, day] += gain * (mean[:, day + 1] - mean[:, day])
    return mean, spread


@dataclass(frozen=True)
class Change:
    """For each column: the first day after the change, both levels, and the p-value."""

    day: Rows
    before: Vector
    after: Vector
    statistic: Vector
    p_value: Vector


def change(observed: Vector, variance: Vector) -> Change:
    """Days by columns; variances are those of days on which nothing changed."""
    weights = 1 / variance
    first, second = _sides(weights), _sides(weights * observed)
    before, after = second[0] / first[0], second[1] / first[1]
    deviations = (after - before) / np.sqrt(1 / first[0] + 1 / first[1])
    at = np.abs(deviations).argmax(axis=0)
    columns = np.arange(observed.shape[1])
    largest = np.abs(deviations[at, columns])
    p_value = _beyond(weights, largest)
    return Change(at + 1, before[at, columns], after[at, columns], deviations[at, columns], p_value)


def _sides(numbers: Vector) -> tuple[Vector, Vector]:
    """The sums before and after every split, of which there is one less than days."""
    sums = np.cumsum(numbers, axis=0)
    return sums[:-1], sums[-1] - sums[:-1]


def _beyond(weights: Vector, largest: Vector) -> Vector:
    """How often the largest difference of any split is as large, if nothing changes.

    Only the proportions of a column's weights matter, so most columns share one simulation.
    """
    parts = np.round(weights / weights.sum(axis=0), _DIGITS)
    distinct, which = np.unique(parts.T, axis=0, return_inverse=True)
    found = np.empty(largest.size)
    for number, shares in enumerate(distinct):
        mine = which.reshape(-1) == number
        drawn = np.sort(_largest(shares))
        seen = _DRAWS - np.searchsorted(drawn, largest[mine], side="left")
        found[mine] = (1 + seen) / (1 + _DRAWS)
    return np.minimum(found, _tail_bound(largest, splits=len(weights) - 1))


def _tail_bound(largest: Vector, splits: int) -> Vector:
    """Bound the chance that any of so many `splits` differs by `largest` deviations or more."""
    bound = np.exp(np.log(2 * splits) + log_ndtr(-largest))
    return np.asarray(np.maximum(bound, np.finfo(float).tiny))


def _largest(weights: Vector) -> Vector:
    """The largest differences of days on which nothing changes."""
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
