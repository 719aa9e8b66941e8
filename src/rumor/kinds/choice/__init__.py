"""One of a fixed list of answers."""

from __future__ import annotations

from rumor.kinds.choice.question import ChoiceQuestion
from rumor.mechanisms.oracle import FrequencyOracle


class Choice(ChoiceQuestion):
    """One of a fixed list of answers; the share of each is learned."""

    def advice(self, mechanism: FrequencyOracle) -> str | None:
        """Labels that are an order say more than a choice makes of them."""
        from rumor.kinds.choice.order_advice import looks_ordered

        why = looks_ordered(mechanism.labels or ())
        if why is None:
            return None
        return (
            f'the answers look like an order ({why}): kind = "ordered" learns their distribution, '
            f"median and mean with less error, since neighbours tell of each other"
        )


KIND = Choice()
