"""The default estimate of keys: posterior means under priors that keys share.

The likelihood of a key's (f, m) is computed on a grid of the key's own, which spans five standard
deviations around the maximum, within [0, 1] x [-1, 1]. The likelihood is that of the three counts
(+, -, nothing); all values are scaled to [-1, 1].

The priors are learned from all keys at once (empirical Bayes), in the coordinates a = logit f and
b = 2 atanh m (the logit of the share of pluses):

- shares: a ~ N(mu, sa2), or f uniform; - means: b given a ~ N(curve(a), t2), or m uniform. The
curve is piecewise linear between knots; its second differences have prior precision `stiffness`,
its heights `_RIDGE`.

The prior of a key's b is widened by the variance of the curve at the key's share, so that a curve
shaped only by rare keys, which have little information, has little influence. The parameters are
learned by expectation-maximisation over the keys' own grids. Four pseudo-keys of variance 1 keep
variances away from zero.

Keys inform each other where they resemble each other, and must not be hurt where they do not. So
several priors are learned, from keys treated apart to a smooth curve of means over shares, stiff
or flexible. Each is scored by how well it predicts keys that it was not learned from (five folds),
and the posterior means are averaged with the weights of these predictions. Priors with a curve of
means begin with lower weights than those without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.kinds.keyvalue.fit.linear import LinearKeys, most_likely
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates

Cube = NDArray[np.float64]

_F_CELLS, _M_CELLS = 25, 31
_REACH = 5.0


@dataclass(frozen=True)
class KeyGrid:
    """For K keys: midpoints f (K, 25) and m (K, 31), and the log-likelihood of their cells.

    `likelihood` (K, 25, 31) is up to a constant of each key; `cell` (K,) is the logarithm of
    a cell's area.
    """

    f: Cube
    m: Cube
    likelihood: Cube
    cell: Vector

    @classmethod
    def of(cls, counts: KeyCounts, rates: KeyRates) -> KeyGrid:
        """Return the grids of the keys with these `counts`."""
        keys = LinearKeys.of(counts, rates, prior=0.5)
        sd_f = np.sqrt(keys.var_f)
        f_hat, s_hat = most_likely(counts, rates)
        f_hat = np.nan_to_num(f_hat, nan=0.5)
        low, high = _window(f_hat, np.where(counts.trials > 0, sd_f, 1.0), 0.0)
        f = _midpoints(low, high, _F_CELLS)
        # A rare key's mean is s over an f that may be as small as its own error.
        base = np.maximum(f_hat, sd_f)
        m_hat = np.clip(np.nan_to_num(s_hat) / base, -1, 1)
        sd_m = np.sqrt(keys.var_s + m_hat**2 * keys.var_f) / base
        m_low, m_high = _window(m_hat, np.where(counts.trials > 0, sd_m, 1.0), -1.0)
        m = _midpoints(m_low, m_high, _M_CELLS)
        cell = np.log((high - low) / _F_CELLS) + np.log((m_high - m_low) / _M_CELLS)
        return cls(f, m, log_likelihood(counts, rates, f, m), cell)

    def __len__(self) -> int:
        return len(self.f)

    def take(self, keys: NDArray[np.integer]) -> KeyGrid:
        """Return the grids of the `keys` with these indices."""
        return KeyGrid(*(getattr(self, field.name)[keys] for field in fields(self)))


def log_likelihood(counts: KeyCounts, rates: KeyRates, f: Cube, m: Cube) -> Cube:
    """Return the log-likelihood of each key's counts at its f (K, F) and m (K, M), largest 0."""
    plus, minus = (c.astype(np.float64)[:, None, None] for c in (counts.plus, counts.minus))
    nothing = (counts.trials - counts.plus - counts.minus).astype(np.float64)
    seen = rates.miss + rates.gain * f
    tilt = rates.sign_gain * f[:, :, None] * m[:, None, :]
    out = plus * np.log((seen[:, :, None] + tilt) / 2)
    out += minus * np.log((seen[:, :, None] - tilt) / 2)
    out += (nothing[:, None] * np.log1p(-seen))[:, :, None]
    return np.asarray(out - out.max(axis=(1, 2), keepdims=True))


def _window(centre: Vector, sd: Vector, least: float) -> tuple[Vector, Vector]:
    reach = _REACH * sd
    return np.clip(centre - reach, least, 1), np.clip(centre + reach, least, 1)


