"""The unbiased estimate of all tables, from every report, with its exact covariance.

Each component of the mechanism gives an unbiased estimate of the table of its own parts. The
covariance of the counts follows from the chances that two cells are in one report. All of them are
observations of the same coordinates and are averaged by their precision, so a margin that some were
asked for alone mends the table that others were asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Rows, Vector
from rumor.estimators.frequency.simplex import project
from rumor.estimators.joint.coordinates import Coordinates, Matrix, Pair
from rumor.mechanisms.mixed import Counted

# What is not known at all: as much as any coordinate of a table can be.
_NOTHING_KNOWN = 1.0


@dataclass(frozen=True)
class Moments:
    """An estimate of some shares and its covariance."""

    mean: Vector
    covariance: Matrix

    @functools.cached_property
    def deviation(self) -> Vector:
        """The standard error of each."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class Seen:
    """An unbiased estimate of the table of some parts."""

    asks: tuple[int, ...]
    table: Moments


@dataclass(frozen=True)
class Linear:
    """All tables at once: their coordinates, estimated together."""

    coordinates: Coordinates
    mean: Vector
    covariance: Matrix

    def pair(self, pair: Pair) -> Moments:
        """The table of two parts, its cells in one row."""
        return self._of(*self.coordinates.table(pair))

    def margin(self, part: int) -> Moments:
        """The shares of one part's values."""
        return self._of(*self.coordinates.margin(part))

    def _of(self, places: Rows, maps: Matrix, added: Vector) -> Moments:
        own = self.covariance[np.ix_(places, places)]
        return Moments(added + maps @ self.mean[places], maps @ own @ maps.T)


def linear(sizes: Sequence[int], seen: Sequence[Seen]) -> Linear:
    """The average of what was seen, by precision."""
    coordinates = Coordinates(sizes)
    precision = np.zeros((coordinates.count, coordinates.count))
    weighted = np.zeros(coordinates.count)
    for one in seen:
        places, maps = coordinates.seen_by(one.asks)
        inverse = np.linalg.inv(maps @ one.table.covariance @ maps.T)
        precision[np.ix_(places, places)] += inverse
        weighted[places] += inverse @ (maps @ one.table.mean)
    unseen = np.flatnonzero(np.diag(precision) == 0)
    precision[unseen, unseen] = 1 / _NOTHING_KNOWN**2
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    return Linear(coordinates, covariance @ weighted, covariance)


def seen_in(counted: Sequence[Counted]) -> list[Seen]:
    """What the counts of each component say of its table, where there are some."""
    found = []
    for one in counted:
        if one.reports:
            oracle = one.component.oracle
            mean = oracle.unbiased(one.tally, one.reports)
            covariance = oracle.covariance(project(mean), one.reports)
            found.append(Seen(one.component.asks, Moments(mean, covariance)))
    return found
