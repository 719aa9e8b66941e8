"""Where a distribution function reaches a share: a place on the line from 0 to D.

Position x covers [x, x + 1), evenly, so that the function is a broken line through its values.
"""

from __future__ import annotations

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Vector


def reached(frequency: Vector, share: float) -> float:
    """Return where the running sums of some shares reach one."""
    sums = np.concatenate([[0.0], np.cumsum(frequency)])
    return crossing(sums, min(_checked(share), float(sums[-1])))


def interval_of(low: Vector, high: Vector, share: float) -> tuple[float, float]:
    """Return the first and the last place at which a function's interval holds a share.

    `low` and `high` are the ends of the intervals at the end of every position. They are made
    monotone first, which makes none of them shorter.
    """
    _checked(share)
    upper = np.concatenate([[0.0], np.maximum.accumulate(high)])
    lower = np.concatenate([[0.0], np.minimum.accumulate(low[::-1])[::-1]])
    return crossing(upper, share), crossing_last(lower, share)


def _checked(share: float) -> float:
    if not 0 <= share <= 1:
        raise InputError(f"a quantile's share must be from 0 to 1; got {share!r}")
    return share


def crossing(edges: Vector, share: float) -> float:
    """Return the first place on [0, D] at which a rising broken line reaches a share."""
    after = int(np.searchsorted(edges, share, side="left"))
    if after == 0:
        return 0.0
    if after == len(edges):
        return float(len(edges) - 1)
    rise = edges[after] - edges[after - 1]
    return after - 1 + float((share - edges[after - 1]) / rise)


def crossing_last(edges: Vector, share: float) -> float:
    """Return the last place at which a rising broken line is at most a share."""
    after = int(np.searchsorted(edges, share, side="right"))
    if after == len(edges):
        return float(len(edges) - 1)
    if after == 0:
        return 0.0
    rise = edges[after] - edges[after - 1]
    return after - 1 + float((share - edges[after - 1]) / rise)
