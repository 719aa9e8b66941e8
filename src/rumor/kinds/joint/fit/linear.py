"""Unbiased tables of several answers, in free coordinates, with their covariances.

Margins and two-way tables of some parts form one vector of free coordinates. A margin of A values
has A - 1 coordinates, those of an orthonormal basis of vectors that sum to zero; the interaction
of two parts has (A - 1)(B - 1). The table of a pair follows from the margins of both and from its
own interaction, so tables that share a part share its coordinates, and all estimates are
consistent.

The estimate of all tables uses every report and has an exact covariance. Each component of the
mechanism gives an unbiased estimate of the table of its own parts. The covariance of the counts
follows from the probabilities that two cells are in one report. The estimates observe shared
coordinates and are averaged by their precision, so a margin that some respondents were asked for
alone improves the table that others were asked for.

A table is also estimated from two answers that were randomised apart, where reports of one person
are known. With each answer by randomised response, a pair of reports is one of A times B outputs,
and its channel is the product of the two. So is the inverse, and x = (M^-1 (x) M^-1) o is
unbiased, o being the frequency of each pair of outputs. Its covariance is that of the outputs,
which are multinomial.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Rows, Tally, Vector
from rumor.estimators.frequency.linear import project
from rumor.mechanisms.mixed.mixed import ComponentCounts

Matrix = NDArray[np.float64]
Pair = tuple[int, int]


@functools.lru_cache(maxsize=64)
def contrasts(size: int) -> Matrix:
    """Return orthonormal columns that sum to zero (Helmert's)."""
    found = np.zeros((size, size - 1))
    for column in range(1, size):
        found[:column, column - 1] = 1.0
        found[column, column - 1] = -column
    found /= np.sqrt((found**2).sum(axis=0))
    found.setflags(write=False)
    return found


class TableCoordinates:
    """The coordinates of all margins and all two-way tables of parts of the given sizes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self.pairs: list[Pair] = list(itertools.combinations(range(len(self.sizes)), 2))
        self.places: dict[tuple[int, ...], Rows] = {}
        start = 0
        groups = [(part,) for part in range(len(self.sizes))] + list(self.pairs)
        for group in groups:
            size = int(np.prod([self.sizes[part] - 1 for part in group]))
            self.places[group] = np.arange(start, start + size)
            start += size
        self.count = start

    def seen_by(self, asks: Sequence[int]) -> tuple[Rows, Matrix]:
        """Return the coordinates of a table of the parts `asks`, and the map from the table
        to them.
        """
        places, maps = [], []
        for group in self.places:
            if set(group) <= set(asks):
                places.append(self.places[group])
                maps.append(self._map(group, asks))
        return np.concatenate(places), np.vstack(maps)

    def _map(self, group: Sequence[int], asks: Sequence[int]) -> Matrix:
        whole: Matrix = np.ones((1, 1))
        for part in asks:
            own = contrasts(self.sizes[part]).T if part in group else np.ones((1, self.sizes[part]))
            whole = np.asarray(np.kron(whole, own), dtype=np.float64)
        return whole

    def table(self, pair: Pair) -> tuple[Rows, Matrix, Vector]:
        """Return the coordinates of a pair's table, the map from them to its cells, and the
        offset.
        """
        one, other = (contrasts(self.sizes[part]) for part in pair)
        rows, columns = one.shape[0], other.shape[0]
        flat_rows, flat_columns = np.full((rows, 1), 1 / rows), np.full((columns, 1), 1 / columns)
        maps = np.hstack(
            [np.kron(one, flat_columns), np.kron(flat_rows, other), np.kron(one, other)]
        )
        groups = ((pair[0],), (pair[1],), pair)
        places = np.concatenate([self.places[group] for group in groups])
        return places, maps, np.full(rows * columns, 1 / (rows * columns))

    def margin(self, part: int) -> tuple[Rows, Matrix, Vector]:
        """Return the coordinates of a margin, the map from them to its shares, and the offset."""
        size = self.sizes[part]
        return self.places[(part,)], contrasts(size), np.full(size, 1 / size)


# The prior standard deviation of an unobserved coordinate: the largest a table can have.
_NOTHING_KNOWN = 1.0


@dataclass(frozen=True)
class Moments:
    """An estimate of some shares and its covariance."""

    mean: Vector
    covariance: Matrix

    @functools.cached_property
    def deviation(self) -> Vector:
        """The standard errors of the shares."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class ObservedTable:
    """An unbiased estimate of the table of the parts `asks`."""

    asks: tuple[int, ...]
    table: Moments


@dataclass(frozen=True)
class Linear:
    """A joint estimate of the coordinates of all tables."""

    coordinates: TableCoordinates
    mean: Vector
    covariance: Matrix
    pulls: Mapping[tuple[int, ...], Matrix]
    """By the parts of an observed table, how its cells (columns) move the coordinates (rows)."""

    def influence(self, asks: tuple[int, ...]) -> Matrix:
        """Return how the cells of the table of `asks` (columns) move all rows: cells of every
        pair, then margins.
        """
        known = self.coordinates
        pairs = [known.table(pair) for pair in known.pairs]
        margins = [known.margin(part) for part in range(len(known.sizes))]
        return np.vstack([maps @ self.pulls[asks][places] for places, maps, _ in pairs + margins])

    def pair(self, pair: Pair) -> Moments:
        """Return the table of two parts, its cells in one row."""
        return self._of(*self.coordinates.table(pair))

    def margin(self, part: int) -> Moments:
        """Return the shares of one part's values."""
        return self._of(*self.coordinates.margin(part))

    def _of(self, places: Rows, maps: Matrix, added: Vector) -> Moments:
        own = self.covariance[np.ix_(places, places)]
        return Moments(added + maps @ self.mean[places], maps @ own @ maps.T)


def linear(sizes: Sequence[int], seen: Sequence[ObservedTable]) -> Linear:
    """Return the average of the observed tables `seen`, weighted by precision."""
    coordinates = TableCoordinates(sizes)
    precision = np.zeros((coordinates.count, coordinates.count))
    weighted = np.zeros(coordinates.count)
    pulls = {}
    for one in seen:
        places, maps = coordinates.seen_by(one.asks)
        inverse = np.linalg.inv(maps @ one.table.covariance @ maps.T)
        precision[np.ix_(places, places)] += inverse
        weighted[places] += inverse @ (maps @ one.table.mean)
        pulls[one.asks] = places, inverse @ maps
    unseen = np.flatnonzero(np.diag(precision) == 0)
    precision[unseen, unseen] = 1 / _NOTHING_KNOWN**2
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    moved = {asks: covariance[:, places] @ pull for asks, (places, pull) in pulls.items()}
    return Linear(coordinates, covariance @ weighted, covariance, moved)


def observed_tables(counted: Sequence[ComponentCounts]) -> list[ObservedTable]:
    """Return the observed table of each component with reports."""
    found = []
    for one in counted:
        if one.reports:
            oracle = one.component.oracle
            mean = oracle.unbiased(one.tally, one.reports)
            covariance = oracle.covariance(project(mean), one.reports)
            found.append(ObservedTable(one.component.asks, Moments(mean, covariance)))
    return found


Rates = tuple[tuple[float, float], tuple[float, float]]
"""The hit and miss probabilities of either mechanism."""


def linked_table(counts: Tally, rates: Rates) -> Moments:
    """Return the table from `counts` of pairs of outputs of mechanisms with these `rates`."""
    people = float(counts.sum())
    inverse = linked_inverse(counts.shape, rates)
    mean = inverse @ (counts.ravel() / people)
    expected = np.kron(*_channels(counts.shape, rates)) @ project(mean)
    noise = (np.diag(expected) - np.outer(expected, expected)) / people
    return Moments(mean, np.asarray(inverse @ noise @ inverse.T))


def linked_inverse(sizes: tuple[int, ...], rates: Rates) -> Matrix:
    """Return the term that a pair of outputs (columns) adds to the estimate of each cell (rows)."""
    return np.kron(*(np.linalg.inv(channel) for channel in _channels(sizes, rates)))


def _channels(sizes: tuple[int, ...], rates: Rates) -> list[Matrix]:
    return [_channel(size, *own) for size, own in zip(sizes, rates, strict=True)]


def _channel(size: int, hit: float, miss: float) -> Matrix:
    return np.full((size, size), miss) + (hit - miss) * np.eye(size)
