"""The trends of several groups: one table with small lines, and one small chart for each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from rumor.analysis.trend.result import ONE_LOOK, Trend, table_head
from rumor.core.plain_text import aligned, one_line, rows_left_out, wrapped
from rumor.core.types import Vector
from rumor.core.typing import override
from rumor.estimators.multiple_testing import holm
from rumor.results.rows import Column, Tabular
from rumor.results.view import ROWS_SHOWN, View, ViewOptions

if TYPE_CHECKING:
    import altair as alt

_BARS = "▁▂▃▄▅▆▇█"
_WIDEST = 40  # characters of a small line


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedTrends(Tabular):
    """The trend of each group, by its name: `found.trends["DE"]` is that of one.

    Changes are tested among all values of all groups: `adjusted` is Holm's over all of them.
    """

    by: str
    """The public column, or several of them, that groups are of."""
    trends: Mapping[str, Trend]
    heading: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, by: str, trends: Mapping[str, Trend], heading: str = "", notes: Sequence[str] = ()
    ) -> Self:
        """Return the `trends` of groups `by` a column, with p-values adjusted among all."""
        found = list(trends.values())
        adjusted = holm(np.concatenate([trend.p_value for trend in found]))
        ends = np.cumsum([len(trend.values) for trend in found])[:-1]
        known = [
            replace(trend, adjusted=part, heading="")
            for trend, part in zip(found, np.split(adjusted, ends), strict=True)
        ]
        return cls(
            by=by,
            trends=dict(zip(trends, known, strict=True)),
            reports=sum(trend.reports for trend in found),
            epsilon=max(trend.epsilon for trend in found),
            method=found[0].method,
            heading=heading,
            notes=tuple(dict.fromkeys([*notes, *(one for each in found for one in each.notes)])),
        )

    def _places(self) -> Iterator[tuple[str, Trend, range]]:
        """Yield each group with its trend and the indices of its rows."""
        start = 0
        for name, trend in self.trends.items():
            size = len(trend.values) * len(trend.periods)
            yield name, trend, range(start, start + size)
            start += size

    @override
    def row_indices(self, view: View) -> list[int]:
        return [
            own.start + row for _, trend, own in self._places() for row in trend.row_indices(view)
        ]

    @override
    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        whole: dict[str, list[object]] = {}
        for name, trend, own in self._places():
            mine = [row - own.start for row in rows if row in own]
            for key, column in {
                "stratum": [name] * len(mine),
                **trend.cells(mine, view),
            }.items():
                whole.setdefault(key, []).extend(column)
        return dict(whole)

    @override
    def coverage_sentence(self, view: View) -> str:
        return next(iter(self.trends.values())).coverage_sentence(view)

    @override
    def extra_fields(self, view: View) -> dict[str, object]:
        fields = {name: trend.extra_fields(view) for name, trend in self.trends.items()}
        return {
            "by": self.by,
            "strata": [
                {
                    "stratum": name,
                    "reports": self.trends[name].reports,
                    "periods": each["periods"],
                    "changes": each["changes"],
                }
                for name, each in fields.items()
            ],
            "notes": list(self.notes),
        }

    @override
    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        asked = self.checked_view(view, options)
        periods = sorted({period for trend in self.trends.values() for period in trend.periods})
        values, left_out = self._most_significant(asked.rows or ROWS_SHOWN)
        body = []
        for value in values:
            lines = {
                name: _over(periods, trend, i)
                for name, trend in self.trends.items()
                if (i := _index(trend, value)) is not None
            }
            ends = _ends(list(lines.values()))
            for name, line in lines.items():
                trend = self.trends[name]
                i = _index(trend, value)
                assert i is not None
                what, label, *numbers = trend.table_row(i, asked.level)
                body.append((one_line(name), what, label, _small_line(line, ends), *numbers))
        counts = ", ".join(
            f"{one_line(name)} {trend.reports:,}" for name, trend in self.trends.items()
        )
        head = table_head(asked.level)
        lines_below = [
            aligned((self.by, *head[:2], "line", *head[2:]), body, left=(0, 1, 2, 3)),
            *rows_left_out(left_out, "less significant value"),
            f"{len(periods)} periods from {periods[0]} to {periods[-1]}; lines of one value have "
            f"one scale",
            wrapped(f"reports: {counts}; epsilon {self.epsilon:.4g} per report"),
            *(
                wrapped(line)
                for line in (self.method, self.coverage_sentence(asked), ONE_LOOK, *self.notes)
            ),
        ]
        return "\n\n".join([*([self.heading] if self.heading else []), "\n".join(lines_below)])

    def _most_significant(self, most: int) -> tuple[list[tuple[str, object]], int]:
        """Return at most so many values, in their order, and how many others there are."""
        least: dict[tuple[str, object], float] = {}
        for trend in self.trends.values():
            for i, value in enumerate(zip(trend.quantities, trend.values, strict=True)):
                least[value] = min(float(trend.p_value[i]), least.get(value, 1.0))
        kept = set(sorted(least, key=least.__getitem__)[:most])
        return [value for value in least if value in kept], len(least) - len(kept)

    @override
    def picture(self, view: View, title: str | None, truth: object) -> alt.FacetChart:
        from rumor.analysis.trend.chart import grouped_trend_chart

        return grouped_trend_chart(self, view, title)


def _index(trend: Trend, value: tuple[str, object]) -> int | None:
    """Return the place of a quantity of a value in `trend`, if it has one."""
    known = list(zip(trend.quantities, trend.values, strict=True))
    return known.index(value) if value in known else None


def _over(periods: Sequence[str], trend: Trend, i: int) -> Vector:
    """Return the line of a value over all `periods`; NaN where the group has no reports."""
    line = np.full(len(periods), np.nan)
    line[[periods.index(period) for period in trend.periods]] = trend.line[:, i]
    return line


def _ends(lines: Sequence[Vector]) -> tuple[float, float]:
    whole = np.concatenate(lines)
    return float(np.nanmin(whole)), float(np.nanmax(whole))


def _small_line(line: Vector, ends: tuple[float, float]) -> str:
    """Return `line` as bars of eight heights between the `ends`; a blank for what is unknown."""
    low, high = ends
    parts = np.array_split(line, min(line.size, _WIDEST))
    drawn = []
    for part in parts:
        known = part[np.isfinite(part)]
        if not known.size:
            drawn.append(" ")
            continue
        share = (known.mean() - low) / (high - low) if high > low else 0.5
        drawn.append(_BARS[min(int(share * len(_BARS)), len(_BARS) - 1)])
    return "".join(drawn)
