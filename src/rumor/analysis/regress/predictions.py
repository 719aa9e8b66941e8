"""Predictions and average marginal effects of a regression, as tables."""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rumor.analysis.compare.result import format_p_value
from rumor.analysis.regress.response import Effect, Expectation, Response
from rumor.core.exact import CONFIDENCE
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    digits_for,
    one_line,
    percent,
    rows_left_out,
    wrapped,
)
from rumor.core.types import Rows, Vector
from rumor.core.typing import override
from rumor.estimators.groups import two_sided_p_value
from rumor.estimators.survey import student_p_value
from rumor.results.intervals import Bounds, critical_value
from rumor.results.rows import VALID_FOR, Column, Tabular
from rumor.results.view import ROWS_SHOWN, View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True)
class _ExpectedAnswers(Tabular):
    """Rows of expected answers, or of their changes, one after the other."""

    response: Response = field(repr=False)
    formula: str
    heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def _shown(self) -> Rows:
        return np.asarray(self.response.shown, dtype=np.intp)

    @property
    @abc.abstractmethod
    def mean(self) -> Vector:
        """The estimates, row by row."""

    @property
    @abc.abstractmethod
    def stderr(self) -> Vector:
        """The standard errors, row by row."""

    @abc.abstractmethod
    def interval(self, level: float = CONFIDENCE) -> Bounds:
        """Return both ends of the interval of each row."""

    @override
    def row_indices(self, view: View) -> list[int]:
        return list(range(self.mean.size))[: view.rows]

    def _lines(self, view: View, about: str, rows: int) -> list[str]:
        lines = [
            f"{about}; standard errors by the delta method, for people with these columns",
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} per report; intervals "
            f"{VALID_FOR[view.looks]}",
            self.coverage_sentence(view),
            *rows_left_out(self.mean.size - rows, "row"),
        ]
        return [wrapped(line) for line in (*lines, *self.notes)]

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        return {"formula": self.formula, "notes": list(self.notes)}

    def _text(self, number: float, error: float) -> str:
        """Return a number as it is shown, a probability in per cent."""
        if self.response.is_share:
            return percent(number, decimals_for(error))
        return f"{number:.{digits_for(error)}f}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictions(_ExpectedAnswers):
    """Expected answers of people of whom the public columns are known."""

    known: Mapping[str, Any] = field(repr=False)
    """Their public columns."""
    expected: Expectation = field(repr=False)

    @property
    @override
    def mean(self) -> Vector:
        return np.asarray(self.expected.mean[:, self._shown].reshape(-1))

    @property
    @override
    def stderr(self) -> Vector:
        return np.asarray(self.expected.stderr[:, self._shown].reshape(-1))

    @override
    def interval(self, level: float = CONFIDENCE) -> Bounds:
        return self.response.ends(self.mean, self.stderr, critical_value(level, 1))

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        places, each = np.asarray(rows, dtype=np.intp), self._shown.size
        low, high = self.interval(view.level)
        people = places // each
        return {
            "row": people + 1,
            **{name: np.asarray(column)[people] for name, column in self.known.items()},
            "answer": [self.response.answers[self._shown[i % each]] for i in rows],
            "estimate": self.mean[places],
            "stderr": self.stderr[places],
            "low": low[places],
            "high": high[places],
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        what = "probability" if self.response.is_share else "mean"
        return f"{percent(view.level)} confidence intervals, each for the {what} of one row"

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        seen = self.checked_view(view, options)
        rows = self.row_indices(seen)[: seen.rows or ROWS_SHOWN]
        columns = self.cells(rows, seen)
        body = []
        for k in range(len(rows)):
            shown = [
                self._text(float(columns[name][k]), float(columns["stderr"][k]))  # type: ignore[arg-type]
                for name in ("estimate", "low", "high")
            ]
            own = [one_line(columns[name][k]) for name in ("row", *self.known, "answer")]
            body.append((*own, shown[0], f"{shown[1]} to {shown[2]}"))
        what = "probability" if self.response.is_share else "mean"
        names = [one_line(name) for name in self.known]
        head = ("row", *names, "answer", what, f"{percent(seen.level)} interval")
        lines = self._lines(seen, f"the {what} of each answer by the model", len(rows))
        heads = [self.heading] if self.heading else []
        return "\n\n".join([*heads, aligned(head, body), "\n".join(lines)])

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.regress.chart import predictions_chart

        return predictions_chart(self, view, title)


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalEffects(_ExpectedAnswers):
    """The mean changes of expected answers with each column, over the people who were fitted."""

    effects: Sequence[Effect] = field(repr=False)

    @functools.cached_property
    def _means(self) -> Vector:
        return np.concatenate([effect.mean[self._shown] for effect in self.effects])

    @property
    @override
    def mean(self) -> Vector:
        return self._means

    @property
    @override
    def stderr(self) -> Vector:
        return np.concatenate([effect.stderr[self._shown] for effect in self.effects])

    @property
    def p_value(self) -> Vector:
        """The p-value of no effect, by Wald's statistic."""
        normal = two_sided_p_value(self.mean / self.stderr)
        freedom = self.response.freedom
        return normal if np.isinf(freedom) else student_p_value(normal, freedom)

    @override
    def interval(self, level: float = CONFIDENCE) -> Bounds:
        reach = self.response.quantile(critical_value(level, 1)) * self.stderr
        return self.mean - reach, self.mean + reach

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        places, each = np.asarray(rows, dtype=np.intp), self._shown.size
        low, high = self.interval(view.level)
        return {
            "column": [self.effects[i // each].column for i in rows],
            "change": [self.effects[i // each].change for i in rows],
            "answer": [self.response.answers[self._shown[i % each]] for i in rows],
            "effect": self.mean[places],
            "stderr": self.stderr[places],
            "z": (self.mean / self.stderr)[places],
            "p_value": self.p_value[places],
            "low": low[places],
            "high": high[places],
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        level = percent(view.level)
        return f"{level} confidence intervals, each for an effect chosen before seeing the data"

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        seen = self.checked_view(view, options)
        rows = self.row_indices(seen)[: seen.rows]
        columns = self.cells(rows, seen)
        body = []
        for k in range(len(rows)):
            error = float(columns["stderr"][k])  # type: ignore[arg-type]
            effect, low, high = (
                self._text(float(columns[name][k]), error)  # type: ignore[arg-type]
                for name in ("effect", "low", "high")
            )
            own = [one_line(columns[name][k]) for name in ("column", "change", "answer")]
            p_value = format_p_value(float(columns["p_value"][k]))  # type: ignore[arg-type]
            body.append((*own, effect, self._text(error, error), p_value, f"{low} to {high}"))
        head = ("column", "change", "answer", "effect", "std. error", "p-value")
        what = "probability" if self.response.is_share else "mean"
        lines = self._lines(
            seen,
            f"average marginal effects: the change of the {what} of an answer, as a mean over all "
            f"respondents",
            len(rows),
        )
        heads = [self.heading] if self.heading else []
        table = aligned((*head, f"{percent(seen.level)} interval"), body)
        return "\n\n".join([*heads, table, "\n".join(lines)])

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.regress.chart import effects_chart

        return effects_chart(self, view, title)
