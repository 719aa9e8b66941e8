"""Words that were found without a list: their shares, and what stays without a name."""

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
    """The words that were found, or written down beforehand, with their shares.

    `unbiased` comes from the levels that did not choose a word. Words are listed because a test
    found them, which looked at those levels too; what lists them widens their intervals below by
    the part of the words tested that was found.
    """

    pool: int
    """How many words were grown to their end and tested."""
    longer: float
    """At least this share of people holds words that are too long to be named."""
    looked_at: int
    """How many beginnings of words were looked at."""
    looked_for: int = 0
    """How many words were looked for beside those that were grown."""

    def _tails(self, rows: Rows, view: View) -> Tails:
        """Split: the words that were found, of all that were tested."""
        found = int(self.detected.sum())
        return split_tails(view.level, rows.size, found, max(found, self.pool))

    def extra_fields(self, view: View) -> dict[str, Any]:
        """What there is to say beside the words, as plain data."""
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
