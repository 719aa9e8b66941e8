"""Keys with a number each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError
from rumor.kinds.keyvalue.question import KeyValueQuestion
from rumor.mechanisms.keyvalue import KeyValueMechanism

if TYPE_CHECKING:
    import pyarrow as pa

    from rumor.core.answer_table import Table
    from rumor.kinds.dry_run import Trials
    from rumor.kinds.keyvalue.plan import PlannedKeyValue
    from rumor.kinds.keyvalue.result import KeyValueEstimate
    from rumor.kinds.numeric_dry_run import NumericSimulation
    from rumor.kinds.planning.planned import Size
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

    def methods(self) -> tuple[str, ...]:
        """Those for keys."""
        from rumor.kinds.keyvalue.estimate import KEYVALUE_METHODS

        return KEYVALUE_METHODS

    def estimate(
        self, mechanism: KeyValueMechanism, data: object, method: str, options: Mapping[str, Any]
    ) -> KeyValueEstimate:
        """The share of every key and the mean of its values."""
        from rumor.kinds.keyvalue.estimate import estimate_pairs

        return estimate_pairs(mechanism, data, method, options)

    def estimate_rounds(self, rounds: Sequence[Summary], method: str) -> KeyValueEstimate:
        """All rounds of PrivKVM together."""
        from rumor.kinds.keyvalue.estimate import estimate_rounds

        return estimate_rounds(rounds, method)

    def simulate(
        self,
        id: str,
        mechanism: KeyValueMechanism,
        table: Table,
        column: str | None,
        trials: Trials,
    ) -> NumericSimulation[KeyValueEstimate]:
        """With the people of a table."""
        from rumor.kinds.keyvalue.simulate import dry_run

        return dry_run(mechanism, table, trials)

    def planned(self, size: Size) -> PlannedKeyValue:
        """Some of so many keys."""
        from rumor.kinds.keyvalue.plan import PlannedKeyValue

        return PlannedKeyValue(
            size.checked_domain(self.least_domain), size.low, size.high, size.cap
        )


KIND = KeyValue()
