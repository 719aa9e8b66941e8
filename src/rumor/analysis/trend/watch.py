"""A watch: for each value the evidence of a change, and alarms that say what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rumor.analysis.compare.result import SHARES, format_p_value
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
from rumor.core.reports import Mask
from rumor.core.types import Rows, Vector
from rumor.core.typing import override
from rumor.estimators.sequential import any_look_radius
from rumor.results.intervals import checked_level
from rumor.results.rows import Column, Tabular, finite
from rumor.results.view import ROWS_SHOWN, View, ViewOptions, make_view

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Change:
    """A change that raised an alarm, with what is known of each period before which it may lie.

    `after_period` are the indices of the first periods after the change that are possible;
    all other vectors have an entry for each of them.
    """

    index: int
    """The value that changed."""
    alarm: int
    """The index of the first period at which there was an alarm."""
    look: int
    """The index of the period at which the evidence was largest."""
    after_period: Rows
    probability: Vector = field(repr=False)
    before: Vector = field(repr=False)
    after: Vector = field(repr=False)
    variance: Vector = field(repr=False)
    prior: Vector = field(repr=False)

    @property
    def best(self) -> int:
        """The place of the most probable change in the vectors."""
        return int(self.probability.argmax())

    @property
    def began(self) -> int:
        """The index of the first period after the most probable change."""
        return int(self.after_period[self.best])

    @property
    def difference(self) -> float:
        """The size of the change: the mean after it less the mean before it."""
        return float(self.after[self.best] - self.before[self.best])

    @property
    def stderr(self) -> float:
        """The standard error of the size, if the change began when it most probably did."""
        return float(np.sqrt(self.variance[self.best]))

    def possible(self, level: float = CONFIDENCE) -> Rows:
        """Return the places of the most probable beginnings, together as probable as `level`."""
        order = np.argsort(-self.probability, kind="stable")
        count = int(np.searchsorted(np.cumsum(self.probability[order]), level)) + 1
        return np.sort(order[:count])

    def interval(self, level: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends of the size of the change, valid at any look.

        They hold for every beginning that is `possible` at this level.
        """
        some = self.possible(checked_level(level))
        size = self.after[some] - self.before[some]
        radius = any_look_radius(self.variance[some], self.prior[some], 1 - level)
        return float((size - radius).min()), float((size + radius).max())


