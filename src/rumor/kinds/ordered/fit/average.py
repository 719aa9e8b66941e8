"""The default estimate of a distribution: the average over shapes, by marginal likelihood.

Curves of several orders and strengths, atoms, steps, levels and declared heaps are fitted to the
output counts. The estimate is the average of their distributions, each weighted by its marginal
likelihood and its prior cost. Intervals are by the delta method, prior by prior, under the rough
priors alone: a smooth prior denies features that the counts cannot show. The variance is the
average of the priors' own variances plus the variance between them.

Heaps are declared round numbers: some people round their answer to a multiple of a spacing. A
round number is then more frequent than its neighbours by a factor, which is a parameter: without
heaps the factor is 1, or the shapes without it have the weight, and nothing is lost. The data
cannot warn of heaps that nobody declared (a window that spans whole spacings cannot see them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.curve import interval_of, reached
from rumor.kinds.ordered.fit.likelihood import BandCounts
from rumor.kinds.ordered.fit.search import Member, fit_shapes
from rumor.kinds.ordered.fit.shapes import Marks
from rumor.mechanisms.wave.band import Band


def checked_spacings(spacings: object, domain: int) -> tuple[Marks, ...]:
    """Return pairs of a spacing and the place of the first round number, or raise an InputError."""
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
        if first + spacing < domain:  # one round number alone would be an atom, not a heap
            found.append(Marks(int(spacing), int(first)))
    return tuple(dict.fromkeys(found))


_LEAST = 1e-3
_SURE = 0.5
_Linear = Callable[[Vector], Vector]


def fit_ordered(band: Band, counts: object, spacings: Sequence[tuple[int, int]] = ()) -> OrderedFit:
    """Return the distribution behind the counts of a channel's outputs.

    `spacings` are declared round numbers: pairs of a spacing in bins and the first round number's
    bin.
    """
    seen = BandCounts(band, counts)
    declared = checked_spacings(spacings, band.domain)
    return OrderedFit(seen, fit_shapes(seen, declared))


class OrderedFit:
    """An estimated distribution over the bins 0..D-1, with the covariance of its functionals."""

    def __init__(self, seen: BandCounts, members: list[Member]) -> None:
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
        """Whether the counts support some of the declared round numbers."""
        declared = np.array(
            [
                any(isinstance(extra, Marks) for extra in member.fit.shape.extras)
                for member in self.members
            ]
        )
        return bool(self._weights[declared].sum() > _SURE)

    def linear(self, functional: Vector) -> tuple[Vector, Vector]:
        """Return value and standard deviation of v'f, for a vector v or for several columns."""
        columns = np.asarray(functional, dtype=np.float64)
        if columns.ndim not in (1, 2) or len(columns) != self.domain:
            raise InputError(
                f"a functional must have one number for each of the {self.domain:,} bins; "
                f"got shape {columns.shape}"
            )
        squared = columns**2
        return self._known(lambda law: columns.T @ law, lambda law: squared.T @ law)

    def _known(self, applied: _Linear, squared: _Linear) -> tuple[Vector, Vector]:
        """Return values and standard deviations of functionals v'f, given as f -> v'f and f
        -> (v^2)'f.
        """
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
        """Return the share up to and including each bin, and its standard deviation."""
        return self._known(_sums, _sums)

    def quantile(self, share: float, z: float) -> tuple[float, float, float]:
        """Return the bin position where the distribution function reaches `share`, with its
        interval.

        In bins on [0, D]: bin x covers [x, x + 1), evenly. `z` is the normal quantile of the
        level. The interval contains every place at which the band of the distribution function
        (made monotone: never narrower) contains the share.
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
