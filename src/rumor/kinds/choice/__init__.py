"""The kind "choice": one answer out of a fixed list."""

from __future__ import annotations

from rumor.core.typing import override
from rumor.kinds.choice.question import ChoiceQuestion
from rumor.mechanisms.oracle import FrequencyOracle


class Choice(ChoiceQuestion):
    """One answer out of a fixed list; the share of each is learned."""

    @override
    def advice(self, mechanism: FrequencyOracle) -> str | None:
        from rumor.kinds.choice.order_advice import looks_ordered

        why = looks_ordered(mechanism.labels or ())
        if why is None:
            return None
        return (
            f'the answers look like an order ({why}): kind = "ordered" learns their distribution, '
            f"median and mean with smaller errors, since neighbouring answers inform each other"
        )


KIND = Choice()