def _midpoints(low: Vector, high: Vector, cells: int) -> Cube:
    return np.asarray(low[:, None] + (high - low)[:, None] * ((np.arange(cells) + 0.5) / cells))


KNOTS = np.array([-4.0, -2.5, -1.0, 0.5, 2.0, 3.5])
_RIDGE = 0.15
_PSEUDO_KEYS = 4.0
_START_VARIANCE = 3.0
# The smallest scatter of the means around the curve when the curve is smoothed.
_LEAST_SPREAD = 0.3
_LOG_2_PI = float(np.log(2 * np.pi))


class LogitGrid:
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
        """The log-likelihood with the Jacobian of b."""
        return self.grid.likelihood + self.log_db[:, None, :]

    def posterior(self, prior: Prior) -> tuple[Cube, Vector]:
        """Return each key's posterior over its cells, and its log marginal likelihood up to
        a constant.
        """
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
class MeanCurve:
    """The expectation of b given a: heights at the knots, scatter, and the heights' covariance."""

    heights: Vector = field(default_factory=lambda: np.zeros(KNOTS.size))
    scatter: float = _START_VARIANCE
    covariance: Cube = field(default_factory=lambda: np.zeros((KNOTS.size, KNOTS.size)))

    def at(self, basis: Cube) -> tuple[Cube, Cube]:
        """Return centre and variance of b at points given by their hats (K, F, knots)."""
        spread = self.scatter + np.einsum("kfi,kfi->kf", basis @ self.covariance, basis)
        return basis @ self.heights, np.asarray(spread)


@dataclass(frozen=True)
class Prior:
    """A prior for (f, m): shares uniform or logit-normal, means uniform or along a curve."""

    share: tuple[float, float] | None = None
    curve: MeanCurve | None = None

    def log_share(self, keys: LogitGrid) -> Cube:
        """Return the log-density of f at the grid."""
        if self.share is None:
            return np.zeros_like(keys.a)
        mu, variance = self.share
        square = (keys.a - mu) ** 2 / variance
        return np.asarray(keys.log_da - 0.5 * (square + np.log(variance) + _LOG_2_PI))


FLAT = Prior()


def hats(a: Cube) -> Cube:
    """Return the weights of the two knots around each point; constant beyond the outer knots."""
    inside = np.clip(a, KNOTS[0], KNOTS[-1])
    left = np.clip(np.searchsorted(KNOTS, inside, side="right") - 1, 0, KNOTS.size - 2)
    part = (inside - KNOTS[left]) / (KNOTS[left + 1] - KNOTS[left])
    out = np.zeros((*a.shape, KNOTS.size))
    np.put_along_axis(out, left[..., None], (1 - part)[..., None], axis=-1)
    np.put_along_axis(out, left[..., None] + 1, part[..., None], axis=-1)
    return out


def learned(
    keys: LogitGrid, stiffness: float | None, rounds: int, start: Prior | None = None
) -> Prior:
    """Return the prior learned from these `keys`; without a `stiffness`, of shares alone."""
    if start is None:
        weights, _ = keys.posterior(FLAT)
        mu = float((weights.sum(axis=2) * keys.a).sum() / len(keys.grid))
        start = Prior((mu, _START_VARIANCE), None if stiffness is None else MeanCurve())
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
            # Keys whose own reports have little information on b (a posterior as wide as the prior)
            # have as little on the curve: the missing-information principle.
            first = moments[:, :, 1].sum(axis=1)
            known = np.clip(1 - (moments[:, :, 2].sum(axis=1) - first**2) / scatter, 0, 1)
            informed = flat_hats.T @ (flat_hats * (mass * known[:, None]).reshape(-1, 1))
            prior_precision = precision * (max(scatter, _LEAST_SPREAD) / scatter)
            covariance = np.linalg.inv(informed / scatter + prior_precision)
        prior = Prior(share, MeanCurve(heights, scatter, covariance))
    return prior


@dataclass(frozen=True)
class _Model:
    """A family of priors: the stiffness of its curve, and its log weight before any data."""

    stiffness: float | None
    log_weight: float


# Stiffer curves have higher prior weights; all curves together weigh about e**-2 of "shares".
MODELS: Mapping[str, _Model] = {
    "apart": _Model(None, 0.0),
    "shares": _Model(None, 0.0),
    "line": _Model(30.0, -2.5),
    "curve": _Model(2.0, -3.5),
    "bend": _Model(0.5, -5.0),
}
_ROUNDS, _FOLD_ROUNDS, _FOLDS = 25, 6, 5
# The largest number of keys that a prior is learned from; more are subsampled evenly.
_MOST_LEARNED_FROM = 1000
# The number of keys whose grids are in memory at a time, 0.3 MB each.
_CHUNK = 2000
# A posterior this wide, relative to a uniform prior's variance, counts as uninformed.
_UNINFORMED = 0.8


