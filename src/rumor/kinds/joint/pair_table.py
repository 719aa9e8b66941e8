"""The table of two answers: its cells, their intervals, and the association of the answers.

The shares are the method's answer. Test, intervals, Cramer's V and odds ratios use the linear
estimate, which involves no shrinkage; every interval is widened to contain the answer.

Intervals are also widened where reports are few. The linear estimate of a cell combines all
components, and its error is that of many reports. The count of those who were asked for both
answers is binomial by itself: where it is small, there is little information, and the cell's
interval must contain that of the count. For a margin, the count is that of those who were asked
for it alone. Where more was asked at once, all outputs that share a cell or a value of a margin
are counted together.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE
from rumor.core.types import Rows, Vector
from rumor.kinds.joint.fit.association import (
    Independence,
    IntervalEstimate,
    cramers_v,
    independence_test,
    odds_ratio,
    ratio_to_independence,
)
from rumor.kinds.joint.fit.linear import Matrix, Moments
from rumor.mechanisms.mixed.mixed import ComponentCounts
from rumor.results.counts import ExactIntervals
from rumor.results.intervals import Bounds, EqualTails, critical_value, share_ends
from rumor.results.shares import few_share_ends

FewEnds = Callable[[EqualTails], Bounds]
"""A function from tails to ends: a missing lower end is infinite, an upper one -infinite."""


def few_cells(
    counted: Sequence[ComponentCounts], sizes: Sequence[int], pair: tuple[int, int]
) -> FewEnds | None:
    """Return the ends of a table's cells, from those who were asked for this `pair`."""
    both = [one for one in counted if set(pair) <= set(one.component.asks)]
    return _most_known(both, sizes, pair) if both else None


def few_margin(counted: Sequence[ComponentCounts], sizes: Sequence[int], part: int) -> FewEnds:
    """Return the ends of a margin, from the component with most reports about this `part`."""
    about = [one for one in counted if part in one.component.asks]
    return _most_known(about, sizes, (part,))


def _most_known(
    counted: Sequence[ComponentCounts], sizes: Sequence[int], parts: tuple[int, ...]
) -> FewEnds:
    """Return the ends for each combination of answers to `parts`, from the most reports."""
    one = max(counted, key=lambda each: each.reports)
    asks = one.component.asks
    if asks == parts:
        return _counts(one)
    cells = np.arange(one.component.oracle.domain).reshape([sizes[i] for i in asks])
    first = np.moveaxis(cells, [asks.index(part) for part in parts], range(len(parts)))
    return _groups(one, list(first.reshape(math.prod(sizes[part] for part in parts), -1)))


def _counts(one: ComponentCounts) -> FewEnds:
    return ExactIntervals(one.component.oracle.item_channel(one.tally, one.reports)).few_bounds


def _groups(one: ComponentCounts, groups: Sequence[Rows]) -> FewEnds:
    def ends(tails: EqualTails) -> Bounds:
        low, high = np.full(len(groups), np.inf), np.full(len(groups), -np.inf)
        for row, members in enumerate(groups):
            score = one.component.oracle.group_score(one.tally, max(one.reports, 1), members)
            few = few_share_ends(score, max(one.reports, 1), tails)
            if few is not None:
                low[row], high[row] = few
        return low, high

    return ends


