"""Words, decoded with a list of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError
from rumor.kinds.text.question import TextQuestion
from rumor.mechanisms.rappor import Rappor

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.core.types import Progress
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.planning.planned import Size
    from rumor.kinds.text.plan import PlannedText
    from rumor.kinds.text.result import WordEstimate
    from rumor.kinds.text.simulate import WordSimulation


class Text(TextQuestion):
    """A word; which candidates people hold, and how often, is learned."""

    def read(
        self, id: str, mechanism: Rappor, table: Table, column: str | None, keep: Sequence[str] = ()
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """A column of words, as it is."""
        from rumor.kinds.text.simulate import read_texts

        return read_texts(table, column or id, keep=keep)

    def methods(self) -> tuple[str, ...]:
        """Those that decode."""
        from rumor.kinds.text.estimate import METHODS

        return tuple(METHODS)

    def estimate(
        self, mechanism: Rappor, data: object, method: str, options: Mapping[str, Any]
    ) -> WordEstimate:
        """The candidates that people hold."""
        from rumor.kinds.text.estimate import estimate_text

        return estimate_text(mechanism, data, method, options)

    def dictionary(
        self,
        id: str,
        mechanism: Rappor,
        words: Sequence[str] | None,
        on_progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The map of the candidates, made once for all that is estimated with them."""
        from rumor.estimators.decode.candidates import candidate_map, default_cache

        if words is None:
            raise InputError(
                f"question {id!r} asks for text, so --candidates must name a file of words "
                f"to look for; got none"
            )
        cache = default_cache()
        known = candidate_map(mechanism.bloom, words, cache=cache, on_progress=on_progress)
        return {"candidates": known}

    def takes_words(self, id: str) -> None:
        """They are what is looked for."""

    def served_with(self, words: Sequence[str] | None) -> dict[str, Any]:
        """The collector's dictionary, which it must have."""
        if words is None:
            raise InputError(
                "a question of open answers is decoded with a dictionary of candidates "
                "(rumor serve --dictionary FILE); got none"
            )
        return {"candidates": words}

    def simulate(
        self, id: str, mechanism: Rappor, table: Table, column: str | None, trials: Trials
    ) -> WordSimulation:
        """With the words of a table."""
        from rumor.kinds.text.simulate import dry_run

        return dry_run(mechanism, table, id, column, trials)

    def planned(self, size: Size) -> PlannedText:
        """A word, looked for among so many."""
        from rumor.kinds.text.plan import PlannedText

        return PlannedText(size.checked_domain(self.least_domain), size.users)


KIND = Text()
