"""Logistic and multinomial regression of an answer that is known by a noisy report alone.

A person with columns x holds value v with probability softmax(x B)_v, and a report has the
probability P(report | v) that its mechanism says. So a report's likelihood is the mean of P over
the values, weighted by softmax: noise is part of the model, and coefficients are those of the
answers themselves (Maddala 1983; Blair, Imai and Zhou 2015 for randomised response). Fisher
scoring where every output can be listed, else Newton's steps; each step is halved until the
likelihood grows. Columns are centred and scaled for the steps alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Vector

_STEPS = 200
_HALVINGS = 30
_TOLERANCE = 1e-13
# Larger coefficients of scaled columns mean that the columns separate the answers.
_SEPARATED = 15.0
_SINGULAR = 1e-13  # least eigenvalue over the largest of a matrix that is inverted
_CELLS = 1 << 22


@dataclass(frozen=True)
class Likelihoods:
    """The likelihoods P(report | value), and how many people share each row.

    `channel` is the whole of P (values by outputs) where outputs can be listed. Where they cannot,
    `chances` may lack a factor of the report alone, and so does the likelihood.
    """

    chances: Vector
    people: Vector
    channel: Vector | None = None


@dataclass(frozen=True)
class FittedModel:
    """Coefficients (columns by values but the reference), their covariance, and the likelihood."""

    coefficients: Vector
    covariance: Vector
    log_likelihood: float
    steps: int


def fit(columns: Vector, answers: Likelihoods, reference: int = 0) -> FittedModel:
    """Return the most likely coefficients; `columns` contain an intercept if there is to be one."""
    model = _Model(columns, answers, reference)
    scaled = np.zeros((columns.shape[1], model.others.size))
    value = model.log_likelihood(scaled)
    for step in range(_STEPS):
        slope, information = model.gradient(scaled), model.information(scaled)
        move = _uphill_step(information, slope, model.complete_information(scaled))
        gain = float(slope @ move)
        if gain < _TOLERANCE * max(1.0, abs(value)):
            return model.unscale(scaled, value, step)
        for halving in range(_HALVINGS):
            tried = scaled + (move * 0.5**halving).reshape(scaled.T.shape).T
            better = model.log_likelihood(tried)
            if better > value:
                break
        else:
            return model.unscale(scaled, value, step)
        scaled, value = tried, better
        if np.abs(scaled).max() > _SEPARATED:
            break
    raise _separation_error()


def _separation_error() -> InputError:
    return InputError(
        "the columns of a regression must leave the answers uncertain; these tell them apart (or "
        "the reports are too few), so that a coefficient grows without end"
    )


def _uphill_step(information: Vector, slope: Vector, safe: Vector) -> Vector:
    """Return a step uphill by the first of the two matrices that is definite."""
    for matrix in (information, safe):
        if _is_definite(matrix):
            return np.asarray(np.linalg.solve(matrix, slope))
    raise _separation_error()


def _is_definite(matrix: Vector) -> bool:
    """Return whether a symmetric matrix can be inverted without losing a direction to rounding."""
    sizes = np.linalg.eigvalsh(matrix)
    return bool(sizes[0] > _SINGULAR * sizes[-1])


class _Model:
    """The likelihood, gradient and information at coefficients of scaled columns."""

    def __init__(self, columns: Vector, answers: Likelihoods, reference: int) -> None:
        self.answers, self.people = answers, answers.people
        values = answers.chances.shape[1]
        self.others = np.array([v for v in range(values) if v != reference])
        total = self.people.sum()
        centre = (self.people @ columns) / total
        spread = np.sqrt(self.people @ (columns - centre) ** 2 / total)
        constant = spread <= 1e-12 * np.maximum(np.abs(centre), 1.0)
        self._centre = np.where(constant, 0.0, centre)
        self._scale = np.where(constant, 1.0, spread)
        self._constant = np.flatnonzero(constant)
        if self._constant.size == 0:
            self._centre = np.zeros_like(centre)  # no intercept takes up the shift
        self.x = (columns - self._centre) / self._scale
        if np.linalg.matrix_rank(self.x[self.people > 0]) < columns.shape[1]:
            raise InputError(
                "the columns of a regression must be linearly independent; one of these is a "
                "combination of the others"
            )

    def shares(self, scaled: Vector) -> Vector:
        """Return the probability of each value for each row."""
        scores = np.zeros(self.answers.chances.shape)
        scores[:, self.others] = self.x @ scaled
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def log_likelihood(self, scaled: Vector) -> float:
        """Return the log-likelihood of all reports."""
        seen = (self.shares(scaled) * self.answers.chances).sum(axis=1)
        with np.errstate(divide="ignore"):
            return float(self.people @ np.log(seen))

    def _posterior(self, scaled: Vector) -> tuple[Vector, Vector]:
        shares = self.shares(scaled)
        joint = shares * self.answers.chances
        return shares, np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def gradient(self, scaled: Vector) -> Vector:
        """Return the gradient of the log-likelihood."""
        shares, posterior = self._posterior(scaled)
        more = (posterior - shares)[:, self.others] * self.people[:, None]
        return np.asarray((more.T @ self.x).reshape(-1))

    def information(self, scaled: Vector) -> Vector:
        """Return the information: expected if all outputs can be listed, else observed."""
        shares, posterior = self._posterior(scaled)
        if self.answers.channel is None:
            return self._sum_over_rows(
                _covariances(shares, self.others) - _covariances(posterior, self.others)
            )
        total = np.zeros((self.others.size * self.x.shape[1],) * 2)
        channel = self.answers.channel
        size = max(1, _CELLS // channel.size)
        for start in range(0, len(shares), size):
            part = shares[start : start + size]
            seen = part @ channel
            joint = part[:, :, None] * channel
            expected = np.einsum("ivy,iwy->ivw", joint / seen[:, None], joint)
            expected -= part[:, :, None] * part[:, None]
            total += self._sum_over_rows(
                expected[:, self.others][:, :, self.others], slice(start, start + size)
            )
        return total

    def complete_information(self, scaled: Vector) -> Vector:
        """Return the information that known answers would have, which always leads uphill."""
        return self._sum_over_rows(_covariances(self.shares(scaled), self.others))

    def _sum_over_rows(self, each: Vector, rows: slice = slice(None)) -> Vector:
        """Return the sum of the rows' matrices over values, as one over values and columns."""
        x, people = self.x[rows], self.people[rows]
        values, columns = each.shape[1], x.shape[1]
        total = np.zeros((values, columns, values, columns))
        for v in range(values):
            for w in range(values):
                total[v, :, w] = (x * (people * each[:, v, w])[:, None]).T @ x
        return total.reshape(values * columns, values * columns)

    def unscale(self, scaled: Vector, value: float, steps: int) -> FittedModel:
        """Return the coefficients of the columns as given, in the order value, column."""
        information = self.information(scaled)
        if not _is_definite(information):
            information = self.complete_information(scaled)
        if not _is_definite(information):
            raise _separation_error()
        columns = self.x.shape[1]
        back = np.diag(1 / self._scale)
        if self._constant.size:
            back[self._constant[0]] -= self._centre / self._scale
        whole = np.kron(np.eye(self.others.size), back)
        covariance = whole @ np.linalg.inv(information) @ whole.T
        return FittedModel((back @ scaled).reshape(columns, -1), covariance, value, steps)


def _covariances(shares: Vector, others: Vector) -> Vector:
    """Return the covariance matrix of the value's indicators for each row."""
    some = shares[:, others.astype(np.intp)]
    found = -some[:, :, None] * some[:, None]
    index = np.arange(some.shape[1])
    found[:, index, index] += some
    return np.asarray(found)
