"""Words that were detected without a list: their shares, and a bound on the unnamed share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rumor.core.plain_text import percent
from rumor.core.types import Rows
from rumor.core.typing import override
from rumor.kinds.word_estimate import WordEstimate
from rumor.results.intervals import Tails
from rumor.results.selection import split_tails
from rumor.results.view import View


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenWordEstimate(WordEstimate):
    """The detected words, and the words to test that were given, with their shares.

    `unbiased` comes from the levels that did not select a word. Words are listed because of a test
    that used those levels too, so the lower ends of intervals are widened by the part of the
    tested words that was detected.
    """

    pool: int
    """The number of words that the search completed and tested."""
    longer: float
    """A lower bound on the share of people whose word is too long to be named."""
    looked_at: int
    """The number of prefixes tested."""
    looked_for: int = 0
    """The number of words tested besides those of the search."""

    def _tails(self, rows: Rows, view: View) -> Tails:
        """Return the tails of each row's interval, unequal for the sake of selection."""
        found = int(self.detected.sum())
        return split_tails(view.level, rows.size, found, max(found, self.pool))

    def extra_fields(self, view: View) -> dict[str, Any]:
        """Return the footer fields beside the words, as plain data."""
        return {
            **super().extra_fields(view),
            "candidates": self.pool,
            "longer": self.longer,
            "looked_at": self.looked_at,
        }

    @override
    def _how_found(self) -> str:
        found, searched = int(self.detected.sum()), self.pool - self.looked_for
        return (
            f"{found:,} word{'s' * (found != 1)} found; {self.pool:,} tested "
            f"({self.looked_for:,} from --candidates, "
            f"{searched:,} from a search of {self.looked_at:,} prefixes); {self.controls}"
        )

    @property
    @override
    def warnings(self) -> list[str]:
        if not self.longer:
            return super().warnings
        long = f"note: at least {percent(self.longer, 1)} of words are too long to be named"
        return [*super().warnings, long]
