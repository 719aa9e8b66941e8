"""Keys with a number each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rumor.core.errors import InputError
from rumor.kinds.keyvalue.question import KeyValueQuestion
from rumor.mechanisms.keyvalue import KeyValueMechanism

if TYPE_CHECKING:
    from rumor.core.answer_table import AnswerTable
    from rumor.kinds.keyvalue.result import KeyValueEstimate
    from rumor.mechanisms.summary import Summary


class KeyValue(KeyValueQuestion):
    """Some of a fixed list of keys, each with a number; shares and means are learned."""

    def check_missing(self, mechanism: KeyValueMechanism, rule: str) -> None:
        """Nothing is missing: a cell is empty where somebody does not hold the key."""
        if rule != "error":
            raise InputError(
                f"an empty cell of a key says that the person does not hold it, so no answer is "
                f"missing; got --missing {rule}"
            )

    def has_row_per_person(self, table: AnswerTable) -> bool:
        """Not where each pair has a row."""
        return not self._part("read").is_long(table)

    def estimate_rounds(self, rounds: Sequence[Summary], method: str) -> KeyValueEstimate:
        """All rounds of PrivKVM together."""
        from rumor.kinds.keyvalue.estimate import estimate_rounds

        return estimate_rounds(rounds, self.resolve_method(method))

    def estimate_round(self, mechanism: KeyValueMechanism, summary: Summary) -> KeyValueEstimate:
        """Return the estimate of one round by calibration, as published."""
        from rumor.kinds.keyvalue.estimate import estimate_keyvalue

        return estimate_keyvalue(summary, "calibration")


KIND = KeyValue()
