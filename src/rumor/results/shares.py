"""The share of several values together, estimated directly.

The answers of a table may not be added up. A method that knows all values at once shrinks rare
ones towards each other: each of them is better for it, and their sum is worse, since all
err in one direction. So a sum has an estimate of its own, linear and unbiased, and an
interval by the test for a single value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rumor.core.binomial import FEW
from rumor.core.errors import InputError, format_value
from rumor.core.plain_text import decimals_for, one_line, percent
from rumor.core.types import Rows, Tally, Target, Vector
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.support import Score
from rumor.results.counts import bounded_ends
from rumor.results.intervals import EqualTails, ScoreIntervals, equal_ends
from rumor.results.sequences import ONE_LOOK, OneLook

_ONE_COUNT = 1 + 1e-9  # how far apart the bounds are where a report counts for a group or does not


@dataclass(frozen=True)
class Share:
    """The share of some values together: unbiased, with its standard error and interval.

    As an unbiased estimate, `unbiased` may lie outside of 0 to 1; the interval does not.
    """

    values: Sequence[int] | Sequence[str]
    unbiased: float
    stderr: float
    low: float
    high: float
    level: float
    of: str
    looks: str = "one"

    def to_dict(self) -> dict[str, object]:
        """Return the share as plain data for JSON."""
        return {**vars(self), "values": list(self.values)}

    def __str__(self) -> str:
        digits = decimals_for(self.stderr)
        names = ", ".join(one_line(value) for value in self.values)
        low, high = percent(self.low, digits), percent(self.high, digits)
        return (
            f"{names} together: {percent(self.unbiased, digits)} ({percent(self.level)} interval "
            f"{low} to {high}, std. error {percent(self.stderr, digits)})"
        )


class Groups(Protocol):
    """The interface for the share of any group of values."""

    def score(self, members: Rows) -> tuple[Score, int]:
        """Return a mean whose expectation gives the share, and its number of reports."""
        ...


@dataclass(frozen=True)
class OracleGroups:
    """Shares of groups from the tally of a frequency oracle."""

    oracle: FrequencyOracle
    tally: Tally
    reports: int

    def score(self, members: Rows) -> tuple[Score, int]:
        """Return the oracle's own score."""
        return self.oracle.group_score(self.tally, self.reports, members), self.reports


@dataclass(frozen=True)
class ChannelGroups:
    """Shares of groups from counts of a channel's outputs, and its inverse (outputs by inputs)."""

    inverse: Vector
    seen: Vector

    def score(self, members: Rows) -> tuple[Score, int]:
        """Return a mean of the inverse's entries for the outputs, whose variance is observed."""
        added, total = self.inverse[:, members].sum(axis=1), float(self.seen.sum())
        mean, square = (float(self.seen @ added**power) / total for power in (1, 2))
        spread: dict[Target, tuple[float | Vector, float, float]] = {
            "population": (square, 0.0, -1.0)
        }
        ends = float(added.min()), float(added.max())
        return Score(np.array([mean]), 1.0, spread, ends), round(total)


def group_share(
    groups: Groups,
    members: Rows,
    values: Sequence[int] | Sequence[str],
    level: float,
    of: Target,
    look: OneLook = ONE_LOOK,
) -> Share:
    """Return the share of `members`, with an interval that holds at this `look`."""
    score, reports = groups.score(members)
    if of not in score.spread:
        raise InputError(
            f'this estimate has intervals of the "population" only; got {format_value(of)}'
        )
    unbiased = float(score.excess[0] / score.gain)
    tails = EqualTails.of(level, look=look)
    ends = equal_ends(ScoreIntervals(score, reports), tails, 1, of)
    low, high = float(ends[0][0]), float(ends[1][0])
    v0, v1, v2 = (float(np.asarray(v)) for v in score.spread[of])
    plausible = min(max(unbiased, 0.0), 1.0)
    variance = max(v0 + v1 * plausible + v2 * plausible**2, 0.0)
    stderr = float(np.sqrt(variance / reports)) / score.gain
    few = few_share_ends(score, reports, tails, of)
    if few is not None:
        low, high = min(low, few[0]), max(high, few[1])
    return Share(values, unbiased, stderr, low, high, level, of, look.name)


def few_share_ends(
    score: Score, reports: int, tails: EqualTails, of: Target = "population"
) -> tuple[float, float] | None:
    """Return ends of a share if few reports tell of it, else None.

    Each report adds to the mean no more than the ends of its `score`.
    """
    if score.ends is None:
        return None
    v0, v1, v2 = (float(np.asarray(v)) for v in score.spread[of])
    share = min(max(float(score.excess[0] / score.gain), 0.0), 1.0)
    span = score.ends[1] - score.ends[0]
    # Sums of many values are smooth earlier than a count, and their bounds further apart.
    limit = FEW * span**2 if span <= _ONE_COUNT else FEW / 4
    if reports * (v0 + v1 * share + v2 * share**2) >= limit:
        return None
    least, most = (np.array([end]) for end in score.ends)
    trials = np.array([float(reports)])
    found = bounded_ends(score.excess, trials, (least, most), tails.rows(1))
    low, high = (float(np.clip(end[0] / score.gain, 0.0, 1.0)) for end in found)
    return low, high


def members_of(known: Sequence[int] | Sequence[str], asked: object) -> Rows:
    """Return the places of the `asked` values, or raise an error: each must be named once."""
    if isinstance(asked, (str, bytes)) or not hasattr(asked, "__iter__"):
        raise InputError(f"a share is of a list of values; got {format_value(asked)}")
    places = {value: i for i, value in enumerate(known)}
    found = []
    for value in asked:
        if value not in places:
            raise InputError(f"a share is of values of this estimate; got {format_value(value)}")
        found.append(places[value])
    if not found or len(set(found)) != len(found):
        raise InputError(f"a share is of values named once each; got {format_value(list(asked))}")
    return np.array(found, dtype=np.intp)
