"""Logistic and multinomial regression of an answer that is known by a noisy report alone.

A person with columns x holds value v with probability softmax(x B)_v, and a report has the
probability P(report | v) that its mechanism says. So a report's likelihood is the mean of P over
the values, weighted by softmax: noise is part of the model, and coefficients are those of the
answers themselves (Maddala 1983; Blair, Imai and Zhou 2015 for randomised response). Newton's steps
where the objective bends downwards, Fisher scoring elsewhere if every output can be listed; each
step is halved until the objective grows. Columns are centred and scaled.

*Penalty.* Where columns tell the answers apart, or reports are few, a coefficient of largest
likelihood is infinite. So the objective adds the logarithm of a weak prior: log F(2, 2) on the
slope of each scaled column (Greenland, Statistics in Medicine 26, 2007), and half a person for each
answer at the centre. It is finite for any data, and its share fades as reports come in.

*Intervals.* By profile: a value of a coefficient belongs to the interval unless the objective,
maximised over all others, falls by more than z^2 / 2. Where reports are few, standard errors are
too long.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rumor.core.errors import InputError
from rumor.core.types import Rows, Vector

_STEPS = 200
_HALVINGS = 30
_TOLERANCE = 1e-13
_SINGULAR = 1e-13  # least eigenvalue over the largest of a matrix that is inverted
_CELLS = 1 << 22
_HALF = 0.5  # people for each answer at the centre
_SECANTS = 30
_MOST_PROFILED = 60
_NEAR = 1e-4  # how near a profile's root comes to the quantile


@dataclass(frozen=True)
class Likelihoods:
    """The likelihoods P(report | value), and how many people share each row.

    `channel` is the whole of P (values by outputs) where outputs can be listed. Where they cannot,
    `chances` may lack a factor of the report alone, and so does the likelihood.
    """

    chances: Vector
    people: Vector
    channel: Vector | None = None


class Profiled(Protocol):
    """A penalised likelihood of scaled coefficients, which can be maximised along lines."""

    @property
    def unscaling(self) -> NDArray[np.floating[Any]]:
        """The matrix from scaled coefficients to those of the columns as given."""
        ...

    def objective(self, scaled: Vector) -> float:
        """Return the log-likelihood with the penalty."""
        ...

    def climb(self, start: Vector, free: Vector | None = None) -> tuple[Vector, float]:
        """Return the scaled coefficients of the largest objective, and the objective there.

        From `start` only the directions in the columns of `free` are taken.
        """
        ...

    def direction(self, at: int) -> Vector:
        """Return scaled coefficients along which the coefficient at a place grows by 1."""
        ...

    def influence(self, scaled: Vector) -> Vector:
        """Return how far each row, counted once more, moves the coefficients of the columns."""
        ...


def pivot_direction(row: Vector) -> Vector:
    """Return a step of the largest entry of `row` alone, whose product with `row` is 1."""
    pivot = int(np.abs(row).argmax())
    found = np.zeros(row.size)
    found[pivot] = 1 / row[pivot]
    return found


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Coefficients (columns by values but the reference), their covariance, and the likelihood."""

    coefficients: Vector
    covariance: Vector
    log_likelihood: float
    steps: int
    model: Profiled = field(repr=False)
    scaled: Vector = field(repr=False)
    """The coefficients of scaled columns, value by value."""

    @functools.cached_property
    def _highest(self) -> float:
        return self.model.objective(self.scaled)

    def loss_without(self, columns: Sequence[int]) -> float:
        """Return twice what the objective loses if the coefficients of `columns` are 0."""
        left_out = np.zeros(self.coefficients.shape, dtype=np.bool_)
        left_out[list(columns)] = True
        kept = np.ones(self.scaled.size, dtype=np.bool_)  # those that nobody sees come last
        kept[: left_out.size] = ~left_out.T.reshape(-1)
        free = np.eye(self.scaled.size)[:, kept]
        start = np.where(kept, self.scaled, 0.0)
        return 2 * max(0.0, self._highest - self.model.objective(self.model.climb(start, free)[0]))

    @property
    def is_profiled(self) -> bool:
        """Whether coefficients are few enough for a search along each; else Wald's are taken."""
        return self.scaled.size <= _MOST_PROFILED

    @property
    def notes(self) -> list[str]:
        """What is to be said of intervals that are not by profile."""
        if self.is_profiled:
            return []
        return [
            f"{self.scaled.size:,} coefficients are too many for profiles: intervals and p-values "
            f"are made of standard errors."
        ]

    @property
    def stderr(self) -> Vector:
        """The standard errors of the coefficients."""
        return np.sqrt(np.diag(self.covariance)).reshape(self.coefficients.T.shape).T

    def signed_roots(self) -> Vector:
        """Return the signed root of the loss at 0 of each coefficient, normal if it is 0."""
        if not self.is_profiled:
            return np.asarray(self.coefficients / self.stderr)
        roots = (self.coefficients / self.stderr).T.reshape(-1)
        for at in range(roots.size):
            roots[at] = self._root(at, 0.0)[0]
        return np.asarray(roots.reshape(self.coefficients.T.shape).T)

    def profile(self, z: float) -> tuple[Vector, Vector]:
        """Return both ends of the interval of each coefficient, at the normal quantile `z`."""
        low, high = self.coefficients - z * self.stderr, self.coefficients + z * self.stderr
        if not self.is_profiled:
            return low, high
        ends = np.array([low.T.reshape(-1), high.T.reshape(-1)])
        for at in range(ends.shape[1]):
            ends[:, at] = [self._end(at, side * z) for side in (-1, 1)]
        low, high = (end.reshape(self.coefficients.T.shape).T for end in ends)
        return low, high

    def _end(self, at: int, z: float) -> float:
        """Return the value of a coefficient whose root is -`z`, by secants from Wald's end."""
        middle = float(self.coefficients.T.reshape(-1)[at])
        error = float(np.sqrt(self.covariance[at, at]))
        # The root is almost a line through the estimate; ends lie between inside and outside.
        inside, outside, tried = middle, math.copysign(math.inf, z), middle + z * error
        start = None
        for _ in range(_SECANTS):
            root, start = self._root(at, tried, start)
            if abs(root + z) < _NEAR:
                break
            if abs(root) < abs(z):
                inside = tried
            else:
                outside = tried
            step = min(max(abs(z / root), 0.3), 3.0) if root else 3.0
            moved = middle + (tried - middle) * step
            within = min(inside, outside) < moved < max(inside, outside)
            tried = moved if within or math.isinf(outside) else (inside + outside) / 2
        return tried

    def _root(self, at: int, value: float, start: Vector | None = None) -> tuple[float, Vector]:
        """Return the signed root of twice the loss where the coefficient `at` has a `value`.

        The root is above 0 where the estimate is above the value. Also returns the maximum's
        scaled coefficients, from which a search nearby may `start`.
        """
        row = self.model.unscaling[at]
        middle = float(row @ self.scaled)
        pivot = int(np.abs(row).argmax())
        free = np.delete(np.eye(row.size), pivot, axis=1)
        free[pivot] = -np.delete(row, pivot) / row[pivot]
        begin = self.scaled if start is None else start
        begin = begin + (value - float(row @ begin)) * self.model.direction(at)
        found, height = self.model.climb(begin, free)
        loss = 2 * max(0.0, self._highest - height)
        return math.copysign(math.sqrt(loss), middle - value), found


