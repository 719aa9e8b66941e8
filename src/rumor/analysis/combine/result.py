"""One estimate from several groups: weighted to a population, or several sources together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from rumor.analysis.compare.result import SHARES, IntervalBounds, row_text
from rumor.analysis.engines.base import Stratum
from rumor.core.exact import CONFIDENCE
from rumor.core.files import PathLike
from rumor.core.plain_text import aligned, one_line, percent, rows_left_out, wrapped
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.results.grouped import GroupedEstimates
from rumor.results.intervals import Bounds, critical_value, share_ends
from rumor.results.rows import TARGETS, VALID_FOR, Column, Tabular, all_or_each, finite
from rumor.results.view import ROWS_SHOWN, View, ViewOptions, make_view

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class CombinedGroup:
    """One group or source of a combined estimate."""

    reports: int
    epsilon: float
    weight: float | None = None
    """Its share of the population, if groups are weighted."""


@dataclass(frozen=True, eq=False)
class DesignEffects:
    """What unequal weights, strata and clusters do to the variances."""

    weights: float
    """The design effect of the weights alone."""
    rows: Vector
    """The variance of each row over that of as many people of equal weight, drawn one by one."""
    freedom: float
    """The degrees of freedom of the variances."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Combined(Tabular):
    """Unbiased quantities of a population, from groups or sources of different people."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    unbiased: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    intervals: IntervalBounds = field(repr=False)
    parts: Mapping[str, CombinedGroup]
    """The groups or sources; none where each person has a weight."""
    of: str = "population"
    heading: str = ""
    notes: tuple[str, ...] = ()
    design: DesignEffects | None = None
    """The design effects, where people have weights of their own."""

    OF_DESIGN: ClassVar[tuple[str, ...]] = ("design_effect", "effective_reports", "freedom")
    """The fields of JSON that a design adds."""

    def interval(self, level: float = CONFIDENCE, *, simultaneous: bool = False) -> Bounds:
        """Return the ends for every row, those of shares within 0 and 1."""
        z = critical_value(level, len(self.values) if simultaneous else 1)
        shares = np.array([quantity in SHARES for quantity in self.quantities])
        low, high = self.intervals.bounds(z)
        least, most = share_ends(low, high, z * self.stderr)
        return np.where(shares, least, low), np.where(shares, most, high)

    @override
    def row_indices(self, view: View) -> list[int]:
        return list(range(len(self.values)))[: view.rows]

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        places = np.asarray(rows, dtype=np.intp)
        low, high = self.interval(view.level, simultaneous=view.simultaneous)
        return {
            "quantity": [self.quantities[i] for i in rows],
            "value": [self.values[i] for i in rows],
            "estimate": finite(self.unbiased[places]),
            "low": finite(low[places]),
            "high": finite(high[places]),
            "stderr": finite(self.stderr[places]),
            **({} if self.design is None else {"design_effect": finite(self.design.rows[places])}),
        }

    @override
    def coverage_sentence(self, view: View) -> str:
        return all_or_each(view, len(self.values), "a value")

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        parts = [{"name": name, **vars(part)} for name, part in self.parts.items()]
        found: dict[str, object] = {"parts": parts, "notes": list(self.notes)}
        if self.design is not None:
            effect, freedom = self.design.weights, self.design.freedom
            numbers = (effect, self.reports / effect, freedom)
            found |= dict(zip(self.OF_DESIGN, numbers, strict=True))
        return found

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        asked = self.checked_view(view, options)
        rows = self.row_indices(asked)[: asked.rows or ROWS_SHOWN]
        columns = self.cells(rows, asked)
        body = []
        for k in range(len(rows)):
            show = row_text(columns, k)
            interval = f"{show('low')} to {show('high')}"
            name = one_line(columns["value"][k])
            body.append(
                (str(columns["quantity"][k]), name, show("estimate"), interval, show("stderr"))
            )
        head = ("", "value", "estimate", f"{percent(asked.level)} interval", "std. error")
        lines = [
            aligned(head, body, left=(0, 1)),
            *rows_left_out(len(self.values) - len(rows), "more value"),
            f"{self.reports:,} reports, epsilon at most {self.epsilon:.4g} per report; "
            f"{self.method}; "
            f"confidence intervals for {TARGETS[self.of]}, {VALID_FOR[asked.looks]}",
            self.coverage_sentence(asked),
            *(wrapped(note) for note in self.notes),
        ]
        weighted = any(part.weight is not None for part in self.parts.values())
        parts = [
            (one_line(name), f"{part.reports:,}", f"{part.epsilon:.4g}", _weight(part))
            for name, part in self.parts.items()
        ]
        blocks = [*([self.heading] if self.heading else []), "\n".join(lines)]
        if parts:
            heads = ("made of", "reports", "epsilon", "weight" if weighted else "")
            blocks.append(aligned(heads, parts[:ROWS_SHOWN]))
        return "\n\n".join(blocks)

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        return _panels(self, _chart_rows(self, view), view, title)


def _chart_rows(combined: Combined, view: View) -> list[dict[str, object]]:
    """Return the rows that a chart shows, those without an interval too."""
    rows = combined.row_indices(view)[: view.rows or ROWS_SHOWN]
    columns = combined.cells(rows, view)
    return [
        {
            "panel": str(columns["quantity"][k]),
            "name": str(columns["value"][k]),
            **{
                to: columns[at][k]
                for to, at in (("point", "estimate"), ("low", "low"), ("high", "high"))
            },
        }
        for k in range(len(rows))
    ]


def _panel_name(row: Mapping[str, object]) -> str:
    """Return the quantity and value of a row; a mean has one word for both."""
    return " ".join(dict.fromkeys((str(row["panel"]), str(row["name"]))))


def _panels(
    combined: Combined, rows: Sequence[Mapping[str, Any]], view: View, title: str | None
) -> alt.FacetChart:
    """Return a chart of those `rows` that have an interval."""
    from rumor.results.chart_parts import panels

    data = [row for row in rows if row["low"] is not None]
    facts = [
        f"{combined.method}; lines: {percent(view.level)} confidence intervals for "
        f"{TARGETS[combined.of]}"
    ]
    return panels(data, "estimate", title or "Estimates", facts)


class WeightedGroups(GroupedEstimates):
    """The estimates of groups of people with weights, and what holds for all of them."""

    def __init__(
        self,
        by: str,
        estimates: Mapping[str, Combined],
        strata: Sequence[Stratum],
        heading: str,
        notes: Sequence[str],
    ) -> None:
        super().__init__(by, dict(estimates))
        self.strata = strata
        """The value of the column for each group."""
        self.heading = heading
        self.notes = tuple(notes)

    @override
    def _each(self, make: Callable[[Any], str]) -> str:
        heading = [self.heading] if self.heading else []
        told = ["\n".join(map(wrapped, self.notes))] if self.notes else []
        return "\n\n".join([*heading, super()._each(make), *told])

    def to_dict(
        self, view: View | float | None = None, **options: Unpack[ViewOptions]
    ) -> dict[str, object]:
        """Return the estimates as plain data for JSON, a row for each value of each group."""
        found = [one.to_dict(view, **options) for one in self.values()]
        apart = ("reports", "notes", *Combined.OF_DESIGN)
        return {
            "reports": sum(one.reports for one in self.values()),
            **{key: value for key, value in found[0].items() if key not in (*apart, "estimates")},
            "by": self.by,
            "strata": [
                {"stratum": stratum, **{key: one[key] for key in apart}}
                for stratum, one in zip(self.strata, found, strict=True)
            ],
            "notes": list(self.notes),
            "estimates": [
                {"stratum": stratum, **row}
                for stratum, one in zip(self.strata, found, strict=True)
                for row in one["estimates"]
            ],
        }

    def plot(
        self,
        path: PathLike | None = None,
        view: View | float | None = None,
        *,
        title: str | None = None,
        width: float | None = None,
        **options: Unpack[ViewOptions],
    ) -> Any:
        """Return a chart with a panel for each value and a line for each group, written to `path`
        if there is one.
        """
        from rumor.core.extras import explain_missing_extra
        from rumor.results.chart_files import save_if_named

        with explain_missing_extra("a chart"):
            asked = make_view(view, options)
            each = [
                [
                    {**row, "panel": _panel_name(row), "name": one_line(name)}
                    for row in _chart_rows(one, one.checked_view(asked, {}))
                ]
                for name, one in self.items()
            ]
            rows = [row for value in zip(*each, strict=True) for row in value]
            chart = _panels(next(iter(self.values())), rows, asked, title)
            return save_if_named(chart, path, width)


def _weight(part: CombinedGroup) -> str:
    return "" if part.weight is None else percent(part.weight, 2)
