"""Differences between groups: a row for each quantity of each pair, and a test of each pair.

A difference is the second group's less the first's, of unbiased estimates. `p_value` tests one
quantity alone, `adjusted` (Holm's) is what it is worth among all rows of all pairs; the test of
a pair asks whether it differs in anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Unpack

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE, PLANNED
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
from rumor.core.typing import override
from rumor.estimators.groups import OmnibusTest
from rumor.estimators.multiple_testing import holm
from rumor.results.intervals import Bounds, each_outside
from rumor.results.rows import TARGETS, VALID_FOR, Column, Tabular, all_or_each, finite
from rumor.results.sequences import OneLook
from rumor.results.view import ROWS_SHOWN, View, ViewOptions

if TYPE_CHECKING:
    import altair as alt

SHARES = ("share", "up to")
"""Quantities that are shares of people, shown as percentages."""
_TINY = 1e-12


class IntervalBounds(Protocol):
    """A method that returns intervals for normal quantiles."""

    def bounds(self, z: float) -> Bounds:
        """Return the lower and upper ends for a two-sided normal quantile `z`."""
        ...


@dataclass(frozen=True)
class Pair:
    """Two groups: their estimates, their differences, and the omnibus test."""

    first: str
    second: str
    estimates: tuple[Vector, Vector] = field(repr=False)
    difference: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    p_value: Vector = field(repr=False)
    adjusted: Vector = field(repr=False)
    intervals: IntervalBounds = field(repr=False)
    overall: OmnibusTest | None
    overall_adjusted: float | None

    @property
    def name(self) -> str:
        """The phrase for the difference of the second group less the first."""
        return f"{one_line(self.second)} less {one_line(self.first)}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Tabular):
    """The differences between groups of different people."""

    ANY_LOOK: ClassVar[bool] = True

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    pairs: Sequence[Pair]
    groups: Mapping[str, int]
    """The number of reports of each group."""
    of: str = "population"
    method: str = "unbiased"
    heading: str = ""
    notes: tuple[str, ...] = ()
    weighted: bool = False
    """Whether people have weights of their own."""

    @property
    def difference(self) -> Vector:
        """The differences of all rows, pair after pair."""
        return self._of_all_pairs("difference")

    @property
    def stderr(self) -> Vector:
        """The standard errors of the differences, pair after pair."""
        return self._of_all_pairs("stderr")

    @property
    def p_value(self) -> Vector:
        """The p-value of each row alone."""
        return self._of_all_pairs("p_value")

    @property
    def adjusted(self) -> Vector:
        """The p-value of each row among all rows, by Holm's method."""
        return self._of_all_pairs("adjusted")

    def _of_all_pairs(self, name: str) -> Vector:
        return np.concatenate([getattr(pair, name) for pair in self.pairs])

    def interval(
        self,
        level: float = CONFIDENCE,
        *,
        of: str | None = None,
        simultaneous: bool = False,
        looks: str = "one",
        users: int = PLANNED,
    ) -> Bounds:
        """Return the ends for every row, each for itself or all at once.

        They are for "one" of the `looks` at the reports, or hold at "any" look, where they are
        shortest once `users` have reported in all groups.
        """
        view = View(level, looks=looks, users=users)
        self.look(view)  # refuses looks at which these intervals do not hold
        outside = each_outside(level, self._size if simultaneous else 1)
        ends = [
            pair.intervals.bounds(self._pair_look(pair, view).quantile(outside / 2))
            for pair in self.pairs
        ]
        return np.concatenate([e[0] for e in ends]), np.concatenate([e[1] for e in ends])

    @override
    def look(self, view: View) -> OneLook:
        if view.looks != "one" and self.weighted:
            raise InputError(
                'looks must be "one" here: differences of people with weights are valid for one '
                f'look; got "{view.looks}"'
            )
        if view.looks != "one" and self.of != "population":
            raise InputError(
                'looks must be "one" here: intervals for these respondents are valid for one look; '
                f'got "{view.looks}"'
            )
        return super().look(view)

    def _pair_look(self, pair: Pair, view: View) -> OneLook:
        """Return the look at a pair: groups of unlike sizes tell as much as fewer people do."""
        first, second = (max(self.groups[name], 1) for name in (pair.first, pair.second))
        return view.look(max(1, round(4 / (1 / first + 1 / second))))

    def tests(self, view: View) -> tuple[Vector, Vector]:
        """Return the p-values of all rows and Holm's, for the looks of a `view`."""
        if self.look(view).name == "one":
            return self.p_value, self.adjusted
        known = np.concatenate(
            [self._pair_look(pair, view).p_values(pair.p_value) for pair in self.pairs]
        )
        return known, holm(known)

    @property
    def _size(self) -> int:
        return len(self.values) * len(self.pairs)

    @override
    def row_indices(self, view: View) -> list[int]:
        found: list[int] = []
        for number, pair in enumerate(self.pairs):
            order = list(range(len(self.values)))
            if view.order == "estimate":
                order = [int(i) for i in np.argsort(pair.p_value, kind="stable")]
            found += [number * len(self.values) + i for i in order[: view.rows]]
        return found

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        places = np.asarray(rows, dtype=np.intp)
        low, high = (ends[places] for ends in self._ends(places.size, view))
        p_value, adjusted = self.tests(view)
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
            "p_value": finite(p_value[places]),
            "adjusted": finite(adjusted[places]),
        }

    def _ends(self, shown: int, view: View) -> Bounds:
        """Return all intervals, with those of ranked rows adjusted for selection.

        Of m rows the first r are covered at the level when each misses r/m as often (Benjamini and
        Yekutieli 2005).
        """
        all_at_once, level = view.simultaneous, view.level
        if not all_at_once and view.chosen and shown:
            level = 1 - (1 - view.level) * shown / self._size
        return self.interval(level, simultaneous=all_at_once, looks=view.looks, users=view.users)

    @override
    def coverage_sentence(self, view: View) -> str:
        cut = view.rows is not None and view.rows < len(self.values)
        if view.chosen and cut and not view.simultaneous:
            return (
                f"intervals adjusted for ranking: on average at least {percent(view.level)} of "
                f"those shown contain the true difference"
            )
        return all_or_each(view, self._size, "a difference")

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        tests: list[dict[str, object]] = []
        for pair in self.pairs:
            names = {"first": pair.first, "second": pair.second}
            if pair.overall is None or view.looks != "one":
                tests.append({**names, "test": None})
                continue
            one = pair.overall
            told = {"statistic": one.statistic, "freedom": one.freedom, "p_value": one.p_value}
            tests.append({**names, "test": one.test, **told, "adjusted": pair.overall_adjusted})
        return {"groups": dict(self.groups), "tests": tests, "notes": list(self.notes)}

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        seen = self.on_screen(self.checked_view(view, options))
        rows = self.row_indices(seen)
        columns = self.cells(rows, seen)
        blocks = [self.heading] if self.heading else []
        each = len(self.values)
        for number, pair in enumerate(self.pairs):
            mine = [k for k, i in enumerate(rows) if i // each == number]
            blocks.append(self._block(pair, columns, mine, seen))
        facts = [
            f"{self.reports:,} reports, epsilon at most {self.epsilon:.4g} per report; "
            f"unbiased estimates; confidence intervals for {TARGETS[self.of]}",
            self.coverage_sentence(seen),
            f"Holm: p-value adjusted for {self._size:,} rows",
            f"intervals and p-values are {VALID_FOR[seen.looks]}",
            *(wrapped(note) for note in self.notes),
        ]
        return "\n\n".join([*blocks, "\n".join(facts)])

    def on_screen(self, view: View) -> View:
        """Return the view for a table or a chart: as given if all rows fit, else by p-value."""
        seen = view.on_screen()
        fits = len(self.values) <= (seen.rows or ROWS_SHOWN)
        return view.for_file("given") if fits and view.order is None else seen

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
                    format_p_value(columns["p_value"][k]),
                    format_p_value(columns["adjusted"][k]),
                )
            )
        lines.append(aligned(head, body, left=(0, 1)))
        lines += rows_left_out(len(self.values) - len(mine), "less significant value")
        if pair.overall is not None and view.looks == "one":
            found = pair.overall
            among = ""
            if len(self.pairs) > 1 and pair.overall_adjusted is not None:
                adjusted = format_p_value(pair.overall_adjusted, "p = ")
                among = f"; adjusted for {len(self.pairs)} pairs (Holm): {adjusted}"
            lines.append(
                f"omnibus test: {found.test} {found.statistic:.2f}, {found.freedom} degrees of "
                f"freedom, {format_p_value(found.p_value, 'p = ')}{among}"
            )
        return "\n".join(lines)

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.compare.chart import comparison_chart

        return comparison_chart(self, view, title)


class RowText(Protocol):
    """A function that formats a row's numbers."""

    def __call__(self, column: str, sign: bool = False) -> str:
        """Return the number in `column` as text, with a plus if `sign`."""
        ...


def row_text(columns: Mapping[str, Column], k: int) -> RowText:
    """Return a function that formats row `k`, with the digits that its error leaves."""
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


def format_p_value(p_value: object, equals: str = "") -> str:
    """Return a p-value as text, after `equals` (as in "p = ") unless it is tiny."""
    if not isinstance(p_value, float):
        return "none"
    if p_value > _TINY:
        return f"{equals}{p_value:.2g}"
    return f"{equals.replace('=', '<') or '< '}{_TINY:g}"
