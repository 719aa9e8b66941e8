"""The kind "text": words, decoded with a list of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError
from rumor.core.typing import override
from rumor.kinds.text.question import TextQuestion
from rumor.mechanisms.rappor.rappor import Rappor

if TYPE_CHECKING:
    from rumor.core.types import Progress


class Text(TextQuestion):
    """A word; which candidates people have, and how often, is learned."""

    any_look = False

    def candidate_options(
        self,
        id: str,
        mechanism: Rappor,
        words: Sequence[str] | None,
        on_progress: Progress | None,
    ) -> dict[str, Any]:
        """Return the map of the candidates, made once for all estimates with them."""
        from rumor.kinds.text.fit.candidates import candidate_map
        from rumor.kinds.word_lists import default_cache

        if words is None:
            raise InputError(
                f"question {id!r} asks for text, so --candidates must name a file of words "
                f"to look for; got none"
            )
        cache = default_cache()
        known = candidate_map(mechanism.bloom, words, cache=cache, on_progress=on_progress)
        return {"candidates": known}

    @override
    def labels_for_missing(self, mechanism: Rappor) -> None: ...

    @override
    def check_accepts_candidates(self, id: str) -> None: ...

    @override
    def collector_options(self, words: Sequence[str] | None) -> dict[str, Any]:
        if words is None:
            raise InputError(
                "a question of open answers is decoded with a dictionary of candidates "
                "(rumor serve --dictionary FILE); got none"
            )
        return {"candidates": words}


KIND = Text()
