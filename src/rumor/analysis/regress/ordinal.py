"""Regression of an ordered answer that is known by a noisy report alone: proportional odds.

A person with columns x answers at most k with probability F(t_k - x b), F logistic (McCullagh,
Journal of the Royal Statistical Society B 42, 1980). As in `fit`, a report's likelihood is the mean
of P(report | value) over the values, so that coefficients are those of the answers themselves, and
the penalty is a weak prior: log F(2, 2) on each slope of a scaled column, and half a person for
each answer at the centre.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import expit, logit

from rumor.analysis.regress.fit import FittedModel, LikelihoodModel, Likelihoods, sum_matrices
from rumor.core.types import Vector
from rumor.core.typing import override

_HALF = 0.5  # people for each answer at the centre


def fit_ordinal(columns: Vector, answers: Likelihoods) -> FittedModel:
    """Return the most likely slopes of `columns` but the intercept, and thresholds."""
    model = OrdinalModel(columns, answers)
    values = answers.chances.shape[1]
    start = np.append(np.zeros(model.slopes), logit(np.arange(1, values) / values))
    scaled, _ = model.climb(start)
    return model.unscale(scaled)


def expect_levels(columns: Vector, coefficients: Vector) -> tuple[Vector, Vector]:
    """Return the probability of each answer for rows without an intercept, and its derivatives.

    The `coefficients` are slopes, then thresholds.
    """
    slopes = columns.shape[1]
    scores = coefficients[slopes:] - (columns @ coefficients[:slopes])[:, None]
    shares, bend = _shares(scores), _bend(scores)
    by_slope = -bend.sum(axis=2)[:, :, None] * columns[:, None]
    return shares, np.concatenate([by_slope, bend], axis=2)


def _shares(scores: Vector) -> Vector:
    """Return probabilities by differences; from the upper tail where they are small."""
    ends = np.full((len(scores), 1), np.inf)
    low, high = np.hstack([-ends, scores]), np.hstack([scores, ends])
    upper = low > 0
    found = np.where(upper, expit(-low) - expit(-high), expit(high) - expit(low))
    return np.asarray(found)


def _bend(scores: Vector) -> Vector:
    """Return the derivatives of probabilities by the scores (rows by values by thresholds)."""
    rows, thresholds = scores.shape
    density = expit(scores) * expit(-scores)
    found = np.zeros((rows, thresholds + 1, thresholds))
    places = np.arange(thresholds)
    found[:, places, places] = density
    found[:, places + 1, places] = -density
    return found


class OrdinalModel(LikelihoodModel):
    """The likelihood at slopes of scaled columns, then thresholds at their centre."""

    def __init__(self, columns: Vector, answers: Likelihoods) -> None:
        super().__init__(columns, answers, 0)
        self.x = np.delete(self.x, self._constant, axis=1)
        self.slopes = self.x.shape[1]
        centre, scale = (np.delete(v, self._constant) for v in (self._centre, self._scale))
        thresholds = answers.chances.shape[1] - 1
        self.unscaling = np.eye(self.slopes + thresholds)
        self.unscaling[: self.slopes, : self.slopes] = np.diag(1 / scale)
        self.unscaling[self.slopes :, : self.slopes] = centre / scale

    @override
    def direction(self, at: int) -> Vector:
        if at < self.slopes:
            return super().direction(at)
        return np.repeat([0.0, 1.0], [self.slopes, self.unscaling.shape[0] - self.slopes])

    @override
    def _bends(self) -> Sequence[Callable[[Vector], Vector]]:
        return self.information, self.complete_information

    @override
    def _columns_by_values(self, scaled: Vector) -> Vector:
        return scaled[:, None]

    def _scores(self, scaled: Vector) -> Vector:
        own = self.x @ scaled[: self.slopes]
        return np.asarray(scaled[self.slopes :] - own[:, None])

    @override
    def shares(self, scaled: Vector) -> Vector:
        return _shares(self._scores(scaled))

    @override
    def objective(self, scaled: Vector) -> float:
        thresholds = scaled[self.slopes :]
        if (np.diff(thresholds) <= 0).any():
            return -np.inf
        slopes = np.abs(scaled[: self.slopes])
        penalty = float((slopes + 2 * np.log1p(np.exp(-slopes))).sum())
        centre = float(np.log(_shares(thresholds[None])).sum())
        return self.log_likelihood(scaled) - penalty + _HALF * centre

    def _row_slopes(self, scaled: Vector) -> Vector:
        """Return the derivatives of each row's log-likelihood by its scores."""
        scores = self._scores(scaled)
        chances = self.answers.chances
        seen = (_shares(scores) * chances).sum(axis=1, keepdims=True)
        density = expit(scores) * expit(-scores)
        return np.asarray(density * (chances[:, :-1] - chances[:, 1:]) / seen)

    def _by_coefficients(self, by_score: Vector) -> Vector:
        """Return the derivatives of rows by all coefficients, from those by the rows' scores."""
        return np.hstack([-self.x * by_score.sum(axis=1, keepdims=True), by_score])

    @override
    def influence(self, scaled: Vector) -> Vector:
        scores = self._by_coefficients(self._row_slopes(scaled))
        return np.asarray(scores @ np.linalg.inv(self.information(scaled)) @ self.unscaling.T)

    @override
    def gradient(self, scaled: Vector) -> Vector:
        by_score = self._row_slopes(scaled) * self.people[:, None]
        slopes = -(self.x.T @ by_score.sum(axis=1)) - np.tanh(scaled[: self.slopes] / 2)
        centre = scaled[None, self.slopes :]
        pull = (_bend(centre)[0] / _shares(centre)[0][:, None]).sum(axis=0)
        return np.append(slopes, by_score.sum(axis=0) + _HALF * pull)

    @override
    def _information(self, scaled: Vector) -> Vector:
        assert self.answers.channel is not None
        return self._expected(scaled, self.answers.channel)

    @override
    def complete_information(self, scaled: Vector) -> Vector:
        known = np.eye(self.answers.chances.shape[1])
        return self._expected(scaled, known) + self._penalty_information(scaled)

    def _expected(self, scaled: Vector, channel: Vector) -> Vector:
        """Return the information of reports by a `channel` (values by outputs)."""
        rows, people = self._distinct_rows
        scores = self._scores(scaled)[rows]
        seen = np.maximum(_shares(scores) @ channel, np.finfo(float).tiny)
        density = expit(scores) * expit(-scores)
        moves = density[:, :, None] * (channel[:-1] - channel[1:])
        each = (moves / seen[:, None]) @ moves.transpose(0, 2, 1)
        own = np.einsum("nkl->n", each)[:, None, None]
        cross = -(people[:, None] * each.sum(axis=2)).T @ self.x[rows]
        slopes = sum_matrices(own, self.x[rows], people) if self.slopes else np.zeros((0, 0))
        return np.block([[slopes, cross.T], [cross, np.einsum("n,nkl->kl", people, each)]])

    @override
    def _penalty_information(self, scaled: Vector) -> Vector:
        found = np.zeros((scaled.size,) * 2)
        places = np.arange(scaled.size)
        bend = np.cosh(np.clip(scaled[: self.slopes] / 2, -300, 300)) ** -2 / 2
        found[places[: self.slopes], places[: self.slopes]] = bend
        thresholds = scaled[self.slopes :]
        # log(F(a) - F(b)) = log F(a) + log(1 - F(b)) + log(1 - exp(b - a))
        block = np.diag(2 * expit(thresholds) * expit(-thresholds))
        gaps = np.clip(np.diff(thresholds) / 2, 1e-9, 300)
        for k, pull in enumerate(1 / (4 * np.sinh(gaps) ** 2)):
            block[k : k + 2, k : k + 2] += pull * np.array([[1.0, -1.0], [-1.0, 1.0]])
        found[self.slopes :, self.slopes :] = _HALF * block
        return found
