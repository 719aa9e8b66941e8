"""When a relay releases a turn: at two moments after its end, and at no other time.

The first moment is when half of the following turn has passed, so that devices that were offline
are among the crowd. The second is when 95 % of it has passed, for whoever came after the first:
a turn has at least an hour, so at least three minutes are left to deliver. What comes later is
dropped when the following turn ends, since the gateway would not take it.

A turn is not released whenever there is a crowd: somebody who sends `crowd` - 1 envelopes could
then wait for one person's, at any time and as often as they like. At two moments they must send
them for each of the two, among everybody who answers within half a turn.
"""

from __future__ import annotations

from rumor.contract.relay import turn_at

_HOUR = 3_600  # seconds


def last_moment(now: float, turn_hours: int) -> int | None:
    """Return the last moment up to `now` at which the turn before the current one is released.

    In seconds since 1970 UTC, so that a moment says which turn it is of; None before the first.
    """
    length = _HOUR * turn_hours
    start = turn_at(now, turn_hours) * length
    moments = (start + length * 19 // 20, start + length // 2)
    return next((moment for moment in moments if moment <= now), None)
