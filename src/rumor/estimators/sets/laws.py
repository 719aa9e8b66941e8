"""Laws that the shares of options may follow, on a grid of shares: no sum binds them."""

from __future__ import annotations

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.priors import Grid, Noise
from rumor.mechanisms.oracle import ItemCounts

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
