"""A cap that nobody had to know: from other people's private answers to "how many?".

Keys and options are collected under a cap on how many one person holds. Whoever holds more keeps
so many of theirs at random, which makes shares smaller; a larger cap makes their noise larger. The
number that nine in ten do not exceed is a good one, and it can be asked for like any other:
of other people than those who answer the question itself, or it would cost them twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.kinds.estimating import estimate
from rumor.kinds.ordered.result import OrderedEstimate
from rumor.mechanisms.summary import Summary

SHARE = 0.9


@dataclass(frozen=True)
class PrivateCap:
    """The number that nine in ten do not exceed, and what is lost above it."""

    cap: int
    low: int
    high: int
    """The ends of its interval, 95 in 100."""
    lost: float
    """The part of all that people hold which lies above the cap."""
    people: int
    epsilon: float

    def sentence(self) -> str:
        """What a plan says of it."""
        span = f"from {self.low:,} to {self.high:,}" if self.low < self.high else "certain"
        return (
            f"The cap, {self.cap:,}, is the number that {SHARE:.0%} hold at most, by "
            f"{self.people:,} other people's answers at epsilon {self.epsilon:.4g} ({span}, 95 %). "
            f"Who holds more keeps so many at random: shares come out {self.lost:.1%} too small "
            f"on average."
        )


def cap_of(found: OrderedEstimate) -> PrivateCap:
    """The cap from estimated numbers of things that people hold."""
    scale = found.scale
    if not scale.numeric or scale.start < -1:
        raise InputError(
            f"a cap is taken from answers to how many things people hold; got {scale.said}"
        )
    held, point = scale.middles, found.quantile(SHARE)
    cap, low, high = (max(1, math.ceil(value)) for value in (point.value, point.low, point.high))
    if cap >= math.floor(held[-1]):
        raise InputError(
            f"a cap is taken from answers whose range holds the number that {SHARE:.0%} do not "
            f"exceed; got one that ends at {held[-1]:,.0f} (ask with a longer range)"
        )
    whole = float(found.frequency @ np.maximum(held, 0))
    kept = float(found.frequency @ np.clip(held, 0, cap))
    lost = 1 - kept / whole if whole > 0 else 0.0
    return PrivateCap(cap, low, high, lost, found.reports, found.epsilon)


def read_cap(path: PathLike) -> PrivateCap:
    """The cap from a summary that `rumor estimate --save-summary` has written."""
    summary = Summary.load(path)
    found: object = estimate(summary.mechanism, summary)
    if not isinstance(found, OrderedEstimate):
        raise InputError(
            f"{path}: a cap is taken from an ordered question, how many things people hold; got "
            f"reports of {summary.mechanism.name}"
        )
    return cap_of(found)
