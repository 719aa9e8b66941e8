"""Shares of options by empirical Bayes, and unbiased shares of pairs of options.

The default estimate of sets. Shares of options have no fixed sum. Each option's count is binomial
given its share, and shares are drawn from an unknown prior on [0, 1]. Beta priors around the mean
of all options and, where there are many options, Pareto priors and one prior fitted freely to the
counts are scored by their marginal likelihood; the estimate is the weighted average of their
posterior means. With few options there is no prior to learn, and shares are clipped to [0, 1].

Reasons and measurements: docs/explanation/estimation.md.

The share of people who chose both of two options is a linear, unbiased estimate for every pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.posterior import CountTable, fitted_law, logistic
from rumor.estimators.frequency.priors import Grid, Noise, make_grid
from rumor.mechanisms.sets import PairCounts, pair_weights
from rumor.mechanisms.support import ItemCounts

# Beta(mu kappa, (1 - mu) kappa): from "one option is chosen by all" to "all options alike".
KAPPAS = np.geomspace(0.05, 3e5, 26)
# Offsets of mu from the mean share of all options, in standard errors of that mean.
AROUND = (-2.0, -1.0, 0.0, 1.0, 2.0)
EXPONENTS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
# The least share of a Pareto prior, relative to the mean share.
LEAST = np.geomspace(0.02, 1.0, 10)
# The largest share of a Pareto prior exceeds the largest unbiased share by this many standard
# errors.
_BEYOND = 4.0


def beta_laws(grid: Grid, items: ItemCounts) -> Vector:
    """Return log-probabilities of the grid's cells under Beta priors, a column for each prior."""
    from scipy.special import betainc

    mean, error = _mean(items)
    end = min(0.1 * error, 0.5)  # where errors exceed the range of shares, the middle
    columns: list[Vector] = []
    for step in AROUND:
        mu = float(np.clip(mean + step * error, end, 1 - end))
        columns += [np.diff(betainc(mu * kappa, (1 - mu) * kappa, grid.edges)) for kappa in KAPPAS]
    return _logs(grid, np.array(columns).T)


def pareto_laws(grid: Grid, items: ItemCounts) -> Vector:
    """Return log-probabilities of the grid's cells under truncated Pareto priors, a column for
    each.

    A prior has density f^-(a + 1) from a least share to the largest plausible share.
    """
    mean, error = _mean(items)
    mean = max(mean, error)
    top = float(np.clip(items.unbiased.max(), 2 * mean, 1.0))
    highest = min(top + _BEYOND * Noise(items).sd(top), 1.0)
    columns = []
    for a in EXPONENTS:
        for least in LEAST * mean:
            inside = np.clip(grid.edges, least, highest)
            columns.append(-np.diff(inside**-a))
    return _logs(grid, np.array(columns).T)


def _mean(items: ItemCounts) -> tuple[float, float]:
    """Return the mean of all unbiased shares, and its standard error if options were unrelated."""
    error = Noise(items).sd(0.0) / np.sqrt(items.counts.size)
    return float(items.unbiased.mean()), float(error)


def _logs(grid: Grid, columns: Vector) -> Vector:
    """Return the priors' log-probabilities, mixed with a uniform prior of weight 1/D for outliers.

    A prior without mass on [0, 1], as few reports may suggest, is replaced by the uniform prior.
    """
    columns = np.maximum(columns, 0.0)  # rounding may make a difference negative
    columns = np.where(columns.sum(axis=0) > 0, columns, np.diff(grid.edges)[:, None])
    anywhere = np.diff(grid.edges)[:, None] / grid.domain
    return np.asarray(np.log((1 - 1 / grid.domain) * columns / columns.sum(axis=0) + anywhere))


FEWEST = 8
# With fewer options the Pareto and fitted priors cost more than they gain.
_MANY = 50
# The cost of an atom of the fitted prior, in log marginal likelihood.
_PER_ATOM = 2.0
# The number of trials that stands for none: such an option has no information.
_NO_TRIALS = 1e-6


