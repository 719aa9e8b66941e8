"""A cap that nobody had to know: from other people's private answers to "how many?".

Keys and options are collected under a cap on how many one person holds. Whoever holds more keeps
so many of theirs at random, which makes shares smaller; a larger cap makes their noise larger. The
number that nine in ten do not exceed is a good one, and it can be asked for like any other:
of other people than those who answer the question itself, or it would cost them twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumor.core.files import PathLike
from rumor.kinds import kind_of
from rumor.mechanisms.summary import Summary

SHARE = 0.9


@dataclass(frozen=True)
class LearnedCap:
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
            f"{self.people:,} other people's answers at epsilon {self.epsilon:.4g} ({span}, 95%). "
            f"Who holds more keeps so many at random: shares come out {self.lost:.1%} too small "
            f"on average."
        )


def read_cap(path: PathLike) -> LearnedCap:
    """Return the cap from a summary that `rumor estimate --save-summary` has written."""
    summary = Summary.load(path)
    return kind_of(summary.mechanism).learned_cap(path, summary)
