"""Shares of options, by empirical Bayes; and shares of pairs of options.

Laws that the shares of options may follow, on a grid of shares: no sum binds them.

Empirical Bayes for shares that have no sum: the default estimate of sets.

Each option's count is binomial given its share, and shares are draws from an unknown law on [0, 1].
Beta laws around the mean of all options and, where there are many options, Pareto laws and one
law fitted freely to the counts are scored by how well they predict all counts; the answer is the
average of their posterior means. From few options there is no law to learn: their shares are
clipped to [0, 1].

How it was chosen and what it gains: docs/explanation/estimation.md.

The share of people who chose both of two options, for every pair: linear and unbiased.
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
# So many standard errors of the mean of all options around it.
AROUND = (-2.0, -1.0, 0.0, 1.0, 2.0)
EXPONENTS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
# The least share of a Pareto law, over the mean.
LEAST = np.geomspace(0.02, 1.0, 10)
# The largest share of one lies so many standard errors above the largest that was seen.
_BEYOND = 4.0


def beta_laws(grid: Grid, items: ItemCounts) -> Vector:
    """Log-probabilities of the grid's cells, a column for each law."""
    from scipy.special import betainc

    mean, error = _mean(items)
    end = min(0.1 * error, 0.5)  # where errors are larger than shares can be, the middle
    columns: list[Vector] = []
    for step in AROUND:
        mu = float(np.clip(mean + step * error, end, 1 - end))
        columns += [np.diff(betainc(mu * kappa, (1 - mu) * kappa, grid.edges)) for kappa in KAPPAS]
    return _logs(grid, np.array(columns).T)


def pareto_laws(grid: Grid, items: ItemCounts) -> Vector:
    """The same of laws with density f^-(a + 1) from a least share to the largest that was seen."""
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
    """The mean of all unbiased shares, and its standard error if options were unrelated."""
    error = Noise(items).sd(0.0) / np.sqrt(items.counts.size)
    return float(items.unbiased.mean()), float(error)


def _logs(grid: Grid, columns: Vector) -> Vector:
    """Each law for all options but one in D, which may be anywhere: no law draws an outlier in.

    A law that lies beyond all shares, as few reports may suggest, says nothing: all are anywhere.
    """
    columns = np.maximum(columns, 0.0)  # differences of rounded numbers
    columns = np.where(columns.sum(axis=0) > 0, columns, np.diff(grid.edges)[:, None])
    anywhere = np.diff(grid.edges)[:, None] / grid.domain
    return np.asarray(np.log((1 - 1 / grid.domain) * columns / columns.sum(axis=0) + anywhere))


FEWEST = 8
# With fewer options the further laws cost more than they gain.
_MANY = 50
# An atom of the fitted law costs so much evidence.
_PER_ATOM = 2.0
# The trials of an option that no report was about: they say nothing.
_NO_TRIALS = 1e-6


def clipped(items: ItemCounts) -> Vector:
    """The unbiased shares, those below 0 or above 1 at these ends."""
    return np.clip(items.unbiased, 0.0, 1.0)


def shrunk(items: ItemCounts) -> tuple[Vector, dict[str, object]]:
    """The posterior mean of every share, averaged over the laws; clipped where options are few."""
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
        # It begins at the average of the others.
        average = np.exp(laws) @ weights
        law, atoms = fitted_law(table, average / average.sum(), lambda each: each / each.sum())
        free = table.independent_posterior(np.log(np.maximum(law, 1e-300))[:, None])
        # It was fitted to the counts that judge it.
        penalty = max(math.log(items.counts.size), _PER_ATOM * atoms)
        fitted = logistic(float(free.evidence[0]) - together - penalty)
        means = fitted * free.means[:, 0] + (1 - fitted) * means
    share = np.clip(means[table.where], 0.0, 1.0)
    return share, {"estimator": "empirical Bayes", "fitted": fitted}


def _weighed(evidence: Vector) -> tuple[Vector, float]:
    """The weights of laws that were equally likely before, and their evidence together."""
    best = float(evidence.max())
    odds = np.exp(evidence - best)
    total = float(odds.sum())
    return odds / total, best + math.log(total / odds.size)


def with_trials(items: ItemCounts) -> ItemCounts:
    """The same counts; an option that no report was about is as frequent as all are together."""
    trials = np.broadcast_to(np.asarray(items.trials, np.float64), items.counts.shape)
    if (trials > 0).all():
        return items
    seen = float(items.counts.sum() / trials.sum()) if trials.sum() else float(np.mean(items.hit))
    counts = np.where(trials > 0, items.counts, _NO_TRIALS * seen)
    known = np.maximum(trials, _NO_TRIALS)
    return ItemCounts(counts, known, items.hit, items.miss, items.dispersion)


@dataclass(frozen=True)
class PairShares:
    """For each pair its unbiased share and the variance of it.

    `noise` is that of the mechanism alone, the people held fixed.
    """

    share: Vector
    variance: Vector
    noise: Vector


def pair_shares(counts: PairCounts, reports: int, miss: float, gain: float) -> PairShares:
    """Mean and spread of what each report adds, by which of the two it supports.

    Whether a report supports none, one or both of a pair is all that it says of it, so how what it
    adds varies is counted, too. What a person adds on average is 1 if they chose both and 0
    otherwise, whoever they are: of all n people f (1 - f) / n of the variance is their own part.
    """
    weights = np.array(pair_weights(miss, gain, counts.rates))
    one = counts.first + counts.second - 2 * counts.both
    kinds = np.stack([counts.trials - one - counts.both, one, counts.both])
    trials = np.maximum(counts.trials, 0.5)
    share = weights @ kinds / trials
    # Half a report of each kind more: where there are few, some kinds are missing by chance.
    chances = (kinds + 0.5) / (counts.trials + 1.5)
    mean, square = weights @ chances, weights**2 @ chances
    variance = np.maximum(square - mean**2, 0.0) / trials
    held = np.clip(share, 0.0, 1.0)
    noise = np.maximum(variance - held * (1 - held) / reports, variance / 100)
    return PairShares(share, variance, noise)
