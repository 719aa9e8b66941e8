"""The kind "keyvalue": keys with a number each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rumor.core.errors import InputError
from rumor.core.typing import override
from rumor.kinds.keyvalue.question import KeyValueQuestion
from rumor.mechanisms.keyvalue import KeyValueMechanism

if TYPE_CHECKING:
    from rumor.core.answer_table import AnswerTable
    from rumor.kinds.keyvalue.result import KeyValueEstimate
    from rumor.mechanisms.summary import Summary


class KeyValue(KeyValueQuestion):
    """Some keys out of a fixed list, each with a number; shares and means are learned."""

    def check_missing(self, mechanism: KeyValueMechanism, rule: str) -> None:
        """Refuse every rule for missing answers.

        An empty cell means that the person does not have the key.
        """
        if rule != "error":
            raise InputError(
                f"an empty cell of a key says that the person does not hold it, so no answer is "
                f"missing; got --missing {rule}"
            )

    def has_row_per_person(self, table: AnswerTable) -> bool:
        """Return False for a long table, which has a row for each pair."""
        return not self._part("read").is_long(table)

    @override
    def estimate_rounds(self, rounds: Sequence[Summary], method: str) -> KeyValueEstimate:
        from rumor.kinds.keyvalue.estimate import estimate_rounds

        return estimate_rounds(rounds, self.resolve_method(method))

    @override
    def estimate_round(self, mechanism: KeyValueMechanism, summary: Summary) -> KeyValueEstimate:
        from rumor.kinds.keyvalue.estimate import estimate_keyvalue

        return estimate_keyvalue(summary, "calibration")


KIND = KeyValue()
