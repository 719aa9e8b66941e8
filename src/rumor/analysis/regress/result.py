"""A regression as a table: coefficients with their errors and tests, as statisticians know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from rumor.analysis.compare.result import format_p_value
from rumor.analysis.regress.formula import as_columns
from rumor.analysis.regress.predictions import MarginalEffects, Predictions
from rumor.analysis.regress.response import Response
from rumor.core.exact import CONFIDENCE
from rumor.core.plain_text import aligned, digits_for, one_line, percent, wrapped
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.results.intervals import Bounds, critical_value
from rumor.results.rows import VALID_FOR, Column, Tabular
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


# Errors beyond these are shown for a standard deviation of the column.
_LEAST_SHOWN, _MOST_SHOWN = 1e-4, 1e4


@dataclass(frozen=True)
class TermTest:
    """A likelihood-ratio test of the model against the one without a term."""

    term: str
    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression(Tabular):
    """Coefficients of columns: log-odds of answers, or changes of their mean.

    `coefficients`, `stderr` and `p_value` have a row for each of `terms` and a column for each of
    `values`; `covariance` is of all of them, value by value. `tests` leave out one term each.
    """

    terms: Sequence[str]
    values: Sequence[str] | Sequence[int]
    reference: str | int | None
    """The answer that log-odds are against, of a choice."""
    coefficients: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    roots: Vector = field(repr=False)
    """The signed roots of twice what the likelihood loses at 0, normal without an effect."""
    p_value: Vector = field(repr=False)
    covariance: Vector = field(repr=False)
    profile: Callable[[float], Bounds] = field(repr=False)
    """Returns both ends of all intervals, for a two-sided normal quantile."""
    response: Response = field(repr=False)
    """The expected answers, as a function of the columns."""
    deviations: Vector = field(repr=False)
    """The standard deviation of each column."""
    is_odds: bool
    """Whether coefficients are log-odds."""
    meaning: str
    """The meaning of a coefficient, in words."""
    log_likelihood: float | None
    """The log-likelihood; least squares have none."""
    null_log_likelihood: float | None
    """The log-likelihood of the model with an intercept alone."""
    whole_likelihood: bool
    """Whether likelihoods are those of the reports, or lack a factor that no column changes."""
    overall: TermTest
    tests: Sequence[TermTest]
    left_out: int
    """The number of people with an unknown column."""
    formula: str
    heading: str = ""
    notes: tuple[str, ...] = ()
    rare: tuple[object, ...] = ()
    """The values of which reports do not show that anybody holds them."""
    method: str = "penalised maximum likelihood"
    _known: dict[float, Bounds] = field(default_factory=dict, repr=False)

    def interval(self, level: float = CONFIDENCE) -> Bounds:
        """Return the ends of intervals of the coefficients, by profile."""
        if level not in self._known:
            self._known[level] = self.profile(critical_value(level, 1))
        return self._known[level]

    def predict(self, columns: Any) -> Predictions:
        """Return the probability of each answer for people with these public `columns`.

        They are a mapping from names to arrays, a data frame, an Arrow table or a table's path.
        """
        known = as_columns(columns, list(self.response.columns))
        return Predictions(
            response=self.response,
            known={name: known[name] for name in self.response.columns if name in known},
            expected=self.response.at(known),
            **self._shared(),
        )

    def margins(self) -> MarginalEffects:
        """Return the average marginal effects: the mean change of probabilities with a column."""
        return MarginalEffects(
            response=self.response, effects=self.response.effects(), **self._shared()
        )

    def _shared(self) -> dict[str, Any]:
        return {
            "reports": self.reports,
            "epsilon": self.epsilon,
            "method": self.method,
            "formula": self.formula,
            "heading": self.heading,
            "notes": self.notes,
        }

    @override
    def row_indices(self, view: View) -> list[int]:
        return list(range(self.coefficients.size))[: view.rows]

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        places, each = np.asarray(rows, dtype=np.intp), len(self.terms)
        low, high = self.interval(view.level)

        def column(matrix: Vector) -> Vector:
            return np.asarray(matrix.T.reshape(-1)[places])

        with np.errstate(over="ignore"):
            ratio = {"odds_ratio": column(np.exp(self.coefficients))} if self.is_odds else {}
        return {
            "value": [self.values[i // each] for i in rows],
            "term": [self.terms[i % each] for i in rows],
            "coefficient": column(self.coefficients),
            "stderr": column(self.stderr),
            "z": column(self.roots),
            "p_value": column(self.p_value),
            "low": column(low),
            "high": column(high),
            **ratio,
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        level = percent(view.level)
        return f"{level} confidence intervals, each for a coefficient chosen before seeing the data"

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        return {
            "formula": self.formula,
            "reference": self.reference,
            "log_likelihood": self.log_likelihood,
            "null_log_likelihood": self.null_log_likelihood,
            "whole_likelihood": self.whole_likelihood,
            "left_out": self.left_out,
            "rare": list(self.rare),
            "overall": asdict(self.overall),
            "tests": [asdict(test) for test in self.tests],
            "notes": list(self.notes),
        }

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        seen = self.checked_view(view, options).for_file("given")
        columns = self.cells(range(self.coefficients.size), seen)
        blocks = [self.heading] if self.heading else []
        for number, value in enumerate(self.values):
            if value in self._folded:
                continue
            start = number * len(self.terms)
            head = (one_line(value), "coefficient", "std. error", "z", "p-value")
            rows = [self._row(columns, start + i) for i in range(len(self.terms))]
            interval = f"{percent(seen.level)} interval"
            ratio = ("odds ratio",) if self.is_odds else ()
            blocks.append(aligned((*head, interval, *ratio), rows))
        tested = [
            (t.term, f"{t.statistic:.2f}", f"{t.freedom}", format_p_value(t.p_value))
            for t in (*self.tests, self.overall)
        ]
        blocks.append(aligned(("without", "chi-squared", "freedom", "p-value"), tested))
        return "\n\n".join([*blocks, "\n".join(self._lines(seen))])

    def _row(self, columns: Mapping[str, Column], k: int) -> tuple[str, ...]:
        name, unit = one_line(columns["term"][k]), 1.0
        if not _LEAST_SHOWN <= float(columns["stderr"][k]) <= _MOST_SHOWN:  # type: ignore[arg-type]
            unit = float(self.deviations[k % len(self.terms)]) or 1.0
            name = f"{name} (per {unit:.4g}, its SD)" if unit != 1.0 else name
        coefficient, error, low, high = (
            unit * float(columns[at][k])  # type: ignore[arg-type]
            for at in ("coefficient", "stderr", "low", "high")
        )
        digits = digits_for(error)
        with np.errstate(over="ignore"):
            ratio = float(np.exp(coefficient))
        return (
            name,
            f"{coefficient:.{digits}f}",
            f"{error:.{digits}f}",
            f"{columns['z'][k]:.2f}",
            format_p_value(float(columns["p_value"][k])),  # type: ignore[arg-type]
            f"{low:.{digits}f} to {high:.{digits}f}",
            *([f"{ratio:.3g}"] if self.is_odds else []),
        )

    @property
    def _folded(self) -> tuple[object, ...]:
        """The values whose rows a table leaves out: rare ones, unless all are."""
        return self.rare if len(self.rare) < len(self.values) else ()

    def _lines(self, view: View) -> list[str]:
        likely = ""
        if self.log_likelihood is not None:
            rest = "" if self.whole_likelihood else " (but for a factor that no column changes)"
            likely = (
                f"; log-likelihood {self.log_likelihood:.3f}, of the intercept alone "
                f"{self.null_log_likelihood:.3f}{rest}"
            )
        lines = [
            f"{self.meaning}{likely}",
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} per report; p-values and "
            f"intervals {VALID_FOR[view.looks]}",
            self.coverage_sentence(view),
        ]
        lines += [
            f"{one_line(value)!r} is too rare: its coefficients are mostly the prior's"
            + (", and have no rows here." if value in self._folded else ".")
            for value in self.rare
        ]
        if self.left_out:
            lines.append(f"{self.left_out:,} respondents with a missing column were left out")
        return [wrapped(line) for line in (*lines, *self.notes)]

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.regress.chart import regression_chart

        return regression_chart(self, view, title)
