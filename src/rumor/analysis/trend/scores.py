"""Scores of periods: each held against all periods before it, standard normal without a change.

A period differs from the mean of all before it by noise whose variance is that of both at the
pooled truth so far. Where reports are counts that are small, the count of a period, given the count
of all periods so far, is hypergeometric without a change, whatever the truth. Its probabilities of
as many or more, and of as many or fewer, are turned into normal scores, which bound an exactly
normal one from below and from above.

Only counts with a variance below 16 need this: from there on, normal scores raise no more alarms
than promised, also among 5,000 values (`benchmarks/looks_table.py`), and lose none to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtri

from rumor.core.types import Rows, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.sequential import Scores

_TINY = 1e-12
_SMALL = 16.0  # variance of a count below which its scores are exact
_FURTHEST = 4.0  # a count at the end of its range; 1 score in 30,000 would lie further out
_REACH = 12.0  # standard deviations outside of which nothing is summed


@dataclass(frozen=True)
class Standardised:
    """The scores of all values, the mean of each period, and the variance of one report."""

    scores: Scores
    mean: Vector
    per_report: Vector
    """The variance of one report at the pooled truth, by look and value."""


def standardised(samples: Sequence[Sample], reports: Sequence[int]) -> Standardised:
    """Return the scores of `samples` of periods, which have these numbers of `reports`."""
    mean = np.array([sample.mean for sample in samples])
    score, precision, per_report = (np.zeros(mean.shape) for _ in range(3))
    weight = total = np.zeros(mean.shape[1])
    spread, people = np.zeros((3, mean.shape[1])), np.zeros(mean.shape[1])
    for k, (sample, count) in enumerate(zip(samples, reports, strict=True)):
        own = np.array(sample.spread) * (count / sample.reports)
        known = np.isfinite(own).all(axis=0)
        spread += np.where(known, own, 0.0) * count
        people = people + count * known
        pooled = np.divide(spread, people, out=np.zeros_like(spread), where=people > 0)
        rough = np.where(known, count, 0.0)
        truth = sample.plausible(_ratio(total + rough * mean[k], weight + rough))
        variance = pooled[0] + pooled[1] * truth + pooled[2] * truth**2
        known &= variance > _TINY * np.maximum(1.0, truth**2)
        scale = np.where(known, variance, 1.0)
        # A period's own variance counts where it is larger: means of few holders of a key.
        larger = np.maximum(sample.variance(truth) * count / scale, 1.0)
        precision[k] = np.where(known, count / np.where(known, larger, 1.0), 0.0)
        both = known & (weight > 0)
        error = np.sqrt(scale * (1 / np.where(both, precision[k], 1.0) + _ratio(1.0, weight)))
        score[k] = np.where(both, (mean[k] - _ratio(total, weight)) / error, 0.0)
        per_report[k] = np.where(known, variance, 0.0)
        total = total + precision[k] * np.where(known, mean[k], 0.0)
        weight = weight + precision[k]
    return Standardised(Scores(score, score, precision), mean, per_report)


def _ratio(above: Vector | float, below: Vector) -> Vector:
    """Return `above` over `below`, and 0 where `below` is."""
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)


def exact_scores(samples: Sequence[Sample], rough: Scores, columns: Rows) -> Scores:
    """Return the scores of the values at `columns`, exact in periods whose counts are small.

    Values whose estimates are no counts of reports keep their `rough` scores.
    """
    some = rough.at(columns)
    counted = _counts(samples, columns)
    if counted is None:
        return some
    counts, trials = counted
    whole = np.abs(counts - np.rint(counts)).max(axis=0) < 1e-6 * np.maximum(trials.max(axis=0), 1)
    counts = np.rint(counts)
    past, others = np.cumsum(counts, axis=0) - counts, np.cumsum(trials, axis=0) - trials
    all_trials, share = trials + others, _ratio(past + counts, trials + others)
    variance = trials * share * (1 - share) * _ratio(others, all_trials)
    few = (variance < _SMALL) & (variance > 0) & (others > 0) & whole
    low, high = some.low.copy(), some.low.copy()
    cells = counts[few], (past + counts)[few], trials[few], others[few]
    fewer = (trials - counts)[few], (all_trials - past - counts)[few], trials[few], others[few]
    below, above = -_deviate(hypergeometric_tail(*cells)), _deviate(hypergeometric_tail(*fewer))
    low[few] = np.maximum(below, np.minimum(above, -_FURTHEST))
    high[few] = np.minimum(above, np.maximum(below, _FURTHEST))
    never = (variance == 0) & (others > 0) & whole  # all reports alike so far: nothing is learned
    low[never], high[never] = 0.0, 0.0
    return Scores(low, high, some.precision)


def _deviate(tail: Vector) -> Vector:
    """Return the normal quantile of each `tail`, kept finite."""
    return np.asarray(ndtri(np.clip(tail, 1e-300, 1.0)))


def _counts(samples: Sequence[Sample], columns: Rows) -> tuple[Vector, Vector] | None:
    """Return the counts behind the estimates and their trials, or None if there are none."""
    counts, trials = [], []
    for sample in samples:
        if sample.exact is None:
            return None
        least, most = (end[columns] for end in sample.exact.within)
        each = sample.exact.trials[columns]
        trials.append(each)
        counts.append(each * np.clip(_ratio(sample.mean[columns] - least, most - least), 0.0, 1.0))
    return np.array(counts), np.array(trials)


def hypergeometric_tail(counts: Vector, total: Vector, trials: Vector, others: Vector) -> Vector:
    """Return the chance that `trials` hold at least `counts` of `total` successes.

    The successes lie anywhere among `trials` and `others` reports, each place equally likely.
    """
    expected = total * trials / (trials + others)
    above = counts > expected
    share = total / (trials + others)
    spread = np.sqrt(trials * share * (1 - share) * others / (trials + others))
    steps = np.arange(1 + int(np.ceil(_REACH * (spread.max(initial=0.0) + 2))))
    found = np.empty(counts.size)
    for start in range(0, counts.size, 4096):
        part = slice(start, start + 4096)
        up, (c, m, n, rest) = (
            above[part, None],
            (each[part, None] for each in (counts, total, trials, others)),
        )
        places = np.where(up, c + steps, c - 1 - steps)
        inside = (places >= np.maximum(0, m - rest)) & (places <= np.minimum(m, n))
        x = np.where(inside, places, np.clip(c, np.maximum(0, m - rest), np.minimum(m, n)))
        log = _log_binomial(n, x) + _log_binomial(rest, m - x) - _log_binomial(n + rest, m)
        sums = (np.exp(log) * inside).sum(axis=1)
        found[part] = np.where(above[part], sums, 1 - sums)
    return np.clip(found, 0.0, 1.0)


def _log_binomial(size: Vector, chosen: Vector) -> Vector:
    return np.asarray(gammaln(size + 1) - gammaln(chosen + 1) - gammaln(size - chosen + 1))
