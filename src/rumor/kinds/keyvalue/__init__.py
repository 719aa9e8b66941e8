"""Keys with a number each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError
from rumor.kinds.keyvalue.question import KeyValueQuestion
from rumor.mechanisms.keyvalue import KeyValueMechanism

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.kinds.keyvalue.result import KeyValueEstimate
    from rumor.mechanisms.summary import Summary


class KeyValue(KeyValueQuestion):
    """Some of a fixed list of keys, each with a number; shares and means are learned."""

    def answer_column(self, id: str, column: str | None, table: Table) -> str | None:
        """None: a person's answer has many columns."""
        if column is not None:
            raise InputError(
                f"key-value answers have many columns, so none is named; got {column!r}"
            )
        return None

    def check_missing(self, mechanism: KeyValueMechanism, rule: str) -> None:
        """Nothing is missing: a cell is empty where somebody does not hold the key."""
        if rule != "error":
            raise InputError(
                f"an empty cell of a key says that the person does not hold it, so no answer is "
                f"missing; got --missing {rule}"
            )

    def row_is_person(self, table: Table) -> bool:
        """Not where each pair has a row."""
        return not self._part("tables").is_long(table)

    def read(
        self,
        id: str,
        mechanism: KeyValueMechanism,
        table: Table,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """A row, or several, for each person."""
        from rumor.kinds.keyvalue.tables import read_pairs

        return read_pairs(mechanism, table, keep)

    def estimate_rounds(self, rounds: Sequence[Summary], method: str) -> KeyValueEstimate:
        """All rounds of PrivKVM together."""
        from rumor.kinds.keyvalue.estimate import estimate_rounds

        return estimate_rounds(rounds, method)


KIND = KeyValue()
