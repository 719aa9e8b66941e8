"""The points of a projective space over a prime field, by number."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Codes


@dataclass(frozen=True)
class Space:
    """The points of a projective space: their numbers and their coordinates."""

    field: int
    """The prime q."""
    dimensions: int
    """The number t of dimensions of the vectors."""

    @classmethod
    def holding(cls, domain: int, field: int) -> Space:
        """Return the space of fewest dimensions, from 3, that has a point for each value."""
        dimensions = 3
        while points_of(field, dimensions) < domain:
            dimensions += 1
        return cls(field, dimensions)

    @functools.cached_property
    def points(self) -> int:
        """The number K of points."""
        return points_of(self.field, self.dimensions)

    @functools.cached_property
    def supporting(self) -> int:
        """The number s of points on one hyperplane."""
        return points_of(self.field, self.dimensions - 1)

    @functools.cached_property
    def common(self) -> int:
        """The number c of points on two hyperplanes."""
        return points_of(self.field, self.dimensions - 2)

    @functools.cached_property
    def others(self) -> int:
        """The number of points outside of one hyperplane."""
        return int(self.field ** (self.dimensions - 1))

    def vectors(self, points: Codes) -> tuple[Codes, Codes]:
        """Return the vectors of points, as numbers in base q, and
        the place of their last coordinate.
        """
        t, q = self.dimensions, self.field
        sizes = q ** np.arange(t - 1, -1, -1)
        starts = np.cumsum(sizes) - sizes
        beyond = np.searchsorted(starts, points, side="right") - 1
        return ((points - starts[beyond]) * q + 1) * (q**beyond), t - 1 - beyond

    def coordinates(self, vectors: Codes) -> list[Codes]:
        """Return the digits of vectors, the first the most significant."""
        digits = []
        for _ in range(self.dimensions):
            higher = vectors // self.field
            digits.append(vectors - higher * self.field)
            vectors = higher
        return digits[::-1]

    @functools.cached_property
    def inverses(self) -> Codes:
        """The inverses 1/x modulo q for each x, with 0 for 0."""
        return np.array([0, *(pow(x, -1, self.field) for x in range(1, self.field))])

    def number(self, vector: Sequence[Codes]) -> Codes:
        """Return the number of the point that each vector, none of them 0, is a multiple of."""
        q, last, scale = self.field, np.zeros_like(vector[0]), np.zeros_like(vector[0])
        for place, coordinate in enumerate(vector):
            last[coordinate != 0] = place
            scale = np.where(coordinate, coordinate, scale)
        scale = self.inverses[scale]
        code = np.zeros_like(last)
        for coordinate in vector:
            product = coordinate * scale
            code = code * q + product - product // q * q
        # The last coordinate is 1 now; the digits before it number the points with this `last`.
        shift = q ** np.arange(self.dimensions, 0, -1)
        starts = self.points - np.array([points_of(q, i + 1) for i in range(self.dimensions)])
        return np.asarray(starts[last] + code // shift[last])

    def answers(self, codes: Codes, inside: NDArray[np.bool_], picks: Codes) -> Codes:
        """Return the points that `picks` stand for, by the rule of `Projective.draw`."""
        t, hyperplane = self.dimensions, Space(self.field, self.dimensions - 1)
        vectors, place = self.vectors(codes)
        near, _ = hyperplane.vectors(np.where(inside, picks, 0))
        free = hyperplane.coordinates(np.where(inside, near, picks))
        own = self.coordinates(vectors)
        sums, given = np.zeros_like(codes), []
        for i, mine in enumerate(own):
            other = free[max(i - 1, 0)]
            if 0 < i < t - 1:
                other = np.where(i < place, free[i], other)
            given.append(other)
            # At `place` the coordinate is computed below, so that it adds nothing here.
            sums += np.where(place == i, 0, mine * other)
        fitting = (np.where(inside, 0, 1) - sums) % self.field
        return self.number([np.where(place == i, fitting, each) for i, each in enumerate(given)])


def points_of(field: int, dimensions: int) -> int:
    """Return the number of points in a space of `dimensions` dimensions."""
    return int((field**dimensions - 1) // (field - 1))
