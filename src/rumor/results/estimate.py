"""Estimates of frequencies: the answer, and how far it can be trusted.

Three things stay apart: `frequency` is the method's answer; `unbiased` and `stderr` are
the linear estimate and its standard error; `interval` is a confidence interval and says
what it covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.plain_text import (
    aligned,
    bar,
    decimals_for,
    one_line,
    percent,
    rows_left_out,
)
from rumor.core.types import Rows, Vector
from rumor.core.typing import override
from rumor.results.intervals import (
    Bounds,
    EqualTails,
    Intervals,
    RankedIntervals,
    Tails,
    equal_ends,
    share_ends,
    simultaneous_tails,
)
from rumor.results.rows import Column
from rumor.results.selection import RankedRows, first_tail, prefix_tails, rank_tails, ranked, ranks
from rumor.results.shares import Groups, Share, group_share, members_of
from rumor.results.smallest_share import POWER, RareCount
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate(RankedRows):
    """Estimated frequencies of a domain's values."""

    _COVERED = (
        "intervals adjusted for ranking: on average at least {level} of those shown contain the "
        "true share"
    )
    _NAMED = "a value"
    ANY_LOOK: ClassVar[bool] = True

    intervals: RankedIntervals = field(repr=False)
    exact: Intervals | None = field(default=None, repr=False)
    groups: Groups | None = field(default=None, repr=False)
    rare: RareCount | None = field(default=None, repr=False)
    """The count of a value that hardly anybody holds; None if counts are not binomial."""

    def interval(
        self,
        level: float = CONFIDENCE,
        *,
        of: str = "population",
        simultaneous: bool = False,
        exact: bool = False,
        looks: str = "one",
        users: int = PLANNED,
    ) -> Bounds:
        """Return both ends of a confidence interval for a value named in advance.

        The target is the "population" that the people were drawn from, or these "people" (the
        noise of the mechanism alone). Each value's interval covers with the level given;
        when `simultaneous`, all of them at once do. For the values that come out on top, coverage
        is lower: tables and charts, which show those, widen their intervals
        (rumor.results.selection). Small counts have exact intervals (rumor.results.counts);
        when `exact`, all have (Clopper and Pearson): they cover at least as often as their level,
        and are wider. Ends are clipped to [0, 1] and, where the method's answer lies outside,
        stretched to contain it.

        The intervals are for "one" of the `looks` at the reports, or hold at "any" look: at all of
        them together (rumor.results.sequences). Those are shortest once `users` have reported.
        """
        view = View(level, of, simultaneous, looks=looks, users=users)
        way = self.exact if exact else self.intervals
        if way is None:
            raise InputError("exact intervals need binomial counts; this estimate has none")
        size, look = len(self.values), self.look(view)
        if not simultaneous:
            tails = EqualTails.of(level, look=look)
            return self._stretched(equal_ends(way, tails, size, view.target))
        together = simultaneous_tails(level, size, look)
        return self._stretched(way.tails(np.arange(size), together, view.target))

    def bounds(self, rows: Sequence[int], view: View, *, chosen_by_others: bool = False) -> Bounds:
        """Return the ends of `rows` with the coverage that `view` asks for.

        In the order of the estimate, rows are covered as rows that were chosen for coming
        first; `chosen_by_others`, as rows that another estimate put into this order.
        """
        places = np.asarray(rows, dtype=np.intp)
        if not view.chosen:
            low, high = self.interval(
                view.level,
                of=view.of,
                simultaneous=view.simultaneous,
                looks=view.looks,
                users=view.users,
            )
            return low[places], high[places]
        if chosen_by_others:
            tails = prefix_tails(view.level, places.size, len(self.values), self.look(view))
        else:
            tails = self._tails(places, view)
        return self._stretched(self.intervals.tails(places, tails, view.target), places)

    def _tails(self, rows: Rows, view: View) -> Tails:
        """Return the tails of `rows` by their rank."""
        order = ranked(self.frequency, self.unbiased)
        redrawn, look = self.intervals.redrawn, self.look(view)
        tails = rank_tails(view.level, order, self.unbiased, self.stderr, redrawn, look)
        return tails.at(ranks(order, rows))

    def _stretched(self, ends: Bounds, rows: Rows | slice = slice(None)) -> Bounds:
        """Return ends cut at 0 and 1, with a little left next to
        them, stretched to hold the answer.
        """
        reach = 2 * np.nan_to_num(self.stderr[rows], nan=0.0, posinf=1.0)
        # Reports that all agree show no error; how long their interval is says what there is.
        reach = np.where(reach > 0, reach, np.nan_to_num(ends[1] - ends[0], nan=0.0, posinf=1.0))
        low, high = share_ends(*ends, reach)
        answer = np.clip(self.frequency[rows], 0.0, 1.0)
        return np.minimum(low, answer), np.maximum(high, answer)

    def share(
        self,
        values: Iterable[int | str],
        level: float = CONFIDENCE,
        *,
        of: str = "population",
        looks: str = "one",
        users: int = PLANNED,
    ) -> Share:
        """Return the share of these values together, unbiased, with its interval.

        The rows of a table may not be added up: a method that shrinks rare values towards each
        other overstates the sum of many. The values must be named in advance. The interval is for
        one look or any of the `looks`, as that of `interval`.
        """
        view = View(level, of, looks=looks, users=users)
        look = self.look(view)
        if self.groups is None:
            return super().together([], view)
        asked = list(values) if not isinstance(values, str) else values
        members = members_of(self.values, asked)
        named = [self.values[i] for i in members]
        return group_share(self.groups, members, named, level, view.target, look)

    @override
    def together(self, values: Sequence[int | str], view: View) -> Share:
        return self.share(values, view.level, of=view.of, looks=view.looks, users=view.users)

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return the columns value, frequency, low, high, unbiased and stderr."""
        places = np.asarray(rows, dtype=np.intp)
        low, high = self.bounds(rows, view)
        return {
            "value": [self.values[i] for i in rows],
            "frequency": self.frequency[places],
            "low": low,
            "high": high,
            "unbiased": self.unbiased[places],
            "stderr": self.stderr[places],
        }

    @property
    def has_intervals(self) -> bool:
        """Whether any value has an interval."""
        return not np.isnan(self.stderr).all()

    @override
    def _validity(self, view: View) -> str:
        return super()._validity(view) if self.has_intervals else ""

    def coverage_sentence(self, view: View) -> str:
        """Return which rows the intervals of a view cover, or why there are none."""
        if not self.has_intervals:
            return "no intervals: the channel has no inverse, so other shares fit as well"
        return super().coverage_sentence(view)

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the most frequent values as text, with their intervals."""
        seen = self.checked_view(view, options).on_screen()
        order = self.row_indices(seen)
        lines = [self._shares(order, seen)]
        lines += rows_left_out(len(self.values) - len(order), "less frequent value")
        return "\n".join([*lines, *self.footer(seen), *self.warnings])

    @override
    def footer(self, view: View) -> list[str]:
        return [*super().footer(view), *self._noise_line(view)]

    @override
    def details(self, view: View) -> list[str]:
        lines = super().details(view)
        named = self.diagnostics.get("detectable")
        if view.chosen and isinstance(named, float):
            lines.append(
                f"smallest detectable share of a value chosen before seeing the data: "
                f"{percent(named, 2)} (power {percent(POWER)})"
            )
        if self.groups is not None and self.method != "inversion":
            lines.append(
                f"do not add up rows: method {self.method} adjusts all shares together; use "
                f"--share (in Python: share([...])) for several values together"
            )
        return lines

    @property
    @override
    def warnings(self) -> list[str]:
        lines, gap = super().warnings, self.diagnostics.get("gap")
        if isinstance(gap, float) and self.diagnostics.get("converged") is False:
            lines.append(f"note: stopped before it converged, at a gap of {gap:.2g}")
        return lines

    def smallest_shown(self, view: View) -> float | None:
        """Return the smallest share whose interval in this view lies above 0 with power 90%.

        None if there is no such share, or if counts are not binomial.
        """
        if self.rare is None:
            return None
        size, tail = len(self.values), 1 - view.level
        if view.chosen:
            tail = first_tail(view.level, size)
        elif view.simultaneous:
            tail = float(simultaneous_tails(view.level, size).lower[0])
        return self.rare.smallest_share(tail, look=self.look(view))

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the smallest share that the view's intervals tell from zero."""
        return {"smallest_shown": self.smallest_shown(view)}

    def _noise_line(self, view: View) -> list[str]:
        """Return the noise, and the smallest share whose interval in this table excludes zero."""
        noise, smallest = self.diagnostics.get("noise"), self.smallest_shown(view)
        if not isinstance(noise, float):
            return []
        found = "none" if smallest is None else f"{percent(smallest, 2)} (power {percent(POWER)})"
        return [
            f"standard error at share 0: {percent(noise, 2)}; smallest detectable share: {found}"
        ]

    _ASIDE: ClassVar[tuple[str, str]] = ("value", "std. error")
    """The names of the first and the last column of a table."""

    def _aside(self, row: int, digits: int) -> str:
        """Return the last column of a row."""
        return _known(self.stderr[row], percent(self.stderr[row], digits))

    def _shares(self, rows: Sequence[int], view: View) -> str:
        """Return these rows with their shares, intervals and bars, as text."""
        low, high = self.bounds(rows, view)
        digits = decimals_for(float(self.stderr[rows].min()))
        full = float(self.frequency[rows].max())
        body = [
            (
                one_line(self.values[i]),
                percent(self.frequency[i], digits),
                _known(low[k], f"{percent(low[k], digits)} to {percent(high[k], digits)}"),
                self._aside(i, digits),
                bar(self.frequency[i], full),
            )
            for k, i in enumerate(rows)
        ]
        first, last = self._ASIDE
        head = (first, "share", f"{percent(view.level)} interval", last, "")
        return aligned(head, body, left=(0, 4))

    def picture(self, view: View, title: str | None, truth: Vector | None) -> alt.LayerChart:
        """Return a chart of bars with intervals."""
        from rumor.results.charts import frequency_chart

        return frequency_chart(self, view, title=title, truth=truth)


def _known(number: float, text: str) -> str:
    """Return the `text` of a number, or "none" for NaN."""
    return "none" if np.isnan(number) else text
