"""What a fitted regression says of people: the expected answer at their columns, and its error.

An expectation is a probability of each answer, or a mean. Its error follows from those of the
coefficients (the delta method); people and their columns are taken as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from rumor.analysis.regress.formula import Design, sorted_values
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.estimators.survey import student_quantile
from rumor.results.intervals import Bounds

Expect = Callable[[Vector], tuple[Vector, Vector]]
_ROWS = 1 << 12  # rows whose derivatives are in memory together
_STEP = 1e-4  # of a standard deviation, over which a slope is measured
_EDGE = 1e-12


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected answers (rows by answers) and their standard errors."""

    mean: Vector
    stderr: Vector


@dataclass(frozen=True, eq=False)
class Effect:
    """The mean change of each expected answer with a column, and its standard errors."""

    column: str
    change: str
    mean: Vector
    stderr: Vector


@dataclass(frozen=True, eq=False)
class Response:
    """Expected answers as a function of columns, by a fitted model."""

    answers: Sequence[Any]
    shown: Sequence[int]
    """The places of the answers that have rows: of two, the probability of one says all."""
    is_share: bool
    """Whether expectations are probabilities."""
    is_bounded: bool
    """Whether they are within 0 and 1 by the model."""
    expect: Expect = field(repr=False)
    """Returns expectations, and their derivatives by all coefficients, of rows of the design."""
    covariance: Vector = field(repr=False)
    design: Design = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    """The public columns of the people who were fitted."""
    people: Vector = field(repr=False)
    """The weight of each of them."""
    freedom: float = math.inf
    hidden: str | None = None
    """The column of answers that are private, of which only the values are known."""

    def quantile(self, z: float) -> float:
        """Return the quantile of errors for the normal quantile `z`."""
        return z if math.isinf(self.freedom) else student_quantile(z, self.freedom)

    def ends(self, mean: Vector, stderr: Vector, z: float) -> Bounds:
        """Return both ends of intervals of expectations; shares are bounded on the logit scale."""
        reach = self.quantile(z) * stderr
        if not self.is_bounded:
            return mean - reach, mean + reach
        inside = np.clip(mean, _EDGE, 1 - _EDGE)
        middle, reach = logit(inside), reach / (inside * (1 - inside))
        return np.asarray(expit(middle - reach)), np.asarray(expit(middle + reach))

    def at(self, known: Mapping[str, Any]) -> Expectation:
        """Return the expected answers of people of whom the columns are `known`."""
        rows = self.design.read({name: self._like(name, known) for name in self.columns})
        if not len(rows):
            raise InputError("a prediction needs a row at least; got none")
        means, errors = [], []
        for start in range(0, len(rows), _ROWS):
            mean, slopes = self.expect(rows[start : start + _ROWS])
            means.append(mean)
            errors.append(self._errors(slopes))
        return Expectation(np.concatenate(means), np.concatenate(errors))

    def _errors(self, slopes: Vector) -> Vector:
        variance = np.einsum("...p,pq,...q->...", slopes, self.covariance, slopes)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def _like(self, name: str, known: Mapping[str, Any]) -> Any:
        """Return a column with values of the type that respondents have."""
        if name not in known:
            raise InputError(
                f"rows to predict must have the columns of the formula "
                f"({', '.join(self.columns)}); got {', '.join(known) or 'none'}"
            )
        column, kind = np.asarray(known[name]), self.columns[name].dtype.kind
        for row, value in enumerate(column.tolist()):
            if value is None or value != value or value == "":
                raise InputError(
                    f"rows to predict must have no missing value; {name!r} has none in row "
                    f"{row + 1:,}"
                )
        try:
            if kind in "iuf":
                return column.astype(np.float64)
            if kind == "b" and column.dtype.kind != "b":
                return np.array([_TRUTH[str(value).lower()] for value in column.tolist()])
        except (ValueError, KeyError):
            what = "numbers" if kind in "iuf" else "true or false"
            raise InputError(
                f"rows to predict must have {what} in column {name!r}; got "
                f"{format_value(_first_other(column, kind))}"
            ) from None
        if name == self.hidden:
            self._check_answers(name, column.astype(str).tolist())
        return column if kind == "b" else column.astype(str)

    def _check_answers(self, name: str, given: Sequence[str]) -> None:
        known = self.columns[name].tolist()
        others = [answer for answer in given if answer not in known]
        if others:
            raise InputError(
                f"rows to predict must have one of the answers to {name!r} ({', '.join(known)}); "
                f"got {format_value(others[0])}"
            )

    def effects(self) -> list[Effect]:
        """Return the average marginal effects of each column that the model uses.

        Of a column of numbers, the mean slope; of any other, the mean change from the first value
        to each of the others. The mean is over the people who were fitted.
        """
        if self.hidden is not None:
            raise InputError(
                f"marginal effects are means over respondents, whose answers to {self.hidden!r} "
                f"are private; predict rows instead (--predict)"
            )
        columns, people = self._distinct()
        found: list[Effect] = []

        def add(name: str, change: str, above: object, below: object, size: float = 1.0) -> None:
            """Add the change of `size` of the column `name` between two of its values."""
            filled = [
                np.full_like(columns[name], value) if np.isscalar(value) else value
                for value in (above, below)
            ]
            more, less = (self._mean({**columns, name: column}, people) for column in filled)
            slopes = (more[1] - less[1]) / size
            if slopes.any():  # else no term of the model is about the column
                mean = np.asarray((more[0] - less[0]) / size)
                found.append(Effect(name, change, mean, self._errors(slopes)))

        for name, column in columns.items():
            if column.dtype.kind in "iuf" and name not in self.design.categories:
                step = _STEP * (float(np.std(column)) or 1.0)
                add(name, "per unit", column + step, column - step, 2 * step)
                continue
            first, *others = sorted_values(self.columns[name])
            for value in others:
                add(name, f"{value} against {first}", value, first)
        return found

    def _mean(self, columns: Mapping[str, Any], people: Vector) -> tuple[Vector, Vector]:
        """Return the mean expectation over `people` with these `columns`, and its derivatives."""
        rows = self.design.read(columns)
        total, bend = np.zeros(1), np.zeros(1)
        for start in range(0, len(rows), _ROWS):
            some = slice(start, start + _ROWS)
            mean, slopes = self.expect(rows[some])
            total = total + people[some] @ mean
            bend = bend + np.tensordot(people[some], slopes, 1)
        return np.asarray(total / people.sum()), np.asarray(bend / people.sum())

    def _distinct(self) -> tuple[dict[str, Any], Vector]:
        """Return the columns of people who differ, and the weight of all who are like each."""
        codes = [np.unique(column, return_inverse=True)[1] for column in self.columns.values()]
        _, first, alike = np.unique(
            np.column_stack(codes), axis=0, return_index=True, return_inverse=True
        )
        people = np.bincount(alike.reshape(-1), self.people).astype(np.float64)
        columns = {name: column[first] for name, column in self.columns.items()}
        return {
            name: column.astype(np.float64) if column.dtype.kind in "iu" else column
            for name, column in columns.items()
        }, people


_TRUTH = {"true": True, "false": False, "1": True, "0": False}


def _first_other(column: Any, kind: str) -> object:
    """Return the first value of a `column` that is not of this `kind` of numpy."""
    for value in column.tolist():
        try:
            float(value) if kind in "iuf" else _TRUTH[str(value).lower()]
        except (ValueError, KeyError, TypeError):
            return value
    return None
