"""Estimates of words: which candidates people hold, how often, and how much is something else.

Everything that an Estimate offers, over all candidates in the order they were given; words that
were not detected have frequency 0. What is listed (tables, charts, CSV, JSON) is the words that
were detected, unless every candidate is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rumor.estimates import Estimate, fake_clients_line
from rumor.intervals import Bounds
from rumor.mechanisms.oracle import Target, Vector
from rumor.tabular import ROWS_SHOWN, csv_text
from rumor.text import aligned, bar, decimals_for, one_line, percent

if TYPE_CHECKING:
    import pyarrow as pa

# Smaller p-values are not told apart in tables.
_TINY = 1e-12


@dataclass(frozen=True)
class WordIntervals:
    """Estimates plus or minus z standard errors, which are known for both targets."""

    center: Vector
    people: Vector
    population: Vector

    def bounds(self, z: float, of: Target) -> Bounds:
        """The plain interval; infinite where nothing is known."""
        stderr = self.people if of == "people" else self.population
        return self.center - z * stderr, self.center + z * stderr


@dataclass(frozen=True, eq=False, kw_only=True)
class WordEstimate(Estimate):
    """Candidate words with their frequencies, and which of them were detected.

    `unbiased` is, for words detected, least squares on these words; for the others, the
    de-biased estimate. An interval of a word chosen beforehand covers with its level; of the
    words *because* they were detected, only simultaneous intervals do (selection favours
    estimates that came out high).
    """

    detected: NDArray[np.bool_] = field(repr=False)
    p_value: Vector = field(repr=False)
    other: float
    """The share of people whose word was not detected, listed or not: 1 less the frequencies.

    False words among those detected make it a little too small.
    """
    other_stderr: float
    level: float
    controls: str
    """What the level bounds, in words."""
    alarms: tuple[str, ...] = ()

    @property
    def words(self) -> Sequence[str]:
        """The candidates."""
        return [str(word) for word in self.values]

    def found(self) -> dict[str, float]:
        """The detected words with their frequencies, the most frequent first."""
        return {str(self.values[i]): float(self.frequency[i]) for i in self._order()}

    def _order(self) -> list[int]:
        there = np.flatnonzero(self.detected)
        return [int(i) for i in there[np.argsort(-self.frequency[there], kind="stable")]]

    def ranking(self, rows: int = ROWS_SHOWN) -> list[int]:
        """The indices of the detected words, the most frequent first."""
        return self._order()[:rows]

    def columns(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        every: bool = True,
    ) -> dict[str, list[object]]:
        """Columns: value, frequency, low, high, unbiased, stderr, p_value, detected."""
        low, high = self.interval(level, of=of, simultaneous=simultaneous)
        order = np.arange(len(self.values)) if every else np.array(self._order(), dtype=np.intp)
        numbers: dict[str, NDArray[np.generic]] = {
            "frequency": self.frequency,
            "low": low,
            "high": high,
            "unbiased": self.unbiased,
            "stderr": self.stderr,
            "p_value": self.p_value,
            "detected": self.detected,
        }
        return {
            "value": [self.values[i] for i in order.tolist()],
            **{name: vector[order].tolist() for name, vector in numbers.items()},
        }

    def to_arrow(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        every: bool = True,
    ) -> pa.Table:
        """All candidates as an Arrow table, or only the detected ones."""
        import pyarrow as pa

        return pa.table(self.columns(level, of=of, simultaneous=simultaneous, every=every))

    def to_csv(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        every: bool = False,
    ) -> str:
        """The detected words (or every candidate) as CSV text, in full precision."""
        return csv_text(self.columns(level, of=of, simultaneous=simultaneous, every=every))

    def facts(self) -> dict[str, object]:
        """What there is to say beside the words, as plain data."""
        return {
            "candidates": len(self.values),
            "detected": int(self.detected.sum()),
            "other": self.other,
            "other_stderr": self.other_stderr,
            "detection_level": self.level,
            "controls": self.controls,
            "alarms": list(self.alarms),
        }

    def to_dict(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        every: bool = False,
    ) -> dict[str, object]:
        """The detected words (or every candidate) as plain data for JSON."""
        columns = self.columns(level, of=of, simultaneous=simultaneous, every=every)
        return self._plain(columns, level, of, simultaneous, **self.facts())

    def table(
        self,
        level: float = 0.95,
        *,
        of: str = "population",
        simultaneous: bool = False,
        rows: int = ROWS_SHOWN,
    ) -> str:
        """The detected words as text, with their intervals, and what is left."""
        lines = self._body(level, of, simultaneous, rows)
        hidden = int(self.detected.sum()) - rows
        if hidden > 0:
            lines.append(f"... and {hidden:,} less frequent words")
        digits = decimals_for(self.other_stderr)
        lines += [
            f"everything else: {percent(self.other, digits)} "
            f"(std. error {percent(self.other_stderr, digits)})",
            f"{int(self.detected.sum()):,} of {len(self.values):,} candidates detected; "
            f"{self.controls}",
            self._facts(of, simultaneous),
            *fake_clients_line(self.diagnostics),
            *(f"caution: {alarm}" for alarm in self.alarms),
        ]
        return "\n".join(lines)

    def _body(self, level: float, of: str, simultaneous: bool, rows: int) -> list[str]:
        order = self.ranking(rows)
        if not order:
            return ["no candidate was detected"]
        low, high = self.interval(level, of=of, simultaneous=simultaneous)
        digits = decimals_for(float(self.stderr[order].min()))
        full = float(self.frequency[order].max())
        body = [
            (
                one_line(self.values[i]),
                percent(self.frequency[i], digits),
                f"{percent(low[i], digits)} to {percent(high[i], digits)}",
                f"{self.p_value[i]:.2g}" if self.p_value[i] > _TINY else f"< {_TINY:g}",
                bar(self.frequency[i], full),
            )
            for i in order
        ]
        head = ("word", "share", f"{percent(level)} interval", "p-value", "")
        return [aligned(head, body, left=(0, 4))]
