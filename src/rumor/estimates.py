"""Estimates: the answer, and how far it can be trusted.

Three things stay apart: `frequency` is the method's answer; `unbiased` and `stderr` are
the linear estimate and its standard error; `interval` is a confidence interval and says
what it covers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rumor.errors import InputError
from rumor.intervals import Bounds, Intervals, checked_target, critical_value
from rumor.mechanisms.oracle import Vector
from rumor.tabular import ROWS_SHOWN, Columns, Tabular
from rumor.text import aligned, bar, decimals_for, one_line, percent

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False)
class Estimate(Tabular):
    """Estimated frequencies of a domain's values."""

    values: Sequence[int] | Sequence[str]
    frequency: Vector = field(repr=False)
    unbiased: Vector = field(repr=False)
    stderr: Vector = field(repr=False)
    reports: int
    epsilon: float
    method: str
    intervals: Intervals = field(repr=False)
    diagnostics: Mapping[str, object] = field(default_factory=dict)
    exact: Intervals | None = field(default=None, repr=False)

    def interval(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        exact: bool = False,
    ) -> Bounds:
        """Lower and upper ends of a confidence interval for every value.

        Of the "population" that the people were drawn from, or of these "people" (the
        noise of the mechanism alone). Each value's interval covers with the level given;
        when `simultaneous`, all of them at once do. When `exact`, they cover at least as
        often as they say however few the reports (Clopper and Pearson), and are wider. Ends
        are clipped to [0, 1] and, where the method's answer lies outside, stretched to
        contain it.
        """
        z = critical_value(level, len(self.values) if simultaneous else 1)
        way = self.exact if exact else self.intervals
        if way is None:
            raise InputError("exact intervals need binomial counts; this estimate has none")
        low, high = way.bounds(z, checked_target(of))
        low, high = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        answer = np.clip(self.frequency, 0.0, 1.0)
        return np.minimum(low, answer), np.maximum(high, answer)

    def columns(
        self, level: float = 0.95, *, of: str = "population", simultaneous: bool = False
    ) -> Columns:
        """The estimate as columns: value, frequency, low, high, unbiased, stderr."""
        low, high = self.interval(level, of=of, simultaneous=simultaneous)
        numbers = {
            "frequency": self.frequency,
            "low": low,
            "high": high,
            "unbiased": self.unbiased,
            "stderr": self.stderr,
        }
        return {"value": list(self.values), **{k: v.tolist() for k, v in numbers.items()}}

    def ranking(self, rows: int = ROWS_SHOWN) -> list[int]:
        """The indices of the most frequent values, the most frequent first."""
        return [int(i) for i in np.argsort(-self.frequency, kind="stable")[:rows]]

    def table(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        rows: int = ROWS_SHOWN,
    ) -> str:
        """The most frequent values as text, with their intervals."""
        low, high = self.interval(level, of=of, simultaneous=simultaneous)
        order = self.ranking(rows)
        digits = decimals_for(float(self.stderr[order].min()))
        full = float(self.frequency[order].max())
        body = [
            (
                one_line(self.values[i]),
                percent(self.frequency[i], digits),
                f"{percent(low[i], digits)} to {percent(high[i], digits)}",
                percent(self.stderr[i], digits),
                bar(self.frequency[i], full),
            )
            for i in order
        ]
        head = ("value", "share", f"{percent(level)} interval", "std. error", "")
        lines = [aligned(head, body, left=(0, 4))]
        hidden = len(self.values) - len(order)
        if hidden:
            lines.append(f"... and {hidden:,} less frequent")
        lines.append(self._facts(of, simultaneous))
        return "\n".join([*lines, *_footer(self.diagnostics)])

    def plot(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        level: float = 0.95,
        of: str = "population",
        simultaneous: bool = False,
        rows: int = ROWS_SHOWN,
        title: str | None = None,
    ) -> alt.LayerChart:
        """Bars with intervals; written to `path` (.html, .png or .svg) when one is given."""
        from rumor.charts import Look, frequency_chart, save_chart

        chart = frequency_chart(self, Look(level, of, simultaneous, rows, title))
        if path is not None:
            save_chart(chart, path)
        return chart


def fake_clients_line(diagnostics: Mapping[str, object]) -> list[str]:
    """What fake clients could add, as a line under a table, where it is known."""
    bound = diagnostics.get("fake_clients")
    return [str(bound["sentence"])] if isinstance(bound, Mapping) else []


def _footer(diagnostics: Mapping[str, object]) -> list[str]:
    """The diagnostics as lines under a table."""
    lines = []
    noise, least = diagnostics.get("noise"), diagnostics.get("detectable")
    power, gap = diagnostics.get("power"), diagnostics.get("gap")
    if isinstance(noise, float) and isinstance(power, float):
        found = f"{percent(least, 2)} and more" if isinstance(least, float) else "no share"
        lines.append(
            f"noise {percent(noise, 2)} on a value that nobody holds; "
            f"{found} would be noticed with {percent(power)} power"
        )
    lines += fake_clients_line(diagnostics)
    if isinstance(gap, float) and diagnostics.get("converged") is False:
        lines.append(f"note: stopped before it converged, at a gap of {gap:.2g}")
    if "warning" in diagnostics:
        lines.append(f"note: {diagnostics['warning']}")
    return lines
