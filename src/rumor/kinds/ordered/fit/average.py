"""The default estimate of a distribution: the average over all shapes, by their evidence.

Declared round numbers: part of the people round their answer to a mark, every so many values.

A mark is then more frequent than its neighbours by a factor, which is a parameter like any other:
where there are no heaps the factor is 1, or the laws without it have the weight, and nothing is
lost. The data cannot warn of heaps that nobody declared (a window that spans whole spacings
cannot see them).

The distribution of ordered answers from the output counts: the average over all laws.

Curves of several orders and strengths, atoms, and declared heaps are weighed by their evidence;
the answer is the average of their laws, each weighed by its evidence and by what it costs
beforehand. Intervals are by the delta method, law by law, under the rough laws alone: what the
counts cannot see, a smooth law denies without reason. The variance is the average of the laws'
own and that between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.curve import interval_of, reached
from rumor.kinds.ordered.fit.likelihood import Seen
from rumor.kinds.ordered.fit.search import Member, possible
from rumor.kinds.ordered.fit.shapes import Marks
from rumor.mechanisms.wave.band import Band


def checked_spacings(spacings: object, domain: int) -> tuple[Marks, ...]:
    """Pairs of a spacing and the place of the first mark, or the sentence that says why not."""
    rule = "round numbers are pairs of a spacing from 2 on and an offset from 0 to below it"
    if not isinstance(spacings, Sequence) or isinstance(spacings, str):
        raise InputError(f"{rule}; got {format_value(spacings)}")
    found = []
    for pair in spacings:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"{rule}; got {format_value(pair)}")
        spacing, first = pair
        whole = all(isinstance(part, (int, np.integer)) for part in pair)
        if not whole or spacing < 2 or not 0 <= first < spacing:
            raise InputError(f"{rule}; got {format_value(pair)}")
        if first + spacing < domain:  # else there is one mark at most: an atom, no heaps
            found.append(Marks(int(spacing), int(first)))
    return tuple(dict.fromkeys(found))


_LEAST = 1e-3
_SURE = 0.5
_Linear = Callable[[Vector], Vector]


def fit_ordered(band: Band, counts: object, spacings: Sequence[tuple[int, int]] = ()) -> OrderedFit:
    """The distribution behind the counts of a channel's outputs.

    `spacings` are declared round numbers: pairs of a spacing in bins and the first mark's bin.
    """
    seen = Seen(band, counts)
    declared = checked_spacings(spacings, band.domain)
    return OrderedFit(seen, possible(seen, declared))


class OrderedFit:
    """An estimated distribution over the bins 0..D-1, and how well each part of it is known."""

    def __init__(self, seen: Seen, members: list[Member]) -> None:
        self.domain, self.people = seen.domain, seen.people
        self.members = members
        scores = np.array([member.score for member in members])
        self._weights = _shares(scores)
        rough = np.array([member.fit.shape.law.rough for member in members])
        self._rough = _shares(np.where(rough, scores, -np.inf))

    @cached_property
    def frequency(self) -> Vector:
        """The share of every bin."""
        found = _mixed(self.members, self._weights, self.domain)
        return np.asarray(found / found.sum())

    @property
    def heaps_matter(self) -> bool:
        """Whether the counts speak for some of the declared round numbers."""
        declared = np.array(
            [
                any(isinstance(extra, Marks) for extra in member.fit.shape.extras)
                for member in self.members
            ]
        )
        return bool(self._weights[declared].sum() > _SURE)

    def linear(self, functional: Vector) -> tuple[Vector, Vector]:
        """The value and the standard deviation of v'f, for a vector v or for columns of several."""
        columns = np.asarray(functional, dtype=np.float64)
        if columns.ndim not in (1, 2) or len(columns) != self.domain:
            raise InputError(
                f"a functional must have one number for each of the {self.domain:,} bins; "
                f"got shape {columns.shape}"
            )
        squared = columns**2
        return self._known(lambda law: columns.T @ law, lambda law: squared.T @ law)

    def _known(self, applied: _Linear, squared: _Linear) -> tuple[Vector, Vector]:
        """Values and standard deviations of functionals v'f, given as f -> v'f and f -> (v^2)'f."""
        value = applied(self.frequency)
        total = np.zeros(np.shape(value))
        for member, weight in self._floored():
            found = member.fit
            moved = applied(found.shape.derivative(found.parameters))
            total += weight * np.sum((moved @ found.covariance) * moved, axis=-1)
            total += weight * (applied(member.frequency) - value) ** 2
            masses = found.shape.cells(found.parameters)[1]
            for mass, (places, likely) in zip(masses.tolist(), member.places, strict=True):
                there = np.zeros(self.domain)
                there[places] = likely
                scatter = squared(there) - applied(there) ** 2
                total += weight * mass**2 * np.maximum(scatter, 0.0)
            for differences, likely in member.moves:
                there = applied(differences.T)
                middle = there @ likely
                total += weight * (there**2 @ likely - middle**2)
        return value, np.sqrt(np.maximum(total, 0.0))

    def _floored(self) -> list[tuple[Member, float]]:
        pairs = zip(self.members, self._rough.tolist(), strict=True)
        kept = [(member, weight) for member, weight in pairs if weight > _LEAST]
        whole = sum(weight for _, weight in kept)
        return [(member, weight / whole) for member, weight in kept]

    @cached_property
    def cdf(self) -> tuple[Vector, Vector]:
        """The share up to and with each bin, and its standard deviation."""
        return self._known(_sums, _sums)

    def quantile(self, share: float, z: float) -> tuple[float, float, float]:
        """Where the distribution function reaches a share, and the ends of an interval.

        In bins on [0, D]: bin x covers [x, x + 1), evenly. `z` is the normal quantile of the
        level. The interval holds every place at which the band of the distribution function
        (made monotone: never narrower) has the share within it.
        """
        values, deviations = self.cdf
        margin = z * deviations
        low, high = np.maximum(values - margin, 0.0), np.minimum(values + margin, 1.0)
        return reached(self.frequency, share), *interval_of(low, high, share)


def _mixed(members: list[Member], weights: Vector, domain: int) -> Vector:
    found = np.zeros(domain)
    for member, weight in zip(members, weights.tolist(), strict=True):
        if weight > 0:
            found += weight * member.frequency
    return found


def _sums(law: Vector) -> Vector:
    return np.cumsum(law, axis=0)


def _shares(scores: Vector) -> Vector:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())
