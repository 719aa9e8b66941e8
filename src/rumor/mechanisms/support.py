"""Reports that support things (values, options): the chances, and what a tally says of each thing.

A thing is supported more often by the people who have it. What is learned of each comes from
these two chances, as a count out of so many trials or as a score of which intervals are made.
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
        """P(a thing is supported | the person has it), exactly."""

    @property
    @abc.abstractmethod
    def exact_miss(self) -> Fraction:
        """P(a thing is supported | the person does not have it), exactly."""

    @functools.cached_property
    def hit(self) -> float:
        """P(a thing is supported | the person has it)."""
        return float(self.exact_hit)

    @functools.cached_property
    def miss(self) -> float:
        """P(a thing is supported | the person does not have it)."""
        return float(self.exact_miss)

    @functools.cached_property
    def gain(self) -> float:
        """How much more often it is supported by those who have it."""
        return float(self.exact_hit - self.exact_miss)


@dataclass(frozen=True)
class ItemCounts:
    """What a tally says of each value on its own: a count out of so many trials.

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
    """The reports that trials are a random part of, where rates are those of the part seen."""

    @property
    def gain(self) -> float | Vector:
        """How much more often a trial supports a value that everybody holds than an absent one."""
        return self.hit - self.miss

    @property
    def unbiased(self) -> Vector:
        """The frequency at which each count is expected."""
        return np.asarray((self.counts / self.trials - self.miss) / self.gain)


@dataclass(frozen=True)
class Score:
    """What intervals are made of: a mean over the reports that is `gain` f on average.

    `excess` is that mean for each value. The variance that one report brings to it, at a
    candidate frequency f, is v0 + v1 f + v2 f**2 with the numbers of `spread`: for people
    drawn from a population, and for these people alone.
    """

    excess: Vector
    gain: float
    spread: Mapping[Target, tuple[float | Vector, float, float]]
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

    `inside` and `outside` are the second moments of what a member's and another's report adds,
    which lies between `ends`.
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
