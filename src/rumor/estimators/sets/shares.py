"""Empirical Bayes for shares that have no sum: the default estimate of sets.

Each option's count is binomial given its share, and shares are draws from an unknown law on [0, 1].
Beta laws around the mean of all options and, where there are many options, Pareto laws and one
law fitted freely to the counts are scored by how well they predict all counts; the answer is the
average of their posterior means. From few options there is no law to learn: their shares are
clipped to [0, 1].

How it was chosen and what it gains: docs/explanation/estimation.md.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.fitted_law import fitted_law, logistic
from rumor.estimators.frequency.posterior import CountTable
from rumor.estimators.frequency.priors import make_grid
from rumor.estimators.sets.laws import beta_laws, pareto_laws
from rumor.mechanisms.oracle import ItemCounts

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
    posterior = table.apart(laws)
    weights, together = _weighed(posterior.evidence)
    means, fitted = posterior.means @ weights, 0.0
    if many:
        # It begins at the average of the others.
        average = np.exp(laws) @ weights
        law, atoms = fitted_law(table, average / average.sum(), lambda each: each / each.sum())
        free = table.apart(np.log(np.maximum(law, 1e-300))[:, None])
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
