"""A trend: every period's estimate, a smoothed line, and where it changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rumor.analysis.compare.result import SHARES, format_p_value
from rumor.core.binomial import FEW, coin_ends
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
from rumor.results.intervals import Bounds, critical_value
from rumor.results.rows import Column, Tabular, finite
from rumor.results.view import ROWS_SHOWN, View, ViewOptions

if TYPE_CHECKING:
    import altair as alt

ONE_LOOK = "p-values are valid for one look at the reports"


@dataclass(frozen=True)
class LineCoins:
    """The numbers of coin tosses that the line is known as, where reports are few."""

    trials: Vector
    """The reports that would tell as much alone, for each period; none if reports are no coins."""
    within: Bounds
    """The smallest and the largest number that one report adds to an estimate."""

    def widen(self, line: Vector, ends: Bounds, z: float) -> Bounds:
        """Return `ends` around the `line`, widened to hold the exact ones of few coins."""
        least, most = self.within
        share = np.clip((line - least) / (most - least), 0.0, 1.0)
        few = (self.trials > 0) & (self.trials * share * (1 - share) < FEW)
        tail = np.full(int(few.sum()), NormalDist().cdf(-z))
        exact = coin_ends(line[few], self.trials[few], (least[few], most[few]), tail, tail)
        low, high = ends[0].copy(), ends[1].copy()
        low[few], high[few] = np.minimum(low[few], exact[0]), np.maximum(high[few], exact[1])
        return low, high


@dataclass(frozen=True, eq=False, kw_only=True)
class Trend(Tabular):
    """Unbiased quantities of every period, and the smoothed line behind them.

    `unbiased`, `stderr`, `line` and `deviation` have a row for each of `periods` and a column for
    each of `values`. The line is the smoothed one. For each value `change` is the first period
    after the largest change, from `before` to `after`, with its p-value and Holm's over all values.
    """

    periods: Sequence[str]
    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    unbiased: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    line: Vector = field(repr=False)
    deviation: Vector = field(repr=False)
    change: Rows = field(repr=False)
    before: Vector = field(repr=False)
    after: Vector = field(repr=False)
    p_value: Vector = field(repr=False)
    adjusted: Vector = field(repr=False)
    counts: Sequence[int]
    """The number of reports of every period."""
    coins: LineCoins | None = field(default=None, repr=False)
    """The coins that widen the band where reports are few."""
    method: str = "random-walk smoother, step variance averaged by marginal likelihood"
    heading: str = ""
    notes: tuple[str, ...] = ()

    def interval(self, level: float = CONFIDENCE) -> Bounds:
        """Return the ends around the smoothed line."""
        z = critical_value(level, 1)
        ends = self.line - z * self.deviation, self.line + z * self.deviation
        if self.coins is not None:
            ends = self.coins.widen(self.line, ends, z)
        return self._within_range(ends[0]), self._within_range(ends[1])

    def _within_range(self, ends: Vector) -> Vector:
        shares = np.array([quantity in SHARES for quantity in self.quantities])
        return np.where(shares, np.clip(ends, 0.0, 1.0), ends)

    @override
    def row_indices(self, view: View) -> list[int]:
        order = list(range(len(self.values)))
        if view.order == "estimate":
            order = [int(i) for i in np.argsort(self.p_value, kind="stable")]
        each = len(self.periods)
        return [value * each + period for value in order[: view.rows] for period in range(each)]

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        each = len(self.periods)
        at = np.array([[i % each, i // each] for i in rows], dtype=np.intp).reshape(-1, 2)
        low, high = self.interval(view.level)

        def column(matrix: Vector) -> list[object]:
            return finite(matrix[at[:, 0], at[:, 1]])

        return {
            "period": [self.periods[i % each] for i in rows],
            "quantity": [self.quantities[i // each] for i in rows],
            "value": [self.values[i // each] for i in rows],
            "reports": [self.counts[i % each] for i in rows],
            "estimate": column(self.unbiased),
            "stderr": column(self.stderr),
            "line": column(self.line),
            "low": column(low),
            "high": column(high),
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        return f"band: approximate pointwise {percent(view.level)} confidence interval"

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        return {
            "periods": list(self.periods),
            "changes": [
                {
                    "quantity": self.quantities[i],
                    "value": value,
                    "from": self.periods[self.change[i]],
                    "before": float(self.before[i]),
                    "after": float(self.after[i]),
                    "p_value": float(self.p_value[i]),
                    "adjusted": float(self.adjusted[i]),
                }
                for i, value in enumerate(self.values)
            ],
            "notes": list(self.notes),
        }

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        asked = self.checked_view(view, options)
        most = asked.rows or ROWS_SHOWN
        order = list(range(len(self.values)))
        if len(order) > most:
            order = [int(i) for i in np.argsort(self.p_value, kind="stable")[:most]]
        body = [self.table_row(i, asked.level) for i in order]
        table = aligned(table_head(asked.level), body, left=(0, 1))
        lines = [
            table,
            *rows_left_out(len(self.values) - len(order), "less significant value"),
            f"{len(self.periods)} periods from {self.periods[0]} to {self.periods[-1]}; "
            f"{self.reports:,} reports, epsilon {self.epsilon:.4g} per report",
            *(
                wrapped(line)
                for line in (self.method, self.coverage_sentence(asked), ONE_LOOK, *self.notes)
            ),
        ]
        return "\n\n".join([*([self.heading] if self.heading else []), "\n".join(lines)])

    def table_row(self, i: int, level: float) -> tuple[str, ...]:
        """Return the row of the value at the index `i`; `table_head` names its columns."""
        low, high = self.interval(level)
        show = _formatter(self.quantities[i] in SHARES, float(self.deviation[:, i].max()))
        return (
            str(self.quantities[i]),
            one_line(self.values[i]),
            show(self.line[0, i]),
            show(self.line[-1, i]),
            f"{show(low[-1, i])} to {show(high[-1, i])}",
            f"{show(self.before[i])} to {show(self.after[i])}",
            self.periods[self.change[i]],
            format_p_value(float(self.p_value[i])),
            format_p_value(float(self.adjusted[i])),
        )

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.trend.chart import trend_chart

        return trend_chart(self, view, title)


def table_head(level: float) -> tuple[str, ...]:
    """Return the names of the columns of a table of trends."""
    shown = f"{percent(level)} interval"
    return ("", "value", "first", "last", shown, "largest change", "from", "p-value", "Holm")


class _Formatter:
    def __init__(self, share: bool, digits: int) -> None:
        self._share, self._digits = share, digits

    def __call__(self, number: float) -> str:
        return percent(number, self._digits) if self._share else f"{number:.{self._digits}f}"


def _formatter(share: bool, error: float) -> _Formatter:
    return _Formatter(share, decimals_for(error) if share else digits_for(error))