def fit(columns: Vector, answers: Likelihoods, reference: int = 0) -> FittedModel:
    """Return the most likely coefficients; `columns` contain an intercept if there is to be one."""
    model = LikelihoodModel(columns, answers, reference)
    scaled, _ = model.climb(np.zeros(columns.shape[1] * model.others.size))
    return model.unscale(scaled)


def expect_shares(
    columns: Vector, coefficients: Vector, reference: int, values: int
) -> tuple[Vector, Vector]:
    """Return the probability of each of the `values` for rows, and its derivatives.

    Derivatives are by the `coefficients` value by value, as in a covariance.
    """
    others = [v for v in range(values) if v != reference]
    scores = np.zeros((len(columns), values))
    scores[:, others] = columns @ coefficients
    shares = softmax(scores, axis=1)
    bend = -shares[:, :, None] * shares[:, None, others]
    bend[:, others, np.arange(len(others))] += shares[:, others]
    slopes = bend[..., None] * columns[:, None, None]
    return np.asarray(shares), slopes.reshape(len(columns), values, -1)


def is_definite(matrix: Vector) -> bool:
    """Return whether a symmetric matrix can be inverted without losing a direction to rounding."""
    sizes = np.linalg.eigvalsh(matrix)
    return bool(sizes[0] > _SINGULAR * sizes[-1])