@dataclass(frozen=True, eq=False)
class PairTable:
    """The table of two parts: the first has the rows, the second the columns."""

    ids: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Matrix = field(repr=False)
    linear: Moments = field(repr=False)
    """The unbiased estimate of the cells, row by row, with its covariance."""
    independence: float
    """The weight of the model in which the two parts are independent."""
    exact: FewEnds | None = field(default=None, repr=False)
    """Few-report ends that the intervals of cells must contain, by tails."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return len(self.labels[0]), len(self.labels[1])

    @property
    def ratio(self) -> Matrix:
        """Each cell over the product of its margins: 1 where the two are independent."""
        expected = np.outer(self.shares.sum(axis=1), self.shares.sum(axis=0))
        return np.divide(self.shares, expected, out=np.ones_like(expected), where=expected > 0)

    def interval(self, tails: EqualTails) -> tuple[Vector, Vector]:
        """Return the interval of each cell, row by row, with these `tails`."""
        return widened_interval(self.linear, self.shares.ravel(), tails, self.exact)

    def ratio_interval(self, z: float) -> tuple[Vector, Vector]:
        """Return the interval of each ratio, by Fieller; the upper ends may be infinite."""
        ends = [
            ratio_to_independence(self.linear, self.sizes, cell, z)
            for cell in range(self.shares.size)
        ]
        low, high = np.array(ends).T
        return np.minimum(low, self.ratio.ravel()), np.maximum(high, self.ratio.ravel())

    @functools.cached_property
    def test(self) -> Independence:
        """Wald's test of independence."""
        return independence_test(self.linear, self.sizes)

    def cramers_v(self, level: float = CONFIDENCE) -> IntervalEstimate:
        """Return Cramer's V of the two parts, from 0 to 1, with its interval."""
        return cramers_v(self.linear, self.sizes, self.shares.ravel(), level)

    def odds_ratio(
        self,
        rows: tuple[str, str] | None = None,
        columns: tuple[str, str] | None = None,
        level: float = CONFIDENCE,
    ) -> IntervalEstimate:
        """Return the odds ratio of two `rows` and two `columns`, with its interval.

        A part with exactly two values needs no names.
        """
        i, k = self._two(0, rows)
        j, l = self._two(1, columns)  # noqa: E741
        low, high = odds_ratio(self.linear, self.sizes, (i, k, j, l), critical_value(level, 1))
        above = float(self.shares[i, j] * self.shares[k, l])
        below = float(self.shares[i, l] * self.shares[k, j])
        value = above / below if below > 0 else (math.inf if above > 0 else math.nan)
        if math.isnan(value):
            return IntervalEstimate(value, low, high)
        return IntervalEstimate(value, min(low, value), max(high, value))

    def _two(self, axis: int, named: tuple[str, str] | None) -> tuple[int, int]:
        known = self.labels[axis]
        if named is None:
            if len(known) != 2:
                raise InputError(
                    f"an odds ratio is of two values of {self.ids[axis]!r}, which has "
                    f"{len(known)}; got none named"
                )
            return 0, 1
        if len(named) != 2 or named[0] == named[1] or not set(named) <= set(known):
            raise InputError(
                f"an odds ratio is of two values of {self.ids[axis]!r}; got {format_value(named)}"
            )
        return known.index(named[0]), known.index(named[1])

    def extra_fields(self, level: float) -> dict[str, object]:
        """Return the association as plain data, valid for one look; None for an infinite end."""
        test = self.test
        odds = self.odds_ratio(level=level) if self.sizes == (2, 2) else None
        return {
            "parts": list(self.ids),
            "looks": "one",
            "independence": {**vars(test)},
            "cramers_v": interval_as_json(self.cramers_v(level)),
            "odds_ratio": None if odds is None else interval_as_json(odds),
            "weight_of_independence": self.independence,
        }


def interval_as_json(ends: IntervalEstimate) -> dict[str, float | None]:
    """Return the numbers as plain data, with None for infinity."""
    return {name: x if math.isfinite(x) else None for name, x in vars(ends).items()}


def widened_interval(
    linear: Moments, answer: Vector, tails: EqualTails, exact: FewEnds | None = None
) -> tuple[Vector, Vector]:
    """Return intervals around a linear estimate of shares, widened as needed.

    The intervals contain the `answer` and the `exact` ends of few reports.
    """
    reach = tails.z * linear.deviation
    low, high = linear.mean - reach, linear.mean + reach
    if exact is not None:
        least, most = exact(tails)
        low, high = np.minimum(low, least), np.maximum(high, most)
    low, high = share_ends(low, high, reach)
    return np.minimum(low, answer), np.maximum(high, answer)
