"""A public outcome explained by private answers: its formula, its models and its coefficients."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.analysis.regress.covariate import CovariateFit, fit_means, fit_odds
from rumor.analysis.regress.errors import Errors, Profiles, Sandwich
from rumor.analysis.regress.fit import expect_shares
from rumor.analysis.regress.formula import (
    INTERCEPT,
    Design,
    column_names,
    design,
    right_side,
    sorted_values,
)
from rumor.analysis.regress.linear import expect_means
from rumor.analysis.regress.models import Fit, Task, reference_place
from rumor.core.errors import InputError, format_value
from rumor.core.plain_text import one_line
from rumor.core.types import Vector
from rumor.mechanisms.base import Mechanism


def left_side(formula: str) -> str:
    """Return what a formula explains, as it is written."""
    return formula.rpartition("~")[0].strip()


@dataclass(frozen=True)
class OutcomeFormula:
    """A public column, and the private answers and columns that are to explain it."""

    outcome: str
    private: str
    rest: str | None
    """The sum of the other columns, if there are some."""

    @classmethod
    def read(cls, formula: str, private: str) -> OutcomeFormula:
        """Read OUTCOME ~ PRIVATE + COLUMN + ...; `private` is the name of the private answers."""
        parts = [part.strip() for part in right_side(formula).split("+")]
        others = [part for part in parts if part != private]
        rest = " + ".join(others)
        if len(others) == len(parts) or re.search(
            rf"(?<![\w.]){re.escape(private)}(?![\w.])", rest
        ):
            raise InputError(
                f"the formula of a public outcome is written OUTCOME ~ {private} + COLUMN + ..., "
                f"with the private answers as a term of their own; got {format_value(formula)}"
            )
        return cls(left_side(formula), private, rest or None)

    def names(self, known: Sequence[str]) -> list[str]:
        """Return those of the `known` columns that are needed, the outcome last."""
        if self.outcome not in known:
            raise InputError(
                f"an outcome must be a public column of the reports ({', '.join(known)}); got "
                f"{format_value(self.outcome)}"
            )
        rest = [] if self.rest is None else column_names(self.rest, known)
        if self.outcome in rest:
            raise InputError(
                f"a column must not explain itself; got {self.outcome!r} on both sides"
            )
        if self.private in known:
            raise InputError(
                f"public columns must have other names than the private answers; got "
                f"{self.private!r} for both"
            )
        return [*rest, self.outcome]

    def design(self, public: Mapping[str, Any]) -> tuple[Design, list[str]]:
        """Return the columns beside the private answers, and those left out in words."""
        if self.rest is None:
            count = len(public[self.outcome])
            return Design([INTERCEPT], {}, np.ones((count, 1)), lambda known: _ones(known)), []
        return design(self.rest, public).independent()


def _ones(known: Mapping[str, Any]) -> Vector:
    return np.ones((len(next(iter(known.values()))), 1))


def answer_labels(mechanism: Mechanism) -> list[Any]:
    """Return the answers that people may hold."""
    domain: int = getattr(mechanism, "domain")  # noqa: B009 (of mechanisms of a choice)
    return list(mechanism.labels or range(domain))


def explain_outcome(task: Task, asked: OutcomeFormula, outcome: Any, linear: bool) -> Fit:
    """Return how private answers, and public columns beside them, move a public `outcome`."""
    values = sorted_values(outcome)
    is_number = outcome.dtype.kind in "iuf"
    is_odds = len(values) == 2 and not (linear and is_number)
    if not is_odds and (not is_number or len(values) < 2):
        raise InputError(
            f"an outcome must be a column of two values or of numbers; {asked.outcome!r} has "
            f"{len(values):,} value{'s' * (len(values) != 1)} "
            f"({', '.join(map(str, values[:3]))}{', ...' * (len(values) > 3)})"
        )
    labels = answer_labels(task.mechanism)
    at = reference_place(labels, task.reference)
    order = [at, *(v for v in range(len(labels)) if v != at)]
    public = task.design.matrix
    if is_odds:
        chances, _, _ = task.kind.report_likelihoods(task.mechanism, task.reports)
        told = (outcome == values[1]).astype(np.float64)
        found = fit_odds(public, chances[:, order], told, task.people)
    else:
        read = task.kind.scores(task.mechanism, task.reports).scores
        scores = (read.hits - read.zero) / read.gain
        found = fit_means(public, scores[:, order[1:]], outcome.astype(np.float64), task.people)
    others = [labels[v] for v in order[1:]]
    count, width = len(task.design.names), len(labels) - 1
    coefficients = found.coefficients[:, None]
    expect: Any = functools.partial(expect_means, coefficients=coefficients)
    about = f"the mean of {one_line(asked.outcome)!r}"
    if is_odds:
        expect = functools.partial(expect_shares, coefficients=coefficients, reference=0, values=2)
        about = f"log-odds of {one_line(asked.outcome)!r} {values[1]} against {values[0]}"
    freedom = float(max(len(task.reports) - count - width, 1))
    return Fit(
        terms=[*task.design.names, *(f"{asked.private}[T.{label}]" for label in others)],
        values=[values[1] if is_odds else asked.outcome],
        places={asked.private: range(count, count + width), **task.design.terms},
        coefficients=coefficients,
        errors=_errors(task, found, coefficients, freedom),
        design=_with_answers(task.design, asked.private, others),
        expect=expect,
        answers=values if is_odds else ["mean"],
        shown=[1] if is_odds else [0],
        is_share=is_odds,
        is_bounded=is_odds,
        meaning=f"{about}, by true answers to {asked.private!r} and public columns",
        method="penalised maximum likelihood" if is_odds else "corrected normal equations",
        is_odds=is_odds,
        reference=values[0] if is_odds else None,
        freedom=freedom if task.survey is None else task.survey.freedom(),
        hidden=asked.private,
        hidden_values=tuple(labels),
        notes=() if found.likely is None or task.survey else tuple(found.likely.notes),
    )


def _errors(task: Task, found: CovariateFit, coefficients: Vector, freedom: float) -> Errors:
    if task.survey is not None:
        return task.sandwich(coefficients, found.moved)
    if found.likely is not None:
        return Profiles(found.likely)
    return Sandwich(coefficients, found.covariance, freedom)


def _with_answers(public: Design, private: str, others: Sequence[Any]) -> Design:
    """Return a design of `public` columns with an indicator for each of the `others`."""
    count, texts = len(public.names), [str(label) for label in others]

    def read(known: Mapping[str, Any]) -> Vector:
        held = np.asarray(known[private]).astype(str)
        marks = [(held == text).astype(np.float64) for text in texts]
        return np.column_stack([public.read(known), *marks])

    return Design(
        [*public.names, *(f"{private}[T.{text}]" for text in texts)],
        {**public.terms, private: range(count, count + len(texts))},
        public.matrix,
        read,
        public.categories,
    )
