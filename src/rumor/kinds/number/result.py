"""The estimated mean of one number.

As with frequencies, three results stay apart: the method's answer, the linear (unbiased) estimate
with its standard error, and the confidence interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.plain_text import aligned, digits_for, percent
from rumor.core.typing import override
from rumor.results.intervals import EqualTails, Intervals, equal_ends
from rumor.results.rows import Column, Tabular
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanEstimate(Tabular):
    """The estimated mean of one number.

    `mean` is the method's answer, `unbiased` and `stderr` are the linear estimate and its standard
    error, and `range` is the range of the values.
    """

    ANY_LOOK: ClassVar[bool] = True

    mean: float
    unbiased: float
    stderr: float
    range: tuple[float, float]
    intervals: Intervals = field(repr=False)

    @property
    def values(self) -> Sequence[str]:
        """The label of the single row: "mean"."""
        return ("mean",)

    @override
    def row_indices(self, view: View) -> list[int]:
        return [0]

    def interval(
        self,
        level: float = CONFIDENCE,
        *,
        of: str = "population",
        simultaneous: bool = False,
        looks: str = "one",
        users: int = PLANNED,
    ) -> tuple[float, float]:
        """Return a confidence interval for the mean, within the range.

        The interval covers the mean of the "population" that the people were drawn from. For the
        mean of these "people" it covers with somewhat more than the level, since their values are
        not known well enough for a shorter interval.

        The interval is for "one" of the `looks` at the reports, or holds at "any" look, where it is
        shortest once `users` have reported.
        """
        view = View(level, of, simultaneous, looks=looks, users=users)
        tails = EqualTails.of(level, look=self.look(view))
        low, high = equal_ends(self.intervals, tails, 1, "population")
        ends = np.clip([float(low[0]), float(high[0])], *self.range)
        answer = float(np.clip(self.mean, *self.range))
        return min(float(ends[0]), answer), max(float(ends[1]), answer)

    def bounds(self, view: View) -> tuple[float, float]:
        """Return the interval of the mean in a `view`."""
        return self.interval(view.level, of=view.of, looks=view.looks, users=view.users)

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return the columns value, mean, low, high, unbiased and stderr, of one row."""
        low, high = self.bounds(view)
        return {
            "value": ["mean"],
            "mean": [self.mean],
            "low": [low],
            "high": [high],
            "unbiased": [self.unbiased],
            "stderr": [self.stderr],
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        return f"{percent(view.level)} confidence interval for the mean"

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the mean with its interval, as text."""
        seen = self.checked_view(view, options).on_screen()
        low, high = self.bounds(seen)
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

    @override
    def picture(self, view: View, title: str | None, truth: float | None) -> alt.LayerChart:
        from rumor.kinds.number.picture import mean_chart

        return mean_chart(self, view, title, truth)
