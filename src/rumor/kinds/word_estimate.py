"""Estimates of words: which candidates were detected, their frequencies, and the share of the rest.

A WordEstimate offers everything that an Estimate offers, over all candidates in the given order;
words that were not detected have frequency 0. Tables, charts and files list the detected words; in
the order "given", every candidate.
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
from rumor.results.view import ROWS_SHOWN, Order, View, ViewOptions

# Smaller p-values are printed as "below" this one.
_TINY = 1e-12
# Lower tails spend this part of their error rate, since the p-values are approximate: penalty and
# trimmed bits depend on the word.
_KEPT = 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class WordEstimate(Estimate):
    """Candidate words with their frequencies, and which of them were detected.

    For a detected word, `unbiased` is least squares on the detected words; for any other, the de-
    biased estimate. The interval of a word named in advance covers with its level. Detected words
    are a selection of high estimates, so the lower ends of their intervals are widened: of the
    words listed, the part that the level states is covered.
    """

    LISTING: ClassVar[Order] = "estimate"
    _COVERED = (
        "intervals adjusted for detection: on average at least {level} of those shown contain the "
        "true share"
    )
    _NAMED = "a word"
    _ASIDE = ("word", "p-value")
    ANY_LOOK: ClassVar[bool] = False
    _ONE_LOOK = "words are found by a test that is valid for one look"

    detected: NDArray[np.bool_] = field(repr=False)
    p_value: Vector = field(repr=False)
    other: float
    """The share of people whose word was not detected, listed or not: 1 less the frequencies.

    False words among those detected make it a little too small.
    """
    other_stderr: float
    level: float
    controls: str
    """A phrase that says which error rate the level bounds."""
    alarms: tuple[str, ...] = ()

    @property
    def words(self) -> Sequence[str]:
        """The candidates."""
        return [str(word) for word in self.values]

    def found(self) -> dict[str, float]:
        """Return the frequencies of the detected words by word, the most frequent first."""
        return {str(self.values[i]): float(self.frequency[i]) for i in self._order()}

    def _order(self) -> list[int]:
        there = np.flatnonzero(self.detected)
        return [int(i) for i in there[np.argsort(-self.frequency[there], kind="stable")]]

    @override
    def above_noise(self, view: View) -> int:
        return int(self.detected.sum())

    def ranking(self, rows: int | None = ROWS_SHOWN) -> list[int]:
        """Return the indices of the detected words, the most frequent first, at most `rows`."""
        return self._order()[:rows]

    def _tails(self, rows: Rows, view: View) -> Tails:
        """Return the tails of each row's interval, unequal for the sake of selection.

        A word that nobody has may be among the detected words and so raise their number. Where few
        words are detected this is a large part of them, and without the split too many intervals
        would miss.
        """
        others = int(self.detected.sum()) - 1
        return split_tails(view.level, rows.size, _KEPT * others, len(self.values))

    def cells(self, rows: Sequence[int], view: View) -> dict[str, Column]:
        """Return the columns value, frequency, low, high, unbiased, stderr, p_value and
        detected.
        """
        places = np.asarray(rows, dtype=np.intp)
        return {
            **super().cells(rows, view),
            "p_value": self.p_value[places],
            "detected": self.detected[places],
        }

    def extra_fields(self, view: View) -> dict[str, object]:
        """Return the footer fields beside the words, as plain data."""
        return {
            "candidates": len(self.values),
            "detected": int(self.detected.sum()),
            "other": self.other,
            "other_stderr": self.other_stderr,
            "detection_level": self.level,
            "controls": self.controls,
            "alarms": list(self.alarms),
        }

    def table(self, view: View | float | None = None, **options: Unpack[ViewOptions]) -> str:
        """Return the detected words as text, with their intervals and the share of other words."""
        seen = self.checked_view(view, options).on_screen()
        order = self.row_indices(seen)
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
        """Return the number of words detected and tested, and the error rate that is bounded."""
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
