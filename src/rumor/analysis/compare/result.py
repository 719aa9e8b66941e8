"""What differs between groups: a row for each quantity of each pair, and a test of each pair.

A difference is the second group's less the first's, of unbiased estimates. `p_value` tests one
quantity alone, `adjusted` (Holm's) is what it is worth among all rows of all pairs; the test of
a pair asks whether it differs in anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Unpack

import numpy as np

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
from rumor.core.types import Vector
from rumor.estimators.groups import Overall
from rumor.results.intervals import Bounds, critical_value
from rumor.results.rows import TARGETS, Column, Tabular, all_or_each, finite
from rumor.results.view import ROWS_SHOWN, View, Wishes, viewed

if TYPE_CHECKING:
    import altair as alt

SHARES = ("share", "up to")
"""Quantities that are shares of people, shown as percentages."""
_TINY = 1e-12


class Ends(Protocol):
    """How intervals are made."""

    def bounds(self, z: float) -> Bounds:
        """Lower and upper ends for a two-sided normal quantile z."""
        ...


@dataclass(frozen=True)
class Pair:
    """Two groups: what each says, how they differ, and whether in anything."""

    first: str
    second: str
    estimates: tuple[Vector, Vector] = field(repr=False)
    difference: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    p_value: Vector = field(repr=False)
    adjusted: Vector = field(repr=False)
    intervals: Ends = field(repr=False)
    overall: Overall | None
    overall_adjusted: float | None

    @property
    def name(self) -> str:
        """What is subtracted from what."""
        return f"{one_line(self.second)} less {one_line(self.first)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Tabular):
    """The differences between groups of different people."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    pairs: Sequence[Pair]
    groups: Mapping[str, int]
    """How many reports each group has."""
    of: str = "population"
    method: str = "unbiased"
    heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> Vector:
        """Of all rows, pair after pair."""
        return self._of_all_pairs("difference")

    @property
    def stderr(self) -> Vector:
        """Their standard errors."""
        return self._of_all_pairs("stderr")

    @property
    def p_value(self) -> Vector:
        """Of each row alone."""
        return self._of_all_pairs("p_value")

    @property
    def adjusted(self) -> Vector:
        """Of each row among all of them, by Holm."""
        return self._of_all_pairs("adjusted")

    def _of_all_pairs(self, name: str) -> Vector:
        return np.concatenate([getattr(pair, name) for pair in self.pairs])

    def interval(
        self, level: float = CONFIDENCE, *, of: str | None = None, simultaneous: bool = False
    ) -> Bounds:
        """Ends for every row: for each named in advance, or for all of them at once."""
        z = critical_value(level, self._size if simultaneous else 1)
        ends = [pair.intervals.bounds(z) for pair in self.pairs]
        return np.concatenate([e[0] for e in ends]), np.concatenate([e[1] for e in ends])

    @property
    def _size(self) -> int:
        return len(self.values) * len(self.pairs)

    def listed(self, view: View) -> list[int]:
        """The first rows of every pair: as given or, in the order of the estimate, by p-value."""
        found: list[int] = []
        for number, pair in enumerate(self.pairs):
            order = list(range(len(self.values)))
            if view.order == "estimate":
                order = [int(i) for i in np.argsort(pair.p_value, kind="stable")]
            found += [number * len(self.values) + i for i in order[: view.rows]]
        return found

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Columns: both groups, quantity, value, both estimates, the difference and its tests."""
        places = np.asarray(rows, dtype=np.intp)
        low, high = (ends[places] for ends in self._ends(places.size, view))
        each = len(self.values)
        of_pair = [self.pairs[i // each] for i in rows]
        return {
            "first": [pair.first for pair in of_pair],
            "second": [pair.second for pair in of_pair],
            "quantity": [self.quantities[i % each] for i in rows],
            "value": [self.values[i % each] for i in rows],
            "first_estimate": finite(
                [p.estimates[0][i % each] for p, i in zip(of_pair, rows, strict=True)]
            ),
            "second_estimate": finite(
                [p.estimates[1][i % each] for p, i in zip(of_pair, rows, strict=True)]
            ),
            "difference": finite(self.difference[places]),
            "low": finite(low),
            "high": finite(high),
            "stderr": finite(self.stderr[places]),
            "p_value": finite(self.p_value[places]),
            "adjusted": finite(self.adjusted[places]),
        }

    def _ends(self, shown: int, view: View) -> Bounds:
        """All intervals. Rows that are seen for coming first miss as seldom as all would.

        Of m rows the r that come first are covered at the level when each misses r/m as often
        (Benjamini and Yekutieli 2005).
        """
        if view.simultaneous or not view.chosen or not shown:
            return self.interval(view.level, simultaneous=view.simultaneous)
        return self.interval(1 - (1 - view.level) * shown / self._size)

    def covers(self, view: View) -> str:
        """Which rows the intervals cover."""
        cut = view.rows is not None and view.rows < len(self.values)
        if view.chosen and cut and not view.simultaneous:
            return (
                f"intervals adjusted for ranking: on average at least {percent(view.level)} of "
                f"those shown contain the true difference"
            )
        return all_or_each(view, self._size, "a difference")

    def extra_fields(self, view: View) -> dict[str, object]:
        """The groups, and the test of each pair."""
        tests: list[dict[str, object]] = []
        for pair in self.pairs:
            names = {"first": pair.first, "second": pair.second}
            if pair.overall is None:
                tests.append({**names, "test": None})
                continue
            one = pair.overall
            told = {"statistic": one.statistic, "freedom": one.freedom, "p_value": one.p_value}
            tests.append({**names, "test": one.test, **told, "adjusted": pair.overall_adjusted})
        return {"groups": dict(self.groups), "tests": tests, "notes": list(self.notes)}

    def table(self, view: View | float | None = None, **wishes: Unpack[Wishes]) -> str:
        """A table for each pair, the test of the pair below it."""
        seen = self.on_screen(viewed(view, wishes))
        rows = self.listed(seen)
        columns = self.cells(rows, seen)
        blocks = [self.heading] if self.heading else []
        each = len(self.values)
        for number, pair in enumerate(self.pairs):
            mine = [k for k, i in enumerate(rows) if i // each == number]
            blocks.append(self._block(pair, columns, mine, seen))
        facts = [
            f"{self.reports:,} reports, epsilon at most {self.epsilon:.4g} per report; "
            f"unbiased estimates; confidence intervals for {TARGETS[self.of]}",
            self.covers(seen),
            f"Holm: p-value adjusted for {self._size:,} rows",
            *(wrapped(note) for note in self.notes),
        ]
        return "\n\n".join([*blocks, "\n".join(facts)])

    def on_screen(self, view: View) -> View:
        """For a table or a chart: as given where all rows fit, else the smallest p-values."""
        seen = view.on_screen()
        fits = len(self.values) <= (seen.rows or ROWS_SHOWN)
        return view.filed("given") if fits and view.order is None else seen

    def _block(
        self, pair: Pair, columns: Mapping[str, Column], mine: Sequence[int], view: View
    ) -> str:
        one, other = (
            f"{name} ({self.groups[name]:,} reports)" for name in (pair.second, pair.first)
        )
        lines = [f"{one_line(one)} less {one_line(other)}"]
        tests = (f"{percent(view.level)} interval", "p-value", "Holm")
        names = one_line(pair.first), one_line(pair.second)
        head = ("", "value", *names, "difference", *tests)
        body = []
        for k in mine:
            show = row_text(columns, k)
            ends = f"{show('low')} to {show('high')}"
            body.append(
                (
                    str(columns["quantity"][k]),
                    one_line(columns["value"][k]),
                    show("first_estimate"),
                    show("second_estimate"),
                    show("difference", sign=True),
                    ends,
                    chance(columns["p_value"][k]),
                    chance(columns["adjusted"][k]),
                )
            )
        lines.append(aligned(head, body, left=(0, 1)))
        lines += rows_left_out(len(self.values) - len(mine), "less significant value")
        if pair.overall is not None:
            found = pair.overall
            among = ""
            if len(self.pairs) > 1 and pair.overall_adjusted is not None:
                adjusted = chance(pair.overall_adjusted, "p = ")
                among = f"; adjusted for {len(self.pairs)} pairs (Holm): {adjusted}"
            lines.append(
                f"omnibus test: {found.test} {found.statistic:.2f}, {found.freedom} degrees of "
                f"freedom, {chance(found.p_value, 'p = ')}{among}"
            )
        return "\n".join(lines)

    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        """The differences with their intervals, a panel for each pair and quantity."""
        from rumor.analysis.compare.chart import comparison_chart

        return comparison_chart(self, view, title)


class Show(Protocol):
    """How a row's numbers are written."""

    def __call__(self, column: str, sign: bool = False) -> str:
        """The number in this column."""
        ...


def row_text(columns: Mapping[str, Column], k: int) -> Show:
    """The numbers of a row as text, with the digits that its error leaves."""
    error = columns["stderr"][k]
    known = float(error) if isinstance(error, float) else 0.0
    share = columns["quantity"][k] in SHARES
    digits = decimals_for(known) if share else digits_for(known)

    def show(column: str, sign: bool = False) -> str:
        number = columns[column][k]
        if not isinstance(number, float):
            return "none"
        plus = "+" if sign else ""
        return f"{100 * number:{plus}.{digits}f}%" if share else f"{number:{plus}.{digits}f}"

    return show


def chance(p_value: object, equals: str = "") -> str:
    """Return a p-value as text, after `equals` (as in "p = ") where it is not tiny."""
    if not isinstance(p_value, float):
        return "none"
    if p_value > _TINY:
        return f"{equals}{p_value:.2g}"
    return f"{equals.replace('=', '<') or '< '}{_TINY:g}"
