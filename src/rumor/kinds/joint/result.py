"""The estimated tables of joint answers, with an analyst's queries by name."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.exact import CONFIDENCE, PLANNED
from rumor.core.types import Vector, checked_target
from rumor.core.typing import override
from rumor.kinds.joint.fit.association import IntervalEstimate
from rumor.kinds.joint.fit.linear import Moments
from rumor.kinds.joint.pair_table import FewEnds, PairTable, widened_interval
from rumor.kinds.joint.question import COLUMNS
from rumor.mechanisms.mixed.parts import Parts
from rumor.results.intervals import EqualTails
from rumor.results.rows import Column, Tabular, all_or_each, finite
from rumor.results.shares import Share
from rumor.results.view import View, ViewOptions

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class ReportedParts:
    """A set of parts that were asked together, and the number of reports about them."""

    parts: tuple[int, ...]
    reports: int


@dataclass(frozen=True, eq=False, kw_only=True)
class JointEstimate(Tabular):
    """A table for each pair of parts, and the margins, all consistent.

    Rows are the cells of each table, then the values of each part alone.
    """

    ANY_LOOK: ClassVar[bool] = True

    parts: Parts
    tables: Mapping[tuple[int, int], PairTable] = field(repr=False)
    margins: Sequence[Vector] = field(repr=False)
    linear_margins: Sequence[Moments] = field(repr=False)
    asked: tuple[ReportedParts, ...]
    exact_margins: Sequence[FewEnds] = field(default=(), repr=False)
    """Few-report ends that the intervals of margins must contain."""

    # Queries by name

    def pair(self, first: str | None = None, second: str | None = None) -> PairTable:
        """Return the table of two parts; without names, that of the only two."""
        if first is None and second is None and len(self.tables) == 1:
            return next(iter(self.tables.values()))
        keys = self.parts.keys
        named = [name for name in (first, second) if name in keys]
        if len(set(named)) != 2:
            raise InputError(
                f"a table is of two of the parts {', '.join(keys)}; got "
                f"{format_value([first, second])}"
            )
        one, other = sorted(keys.index(name) for name in named)
        return self.tables[one, other]

    def share(self, answer: Mapping[str, str], level: float = CONFIDENCE) -> IntervalEstimate:
        """Return the share of people with one value of a part, or with two values of two parts."""
        keys = self.parts.keys
        wanted = tuple(sorted(keys.index(key) for key in answer if key in keys))
        if not 1 <= len(wanted) <= 2 or len(wanted) != len(answer):
            raise InputError(
                f"a share is of one or two of the parts {', '.join(keys)}; "
                f"got {format_value(list(answer))}"
            )
        names = [self._value(part, answer[keys[part]]) for part in wanted]
        row = self.row(wanted, names)
        low, high = self.interval(level)
        return IntervalEstimate(float(self.frequency[row]), float(low[row]), float(high[row]))

    def _value(self, part: int, label: object) -> str:
        if str(label) not in self.parts.values[part]:
            key = self.parts.keys[part]
            raise InputError(
                f"a share of {key!r} is of one of its values; got {format_value(label)}"
            )
        return str(label)

    def together(self, values: Sequence[int | str], view: View) -> Share:
        """Return the share of several cells of one table, or values of one part, named as
        rows are.
        """
        named = {name: row for row, name in enumerate(self.values)}
        rows = [named.get(str(value), -1) for value in values]
        start = 0
        for one in self._linear:
            own = [row - start for row in rows if start <= row < start + one.mean.size]
            if len(own) == len(set(rows)) == len(rows) > 0:
                unbiased = float(one.mean[own].sum())
                stderr = float(np.sqrt(one.covariance[np.ix_(own, own)].sum()))
                look = self.look(view)
                z = EqualTails.of(view.level, look=look).z
                low, high = np.clip([unbiased - z * stderr, unbiased + z * stderr], 0.0, 1.0)
                said = [str(value) for value in values]
                ends = float(low), float(high)
                return Share(said, unbiased, stderr, *ends, view.level, view.of, look.name)
            start += one.mean.size
        raise InputError(
            f"a share is of rows of one table, called as {format_value(self.values[0])}, each "
            "once; "
            f"got {format_value(list(values))}"
        )

    # Rows

    def row(self, parts: Sequence[int], names: Sequence[str]) -> int:
        """Return the row of these values (`names`) of these `parts`."""
        return self._places[tuple(parts), tuple(names)]

    @functools.cached_property
    def _places(self) -> dict[tuple[tuple[int, ...], tuple[str, ...]], int]:
        return {row: place for place, row in enumerate(self._labels)}

    @property
    def _labels(self) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
        """Return the parts and the values of each row."""
        values = self.parts.values
        cells: list[tuple[tuple[int, ...], tuple[str, ...]]] = [
            (pair, (row, column))
            for pair in self.tables
            for row in values[pair[0]]
            for column in values[pair[1]]
        ]
        alone = [((part,), (name,)) for part, own in enumerate(values) for name in own]
        return [*cells, *alone]

    @property
    def values(self) -> Sequence[str]:
        """The names of the rows."""
        keys = self.parts.keys
        return [
            ", ".join(f"{keys[part]} {name}" for part, name in zip(*row, strict=True))
            for row in self._labels
        ]

    @property
    def frequency(self) -> Vector:
        """The method's estimate of every row."""
        cells = [table.shares.ravel() for table in self.tables.values()]
        return np.concatenate([*cells, *self.margins])

    @property
    def _linear(self) -> list[Moments]:
        return [*(table.linear for table in self.tables.values()), *self.linear_margins]

    @property
    def unbiased(self) -> Vector:
        """The linear estimate of every row."""
        return np.concatenate([one.mean for one in self._linear])

    @property
    def stderr(self) -> Vector:
        """The standard error of every row's linear estimate."""
        return np.concatenate([one.deviation for one in self._linear])

    def interval(
        self,
        level: float = CONFIDENCE,
        *,
        simultaneous: bool = False,
        looks: str = "one",
        users: int = PLANNED,
    ) -> tuple[Vector, Vector]:
        """Return the intervals of all rows, each named in advance, or all `simultaneous`.

        They are for "one" of the `looks` at the reports, or hold at "any" look, where they are
        shortest once `users` have reported.
        """
        view = View(level, simultaneous=simultaneous, looks=looks, users=users)
        return self.bounds(view)

    def bounds(self, view: View) -> tuple[Vector, Vector]:
        """Return the intervals of all rows in a `view`."""
        tails = self._row_tails(view)
        ends = [table.interval(tails) for table in self.tables.values()]
        exact: Sequence[FewEnds | None] = self.exact_margins or [None] * len(self.margins)
        ends += [
            widened_interval(linear, margin, tails, few)
            for linear, margin, few in zip(self.linear_margins, self.margins, exact, strict=True)
        ]
        return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])

    def _row_tails(self, view: View) -> EqualTails:
        """Return the tails of every row's interval in a `view`."""
        count = self.frequency.size if view.simultaneous else 1
        return EqualTails.of(view.level, count, self.look(view))

    def row_indices(self, view: View) -> list[int]:
        """Return cells, then margins, in the order of the estimate."""
        return list(range(self.frequency.size))[: view.rows]

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return a key for each part, null where a row is not about it; then share and ratio."""
        if checked_target(view.of) != "population":
            raise InputError(
                'joint estimates have intervals of the "population" only; got '
                f"{format_value(view.of)}"
            )
        labels = self._labels
        found: dict[str, Column] = {}
        for part, key in enumerate(self.parts.keys):
            found[key] = [dict(zip(*labels[row], strict=True)).get(part) for row in rows]
        low, high = self.bounds(view)
        vectors = [self.frequency, low, high, self.unbiased, self.stderr, *self._ratios(view)]
        for name, vector in zip(COLUMNS, vectors, strict=True):
            found[name] = finite([vector[row] for row in rows])
        return found

    def _ratios(self, view: View) -> list[Vector]:
        """Return ratios to independence with their intervals; NaN for margins."""
        z = self._row_tails(view).z
        nothing = np.full(sum(own.size for own in self.margins), np.nan)
        tables = list(self.tables.values())
        ends = [table.ratio_interval(z) for table in tables]
        return [
            np.concatenate([*(table.ratio.ravel() for table in tables), nothing]),
            *(np.concatenate([*(pair[side] for pair in ends), nothing]) for side in (0, 1)),
        ]

    @override
    def coverage_sentence(self, view: View) -> str:
        return all_or_each(view, self.frequency.size, "a cell or a margin")

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the associations, and the number of reports by parts, as plain data."""
        keys = self.parts.keys
        return {
            "tables": [table.extra_fields(view.level) for table in self.tables.values()],
            "asked": [
                {"parts": [keys[part] for part in one.parts], "reports": one.reports}
                for one in self.asked
            ],
        }

    # Text and chart

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return cross-tables with their intervals, and the associations, as text."""
        from rumor.kinds.joint.cross_table import cross_tables

        return cross_tables(self, self.checked_view(view, options))

    @override
    def details(self, view: View) -> list[str]:
        from rumor.kinds.joint.cross_table import reports_by_part

        return [reports_by_part(self), *super().details(view)]

    def picture(self, view: View, title: str | None, truth: Vector | None) -> alt.VConcatChart:
        """Return a mosaic where cells are few, else a heat map."""
        from rumor.kinds.joint.picture import joint_chart

        return joint_chart(self, view, title, truth)