@dataclass(frozen=True)
class KeyPosterior:
    """Posterior means of f and m (in [-1, 1]), and for which keys the reports are informative."""

    frequency: Vector
    mean: Vector
    frequency_known: NDArray[np.bool_]
    mean_known: NDArray[np.bool_]
    weights: Mapping[str, float]


def posterior_means(counts: KeyCounts, rates: KeyRates, models: tuple[str, ...]) -> KeyPosterior:
    """Return posterior means averaged over `models`, weighted by their predictions."""
    sample = _sample(counts)
    keys = LogitGrid(KeyGrid.of(_taken(counts, sample), rates))
    priors = {name: _learn(keys, name, _ROUNDS) for name in models}
    weights = _earned(keys, priors) if len(models) > 1 else {models[0]: 1.0}
    parts: list[tuple[Vector, Vector, NDArray[np.bool_], NDArray[np.bool_]]] = []
    for start in range(0, counts.trials.size, _CHUNK):
        part = np.arange(start, min(start + _CHUNK, counts.trials.size))
        own = LogitGrid(KeyGrid.of(_taken(counts, part), rates))
        answer = np.zeros((2, part.size))
        for name, weight in weights.items():
            answer += weight * np.array(_means(own, priors[name])[:2])
        *_, var_f, var_m = _means(own, FLAT)
        known = var_f < _UNINFORMED / 12, var_m < _UNINFORMED / 3
        parts.append((answer[0], answer[1], *known))
    f, m, known_f, known_m = (np.concatenate(column) for column in zip(*parts, strict=True))
    return KeyPosterior(f, m, known_f, known_m, weights)


def _taken(counts: KeyCounts, keys: NDArray[np.integer]) -> KeyCounts:
    return KeyCounts(counts.plus[keys], counts.minus[keys], counts.trials[keys])


def _sample(counts: KeyCounts) -> NDArray[np.integer]:
    """Return all keys, or an even subsample, in the order of their counts, which forms the
    folds.
    """
    share = (counts.plus + counts.minus) / np.maximum(counts.trials, 1)
    order = np.argsort(-share, kind="stable")
    size = min(order.size, _MOST_LEARNED_FROM)
    return order[np.linspace(0, order.size - 1, size).astype(np.int64)]


def _learn(keys: LogitGrid, name: str, rounds: int, start: Prior | None = None) -> Prior:
    return FLAT if name == "apart" else learned(keys, MODELS[name].stiffness, rounds, start)


def _earned(keys: LogitGrid, priors: Mapping[str, Prior]) -> dict[str, float]:
    """Return the weight of each model: its log predictive density on keys it was not
    learned from.
    """
    count = len(keys.grid)
    # Keys are in order of their counts, so every fold has frequent and rare ones.
    fold = np.arange(count) % _FOLDS
    scores = {name: MODELS[name].log_weight for name in priors}
    for number in range(min(_FOLDS, count)):
        inside = LogitGrid(keys.grid.take(np.flatnonzero(fold != number))) if count > 1 else keys
        outside = LogitGrid(keys.grid.take(np.flatnonzero(fold == number)))
        for name, prior in priors.items():
            trained = _learn(inside, name, _FOLD_ROUNDS, prior)
            scores[name] += float(outside.posterior(trained)[1].sum())
    best = max(scores.values())
    raw = {name: float(np.exp(score - best)) for name, score in scores.items()}
    total = sum(raw.values())
    return {name: weight / total for name, weight in raw.items()}


def _means(keys: LogitGrid, prior: Prior) -> tuple[Vector, Vector, Vector, Vector]:
    """Return posterior means and variances of f and m."""
    weights, _ = keys.posterior(prior)
    by_f, by_m = weights.sum(axis=2), weights.sum(axis=1)
    f, m = (by_f * keys.grid.f).sum(axis=1), (by_m * keys.grid.m).sum(axis=1)
    return f, m, _variance(by_f, keys.grid.f, f), _variance(by_m, keys.grid.m, m)


def _variance(mass: Cube, points: Cube, mean: Vector) -> Vector:
    return np.asarray((mass * (points - mean[:, None]) ** 2).sum(axis=1))
