"""The kind "words": words of an open vocabulary, detected without a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.typing import override
from rumor.kinds.words.question import WordsQuestion
from rumor.mechanisms.open_words.open_words import OpenWords

if TYPE_CHECKING:
    from rumor.core.types import Progress


class Words(WordsQuestion):
    """A word; which words people have, and how often, is learned without a list of them."""

    any_look = False

    def candidate_options(
        self,
        id: str,
        mechanism: OpenWords,
        words: Sequence[str] | None,
        on_progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Return the words to test besides the detected ones, if a list is given."""
        return {} if words is None else {"candidates": list(words)}

    @override
    def labels_for_missing(self, mechanism: OpenWords) -> None: ...

    @override
    def check_accepts_candidates(self, id: str) -> None: ...

    @override
    def collector_options(self, words: Sequence[str] | None) -> dict[str, Any]:
        return {} if words is None else {"candidates": list(words)}


KIND = Words()
