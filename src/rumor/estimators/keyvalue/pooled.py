"""The default key-value estimate: posterior means under priors that the data choose among.

Keys inform each other where they resemble each other, and must not be hurt where they do
not. So several priors are learned (rumor.estimators.keyvalue.prior), from keys treated
apart to a smooth curve of means over shares, stiff or flexible. Each is judged by how well
it predicts keys that it was not learned from (five folds); the answers are averaged with
the weights that these predictions earn. Priors of means must earn more than those without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.estimators.keyvalue.likelihood_grid import Cube, KeyGrid
from rumor.estimators.keyvalue.prior import FLAT, Coordinates, Prior, learned
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates


@dataclass(frozen=True)
class _Model:
    """A family of priors: how stiff its curve is, and the log of its weight before any data."""

    stiffness: float | None
    log_weight: float


# Stiffer curves say more and are believed first; all together weigh about e**-2 of "shares".
MODELS: Mapping[str, _Model] = {
    "apart": _Model(None, 0.0),
    "shares": _Model(None, 0.0),
    "line": _Model(30.0, -2.5),
    "curve": _Model(2.0, -3.5),
    "bend": _Model(0.5, -5.0),
}
_ROUNDS, _FOLD_ROUNDS, _FOLDS = 25, 6, 5
# Beyond this many keys a prior is learned from an even spread of them.
_MOST_LEARNED_FROM = 1000
# Keys whose grids are held at a time: 0.3 MB each while they are worked on.
_CHUNK = 2000
# A posterior at least this wide, relative to a uniform prior's variance, has learned nothing.
_UNINFORMED = 0.8


@dataclass(frozen=True)
class Posterior:
    """Posterior means of f and m (on [-1, 1]) and where a key's own reports say something."""

    frequency: Vector
    mean: Vector
    frequency_known: NDArray[np.bool_]
    mean_known: NDArray[np.bool_]
    weights: Mapping[str, float]


def posterior_means(counts: KeyCounts, rates: KeyRates, models: tuple[str, ...]) -> Posterior:
    """Answers averaged over these models, by how well they predict."""
    sample = _sample(counts)
    keys = Coordinates(KeyGrid.of(_taken(counts, sample), rates))
    priors = {name: _learn(keys, name, _ROUNDS) for name in models}
    weights = _earned(keys, priors) if len(models) > 1 else {models[0]: 1.0}
    parts: list[tuple[Vector, Vector, NDArray[np.bool_], NDArray[np.bool_]]] = []
    for start in range(0, counts.trials.size, _CHUNK):
        part = np.arange(start, min(start + _CHUNK, counts.trials.size))
        own = Coordinates(KeyGrid.of(_taken(counts, part), rates))
        answer = np.zeros((2, part.size))
        for name, weight in weights.items():
            answer += weight * np.array(_means(own, priors[name])[:2])
        *_, var_f, var_m = _means(own, FLAT)
        known = var_f < _UNINFORMED / 12, var_m < _UNINFORMED / 3
        parts.append((answer[0], answer[1], *known))
    f, m, known_f, known_m = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Posterior(f, m, known_f, known_m, weights)


def _taken(counts: KeyCounts, keys: NDArray[np.integer]) -> KeyCounts:
    return KeyCounts(counts.plus[keys], counts.minus[keys], counts.trials[keys])


def _sample(counts: KeyCounts) -> NDArray[np.integer]:
    """All keys, or an even spread of them, in the order of their counts: the folds' order."""
    share = (counts.plus + counts.minus) / np.maximum(counts.trials, 1)
    order = np.argsort(-share, kind="stable")
    size = min(order.size, _MOST_LEARNED_FROM)
    return order[np.linspace(0, order.size - 1, size).astype(np.int64)]


def _learn(keys: Coordinates, name: str, rounds: int, start: Prior | None = None) -> Prior:
    return FLAT if name == "apart" else learned(keys, MODELS[name].stiffness, rounds, start)


def _earned(keys: Coordinates, priors: Mapping[str, Prior]) -> dict[str, float]:
    """The weight of each model: its log-evidence on keys that it was not learned from."""
    count = len(keys.grid)
    # Keys are in order of their counts, so every fold has frequent and rare ones.
    fold = np.arange(count) % _FOLDS
    scores = {name: MODELS[name].log_weight for name in priors}
    for number in range(min(_FOLDS, count)):
        inside = Coordinates(keys.grid.take(np.flatnonzero(fold != number))) if count > 1 else keys
        outside = Coordinates(keys.grid.take(np.flatnonzero(fold == number)))
        for name, prior in priors.items():
            trained = _learn(inside, name, _FOLD_ROUNDS, prior)
            scores[name] += float(outside.posterior(trained)[1].sum())
    best = max(scores.values())
    raw = {name: float(np.exp(score - best)) for name, score in scores.items()}
    total = sum(raw.values())
    return {name: weight / total for name, weight in raw.items()}


def _means(keys: Coordinates, prior: Prior) -> tuple[Vector, Vector, Vector, Vector]:
    """Posterior means and variances of f and m."""
    weights, _ = keys.posterior(prior)
    by_f, by_m = weights.sum(axis=2), weights.sum(axis=1)
    f, m = (by_f * keys.grid.f).sum(axis=1), (by_m * keys.grid.m).sum(axis=1)
    return f, m, _variance(by_f, keys.grid.f, f), _variance(by_m, keys.grid.m, m)


def _variance(mass: Cube, points: Cube, mean: Vector) -> Vector:
    return np.asarray((mass * (points - mean[:, None]) ** 2).sum(axis=1))