class LikelihoodModel:
    """The likelihood, gradient and information at coefficients of scaled columns."""

    def __init__(self, columns: Vector, answers: Likelihoods, reference: int) -> None:
        self.answers, self.people = answers, answers.people
        values = answers.chances.shape[1]
        self.steps = 0
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
        back = np.diag(1 / self._scale)
        if self._constant.size:
            back[self._constant[0]] -= self._centre / self._scale
        self.unscaling = np.kron(np.eye(self.others.size), back)
        """From scaled coefficients, value by value, to those of the columns as given."""
        if np.linalg.matrix_rank(self.x[self.people > 0]) < columns.shape[1]:
            raise InputError(
                "the columns of a regression must be linearly independent; one of these is a "
                "combination of the others"
            )

    def direction(self, at: int) -> Vector:
        """Return scaled coefficients along which the coefficient at a place grows by 1."""
        return pivot_direction(self.unscaling[at])

    def influence(self, scaled: Vector) -> Vector:
        """Return how far each row, counted once more, moves the coefficients of the columns."""
        shares, posterior = self._posterior(scaled)
        more = (posterior - shares)[:, self.others]
        scores = (more[:, :, None] * self.x[:, None]).reshape(len(self.x), -1)
        return np.asarray(scores @ np.linalg.inv(self.information(scaled)) @ self.unscaling.T)

    def climb(self, start: Vector, free: Vector | None = None) -> tuple[Vector, float]:
        """Return the scaled coefficients of the largest objective, and the objective there.

        From `start` only the directions in the columns of `free` are taken.
        """

        def restricted(information: Vector) -> Vector:
            return information if free is None else free.T @ information @ free

        scaled, value = start, self.objective(start)
        for self.steps in range(_STEPS):
            slope = self.gradient(scaled) if free is None else free.T @ self.gradient(scaled)
            if not slope.size:
                return scaled, value
            for bend in self._bends():
                information = restricted(bend(scaled))
                if is_definite(information):
                    break
            move = np.linalg.solve(information, slope)
            if float(slope @ move) < _TOLERANCE * max(1.0, abs(value)):
                return scaled, value
            whole = move if free is None else free @ move
            for halving in range(_HALVINGS):
                tried = scaled + whole * 0.5**halving
                better = self.objective(tried)
                if better > value:
                    break
            else:
                return scaled, value
            scaled, value = tried, better
        return scaled, value

    def _bends(self) -> Sequence[Callable[[Vector], Vector]]:
        """Return matrices to step by, of which the first definite one is taken.

        Where reports contradict the model, as where an unbiased share is below 0, Fisher scoring
        overshoots: the observed information comes first.
        """
        return self.observed_information, self.information, self.complete_information

    def _columns_by_values(self, scaled: Vector) -> Vector:
        return scaled.reshape(self.others.size, -1).T

    def _centre_shares(self, scaled: Vector) -> Vector:
        """Return the probability of each value at the centre of all columns."""
        place = self._constant[0]
        scores = np.zeros(self.answers.chances.shape[1])
        scores[self.others] = self.x[0, place] * self._columns_by_values(scaled)[place]
        powers = np.exp(scores - scores.max())
        return np.asarray(powers / powers.sum())

    def objective(self, scaled: Vector) -> float:
        """Return the log-likelihood with the penalty."""
        slopes = np.abs(np.delete(self._columns_by_values(scaled), self._constant, axis=0))
        value = self.log_likelihood(scaled) - float((slopes + 2 * np.log1p(np.exp(-slopes))).sum())
        if self._constant.size:
            with np.errstate(divide="ignore"):
                value += _HALF * float(np.log(self._centre_shares(scaled)).sum())
        return value

    def _penalty_slope(self, scaled: Vector) -> Vector:
        slope = -np.tanh(self._columns_by_values(scaled) / 2)
        slope[self._constant] = 0.0
        if self._constant.size:
            place, centre = self._constant[0], self._centre_shares(scaled)
            drawn = 1 - centre.size * centre[self.others]
            slope[place] = _HALF * self.x[0, place] * drawn
        return np.asarray(slope.T.reshape(-1))

    def _penalty_information(self, scaled: Vector) -> Vector:
        bend = np.cosh(np.clip(self._columns_by_values(scaled) / 2, -300, 300)) ** -2 / 2
        bend[self._constant] = 0.0
        found = np.diag(bend.T.reshape(-1))
        if self._constant.size:
            place, centre = self._constant[0], self._centre_shares(scaled)
            rows = np.arange(self.others.size) * self.x.shape[1] + place
            [own] = _covariances(centre[None], self.others)
            found[np.ix_(rows, rows)] += _HALF * centre.size * self.x[0, place] ** 2 * own
        return found

    def shares(self, scaled: Vector) -> Vector:
        """Return the probability of each value for each row."""
        scores = np.zeros(self.answers.chances.shape)
        scores[:, self.others] = self.x @ self._columns_by_values(scaled)
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
        """Return the gradient of the objective."""
        shares, posterior = self._posterior(scaled)
        more = (posterior - shares)[:, self.others] * self.people[:, None]
        return np.asarray((more.T @ self.x).reshape(-1)) + self._penalty_slope(scaled)

    def information(self, scaled: Vector) -> Vector:
        """Return the information: expected if all outputs can be listed, else observed."""
        return self._information(scaled) + self._penalty_information(scaled)

    def observed_information(self, scaled: Vector) -> Vector:
        """Return the observed information, the negative second derivative of the objective."""
        return self._observed(scaled) + self._penalty_information(scaled)

    def _observed(self, scaled: Vector) -> Vector:
        shares, posterior = self._posterior(scaled)
        return self._sum_over_rows(
            _covariances(shares, self.others) - _covariances(posterior, self.others)
        )

    def _information(self, scaled: Vector) -> Vector:
        if self.answers.channel is None:
            return self._observed(scaled)
        shares, (rows, people) = self.shares(scaled), self._distinct_rows
        total = np.zeros((self.others.size * self.x.shape[1],) * 2)
        channel = self.answers.channel
        size = max(1, _CELLS // channel.size)
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            part = shares[rows[some]]
            seen = part @ channel
            joint = part[:, :, None] * channel
            expected = (joint / seen[:, None]) @ joint.transpose(0, 2, 1)
            expected -= part[:, :, None] * part[:, None]
            expected = expected[:, self.others][:, :, self.others]
            total += sum_matrices(expected, self.x[rows[some]], people[some])
        return total

    @functools.cached_property
    def _distinct_rows(self) -> tuple[Rows, Vector]:
        """The first of the rows with each choice of columns, and the people of all these rows."""
        _, first, alike = np.unique(self.x, axis=0, return_index=True, return_inverse=True)
        return first, np.bincount(alike.ravel(), weights=self.people).astype(np.float64)

    def complete_information(self, scaled: Vector) -> Vector:
        """Return the information that known answers would have, which always leads uphill."""
        known = self._sum_over_rows(_covariances(self.shares(scaled), self.others))
        return known + self._penalty_information(scaled)

    def _sum_over_rows(self, each: Vector) -> Vector:
        return sum_matrices(each, self.x, self.people)

    def unscale(self, scaled: Vector) -> FittedModel:
        """Return the coefficients of the columns as given, in the order value, column."""
        information = self.information(scaled)
        if not is_definite(information):
            information = self.complete_information(scaled)
        covariance = self.unscaling @ np.linalg.inv(information) @ self.unscaling.T
        coefficients = self._columns_by_values(self.unscaling @ scaled)
        return FittedModel(
            coefficients, covariance, self.log_likelihood(scaled), self.steps, self, scaled
        )


def sum_matrices(each: Vector, x: Vector, people: Vector) -> Vector:
    """Return the sum of the rows' matrices over values, as one over values and columns."""
    values, columns = each.shape[1], x.shape[1]
    total = np.zeros((values * values, columns * columns))
    size = max(1, _CELLS // (columns * columns))
    for start in range(0, len(x), size):
        some = slice(start, start + size)
        part = x[some]
        squares = (people[some, None, None] * part[:, :, None] * part[:, None]).reshape(
            len(part), -1
        )
        total += each[some].reshape(len(part), -1).T @ squares
    total = total.reshape(values, values, columns, columns).transpose(0, 2, 1, 3)
    return np.asarray(total.reshape(values * columns, values * columns))


def _covariances(shares: Vector, others: Vector) -> Vector:
    """Return the covariance matrix of the value's indicators for each row."""
    some = shares[:, others.astype(np.intp)]
    found = -some[:, :, None] * some[:, None]
    index = np.arange(some.shape[1])
    found[:, index, index] += some
    return np.asarray(found)
