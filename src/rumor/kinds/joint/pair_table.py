"""Ends that intervals of joint tables have to hold where reports are few.

The linear estimate of a cell combines everything that was asked, and its error is that of many
reports. A count of those who were asked for both answers is binomial by itself: where it is small,
so is what is known, and the cell's interval must hold that of the count. Of a margin, those who
were asked for it alone tell likewise. Where more was asked at once, all that share a cell or a
value of a margin are counted together.

The table of two answers: its cells, and how the two go together.

The shares are the method's answer. Test, intervals, Cramer's V and odds ratios are of the linear
estimate, which nothing was drawn towards independence in; every interval is stretched to hold the
answer.
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
    Ends,
    Independence,
    cramers_v,
    independence_test,
    odds_ratio,
    ratio_to_independence,
)
from rumor.kinds.joint.fit.linear import Matrix, Moments
from rumor.mechanisms.mixed.mixed import ComponentCounts
from rumor.results.counts import ExactIntervals
from rumor.results.intervals import Bounds, critical_value, share_ends
from rumor.results.shares import few_share_ends

FewEnds = Callable[[float], Bounds]
"""Ends for a normal quantile: a lower one that is missing is infinite, an upper one minus that."""


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
    def ends(z: float) -> Bounds:
        low, high = np.full(len(groups), np.inf), np.full(len(groups), -np.inf)
        for row, members in enumerate(groups):
            score = one.component.oracle.group_score(one.tally, max(one.reports, 1), members)
            few = few_share_ends(score, max(one.reports, 1), z)
            if few is not None:
                low[row], high[row] = few
        return low, high

    return ends


@dataclass(frozen=True, eq=False)
class PairTable:
    """Two parts crossed: the first has the rows, the second the columns."""

    ids: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    shares: Matrix = field(repr=False)
    linear: Moments = field(repr=False)
    """The unbiased estimate of the cells, row by row, with its covariance."""
    independence: float
    """The weight of the model in which the two have nothing to do with each other."""
    exact: FewEnds | None = field(default=None, repr=False)
    """Ends that intervals of cells have to hold, at a normal quantile: those of few reports."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self.labels[0]), len(self.labels[1])

    @property
    def ratio(self) -> Matrix:
        """Each cell over the product of its margins: 1 where the two are independent."""
        expected = np.outer(self.shares.sum(axis=1), self.shares.sum(axis=0))
        return np.divide(self.shares, expected, out=np.ones_like(expected), where=expected > 0)

    def interval(self, z: float) -> tuple[Vector, Vector]:
        """Ends for the cells, row by row, at so many standard errors."""
        return stretched(self.linear, self.shares.ravel(), z, self.exact)

    def ratio_interval(self, z: float) -> tuple[Vector, Vector]:
        """Ends for the ratios, by Fieller; the upper ones may be infinite."""
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

    def cramers_v(self, level: float = CONFIDENCE) -> Ends:
        """How strongly the two go together, from 0 to 1."""
        return cramers_v(self.linear, self.sizes, self.shares.ravel(), level)

    def odds_ratio(
        self,
        rows: tuple[str, str] | None = None,
        columns: tuple[str, str] | None = None,
        level: float = CONFIDENCE,
    ) -> Ends:
        """Of two rows and two columns; those there are, unless there are more."""
        i, k = self._two(0, rows)
        j, l = self._two(1, columns)  # noqa: E741
        low, high = odds_ratio(self.linear, self.sizes, (i, k, j, l), critical_value(level, 1))
        above = float(self.shares[i, j] * self.shares[k, l])
        below = float(self.shares[i, l] * self.shares[k, j])
        value = above / below if below > 0 else (math.inf if above > 0 else math.nan)
        if math.isnan(value):
            return Ends(value, low, high)
        return Ends(value, min(low, value), max(high, value))

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
        """How the two go together, as plain data; None for what has no end."""
        test = self.test
        odds = self.odds_ratio(level=level) if self.sizes == (2, 2) else None
        return {
            "parts": list(self.ids),
            "independence": {**vars(test)},
            "cramers_v": interval_as_json(self.cramers_v(level)),
            "odds_ratio": None if odds is None else interval_as_json(odds),
            "weight_of_independence": self.independence,
        }


def interval_as_json(ends: Ends) -> dict[str, float | None]:
    """As plain data, which knows no infinity."""
    return {name: x if math.isfinite(x) else None for name, x in vars(ends).items()}


def stretched(
    linear: Moments, answer: Vector, z: float, exact: FewEnds | None = None
) -> tuple[Vector, Vector]:
    """Ends around a linear estimate of shares, stretched to hold the answer and `exact` ends."""
    reach = z * linear.deviation
    low, high = linear.mean - reach, linear.mean + reach
    if exact is not None:
        least, most = exact(z)
        low, high = np.minimum(low, least), np.maximum(high, most)
    low, high = share_ends(low, high, reach)
    return np.minimum(low, answer), np.maximum(high, answer)