def clipped(items: ItemCounts) -> Vector:
    """Return the unbiased shares, clipped to [0, 1]."""
    return np.clip(items.unbiased, 0.0, 1.0)


def posterior_shares(items: ItemCounts) -> tuple[Vector, dict[str, object]]:
    """Return the posterior mean of every share, averaged over priors; clipped with few options."""
    if items.counts.size < FEWEST:
        return clipped(items), {"estimator": "clipping"}
    grid = make_grid(items, items.unbiased)
    table = CountTable(items, grid)
    laws = beta_laws(grid, items)
    many = items.counts.size >= _MANY
    if many:
        laws = np.hstack([laws, pareto_laws(grid, items)])
    posterior = table.independent_posterior(laws)
    weights, together = _weighed(posterior.evidence)
    means, fitted = posterior.means @ weights, 0.0
    if many:
        # The fit starts at the average of the other priors.
        average = np.exp(laws) @ weights
        law, atoms = fitted_law(table, average / average.sum(), lambda each: each / each.sum())
        free = table.independent_posterior(np.log(np.maximum(law, 1e-300))[:, None])
        # The penalty for a prior that was fitted to the counts that score it.
        penalty = max(math.log(items.counts.size), _PER_ATOM * atoms)
        fitted = logistic(float(free.evidence[0]) - together - penalty)
        means = fitted * free.means[:, 0] + (1 - fitted) * means
    share = np.clip(means[table.where], 0.0, 1.0)
    return share, {"estimator": "empirical Bayes", "fitted": fitted}


def _weighed(evidence: Vector) -> tuple[Vector, float]:
    """Return the weights of equally likely priors, and the log of their mean marginal
    likelihood.
    """
    best = float(evidence.max())
    odds = np.exp(evidence - best)
    total = float(odds.sum())
    return odds / total, best + math.log(total / odds.size)


def with_trials(items: ItemCounts) -> ItemCounts:
    """Return the counts, with an option that no report covers set to the pooled frequency."""
    trials = np.broadcast_to(np.asarray(items.trials, np.float64), items.counts.shape)
    if (trials > 0).all():
        return items
    seen = float(items.counts.sum() / trials.sum()) if trials.sum() else float(np.mean(items.hit))
    counts = np.where(trials > 0, items.counts, _NO_TRIALS * seen)
    known = np.maximum(trials, _NO_TRIALS)
    return ItemCounts(counts, known, items.hit, items.miss, items.dispersion)


@dataclass(frozen=True)
class PairShares:
    """The unbiased share of every pair, and its variance.

    `noise` is the variance of the mechanism alone, with the people held fixed.
    """

    share: Vector
    variance: Vector
    noise: Vector


def pair_shares(counts: PairCounts, reports: int, miss: float, gain: float) -> PairShares:
    """Return the mean and the variance of each report's contribution to every pair.

    A report tells of a pair only whether it supports none, one or both of the options, so the
    variance of its contribution is counted. A person's expected contribution is 1 if the person
    chose both and 0 otherwise: f (1 - f) / n of the variance is due to sampling n people.
    """
    weights = np.array(pair_weights(miss, gain, counts.rates))
    one = counts.first + counts.second - 2 * counts.both
    kinds = np.stack([counts.trials - one - counts.both, one, counts.both])
    trials = np.maximum(counts.trials, 0.5)
    share = weights @ kinds / trials
    # Half a report more of each outcome: with few reports, some outcomes are missing by chance.
    chances = (kinds + 0.5) / (counts.trials + 1.5)
    mean, square = weights @ chances, weights**2 @ chances
    variance = np.maximum(square - mean**2, 0.0) / trials
    held = np.clip(share, 0.0, 1.0)
    noise = np.maximum(variance - held * (1 - held) / reports, variance / 100)
    return PairShares(share, variance, noise)
