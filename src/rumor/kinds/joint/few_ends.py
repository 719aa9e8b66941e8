"""Ends that intervals of joint tables have to hold where reports are few.

The linear estimate of a cell combines everything that was asked, and its error is that of many
reports. A count of those who were asked for both answers is binomial by itself: where it is small,
so is what is known, and the cell's interval must hold that of the count. Of a margin, those who
were asked for it alone tell likewise. Where more was asked at once, all that share a cell or a
value of a margin are counted together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from rumor.core.types import Rows
from rumor.mechanisms.mixed import Counted
from rumor.results.counts import ExactIntervals
from rumor.results.intervals import Bounds
from rumor.results.shares import few_share_ends

FewEnds = Callable[[float], Bounds]
"""Ends for a normal quantile: a lower one that is missing is infinite, an upper one minus that."""


def few_cells(
    counted: Sequence[Counted], sizes: Sequence[int], pair: tuple[int, int]
) -> FewEnds | None:
    """Return the ends of a table's cells, from those who were asked for this `pair`."""
    both = [one for one in counted if set(pair) <= set(one.component.asks)]
    return _most_known(both, sizes, pair) if both else None


def few_margin(counted: Sequence[Counted], sizes: Sequence[int], part: int) -> FewEnds:
    """Return the ends of a margin, from the component with most reports about this `part`."""
    about = [one for one in counted if part in one.component.asks]
    return _most_known(about, sizes, (part,))


def _most_known(
    counted: Sequence[Counted], sizes: Sequence[int], parts: tuple[int, ...]
) -> FewEnds:
    """Return the ends for each combination of answers to `parts`, from the most reports."""
    one = max(counted, key=lambda each: each.reports)
    asks = one.component.asks
    if asks == parts:
        return _counts(one)
    cells = np.arange(one.component.oracle.domain).reshape([sizes[i] for i in asks])
    first = np.moveaxis(cells, [asks.index(part) for part in parts], range(len(parts)))
    return _groups(one, list(first.reshape(math.prod(sizes[part] for part in parts), -1)))


def _counts(one: Counted) -> FewEnds:
    return ExactIntervals(one.component.oracle.item_channel(one.tally, one.reports)).few_bounds


def _groups(one: Counted, groups: Sequence[Rows]) -> FewEnds:
    def ends(z: float) -> Bounds:
        low, high = np.full(len(groups), np.inf), np.full(len(groups), -np.inf)
        for row, members in enumerate(groups):
            score = one.component.oracle.group_score(one.tally, max(one.reports, 1), members)
            few = few_share_ends(score, max(one.reports, 1), z)
            if few is not None:
                low[row], high[row] = few
        return low, high

    return ends
