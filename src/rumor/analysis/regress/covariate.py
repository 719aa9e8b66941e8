"""Regression of a public outcome on a private answer, which a noisy report alone tells of.

*An outcome of two values*: log-odds. A person with columns x and the private answer d has the
outcome with probability F(x b + a_d), and holds d with probability softmax(x G)_d. A report's
likelihood is the mean of P(report | d) times that of the outcome over all d (Carroll, Ruppert,
Stefanski and Crainiceanu, Measurement Error in Nonlinear Models, 2006, chapter 8): exact, if
the answers depend on x by that model. Penalty and profile intervals are those of other
regressions.

*A number*: least squares. A report's score z of an answer is unbiased, and so are the sums of
z x, z y and z itself, which is its own square's: the normal equations of people whose answers are
known, with z in the place of the answers. Nothing is assumed of how answers depend on x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from rumor.analysis.regress.fit import FittedModel, is_definite, pivot_direction
from rumor.core.errors import InputError
from rumor.core.types import Vector

_HALF = 0.5  # people for each answer and each outcome at the centre
_STEP = 1e-5  # over which a gradient is differenced
_MOST = 500  # steps of the search
_TOLERANCE = 1e-8  # of the gradient per person, where the search ends


@dataclass(frozen=True, eq=False)
class CovariateFit:
    """Coefficients of columns, then of private answers but the reference."""

    coefficients: Vector
    covariance: Vector
    moved: Vector
    """How far each row, counted once more, moves the coefficients."""
    likely: FittedModel | None = None
    """The fit whose likelihood gives intervals; least squares have none."""


def fit_means(columns: Vector, answers: Vector, outcome: Vector, people: Vector) -> CovariateFit:
    """Return the coefficients of a number `outcome`; `answers` are scores of the private ones."""
    unit = np.append(np.sqrt((columns**2).mean(axis=0)), np.ones(answers.shape[1]))
    x = columns / unit[: columns.shape[1]]
    weighted = people[:, None] * x
    cross = weighted.T @ answers
    gram = np.block([[weighted.T @ x, cross], [cross.T, np.diag(people @ answers)]])
    known = np.hstack([x, answers])
    if np.linalg.eigvalsh(gram)[0] <= 0:
        raise InputError(
            "reports are too few for a private column beside these columns: its answers, less "
            "what columns explain of them, have no variance above the noise"
        )
    inverse = np.linalg.inv(gram)
    found = inverse @ (known.T @ (people * outcome))
    slopes = found[columns.shape[1] :]
    left = outcome - x @ found[: columns.shape[1]]
    scores = np.hstack([x * (left - answers @ slopes)[:, None], answers * (left[:, None] - slopes)])
    moved = scores @ inverse / unit
    return CovariateFit(found / unit, moved.T @ (people[:, None] ** 2 * moved), moved)


def fit_odds(columns: Vector, chances: Vector, outcome: Vector, people: Vector) -> CovariateFit:
    """Return the log-odds of an `outcome` of 0 and 1; `chances` are P(report | answer).

    The first column is the intercept, and the first answer the reference.
    """
    model = _Mixture(columns, chances, outcome, people)
    best, _ = model.climb(np.zeros(model.size))
    information = model.information(best)
    if not is_definite(information):
        raise InputError(
            "a regression must have a likelihood with one maximum; this has none: use fewer columns"
        )
    inverse = np.linalg.inv(information)
    model.bend = information / people.sum()
    shown = model.unscaling
    coefficients, covariance = shown @ best, shown @ inverse @ shown.T
    likely = float(people @ model.scores(best)[0])
    full = FittedModel(coefficients[:, None], covariance, likely, model.steps, model, best)
    return CovariateFit(coefficients, covariance, model.influence(best), full)


class _Mixture:
    """The likelihood at coefficients of scaled columns, of answers, then of answers by columns."""

    def __init__(self, columns: Vector, chances: Vector, outcome: Vector, people: Vector) -> None:
        self.chances, self.outcome, self.people = chances, outcome, people
        centre = people @ columns / people.sum()
        spread = np.sqrt(people @ (columns - centre) ** 2 / people.sum())
        centre[0], spread[0] = 0.0, 1.0
        self.x = (columns - centre) / spread
        self.columns, self.others = columns.shape[1], chances.shape[1] - 1
        self.size = (self.columns + 1) * (self.others + 1) - 1
        back = np.diag(1 / spread)
        back[0] -= centre / spread
        count = self.columns + self.others
        self.unscaling = np.zeros((count, self.size))
        """From all coefficients to those of the columns as given, and of answers."""
        self.unscaling[: self.columns, : self.columns] = back
        self.unscaling[self.columns :, self.columns : count] = np.eye(self.others)
        self.steps = 0
        self.bend = np.eye(self.size)
        """The information of one person, by which searches begin."""

    def objective(self, scaled: Vector) -> float:
        """Return the log-likelihood with the penalty."""
        return -self.loss(scaled)[0] * float(self.people.sum())

    def climb(self, start: Vector, free: Vector | None = None) -> tuple[Vector, float]:
        """Return the scaled coefficients of the largest objective, and the objective there.

        From `start` only the directions in the columns of `free` are taken.
        """
        moves = np.eye(self.size) if free is None else free

        def restricted(along: Vector) -> tuple[float, Vector]:
            value, slope = self.loss(start + moves @ along)
            return value, np.asarray(slope @ moves)

        first = np.linalg.inv(moves.T @ self.bend @ moves)
        options = {"maxiter": _MOST, "gtol": _TOLERANCE, "hess_inv0": (first + first.T) / 2}
        none = np.zeros(moves.shape[1])
        best = minimize(restricted, none, jac=True, method="BFGS", options=options)
        self.steps = int(best.nit)
        found = np.asarray(start + moves @ best.x)
        return found, self.objective(found)

    def direction(self, at: int) -> Vector:
        """Return scaled coefficients along which the coefficient at a place grows by 1."""
        return pivot_direction(self.unscaling[at])

    def influence(self, scaled: Vector) -> Vector:
        """Return how far each row, counted once more, moves the coefficients of the columns."""
        inverse = np.linalg.inv(self.information(scaled))
        return np.asarray(self.scores(scaled)[1] @ inverse @ self.unscaling.T)

    def _parts(self, at: Vector) -> tuple[Vector, Vector, Vector]:
        own, answers = at[: self.columns], at[self.columns : self.columns + self.others]
        by_columns = at[self.columns + self.others :].reshape(self.others, self.columns).T
        return own, answers, by_columns

    def scores(self, at: Vector) -> tuple[Vector, Vector]:
        """Return the log-likelihood of each row, and its derivatives."""
        own, answers, by_columns = self._parts(at)
        rows = len(self.x)
        odds = (self.x @ own)[:, None] + np.append(0.0, answers)
        chance = expit(odds)
        told = np.where(self.outcome[:, None] > 0, chance, expit(-odds))
        shares = softmax(np.column_stack([np.zeros(rows), self.x @ by_columns]), axis=1)
        joint = shares * self.chances * told
        seen = joint.sum(axis=1)
        posterior = joint / seen[:, None]
        left = posterior * (self.outcome[:, None] - chance)
        away = (posterior - shares)[:, 1:]
        by_share = (away[:, :, None] * self.x[:, None]).reshape(rows, -1)
        slopes = np.hstack([left.sum(axis=1, keepdims=True) * self.x, left[:, 1:], by_share])
        return np.log(seen), slopes

    def loss(self, at: Vector) -> tuple[float, Vector]:
        """Return the penalised log-likelihood's negative and its gradient, per person."""
        likely, slopes = self.scores(at)
        own, answers, by_columns = self._parts(at)
        total = self.people.sum()
        # Scaled columns and the halves of answers' indicators have log F(2, 2) as their prior.
        pulled = np.concatenate([own[1:], answers / 2, by_columns[1:].T.reshape(-1)])
        penalty = float((np.abs(pulled) + 2 * np.log1p(np.exp(-np.abs(pulled)))).sum())
        centre = softmax(np.append(0.0, by_columns[0]))
        middle = expit(own[0]), expit(-own[0])
        penalty -= _HALF * float(np.log(centre).sum() + np.log(middle).sum())
        pull = np.zeros(self.size)
        pull[1 : self.columns] = np.tanh(own[1:] / 2)
        pull[0] = _HALF * (middle[0] - middle[1])
        pull[self.columns : self.columns + self.others] = np.tanh(answers / 4) / 2
        slope = np.tanh(by_columns / 2)
        slope[0] = _HALF * ((self.others + 1) * centre[1:] - 1)
        pull[self.columns + self.others :] = slope.T.reshape(-1)
        value = penalty - float(self.people @ likely)
        return value / total, np.asarray(pull - self.people @ slopes) / total

    def information(self, at: Vector) -> Vector:
        """Return the observed information with that of the penalty."""
        moved = [
            self.loss(at + _STEP * unit)[1] - self.loss(at - _STEP * unit)[1]
            for unit in np.eye(self.size)
        ]
        found = np.array(moved) * self.people.sum() / (2 * _STEP)
        return np.asarray((found + found.T) / 2)
