"""Support: reports that support values or options, and the counts that follow for each.

A thing is supported more often by the people who have it. What is learned of each comes from
these two chances, as a count out of a number of trials or as a score for intervals.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rumor.core.types import Tally, Target, Vector


class SupportRates(abc.ABC):
    """A mechanism whose reports support some things, more often those that a person has."""

    @property
    @abc.abstractmethod
    def exact_hit(self) -> Fraction:
        """The exact chance that a thing is supported if the person has it."""

    @property
    @abc.abstractmethod
    def exact_miss(self) -> Fraction:
        """The exact chance that a thing is supported if the person does not have it."""

    @functools.cached_property
    def hit(self) -> float:
        """The chance that a thing is supported if the person has it."""
        return float(self.exact_hit)

    @functools.cached_property
    def miss(self) -> float:
        """The chance that a thing is supported if the person does not have it."""
        return float(self.exact_miss)

    @functools.cached_property
    def gain(self) -> float:
        """The difference of the chances of support with and without the thing."""
        return float(self.exact_hit - self.exact_miss)


@dataclass(frozen=True)
class ItemCounts:
    """The count of each value in a tally, out of a number of trials.

    A trial supports value x with probability miss + (hit - miss) f_x. Trials and rates are
    one number for all values, or one for each. `dispersion` is the oracle's. No trial supports
    a value with a probability above `most`: where a frequency would need one, there must have
    been more trials than were seen.
    """

    counts: Tally | Vector
    trials: float | Vector
    hit: float | Vector
    miss: float | Vector
    dispersion: float
    most: float = 1.0
    reports: float | None = None
    """The number of reports that the trials are a part of, if rates are those of the part."""

    @property
    def gain(self) -> float | Vector:
        """The difference of the chances of support for a value that
        everybody holds and an absent one.
        """
        return self.hit - self.miss

    @property
    def unbiased(self) -> Vector:
        """The frequency at which each count is expected."""
        return np.asarray((self.counts / self.trials - self.miss) / self.gain)


@dataclass(frozen=True)
class Score:
    """A mean over the reports that is `gain` f on average, from which intervals are made.

    `excess` is that mean for each value. The variance that one report brings to it, at a
    candidate frequency f, is v0 + v1 f + v2 f**2 with the numbers of `spread`: for people
    drawn from a population, and for these people alone.
    """

    excess: Vector
    gain: float
    spread: Mapping[Target, tuple[float | Vector, float | Vector, float]]
    ends: tuple[float, float] | None = None
    """The least and the most that one report can add to the mean of a group, times reports."""


def centred_score(
    mean: float,
    gain: float,
    part: float,
    inside: float,
    outside: float,
    ends: tuple[float, float],
) -> Score:
    """Return the score of a group's share from a mean that is gain (F - part) on average.

    `inside` and `outside` are the second moments of the contributions of a member's and another
    person's report, which lie between `ends`.
    """
    squares = (gain * (1 - part)) ** 2, (gain * part) ** 2
    fixed = inside - squares[0], outside - squares[1]
    return Score(
        excess=np.array([mean + gain * part]),
        gain=gain,
        spread={
            "population": (fixed[1], inside - outside + 2 * gain**2 * part, -(gain**2)),
            "people": (fixed[1], fixed[0] - fixed[1], 0.0),
        },
        ends=(ends[0] + gain * part, ends[1] + gain * part),
    )
