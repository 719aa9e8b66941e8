"""The models of a regression: what their coefficients mean, how they are fitted, their errors.

Of a choice, log-odds of the answers; of ordered labels, log-odds of a higher answer; of numbers,
and of shares where that is asked for, least squares.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.analysis.regress.errors import Errors, Profiles, Sandwich
from rumor.analysis.regress.fit import FittedModel, Likelihoods, expect_shares, fit
from rumor.analysis.regress.formula import Design
from rumor.analysis.regress.linear import expect_means, fit_linear
from rumor.analysis.regress.ordinal import expect_levels, fit_ordinal
from rumor.analysis.regress.response import Expect
from rumor.core.errors import InputError, format_value
from rumor.core.plain_text import one_line
from rumor.core.reports import Mask, Reports
from rumor.core.types import Rows, Vector
from rumor.estimators.survey import Survey
from rumor.kinds.base import Kind
from rumor.kinds.measures import MEAN, SHARE
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary

_RARE = 2.0  # standard errors within which of 0 an answer's share lies


@dataclass(frozen=True, eq=False)
class Task:
    """Reports, the columns that are to explain them, and how their people were drawn."""

    kind: Kind[Any]
    mechanism: Mechanism
    reports: Reports
    design: Design
    people: Vector
    """The weight of each person."""
    survey: Survey | None
    whole: Mask
    """Which of all respondents these people are."""
    reference: str | int | None

    def sandwich(self, coefficients: Vector, moved: Vector) -> Sandwich:
        """Return the errors of `coefficients` that each person's weight has `moved` so far."""
        assert self.survey is not None
        every = np.zeros((self.whole.size, moved.shape[1]))
        every[self.whole] = moved
        covariance = self.survey.covariance(every[self.survey.kept])
        return Sandwich(coefficients, covariance, self.survey.freedom())

    def require_no_reference(self) -> None:
        """Refuse a reference where no answer is held against the others."""
        if self.reference is not None:
            raise InputError(
                f"a reference is the answer that log-odds of a choice are against; got "
                f"{format_value(self.reference)} for a regression without one"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """Fitted coefficients, and what they mean."""

    terms: Sequence[str]
    values: Sequence[Any]
    places: Mapping[str, Sequence[int]]
    """The rows of the coefficients of each term of the formula."""
    coefficients: Vector
    errors: Errors
    design: Design
    """The columns that `expect` takes."""
    expect: Expect
    answers: Sequence[Any]
    """The answers that are expected."""
    shown: Sequence[int]
    """Those of them that say all."""
    is_share: bool
    is_bounded: bool
    meaning: str
    method: str
    is_odds: bool = True
    reference: Any = None
    freedom: float = math.inf
    log_likelihood: float | None = None
    null_log_likelihood: float | None = None
    whole_likelihood: bool = True
    rare: tuple[object, ...] = ()
    hidden: str | None = None
    """The name of private answers that explain a public outcome."""
    hidden_values: tuple[Any, ...] = ()
    notes: tuple[str, ...] = ()


def _odds(task: Task) -> Fit:
    """Return the log-odds of the answers to a choice."""
    chances, outputs, channel = task.kind.report_likelihoods(task.mechanism, task.reports)
    values: list[Any] = list(task.mechanism.labels or range(chances.shape[1]))
    at = reference_place(values, task.reference)
    data = _Data(chances, outputs, channel, task.people)
    one = functools.partial(fit, reference=at)
    full, where = data.fitted(task.design.matrix, one)
    null, _ = data.fitted(np.ones((len(task.reports), 1)), one)
    rare = _rare(task, values)
    notes = []
    if values[at] in rare:
        notes.append(f"{values[at]!r} is too rare for a reference: name another (--reference).")
    others = [v for v in range(len(values)) if v != at]
    return Fit(
        terms=task.design.names,
        values=[values[v] for v in others],
        places=task.design.terms,
        design=task.design,
        expect=functools.partial(
            expect_shares, coefficients=full.coefficients, reference=at, values=len(values)
        ),
        answers=values,
        shown=others if len(values) == 2 else range(len(values)),
        is_bounded=True,
        is_share=True,
        meaning=f"log-odds of the true answers against {one_line(values[at])!r}",
        reference=values[at],
        null_log_likelihood=null.log_likelihood,
        whole_likelihood=channel is not None,
        rare=tuple(value for value in rare if value != values[at]),
        **_likely(task, full, where, notes),
    )


def _ordinal(task: Task) -> Fit:
    """Return the log-odds of a higher answer, with thresholds between answers."""
    task.require_no_reference()
    chances, outputs, channel = task.kind.report_likelihoods(task.mechanism, task.reports)
    data = _Data(chances, outputs, channel, task.people)
    full, where = data.fitted(task.design.matrix, fit_ordinal)
    null, _ = data.fitted(np.ones((len(task.reports), 1)), fit_ordinal)
    varying = np.flatnonzero(np.ptp(task.design.matrix, axis=0) > 0).tolist()
    design = task.design.chosen(varying)
    levels = [str(level) for level in task.mechanism.labels or range(chances.shape[1])]
    thresholds = [f"{low} | {high}" for low, high in itertools.pairwise(levels)]
    return Fit(
        terms=[*design.names, *thresholds],
        values=["higher"],
        places=design.terms,
        design=design,
        expect=functools.partial(expect_levels, coefficients=full.coefficients[:, 0]),
        answers=levels,
        shown=range(len(levels)),
        is_bounded=True,
        is_share=True,
        meaning="log-odds of a higher true answer (proportional odds; rows with | are thresholds)",
        null_log_likelihood=null.log_likelihood,
        **_likely(task, full, where, []),
    )


def _likely(task: Task, full: FittedModel, where: Rows, notes: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a `Fit` that are those of a likelihood."""
    errors: Errors = Profiles(full)
    told, method, freedom = list(notes), "penalised maximum likelihood", math.inf
    if task.survey is not None:
        moved = full.model.influence(full.scaled)[where]
        errors, freedom = task.sandwich(full.coefficients, moved), task.survey.freedom()
        method = "weighted likelihood"
    else:
        told += full.notes
    return {
        "coefficients": full.coefficients,
        "errors": errors,
        "log_likelihood": full.log_likelihood,
        "method": method,
        "freedom": freedom,
        "notes": tuple(told),
    }


def _linear(task: Task) -> Fit:
    """Return the change of the mean answer, or of the shares of answers."""
    task.require_no_reference()
    found = task.kind.scores(task.mechanism, task.reports)
    rows = [k for k, quantity in enumerate(found.quantities) if quantity == MEAN] or [
        k for k, quantity in enumerate(found.quantities) if quantity == SHARE
    ]
    is_share = found.quantities[rows[0]] == SHARE
    values: list[Any] = [found.values[k] for k in rows]
    fitted = fit_linear(task.design.matrix, found.scores, rows, task.people)
    if task.survey is None:
        freedom = float(max(len(task.reports) - len(task.design.names), 1))
        errors = Sandwich(fitted.coefficients, fitted.covariance(), freedom)
    else:
        freedom = task.survey.freedom()
        errors = task.sandwich(fitted.coefficients, fitted.moved)
    what = "shares of the true answers (1 is everyone)" if is_share else "mean of the true answers"
    return Fit(
        terms=task.design.names,
        values=values,
        places=task.design.terms,
        coefficients=fitted.coefficients,
        errors=errors,
        design=task.design,
        expect=functools.partial(expect_means, coefficients=fitted.coefficients),
        answers=values,
        shown=range(len(values)),
        is_share=is_share,
        is_bounded=False,
        meaning=f"changes of the {what}",
        method="least squares" if task.survey is None else "weighted least squares",
        is_odds=False,
        freedom=freedom,
        notes=found.notes,
    )


MODELS: Mapping[str, Callable[[Task], Fit]] = {
    "odds": _odds,
    "ordinal": _ordinal,
    "linear": _linear,
}
"""The models by name; a kind says which it has."""


@dataclass(frozen=True, eq=False)
class _Data:
    """Likelihoods of reports, and for how many people each counts."""

    chances: Vector
    outputs: Rows | None
    channel: Vector | None
    people: Vector

    def fitted(
        self, matrix: Vector, fit_rows: Callable[[Vector, Likelihoods], FittedModel]
    ) -> tuple[FittedModel, Rows]:
        """Return the fit by the columns in `matrix`, and each report's row in it.

        Equal rows are added up, not repeated.
        """
        if self.outputs is None:
            answers = Likelihoods(self.chances, self.people)
            return fit_rows(matrix, answers), np.arange(len(matrix))
        rows = np.column_stack([matrix, self.outputs])
        _, first, where = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        counts = np.bincount(where.reshape(-1), self.people).astype(np.float64)
        answers = Likelihoods(self.chances[first], counts, self.channel)
        return fit_rows(matrix[first], answers), where.reshape(-1)


def _rare(task: Task, values: list[Any]) -> list[Any]:
    """Return the values of which reports do not show that anybody holds them."""
    summary = Summary.empty(task.mechanism).update(task.reports)
    shares = task.kind.measures(task.mechanism, summary, "population", {}).sample
    few = shares.mean < _RARE * shares.stderr
    return [value for value, is_rare in zip(values, few, strict=True) if is_rare]


def reference_place(values: list[object], asked: str | int | None) -> int:
    """Return the place of the answer that is `asked` for among `values`, by default the first."""
    if asked is None:
        return 0
    for place, value in enumerate(values):
        if value == asked or str(value) == str(asked):
            return place
    raise InputError(f"the reference must be one of the answers; got {format_value(asked)}")
