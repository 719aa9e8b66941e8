"""The estimated mean of one number.

As with frequencies, three things stay apart: the method's answer, the linear (unbiased)
estimate with its standard error, and the interval, which says what it covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rumor.core.exact import CONFIDENCE
from rumor.core.plain_text import aligned, digits_for, percent
from rumor.core.types import checked_target
from rumor.results.intervals import Intervals, critical_value
from rumor.results.rows import Column, Tabular
from rumor.results.view import View, ViewOptions, make_view

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanEstimate(Tabular):
    """The estimated mean of one number.

    `mean` is the method's answer, `unbiased` and `stderr` the linear estimate and its
    standard error, `range` what values can be.
    """

    mean: float
    unbiased: float
    stderr: float
    range: tuple[float, float]
    intervals: Intervals = field(repr=False)

    @property
    def values(self) -> Sequence[str]:
        """There is one row: the mean."""
        return ("mean",)

    def row_indices(self, view: View) -> list[int]:
        """The one row."""
        return [0]

    def interval(
        self, level: float = CONFIDENCE, *, of: str = "population", simultaneous: bool = False
    ) -> tuple[float, float]:
        """A confidence interval for the mean, within the range.

        Of the "population" that the people were drawn from. Of these "people" the same
        interval holds with somewhat more than the level: their values are not known well
        enough for a shorter one.
        """
        checked_target(of)
        low, high = self.intervals.bounds(critical_value(level, 1), "population")
        ends = np.clip([float(low[0]), float(high[0])], *self.range)
        answer = float(np.clip(self.mean, *self.range))
        return min(float(ends[0]), answer), max(float(ends[1]), answer)

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """One row: value, mean, low, high, unbiased, stderr."""
        low, high = self.interval(view.level, of=view.of)
        return {
            "value": ["mean"],
            "mean": [self.mean],
            "low": [low],
            "high": [high],
            "unbiased": [self.unbiased],
            "stderr": [self.stderr],
        }

    def coverage_sentence(self, view: View) -> str:
        """What the one interval covers."""
        return f"{percent(view.level)} confidence interval for the mean"

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """The mean as text, with its interval."""
        seen = make_view(view, options).on_screen()
        low, high = self.interval(seen.level, of=seen.of)
        digits = digits_for(self.stderr)
        body = [
            (
                f"{self.mean:.{digits}f}",
                f"{low:.{digits}f} to {high:.{digits}f}",
                f"{self.stderr:.{digits}f}",
                f"{self.range[0]:g} to {self.range[1]:g}",
            )
        ]
        head = ("mean", f"{percent(seen.level)} interval", "std. error", "range")
        return "\n".join([aligned(head, body, left=()), *self.footer(seen), *self.warnings])

    def picture(self, view: View, title: str | None, truth: float | None) -> alt.LayerChart:
        """The mean and its interval on the range."""
        from rumor.kinds.number.picture import mean_chart

        return mean_chart(self, view, title, truth)
