"""Selection-adjusted intervals: rows that are shown because their estimates came out high.

Of D values whose intervals each miss five times in a hundred, those shown first miss far
more often: they are first because their counts came out high. What has to be paid for that
is paid by the lower tail, since a shown row fails below only if its count came out too high.

*By rank.* The row of rank k has a lower tail of alpha/2 times k / m_k, where m_k values could
have been among the first k. Then the first k rows, whatever k, hold on average at most
alpha/2 times k rows that fail below: sum the tails of all that could be there. So the first
row is covered, and the first three, and all that are shown, wherever the list is cut. A row
fails above only if its count came out low and it is among the first all the same; few values
can do both, and the upper tail stays alpha/2.

Values that could not have been among the first k spend nothing. With all but a chance of
2 beta, every estimate is within c standard errors of its truth, c the normal quantile of
beta / D; two values further apart than twice that for both are in their true order. (Zrnic
and Fithian, Locally simultaneous inference, Annals of Statistics 52, 2024.) That is why a
clear winner has an interval hardly wider than one named in advance. Small counts are further apart
than that by chance, and their own distribution says how far (`ExactIntervals.redrawn`).

*Any look.* Each tail, and the c above, is then that of a confidence sequence. Values that drop out
of the rivals have spent their tails up to then, which a later row's tail does not count; that costs
little, as hardly any sequence misses at a given look (`benchmarks/looks_table.py`).

*Split.* Where R of M were chosen by any rule: a lower tail of alpha/2 times R / M; the false
coverage rate of Benjamini and Yekutieli (Journal of the American Statistical Association 100,
2005), one-sided. *Both sides* where a number was not chosen for being high.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.results.intervals import Bounds, Tails
from rumor.results.rows import Tabular, coverage
from rumor.results.sequences import ONE_LOOK, OneLook
from rumor.results.view import ROWS_SHOWN, View

# The part of alpha that is spent on finding the values that could have been among the first.
_SPENT = 0.05
# The number of values among which those that stand out from noise are first looked for.
_FIRST_COUNTED = 100
# The number of chosen rows to reckon with if none is chosen: one that would be chosen alone.
_LONE = 0.25


def ranked(frequency: Vector, unbiased: Vector) -> Rows:
    """Return the most frequent first; ties are ordered by the reports that support each value."""
    tie, key = np.nan_to_num(unbiased), np.nan_to_num(frequency)
    return np.lexsort((np.arange(key.size), -tie, -key))


def rank_tails(
    level: float,
    order: Rows,
    unbiased: Vector,
    stderr: Vector,
    redrawn: Callable[[float], Bounds] | None = None,
    look: OneLook = ONE_LOOK,
) -> Tails:
    """Return the tails of the values in `order`, the order of the estimate, the first row first.

    `redrawn` returns, for a tail, the ends between which small counts could come out at one look.
    """
    alpha, size = 1 - level, order.size
    spent = alpha * _SPENT
    away = look.quantile(spent / size)
    reach = 2 * away * np.nan_to_num(stderr)
    center = np.nan_to_num(unbiased)
    lowest, highest = center - reach, center + reach
    if redrawn is not None:
        low, high = redrawn(NormalDist().cdf(-away))
        lowest, highest = np.minimum(lowest, low), np.maximum(highest, high)
    could = size - np.searchsorted(np.sort(highest), lowest[order], side="left")
    place = np.arange(1, size + 1)
    rivals = np.maximum.accumulate(np.maximum(place, could))
    return Tails((alpha / 2 - spent) * place / rivals, np.full(size, alpha / 2), look)


def first_tail(level: float, size: int) -> float:
    """Return the lower tail of the first of `size` rows, if every value could have come first."""
    alpha = 1 - level
    return (alpha / 2 - alpha * _SPENT) / size


def prefix_tails(level: float, shown: int, values: int, look: OneLook = ONE_LOOK) -> Tails:
    """Return tails of rows in an order that something else decided.

    Any value could have been anywhere in that order.
    """
    alpha = 1 - level
    place = np.arange(1, shown + 1)
    return Tails(alpha / 2 * np.minimum(place / values, 1.0), np.full(shown, alpha / 2), look)


def split_tails(
    level: float, rows: int, chosen: float, values: int, look: OneLook = ONE_LOOK
) -> Tails:
    """Return tails if a rule chose `chosen` of `values` rows by a number for being high."""
    alpha = 1 - level
    return Tails.alike(alpha / 2 * _part(chosen, values), alpha / 2, rows, look)


def both_sided_tails(
    level: float, rows: int, chosen: int, values: int, look: OneLook = ONE_LOOK
) -> Tails:
    """Return tails of alpha/2 times `chosen`/`values` on both sides.

    They are for a quantity that the selection did not rank, which may err either way.
    """
    tail = (1 - level) / 2 * _part(chosen, values)
    return Tails.alike(tail, tail, rows, look)


def _part(chosen: float, values: int) -> float:
    return min(max(chosen, _LONE) / max(values, 1), 1.0)


def ranks(order: Rows, rows: Sequence[int] | Rows) -> Rows:
    """Return the rank, from 0, of each of these rows."""
    rank = np.empty(order.size, dtype=np.intp)
    rank[order] = np.arange(order.size)
    return rank[np.asarray(rows, dtype=np.intp)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedRows(Tabular):
    """A share for each of some values, the most frequent first."""

    _COVERED: ClassVar[str]
    """The coverage of intervals of rows in the order of the estimate; {level} is the level."""
    _NAMED: ClassVar[str]
    """The word for a row."""

    values: Sequence[int] | Sequence[str]
    frequency: Vector = field(repr=False)
    unbiased: Vector = field(repr=False)
    stderr: Vector = field(repr=False)

    @property
    def notes(self) -> list[str]:
        """The sentences that a reader needs in order to read the rows correctly."""
        return []

    def ranking(self, rows: int | None = ROWS_SHOWN) -> list[int]:
        """Return the indices of the most frequent values, the most frequent first."""
        return [int(i) for i in ranked(self.frequency, self.unbiased)[:rows]]

    def row_indices(self, view: View) -> list[int]:
        """Return the first values in the order of `view`."""
        if view.order == "estimate":
            return self.ranking(view.rows)
        return list(range(len(self.values)))[: view.rows]

    def coverage_sentence(self, view: View) -> str:
        """Return which rows the intervals of a view cover, in one sentence."""
        return coverage(view, len(self.values), self._COVERED, self._NAMED)

    def above_noise(self, view: View) -> int | None:
        """Return how many values stand out from noise: their intervals in `view` lie above 0.

        None if the values have no intervals. Values are taken from the most frequent on, until
        none of the less frequent half of them stands out.
        """
        order = ranked(self.frequency, self.unbiased).tolist()
        size = _FIRST_COUNTED
        while True:
            low = self.cells(order[:size], view)["low"]
            ends = np.array([np.nan if end is None else end for end in low], dtype=np.float64)
            if size >= len(order) or not (ends[size // 2 :] > 0).any():
                return None if np.isnan(ends).all() else int((ends > 0).sum())
            size *= 2

    def containing(self, text: str) -> list[int]:
        """Return the indices of the values whose names contain `text`, whatever its case.

        The most frequent comes first.
        """
        wanted = text.casefold()
        return [
            int(i)
            for i in ranked(self.frequency, self.unbiased)
            if wanted in str(self.values[i]).casefold()
        ]
