"""Priors that keys share, and how they are learned from all keys at once (empirical Bayes).

In the coordinates a = logit f and b = 2 atanh m (the logit of the share of pluses):
- shares: a ~ N(mu, sa2), or f uniform;
- means:  b given a ~ N(curve(a), t2), or m uniform. The curve is piecewise linear between
  knots; its second differences have prior precision `stiffness`, its heights `_RIDGE`.
The prior of a key's b is widened by how well the curve itself is known where the key lies,
so that nothing is claimed where only rare keys, which say little, could have shaped it.

Learned by expectation-maximisation over the keys' own grids. Four pseudo-keys of variance
1 keep variances away from zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.keyvalue.likelihood_grid import Cube, KeyGrid

KNOTS = np.array([-4.0, -2.5, -1.0, 0.5, 2.0, 3.5])
_RIDGE = 0.15
_PSEUDO_KEYS = 4.0
_START_VARIANCE = 3.0
# A curve through scattered keys is not trusted below this variance when it is smoothed.
_LEAST_SPREAD = 0.3
_LOG_2_PI = float(np.log(2 * np.pi))


class Coordinates:
    """The grids of some keys in the coordinates of the priors, with their Jacobians."""

    def __init__(self, grid: KeyGrid) -> None:
        self.grid = grid
        self.a = np.log(grid.f / (1 - grid.f))
        self.b = 2 * np.arctanh(grid.m)
        self.log_da = -np.log(grid.f * (1 - grid.f))
        self.log_db = np.log(2 / (1 - grid.m**2))
        self.powers = np.stack([np.ones_like(self.b), self.b, self.b**2], axis=2)
        self.hats = hats(self.a)

    @cached_property
    def base(self) -> Cube:
        """The likelihood with the Jacobian of b."""
        return self.grid.likelihood + self.log_db[:, None, :]

    def posterior(self, prior: Prior) -> tuple[Cube, Vector]:
        """Each key's posterior over its cells, and its log-evidence (up to the key's constant)."""
        if prior.curve is None:
            log = self.grid.likelihood - np.log(2.0)
        else:
            centre, spread = prior.curve.at(self.hats)
            log = self.b[:, None, :] - centre[:, :, None]
            log *= log
            log *= (-0.5 / spread)[:, :, None]
            log += self.base
            log -= (0.5 * (np.log(spread) + _LOG_2_PI))[:, :, None]
        log = log + prior.log_share(self)[:, :, None]
        top = log.max(axis=(1, 2))
        log -= top[:, None, None]
        weights = np.exp(log, out=log)
        total = weights.sum(axis=(1, 2))
        weights /= total[:, None, None]
        return weights, top + np.log(total) + self.grid.cell


@dataclass(frozen=True)
class Curve:
    """Where b is expected given a: heights at the knots, scatter, and how well they are known."""

    heights: Vector = field(default_factory=lambda: np.zeros(KNOTS.size))
    scatter: float = _START_VARIANCE
    covariance: Cube = field(default_factory=lambda: np.zeros((KNOTS.size, KNOTS.size)))

    def at(self, basis: Cube) -> tuple[Cube, Cube]:
        """Centre and variance of b at points given by their hats (K, F, knots)."""
        spread = self.scatter + np.einsum("kfi,kfi->kf", basis @ self.covariance, basis)
        return basis @ self.heights, np.asarray(spread)


@dataclass(frozen=True)
class Prior:
    """A prior for (f, m): shares uniform or logit-normal, means uniform or along a curve."""

    share: tuple[float, float] | None = None
    curve: Curve | None = None

    def log_share(self, keys: Coordinates) -> Cube:
        """The log-density of f at the grid."""
        if self.share is None:
            return np.zeros_like(keys.a)
        mu, variance = self.share
        square = (keys.a - mu) ** 2 / variance
        return np.asarray(keys.log_da - 0.5 * (square + np.log(variance) + _LOG_2_PI))


FLAT = Prior()


def hats(a: Cube) -> Cube:
    """The weights of the two knots around each point; constant beyond the outer ones."""
    inside = np.clip(a, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, inside, side="right") - 1, 0, KNOTS.size - 2)
    part = (inside - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    out = np.zeros((*a.shape, KNOTS.size))
    np.put_along_axis(out, left[..., None], (1 - part)[..., None], axis=-1)
    np.put_along_axis(out, left[..., None] + 1, part[..., None], axis=-1)
    return out


def learned(
    keys: Coordinates, stiffness: float | None, rounds: int, start: Prior | None = None
) -> Prior:
    """The prior that these keys share; without a stiffness, of shares alone."""
    if start is None:
        weights, _ = keys.posterior(FLAT)
        mu = float((weights.sum(axis=2) * keys.a).sum() / len(keys.grid))
        start = Prior((mu, _START_VARIANCE), None if stiffness is None else Curve())
    prior, count = start, len(keys.grid)
    bend = np.diff(np.eye(KNOTS.size), 2, axis=0)
    precision = (stiffness or 0.0) * bend.T @ bend + _RIDGE * np.eye(KNOTS.size)
    flat_hats = keys.hats.reshape(-1, KNOTS.size)
    for turn in range(rounds):
        weights, _ = keys.posterior(prior)
        moments = weights @ keys.powers  # (K, F, 3): weight, b and b^2 by share
        mass = moments[:, :, 0]
        mu = float((mass * keys.a).sum() / count)
        scatter_a = float((mass * (keys.a - mu) ** 2).sum())
        share = (mu, (scatter_a + _PSEUDO_KEYS) / (count + _PSEUDO_KEYS))
        if prior.curve is None:
            prior = Prior(share)
            continue
        gram = flat_hats.T @ (flat_hats * mass.reshape(-1, 1))
        target = flat_hats.T @ moments[:, :, 1].reshape(-1)
        smoothing = precision * max(prior.curve.scatter, _LEAST_SPREAD)
        heights = np.linalg.solve(gram + smoothing, target)
        squares = float(moments[:, :, 2].sum() - 2 * target @ heights + heights @ gram @ heights)
        scatter = (max(squares, 0.0) + _PSEUDO_KEYS) / (count + _PSEUDO_KEYS)
        covariance = np.zeros_like(gram)
        if turn == rounds - 1:
            # Keys whose own reports say little about b (their posterior is as wide as the
            # prior) say as little about the curve: the missing-information principle.
            first = moments[:, :, 1].sum(axis=1)
            known = np.clip(1 - (moments[:, :, 2].sum(axis=1) - first**2) / scatter, 0, 1)
            informed = flat_hats.T @ (flat_hats * (mass * known[:, None]).reshape(-1, 1))
            prior_precision = precision * (max(scatter, _LEAST_SPREAD) / scatter)
            covariance = np.linalg.inv(informed / scatter + prior_precision)
        prior = Prior(share, Curve(heights, scatter, covariance))
    return prior
