"""The kind "set": all that apply out of a fixed list of options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.typing import override
from rumor.kinds.set.question import SetQuestion
from rumor.mechanisms.sets import SetMechanism

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import AnswerTable


class Sets(SetQuestion):
    """Any number of options out of a fixed list; the share of people who chose each is learned."""

    def answer_column(self, id: str, column: str | None, table: AnswerTable) -> str | None:
        """Return the column of lists; None where each option has a column."""
        return (
            super().answer_column(id, column, table) if column or id in table.schema.names else None
        )

    def read(
        self,
        id: str,
        mechanism: SetMechanism,
        table: AnswerTable,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """Yield people's options, from a column of lists or from a yes-no column for each
        option.
        """
        from rumor.kinds.set.read import read_sets

        return read_sets(mechanism, table, self.answer_column(id, column, table), id, keep)

    def labels_for_missing(self, mechanism: SetMechanism) -> Sequence[str]:
        """Return no labels: a person who chose nothing has answered."""
        return ()

    @override
    def advice(self, mechanism: SetMechanism) -> str | None:
        if mechanism.domain < 3 or mechanism.cap < mechanism.domain:
            return None
        return (
            "there is no cap on how many options a person may choose: where few are chosen of "
            "many, cap = N makes the error smaller"
        )


KIND = Sets()
