"""The turn that a request names: relay and gateway take the current one and the one before."""

from __future__ import annotations

import re

from rumor.collector import clock
from rumor.collector.http.problems import Problem
from rumor.contract.relay import turn_at
from rumor.core.errors import shown

_TURN = re.compile("0|[1-9][0-9]{0,14}")


def accepted_turn(turn_hours: int | None, given: str | None) -> int | None:
    """Return the turn that a request names, of a contract with such `turn_hours`, or refuse it."""
    if turn_hours is None:
        if given is not None:
            raise Problem(
                "wrong-turn",
                f"envelopes of a contract without turns must name no turn; got {shown(given)}",
            )
        return None
    current = turn_at(clock.now(), turn_hours)
    rule = (
        f"envelopes of a contract with turns must name turn {current}, which is the current one, "
        f"or turn {current - 1}"
    )
    if given is None:
        raise Problem("wrong-turn", f"{rule}; got none")
    if not _TURN.fullmatch(given) or int(given) not in (current, current - 1):
        raise Problem("wrong-turn", f"{rule}; got {shown(given)}")
    return int(given)
