"""Planning a yes-or-no question: a choice of two answers, which a collection need not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rumor.kinds.choice.plan import PlannedChoice
from rumor.kinds.planning.planned import Size


class PlannedYesNo(PlannedChoice):
    """Two answers."""

    def question(self) -> Mapping[str, object]:
        """Return no further keys: there is nothing to say of the answers."""
        return {}


def planned(size: Size) -> PlannedYesNo:
    """Return a question of two answers, as a plan sees it."""
    return PlannedYesNo(replace(size, domain=2))
