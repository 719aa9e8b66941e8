"""Words that nobody listed: found without a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.kinds.words.question import WordsQuestion
from rumor.mechanisms.open_words import OpenWords

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.core.types import Progress
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.planning.planned import Size
    from rumor.kinds.words.plan import PlannedWords
    from rumor.kinds.words.result import OpenWordEstimate
    from rumor.kinds.words.simulate import OpenSimulation


class Words(WordsQuestion):
    """A word; which words people hold, and how often, is learned without a list of them."""

    def read(
        self,
        id: str,
        mechanism: OpenWords,
        table: Table,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """A column of words, as it is."""
        from rumor.kinds.text.simulate import read_texts

        return read_texts(table, column or id, keep=keep)

    def methods(self) -> tuple[str, ...]:
        """The one there is."""
        from rumor.kinds.words.estimate import METHODS

        return METHODS

    def estimate(
        self, mechanism: OpenWords, data: object, method: str, options: Mapping[str, Any]
    ) -> OpenWordEstimate:
        """The words that people hold."""
        from rumor.kinds.words.estimate import estimate_words

        return estimate_words(mechanism, data, method, options)

    def dictionary(
        self,
        id: str,
        mechanism: OpenWords,
        words: Sequence[str] | None,
        on_progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Words to look for as well, where there are such."""
        return {} if words is None else {"candidates": list(words)}

    def takes_words(self, id: str) -> None:
        """They are looked for beside those that are found."""

    def served_with(self, words: Sequence[str] | None) -> dict[str, Any]:
        """The collector's dictionary, if it has one."""
        return {} if words is None else {"candidates": list(words)}

    def simulate(
        self, id: str, mechanism: OpenWords, table: Table, column: str | None, trials: Trials
    ) -> OpenSimulation:
        """With the words of a table."""
        from rumor.kinds.words.simulate import dry_run

        return dry_run(mechanism, table, id, column, trials)

    def planned(self, size: Size) -> PlannedWords:
        """Words of up to twenty letters."""
        from rumor.kinds.words.plan import PlannedWords

        return PlannedWords()


KIND = Words()
