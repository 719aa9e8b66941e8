"""Estimates of words: which candidates people hold, how often, and how much is something else.

Everything that an Estimate offers, over all candidates in the order they were given; words that
were not detected have frequency 0. What is listed (tables, charts, files) is the words that
were detected; in the order "given", every candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from rumor.core.plain_text import decimals_for, percent, rows_left_out
from rumor.core.types import Rows, Vector
from rumor.core.typing import override
from rumor.results.estimate import Estimate
from rumor.results.intervals import Tails
from rumor.results.rows import Column
from rumor.results.selection import split_tails
from rumor.results.view import ROWS_SHOWN, Order, View, Wishes, viewed

# Smaller p-values are not told apart in tables.
_TINY = 1e-12
# Lower tails spend this part of what they may, since p-values are not perfect: the penalty and the
# trimmed bits know the word.
_KEPT = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class WordEstimate(Estimate):
    """Candidate words with their frequencies, and which of them were detected.

    `unbiased` is, for words detected, least squares on these words; for the others, the
    de-biased estimate. An interval of a word chosen beforehand covers with its level. Words that
    are listed because they were detected came out high, and what lists them widens their
    intervals below, so that of the words found as many are covered as the level says.
    """

    LISTING: ClassVar[Order] = "estimate"
    _COVERED = (
        "intervals adjusted for detection: on average at least {level} of those shown contain the "
        "true share"
    )
    _NAMED = "a word"
    _ASIDE = ("word", "p-value")

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

    def ranking(self, rows: int | None = ROWS_SHOWN) -> list[int]:
        """The indices of the detected words, the most frequent first."""
        return self._order()[:rows]

    def _tails(self, rows: Rows, view: View) -> Tails:
        """Split: the other words that were detected, of all candidates.

        A word that nobody holds raised the number of words found itself. Where few are found, that
        is much of it: of all words found in many such decodes too many would be missed.
        """
        others = int(self.detected.sum()) - 1
        return split_tails(view.level, rows.size, _KEPT * others, len(self.values))

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Columns: value, frequency, low, high, unbiased, stderr, p_value, detected."""
        places = np.asarray(rows, dtype=np.intp)
        return {
            **super().cells(rows, view),
            "p_value": self.p_value[places],
            "detected": self.detected[places],
        }

    def extra_fields(self, view: View) -> dict[str, object]:
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

    def table(self, view: View | float | None = None, **wishes: Unpack[Wishes]) -> str:
        """The detected words as text, with their intervals, and what is left."""
        seen = viewed(view, wishes).on_screen()
        order = self.listed(seen)
        lines = self._body(order, seen)
        hidden = max(int(self.detected.sum()) - len(order), 0)
        lines += rows_left_out(hidden, "less frequent word")
        digits = decimals_for(self.other_stderr)
        lines += [
            f"everything else: {percent(self.other, digits)} "
            f"(std. error {percent(self.other_stderr, digits)})",
            *self.footer(seen),
            *(f"caution: {alarm}" for alarm in self.alarms),
            *self.warnings,
        ]
        return "\n".join(lines)

    @override
    def footer(self, view: View) -> list[str]:
        return [self._how_found(), *super().footer(view)]

    @override
    def _noise_line(self, view: View) -> list[str]:
        return []  # the error of a word depends on the words that are fitted with it

    def _how_found(self) -> str:
        """Return the number of words found and tested, and what bounds the errors."""
        return (
            f"{int(self.detected.sum()):,} of {len(self.values):,} candidates detected; "
            f"{self.controls}"
        )

    def _body(self, order: Sequence[int], view: View) -> list[str]:
        if not order:
            return ["no candidate was detected"]
        return [self._shares(order, view)]

    def _aside(self, row: int, digits: int) -> str:
        return f"{self.p_value[row]:.2g}" if self.p_value[row] > _TINY else f"< {_TINY:g}"
