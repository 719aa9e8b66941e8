"""A cap learned from other people's private answers to "how many?".

Keys and options are collected under a cap on the number of items of one person. A person with more
items keeps a random choice of that size, which makes shares smaller; a larger cap makes their
noise larger. The 90% quantile of the number of items is a good cap, and an ordered question learns
that quantile. Ask different people than those who answer the question itself, since they would pay
twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumor.core.files import PathLike
from rumor.kinds import kind_of
from rumor.mechanisms.summary import Summary

SHARE = 0.9


@dataclass(frozen=True)
class LearnedCap:
    """A cap equal to the 90% quantile of the number of items, and the share of items above
    the cap.
    """

    cap: int
    low: int
    high: int
    """The ends of the cap's 95% confidence interval are `low` and `high`."""
    lost: float
    """The share of all items that lies above the cap."""
    people: int
    epsilon: float

    def sentence(self) -> str:
        """Return the sentence that a plan prints about the learned cap."""
        span = f"{self.low:,} to {self.high:,}"
        return (
            f"Cap {self.cap:,}: the {SHARE:.0%} quantile of {self.people:,} other respondents' "
            f"numbers at epsilon {self.epsilon:.4g} (95% interval: {span}). A respondent with more "
            f"keeps {self.cap:,} of them at random, so shares are {self.lost:.1%} too small on "
            f"average."
        )


def read_cap(path: PathLike) -> LearnedCap:
    """Return the cap from a summary that `rumor estimate --save-summary` has written."""
    summary = Summary.load(path)
    return kind_of(summary.mechanism).learned_cap(path, summary)
