"""Margins and two-way tables of some parts as one vector of free coordinates.

A margin of A values has A - 1 coordinates, those of an orthonormal basis of vectors that sum to
zero; what two parts have beside their margins has (A - 1)(B - 1). The table of a pair follows from
the margins of both and from its own interaction, so tables that share a part share its coordinates:
whatever is estimated in them is consistent.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Rows, Vector

Matrix = NDArray[np.float64]
Pair = tuple[int, int]


@functools.lru_cache(maxsize=64)
def contrasts(size: int) -> Matrix:
    """Columns that are orthonormal and sum to zero (Helmert's)."""
    found = np.zeros((size, size - 1))
    for column in range(1, size):
        found[:column, column - 1] = 1.0
        found[column, column - 1] = -column
    found /= np.sqrt((found**2).sum(axis=0))
    found.setflags(write=False)
    return found


class Coordinates:
    """The coordinates of all margins and all two-way tables of parts of these sizes."""

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
        """Which coordinates a table of these parts has, and the map from the table to them."""
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
        """The coordinates of a pair's table, the map from them to its cells, and what is added."""
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
        """The same of a margin."""
        size = self.sizes[part]
        return self.places[(part,)], contrasts(size), np.full(size, 1 / size)