@dataclass(frozen=True, eq=False, kw_only=True)
class Watch(Tabular):
    """What has changed since a watch began, as of its last period.

    `evidence` is the largest that a value had at any look, `p_value` is 1 over it and valid at any
    look, `adjusted` is Holm's over all values. An alarm is an adjusted p-value of `false_alarms` or
    less.
    """

    periods: Sequence[str]
    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    unbiased: Vector = field(repr=False)
    """The estimates, with a row for each of `periods` and a column for each of `values`."""
    counts: Sequence[int]
    """The number of reports of every period."""
    every: str
    horizon: int
    """The periods after which a watch begins anew."""
    false_alarms: float
    evidence: Vector = field(repr=False)
    p_value: Vector = field(repr=False)
    adjusted: Vector = field(repr=False)
    tested: Mask = field(repr=False)
    """The values that reports of two periods or more tell of."""
    changes: tuple[Change, ...] = field(repr=False)
    restarts: int = 0
    """The number of periods that belong to earlier watches."""
    method: str = "normal-mixture e-process over change points"
    heading: str = ""
    notes: tuple[str, ...] = ()

    @property
    def finding(self) -> str:
        """The sentence that says what has been found so far."""
        if not self.tested.any():
            return (
                f"Not tested: a change needs reports of two {self.every}s or more; "
                f"got {len(self.periods)}."
            )
        since = f"Checked every {self.every} since {self.periods[0]}: "
        if not self.changes:
            return since + "no change so far."
        return since + f"{len(self.changes):,} of {len(self.values):,} values changed."

    @property
    def promise(self) -> str:
        """The sentence that says how often there is an alarm if nothing changes."""
        return (
            f"If nothing changes, an alarm comes in at most {percent(self.false_alarms)} of "
            f"stretches of {self.horizon:,} {self.every}s, however often you look."
        )

    def changes_as_dict(self) -> dict[str, object]:
        """Return the finding and the promise as plain data, with a row for each change."""
        rows = [change.index for change in self.changes]
        columns = self.cells(rows, View(order="given"))
        changes = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        return {**self._terms(), "changes": changes}

    def _terms(self) -> dict[str, object]:
        """Return what is promised and what was found, as plain data."""
        return {
            "every": self.every,
            "since": self.periods[0],
            "horizon": self.horizon,
            "false_alarms": self.false_alarms,
            "alarms": len(self.changes),
            "tested": int(self.tested.sum()),
            "finding": self.finding,
            "promise": self.promise,
        }

    @override
    def row_indices(self, view: View) -> list[int]:
        order = list(range(len(self.values)))
        if view.order == "estimate":
            order = [int(i) for i in np.argsort(self.p_value, kind="stable")]
        return order[: view.rows]

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        changes = {change.index: change for change in self.changes}
        mine = [changes.get(i) for i in rows]
        ends = [(None, None) if one is None else one.interval(view.level) for one in mine]
        sets = [None if one is None else one.after_period[one.possible(view.level)] for one in mine]

        def period(index: int | None) -> str | None:
            return None if index is None else self.periods[index]

        return {
            "quantity": [self.quantities[i] for i in rows],
            "value": [self.values[i] for i in rows],
            "alarm": [period(None if one is None else one.alarm) for one in mine],
            "from": [period(None if one is None else one.began) for one in mine],
            "earliest": [period(None if some is None else int(some[0])) for some in sets],
            "latest": [period(None if some is None else int(some[-1])) for some in sets],
            "before": [None if one is None else float(one.before[one.best]) for one in mine],
            "after": [None if one is None else float(one.after[one.best]) for one in mine],
            "difference": [None if one is None else one.difference for one in mine],
            "low": [low for low, _ in ends],
            "high": [high for _, high in ends],
            "stderr": [None if one is None else one.stderr for one in mine],
            "evidence": finite(self.evidence[list(rows)]),
            "p_value": finite(self.p_value[list(rows)]),
            "adjusted": finite(self.adjusted[list(rows)]),
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        level = percent(view.level)
        return f"{level} confidence intervals of the size of a change, valid at any look"

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        return {
            "periods": list(self.periods),
            "counts": list(self.counts),
            "looks": "any",
            "watch": self._terms(),
            "notes": list(self.notes),
        }

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        asked = make_view(view, options)
        most = asked.rows or ROWS_SHOWN
        fits = len(self.values) <= most
        order = self.row_indices(View(order="given" if fits else "estimate", rows=most))
        blocks = [self.heading] if self.heading else []
        blocks.append(f"{self.finding}\n{self.promise}")
        if self.tested.any():
            hidden = rows_left_out(len(self.values) - len(order), "less significant value")
            blocks.append("\n".join([self._rows(order, asked), *hidden]))
        count = len(self.periods)
        span = f"s from {self.periods[0]} to {self.periods[-1]}" if count > 1 else ""
        facts = [
            f"{count:,} {self.every}{span}; {self.reports:,} reports, "
            f"epsilon {self.epsilon:.4g} per report",
            *self._remarks(asked),
        ]
        blocks.append("\n".join(facts))
        return "\n\n".join(blocks)

    def _remarks(self, view: View) -> list[str]:
        found = [self.method, *([self.coverage_sentence(view)] if self.changes else [])]
        untested = int((~self.tested).sum())
        if untested and self.tested.any():
            found.append(f"{untested:,} values are not tested: fewer than two {self.every}s tell")
        if self.restarts:
            found.append(
                f"a watch begins anew after {self.horizon:,} {self.every}s: "
                f"{self.restarts:,} earlier ones are left out"
            )
        return [wrapped(line) for line in (*found, *self.notes)]

    def _rows(self, order: Sequence[int], view: View) -> str:
        columns = self.cells(order, view)
        changed = ("before", "after", "difference", f"{percent(view.level)} interval")
        alarms = ("alarm", "changed from", *changed) if self.changes else ()
        body = []
        for k, i in enumerate(order):
            row = [str(self.quantities[i]), one_line(self.values[i])]
            row += self._change_cells(columns, k, i) if self.changes else []
            tests = (self.p_value[i], self.adjusted[i])
            row += [format_p_value(float(p)) for p in tests] if self.tested[i] else ["", ""]
            body.append(row)
        return aligned(("", "value", *alarms, "p-value", "Holm"), body, left=(0, 1))

    def _change_cells(self, columns: dict[str, Column], k: int, i: int) -> list[str]:
        if columns["alarm"][k] is None:
            return ["none", "", "", "", "", ""]
        error = float(columns["stderr"][k])  # type: ignore[arg-type]
        share = self.quantities[i] in SHARES

        def show(name: str, sign: str = "") -> str:
            number = float(columns[name][k])  # type: ignore[arg-type]
            if share:
                return f"{100 * number:{sign}.{decimals_for(error)}f}%"
            return f"{number:{sign}.{digits_for(error)}f}"

        return [
            str(columns["alarm"][k]),
            str(columns["from"][k]),
            show("before"),
            show("after"),
            show("difference", "+"),
            f"{show('low')} to {show('high')}",
        ]

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.trend.chart import watch_chart

        return watch_chart(self, view, title)
