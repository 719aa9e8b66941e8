"""A regression as a table: coefficients with their errors and tests, as statisticians know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rumor.analysis.compare.result import format_p_value
from rumor.core.exact import CONFIDENCE
from rumor.core.plain_text import aligned, digits_for, one_line, percent, wrapped
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.results.intervals import Bounds, critical_value
from rumor.results.rows import VALID_FOR, Column, Tabular
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class TermTest:
    """A likelihood-ratio test of the model against the one without a term."""

    term: str
    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Regression(Tabular):
    """Log-odds of every value against the reference, by columns.

    `coefficients`, `stderr` and `p_value` have a row for each of `terms` and a column for each of
    `values`; `covariance` is of all of them, value by value. `tests` leave out one term each.
    """

    terms: Sequence[str]
    values: Sequence[str] | Sequence[int]
    reference: str | int
    coefficients: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    p_value: Vector = field(repr=False)
    covariance: Vector = field(repr=False)
    log_likelihood: float
    null_log_likelihood: float
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
    method: str = "maximum likelihood"

    def interval(self, level: float = CONFIDENCE) -> Bounds:
        """Return the ends of intervals of the coefficients."""
        z = critical_value(level, 1)
        return self.coefficients - z * self.stderr, self.coefficients + z * self.stderr

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
            ratio = np.exp(self.coefficients)
        return {
            "value": [self.values[i // each] for i in rows],
            "term": [self.terms[i % each] for i in rows],
            "coefficient": column(self.coefficients),
            "stderr": column(self.stderr),
            "z": column(self.coefficients / self.stderr),
            "p_value": column(self.p_value),
            "low": column(low),
            "high": column(high),
            "odds_ratio": column(ratio),
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
            start = number * len(self.terms)
            head = (one_line(value), "coefficient", "std. error", "z", "p-value")
            rows = [self._row(columns, start + i) for i in range(len(self.terms))]
            interval = f"{percent(seen.level)} interval"
            blocks.append(aligned((*head, interval, "odds ratio"), rows))
        tested = [
            (t.term, f"{t.statistic:.2f}", f"{t.freedom}", format_p_value(t.p_value))
            for t in (*self.tests, self.overall)
        ]
        blocks.append(aligned(("without", "chi-squared", "freedom", "p-value"), tested))
        return "\n\n".join([*blocks, "\n".join(self._lines(seen))])

    def _row(self, columns: Mapping[str, Column], k: int) -> tuple[str, ...]:
        coefficient, error = float(columns["coefficient"][k]), float(columns["stderr"][k])  # type: ignore[arg-type]
        digits = digits_for(error)
        ends = f"{columns['low'][k]:.{digits}f} to {columns['high'][k]:.{digits}f}"
        return (
            one_line(columns["term"][k]),
            f"{coefficient:.{digits}f}",
            f"{error:.{digits}f}",
            f"{columns['z'][k]:.2f}",
            format_p_value(float(columns["p_value"][k])),  # type: ignore[arg-type]
            ends,
            f"{columns['odds_ratio'][k]:.3g}",
        )

    def _lines(self, view: View) -> list[str]:
        rest = "" if self.whole_likelihood else " (but for a factor that no column changes)"
        lines = [
            f"log-odds of the true answers against {one_line(self.reference)!r}; log-likelihood "
            f"{self.log_likelihood:.3f}, of the intercept alone "
            f"{self.null_log_likelihood:.3f}{rest}",
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} per report; p-values and "
            f"intervals {VALID_FOR[view.looks]}",
            self.coverage_sentence(view),
        ]
        if self.left_out:
            lines.append(f"{self.left_out:,} respondents with a missing column were left out")
        return [wrapped(line) for line in (*lines, *self.notes)]

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.regress.chart import regression_chart

        return regression_chart(self, view, title)
