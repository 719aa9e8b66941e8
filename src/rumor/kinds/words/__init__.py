"""Words that nobody listed: found without a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rumor.kinds.words.question import WordsQuestion
from rumor.mechanisms.open_words.open_words import OpenWords

if TYPE_CHECKING:
    from rumor.core.types import Progress


class Words(WordsQuestion):
    """A word; which words people hold, and how often, is learned without a list of them."""

    def candidate_options(
        self,
        id: str,
        mechanism: OpenWords,
        words: Sequence[str] | None,
        on_progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Words to look for as well, where there are such."""
        return {} if words is None else {"candidates": list(words)}

    def labels_for_missing(self, mechanism: OpenWords) -> None:
        """Any word."""

    def check_accepts_candidates(self, id: str) -> None:
        """They are looked for beside those that are found."""

    def collector_options(self, words: Sequence[str] | None) -> dict[str, Any]:
        """The collector's dictionary, if it has one."""
        return {} if words is None else {"candidates": list(words)}


KIND = Words()
