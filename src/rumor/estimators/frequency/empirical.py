"""Empirical Bayes on the support counts: the default estimator of frequencies.

Each value's count is binomial given its frequency; the frequencies are draws from an unknown
prior. A ladder of priors, from "one value has all" to "all are equal", and one prior fitted freely
to the counts are scored by how well they predict all counts, given that frequencies sum to one;
the answer is the average of their posterior means. It needs the counts alone, treats all values
alike, is never negative and sums to one.

*Limited translation.* A prior of all frequencies helps if values are alike. For a value that no
other is near, it adds nothing to the value's own count; yet the sum of all frequencies ties the
value to the others, and where the prior is wrong about those, the value moves. So the posterior
mean of such a value stays within a quarter of a standard error of its unbiased share (or of the
projection, or of what lies between), and the other values take up the rest. Efron and Morris
(1972) call an estimator with such a limit one of limited translation.

How the estimator was chosen and what it gains: docs/explanation/estimation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector, checked_target
from rumor.estimators.data import EstimationData
from rumor.estimators.frequency.linear import project
from rumor.estimators.frequency.posterior import PSEUDO, CountTable, fitted_law, logistic
from rumor.estimators.frequency.priors import Grid, Noise, between, few_share, ladder, make_grid
from rumor.mechanisms.support import ItemCounts

# How far a value that stands alone may move, in standard errors.
_LIMIT = 0.25
# A value stands alone if the nearest other is at least the second number of standard errors of
# their difference away, and not at all below the first; in between, the limit widens to infinity.
_NEAR, _ALONE = 3.0, 6.0
# A share of 0 could not be scaled; the logarithm of the factor is sought between these ends.
_LEAST = 1e-15
_STEEPEST, _HALVINGS = 50.0, 60


def limit_translation(items: ItemCounts, frequency: Vector) -> Vector:
    """Return `frequency` with the values that stand alone near what `items` say of each."""
    unbiased, error = items.unbiased, _standard_errors(items)
    crowded = np.clip((_ALONE - _distances(unbiased, error)) / (_ALONE - _NEAR), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        reach = error * (_LIMIT + crowded / (1 - crowded))
    projected, order = project(unbiased), np.argsort(unbiased)
    # Limits ascend with the unbiased shares, so that limited shares do.
    low, high = np.empty_like(reach), np.empty_like(reach)
    least, largest = (
        np.minimum(unbiased, projected) - reach,
        np.maximum(unbiased, projected) + reach,
    )
    low[order] = np.maximum.accumulate(np.maximum(least, 0.0)[order])
    high[order] = np.minimum.accumulate(largest[order][::-1])[::-1]
    if ((low <= frequency) & (frequency <= high)).all():
        return frequency
    return _scaled_within(np.maximum(frequency, _LEAST), low, high)


def _scaled_within(frequency: Vector, low: Vector, high: Vector) -> Vector:
    """Return shares of sum 1: `frequency` times one factor, kept between `low` and `high`.

    The projection lies between these limits, so there is such a factor.
    """
    least, largest = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (least + largest) / 2
        if np.clip(frequency * math.exp(middle), low, high).sum() < 1:
            least = middle
        else:
            largest = middle
    limited = np.clip(frequency * math.exp(least), low, high)
    return np.asarray(limited / limited.sum())


def _standard_errors(items: ItemCounts) -> Vector:
    """Return the standard error of each unbiased share, with two imaginary reports added.

    Without these reports, the standard error of a value that no report supports would be 0.
    """
    support = np.maximum((items.counts + 1) / (items.trials + 2), items.miss)
    return np.asarray(np.sqrt(support * (1 - support) / items.trials) / items.gain)


def _distances(unbiased: Vector, error: Vector) -> Vector:
    """Return each value's distance from the nearest other, in
    standard errors of their difference.
    """
    order = np.argsort(unbiased)
    ranked, square = unbiased[order], error[order] ** 2
    gaps = np.diff(ranked) / np.sqrt(square[1:] + square[:-1])
    gaps = np.concatenate([[np.inf], gaps, [np.inf]])
    nearest = np.empty_like(unbiased)
    nearest[order] = np.minimum(gaps[1:], gaps[:-1])
    return nearest


# The weight of "all are equal" over that of all other priors together. It grows with the number of
# values, any of which noise may raise: without signal, no value should stand out. The last number
# is the cost of an atom of the fitted prior, which on few values would merge neighbours.
_EVEN_ODDS = 4.0
_FEW_EVEN_ODDS = 0.1
_VALUES_PER_EVEN = 20.0
_PER_ATOM = 4.0
# The least number of values for a prior; fewer values are estimated by the projection.
_FEWEST_VALUES = 5
# With a few values more, a prior is still a guess: if two of five values hold everything, the
# posterior mean alone has up to 1.5 times the projection's squared error. So the projection keeps
# this part of the estimate up to the first number of values, and gives way until the second.
_FEW_VALUES_PART = 0.25
_FEW_VALUES, _ENOUGH_VALUES = 7, 10
# With few reports in some block of a blocked oracle, the block's share is not known: the
# projection alone is used up to the first number of reports, and gives way until the second.
_UNKNOWN_BLOCK, _KNOWN_BLOCK = 30.0, 300.0
# The most that one report may change the log odds of two models.
_LONGEST_STEP = 0.6
# A share at the edge of detection, in standard errors of a share of 0.
_DETECTED = 5.0
_NEVER = 1e-300
_PEOPLE_EPSILON = 5.0


@dataclass(frozen=True)
class PosteriorMeans:
    """Posterior mean frequencies, and what the counts said of the laws behind them."""

    frequency: Vector
    variance: Vector
    """The posterior variance: for a second pass over the reports, not for intervals."""
    evidence: float
    """The log marginal likelihood of all priors together against "all are equal"."""
    fitted: float
    """The weight of the freely fitted prior."""


def oracle_auto(
    data: EstimationData, *, target: str = "population"
) -> tuple[Vector, dict[str, object]]:
    """Return the estimate of method "auto", the default.

    `target` is what the error is to be small against: the "population" that the people were
    drawn from, or the histogram of these "people", which is known better at large epsilon.
    """
    oracle, summary = data.oracle, data.summary
    if checked_target(target) == "people" and oracle.epsilon > _PEOPLE_EPSILON:
        # There, nearly all of the noise is the people's own sampling: it is to be kept.
        return project(data.unbiased), {"estimator": "projection"}
    items = oracle.item_channel(summary.tally, summary.reports)
    frequency, told = default_frequency(items, data.unbiased)
    if target == "people" and told["estimator"] != "projection":
        frequency = towards_people(items, frequency)
    return frequency, told


def default_frequency(items: ItemCounts, unbiased: Vector) -> tuple[Vector, dict[str, object]]:
    """Return the default estimate from the counts in `items` and the shares in `unbiased`."""
    part = _projected_part(items)
    projected = project(unbiased)
    if part == 1:
        return projected, {"estimator": "projection"}
    found = shrink(items)
    return part * projected + (1 - part) * found.frequency, {
        "estimator": "empirical Bayes",
        "evidence": found.evidence,
        "fitted": found.fitted,
    }


def _projected_part(items: ItemCounts) -> float:
    """Return the weight of the projection: more with few values, or few reports in some block."""
    values = items.counts.size
    if values < _FEWEST_VALUES:
        return 1.0
    few = _FEW_VALUES_PART * (_ENOUGH_VALUES - values) / (_ENOUGH_VALUES - _FEW_VALUES)
    return max(min(few, _FEW_VALUES_PART), _part_of_unknown_blocks(items))


def _part_of_unknown_blocks(items: ItemCounts) -> float:
    """Return the weight of the projection where some block of a blocked oracle has few reports."""
    if items.most == 1 or np.ndim(items.trials) == 0:
        return 0.0
    fewest = max(float(np.min(items.trials)), _UNKNOWN_BLOCK)
    known = math.log(fewest / _UNKNOWN_BLOCK) / math.log(_KNOWN_BLOCK / _UNKNOWN_BLOCK)
    return max(1 - known, 0.0)


def towards_people(items: ItemCounts, frequency: Vector) -> Vector:
    """Return these people's frequencies: one Bayesian update of the population's on the counts."""
    share, support = items.counts / items.trials, items.miss + items.gain * frequency
    moved = share * items.hit / support + (1 - share) * (1 - items.hit) / (1 - support)
    moved = np.maximum(frequency * moved, 0.0)
    return np.asarray(moved / moved.sum())


def shrink(items: ItemCounts) -> PosteriorMeans:
    """Return the posterior mean of every frequency, averaged over the priors."""
    grid = make_grid(items, items.unbiased)
    table = CountTable(items, grid)
    trust = _trust(items)
    moments, average = _ladder_moments(table, Noise(items).sd(1 / grid.domain), trust)
    fitted = 0.0
    # With few values no prior is fitted: a fit would merge neighbours.
    if few_share(grid.domain) < 1:
        free, penalty = _fitted_moments(table, average)
        fitted = logistic(trust * (free.evidence - moments.evidence - penalty))
        fitted *= 1 - few_share(grid.domain)
        moments = moments.mixed(free, fitted)
    means = np.maximum(moments.means, 0.0)[table.where]
    return PosteriorMeans(
        frequency=limit_translation(items, means / means.sum()),
        variance=np.maximum(moments.squares - moments.means**2, 0.0)[table.where],
        evidence=moments.evidence - table.even_evidence(),
        fitted=fitted,
    )


@dataclass(frozen=True)
class _Moments:
    """Posterior means and mean squares of each distinct count's
    frequency, and log marginal likelihood.
    """

    means: Vector
    squares: Vector
    evidence: float

    def mixed(self, other: _Moments, part: float) -> _Moments:
        """Return the moments of a mixture that has `part` of `other`, with this evidence."""
        if not part > 0:
            return self
        return _Moments(
            part * other.means + (1 - part) * self.means,
            part * other.squares + (1 - part) * self.squares,
            self.evidence,
        )


def _even_odds(domain: int) -> float:
    """Return the prior weight of "all are equal" over that of all other priors together."""
    return float(between(domain, _FEW_EVEN_ODDS, max(_EVEN_ODDS, domain / _VALUES_PER_EVEN)))


def _trust(items: ItemCounts) -> float:
    """Return the factor of the log odds of models: 1 unless a single report could decide.

    A report that supports a value is likelier, by some factor, if the value has a share at the edge
    of detection than if it has none; one such report changes the log odds of "all are equal" by
    the logarithm of that factor. Where that is a long step, one report would change the answer from
    one model's to the other's.
    """
    odds = float(np.max(items.gain / np.maximum(items.miss, _NEVER)))
    if items.most < 1:
        odds = min(odds, items.most / (1 - items.most))
    expected = float(np.min(items.trials)) * float(np.mean(items.miss))
    step = math.log1p(min(odds, _DETECTED / math.sqrt(max(expected, _NEVER))))
    return min(1.0, _LONGEST_STEP / step)


def _ladder_moments(table: CountTable, noise: float, trust: float) -> tuple[_Moments, Vector]:
    """Return the moments under the ladder and "all are equal", and the average of these priors."""
    grid, even = table.grid, 1 / table.grid.domain
    laws, odds = ladder(grid, noise)
    posterior = table.condition(laws)
    even_odds, base = _even_odds(grid.domain), table.even_evidence()
    evidence = posterior.evidence + np.log(odds / odds.sum())
    # If no prior of the ladder explains the counts, "all are equal" remains.
    best = max(float(evidence.max()), base)
    weights = np.exp(evidence - best)
    sum_of_weights = max(float(weights.sum()), _NEVER)
    ladder_evidence = best + math.log(sum_of_weights)
    equal = logistic(trust * (base + math.log(even_odds) - ladder_evidence))
    weights *= (1 - equal) / sum_of_weights
    means = posterior.means @ weights + equal * even
    squares = (posterior.variances + posterior.means**2) @ weights + equal * even**2
    average = np.exp(laws) @ weights
    average[grid.even] += equal
    together = np.logaddexp(ladder_evidence, base + math.log(even_odds)) - math.log1p(even_odds)
    return _Moments(means, squares, float(together)), average / average.sum()


def _fitted_moments(table: CountTable, start: Vector) -> tuple[_Moments, float]:
    """Return the moments under the prior fitted to the counts, less the cost of its freedom."""
    domain = table.grid.domain
    law, atoms = _fitted_law(table, table.grid, start)
    free = table.condition(np.log(np.maximum(law, 1e-300))[:, None])
    # The prior was fitted to the counts that judge it, the more freely the more values there are.
    # It has the ladder's prior weight: the weight of "all are equal" must not favour it.
    penalty = max(math.log(domain), _PER_ATOM * atoms) + max(math.log(domain / 100), 0.0)
    penalty += math.log1p(_even_odds(domain))
    means = free.means[:, 0]
    moments = _Moments(means, free.variances[:, 0] + means**2, float(free.evidence[0]))
    return moments, penalty


def _fitted_law(table: CountTable, grid: Grid, start: Vector) -> tuple[Vector, float]:
    """Return the fitted prior of mean 1/D, which a Lagrange multiplier holds.

    The fit begins at the ladder's average.
    """
    away = grid.points - 1 / grid.domain
    total = grid.domain + PSEUDO
    pull = 0.0

    def weigh(expected: Vector) -> Vector:
        nonlocal pull
        pull = _balance(expected, away, total, pull)
        law = expected / (total + pull * away)
        return np.asarray(law / law.sum())

    return fitted_law(table, start, weigh)


def _balance(expected: Vector, away: Vector, total: float, pull: float) -> float:
    """Return the multiplier m at which the weights expected / (total + m away) have mean 1/D."""
    # Weights must stay positive: m lies strictly between these.
    low, high = -total / float(away.max()), -total / float(away.min())
    pull = min(max(pull, 0.999 * low), 0.999 * high)
    for _ in range(60):
        share = away / (total + pull * away)
        value, slope = float(expected @ share), -float(expected @ (share * share))
        if value > 0:
            low = pull
        else:
            high = pull
        step = value / slope if slope < 0 else 0.0
        proposed = pull - step
        if not low < proposed < high:
            proposed = (low + high) / 2
        if abs(proposed - pull) <= 1e-10 * (abs(pull) + total):
            return proposed
        pull = proposed
    return pull
