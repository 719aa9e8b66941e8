"""Quantities of several groups: compared, weighted, pooled and followed over time.

The interval of a difference is MOVER's (Zou and Donner, Statistics in Medicine 27, 2008): each side
of it is made of the two groups' own score intervals, so it is as long as they are where shares are
rare or reports are few. The test takes both variances at the share that both groups would have if
they did not differ. With few reports, a p-value is the largest chance of a miss at which the
interval, made of exact ones, excludes a difference of 0. Many tests are adjusted by Holm's method
(1979).

Quantiles among other quantities: from distribution functions that are inverted, never averaged.

Means and shares of groups add up with their variances; quantiles do not. Two groups at 10 and at
90 have their common median in the gap between them, however well each one's own is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Mask
from rumor.core.types import Rows, Vector, checked_target
from rumor.estimators.groups import Bounds, PooledSamples, Sample, few_ends, two_sided_p_value
from rumor.kinds.base import Kind
from rumor.kinds.measures import UP_TO, DistributionFunction, Measures, Quantiles
from rumor.mechanisms.summary import Summary

_LARGEST = 12.0  # the normal quantile up to which intervals of few reports are searched
_HALVINGS = 24  # so that a quantile is found to a millionth


@dataclass(frozen=True)
class Sum:
    """A weighted sum of quantities of several samples of different people."""

    samples: Sequence[Sample]
    weights: Sequence[float]

    @property
    def mean(self) -> Vector:
        """The weighted sum, which is unbiased as its parts are."""
        return np.asarray(sum(w * s.mean for w, s in zip(self.weights, self.samples, strict=True)))

    @property
    def stderr(self) -> Vector:
        """The standard error: variances of different people add up."""
        parts = zip(self.weights, self.samples, strict=True)
        return np.sqrt(sum(w * w * s.stderr**2 for w, s in parts))

    def bounds(self, z: float | Vector) -> Bounds:
        """Return the ends, by adding up the squared distances of the samples' own ends."""
        return self._around(
            [sample.mean for sample in self.samples], [sample.bounds(z) for sample in self.samples]
        )

    def _around(self, means: Sequence[Vector], bounds: Sequence[Bounds]) -> Bounds:
        """Return the ends around the weighted sum of `means`, whose own `bounds` are given."""
        below = above = middle = np.zeros(means[0].shape)
        for weight, mean, (low, high) in zip(self.weights, means, bounds, strict=True):
            ends = weight * (np.minimum(low, mean) - mean), weight * (np.maximum(high, mean) - mean)
            below = below + np.minimum(*ends) ** 2
            above = above + np.maximum(*ends) ** 2
            middle = middle + weight * mean
        return middle - np.sqrt(below), middle + np.sqrt(above)


@dataclass(frozen=True)
class WeightedMean(Sum):
    """A weighted mean: weights are positive and sum to 1."""

    def bounds(self, z: float | Vector) -> Bounds:
        """Return one score interval of the mean itself, as if of one sample with its variance.

        Intervals of groups of a few people are longer than their variance says, and squares of
        their distances add up to less than that of the sum: added up, they would be too short.
        Every group's variance is taken at the mean, where that of a share is largest on average.
        Where reports are few, it is stretched to hold exact ends (few_groups.py).
        """
        parts = list(zip(self.weights, self.samples, strict=True))
        people = 1 / sum(w * w / s.reports for w, s in parts)
        spread = [
            np.asarray(sum(w * w / s.reports * s.spread[k] for w, s in parts) * people)
            for k in range(3)
        ]
        known = np.isfinite(spread[0])
        rows = np.flatnonzero(known)
        low, high = np.full(known.shape, -np.inf), np.full(known.shape, np.inf)
        first, second, third = (each[rows] for each in spread)
        whole = Sample(self.mean[rows], (first, second, third), people)
        low[rows], high[rows] = whole.bounds(np.broadcast_to(z, known.shape)[rows])
        weights = np.array([np.full(known.shape, weight) for weight in self.weights])
        least, most = few_ends(self.samples, weights, z)
        return np.minimum(low, least), np.maximum(high, most)


@dataclass(frozen=True)
class Differences(Sum):
    """The second sample less the first."""

    correlation: Vector | float = 0.0
    """The correlation of both samples' estimates; 0 for different people drawn one by one."""

    @classmethod
    def between(cls, first: Sample, second: Sample) -> Differences:
        """Return the difference from the `first` group to the `second`."""
        return cls((first, second), (-1.0, 1.0))

    @property
    def stderr(self) -> Vector:
        """The standard error of the difference."""
        first, second = (sample.stderr for sample in self.samples)
        return np.sqrt(np.square(super().stderr) - 2 * self._correlated(first, second))

    def _correlated(self, first: Vector, second: Vector) -> Vector:
        """Return the product of two deviations times their correlation; 0 where that is 0."""
        linked = np.broadcast_to(self.correlation, first.shape)
        product = np.multiply(first, second, out=np.zeros(first.shape), where=linked != 0)
        return np.asarray(linked * product)

    def _around(self, means: Sequence[Vector], bounds: Sequence[Bounds]) -> Bounds:
        """Return the ends by MOVER for correlated estimates (Zou and Donner 2008)."""
        middle = means[1] - means[0]
        (low, high), (least, most) = (
            (np.minimum(end[0], mean) - mean, np.maximum(end[1], mean) - mean)
            for mean, end in zip(means, bounds, strict=True)
        )
        below = least**2 + high**2 + 2 * self._correlated(least, high)
        above = most**2 + low**2 + 2 * self._correlated(most, low)
        return middle - np.sqrt(below), middle + np.sqrt(above)

    def bounds(self, z: float | Vector) -> Bounds:
        """Return the ends; with few reports, they include those around possible shares.

        Estimates of two mechanisms may lie further outside of 0 and 1, on both sides, than squares
        of distances reach.
        """
        bounds = [sample.bounds(z) for sample in self.samples]
        low, high = self._around([sample.mean for sample in self.samples], bounds)
        few = self._few
        if few.any():
            least, most = self._around([s.plausible(s.mean) for s in self.samples], bounds)
            low = np.where(few, np.minimum(low, least), low)
            high = np.where(few, np.maximum(high, most), high)
        return low, high

    @cached_property
    def _few(self) -> Mask:
        return np.asarray(np.logical_or.reduce([sample.few for sample in self.samples]))

    @property
    def p_value(self) -> Vector:
        """The chance of so large a difference without an effect, for each quantity by itself."""
        common = PooledSamples(self.samples).mean
        first, second = (s.variance(s.plausible(common)) for s in self.samples)
        shared = self._correlated(np.sqrt(first), np.sqrt(second))
        variance = first + second - 2 * shared
        found = two_sided_p_value(self.mean / np.sqrt(variance))
        few = np.flatnonzero(self._few)
        if few.size:
            found[few] = Differences([s.at(few) for s in self.samples], self.weights).few_p_value()
        return found

    def few_p_value(self) -> Vector:
        """Return the largest chance of a miss at which the intervals hold no difference of 0."""
        low, high = np.zeros(self.mean.size), np.full(self.mean.size, _LARGEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ends = self.bounds(middle)
            without = (ends[0] > 0) | (ends[1] < 0)
            low, high = np.where(without, middle, low), np.where(without, high, middle)
        return two_sided_p_value(low)


# The standard error of a quantile is the length of its 95% interval over twice this.
_Z = 1.959963984540054


class Combination(Protocol):
    """Quantities made of several samples."""

    @property
    def mean(self) -> Vector:
        """The estimates of the quantities."""
        ...

    @property
    def stderr(self) -> Vector:
        """The standard errors of the quantities."""
        ...

    def bounds(self, z: float) -> Bounds:
        """Return both ends of the intervals, for a two-sided normal quantile `z`."""
        ...


@dataclass(frozen=True)
class WithQuantiles:
    """Combined quantities, some of whose rows are quantiles of a combined distribution."""

    linear: Combination
    quantiles: Quantiles

    @property
    def mean(self) -> Vector:
        """The quantities; quantiles are inverted from the combined distribution."""
        return _put(self.linear.mean, self.quantiles.rows, self.quantiles.inverted(_Z)[0])

    @property
    def stderr(self) -> Vector:
        """The standard errors; those of quantiles are derived from 95% intervals."""
        _, low, high = self.quantiles.inverted(_Z)
        return _put(self.linear.stderr, self.quantiles.rows, (high - low) / (2 * _Z))

    def bounds(self, z: float) -> Bounds:
        """Return the ends, those of quantiles by inversion."""
        below, above = self.linear.bounds(z)
        _, low, high = self.quantiles.inverted(z)
        rows = self.quantiles.rows
        return _put(below, rows, low), _put(above, rows, high)


@dataclass(frozen=True)
class QuantileDifferences:
    """Differences of two groups, some of whose rows are quantiles of their distributions."""

    linear: Differences
    first: Quantiles
    second: Quantiles

    @property
    def mean(self) -> Vector:
        """The differences, the second group less the first."""
        values = self.second.inverted(_Z)[0] - self.first.inverted(_Z)[0]
        return _put(self.linear.mean, self.first.rows, values)

    @property
    def stderr(self) -> Vector:
        """The standard errors; those of quantiles are derived from 95% intervals."""
        low, high = self._ends(_Z)
        return _put(self.linear.stderr, self.first.rows, (high - low) / (2 * _Z))

    @property
    def p_value(self) -> Vector:
        """The chance of so large a difference without an effect, for each quantity by itself."""
        one, other = self.first.curve, self.second.curve
        found = [other.p_value(one, share) for share in self.first.shares]
        return _put(self.linear.p_value, self.first.rows, np.array(found))

    def bounds(self, z: float) -> Bounds:
        """Return the ends, those of quantiles by inversion of both distributions at once."""
        below, above = self.linear.bounds(z)
        low, high = self._ends(z)
        return _put(below, self.first.rows, low), _put(above, self.first.rows, high)

    def _ends(self, z: float) -> Bounds:
        one, other = self.first.curve, self.second.curve
        found = np.array([other.less(one, q, z)[1:] for q in self.first.shares])
        return found[:, 0], found[:, 1]


def _put(vector: Vector, rows: Rows, values: Vector) -> Vector:
    found = np.array(vector, dtype=np.float64)
    found[rows] = values
    return found


_FOLLOWED = "shares up to a value: if answers are spread smoothly around it."


def measure_groups(
    kind: Kind[Any],
    summaries: Sequence[Summary],
    of: str = "population",
    options: Mapping[str, Any] | None = None,
) -> list[Measures]:
    """Return the measures of each summary, checked to be of equal quantities."""
    target = checked_target(of)
    found = [kind.measures(one.mechanism, one, target, options or {}) for one in summaries]
    first = found[0]
    for other in found:
        same = list(other.values) == list(first.values)
        if not same or list(other.quantities) != list(first.quantities):
            raise InputError(
                "groups must answer the same question, with the same answers to choose from; "
                "got different ones"
            )
    return found


def collect_notes(notes: Sequence[str], found: Sequence[Measures]) -> list[str]:
    """Return `notes` and those of all groups, each sentence once."""
    return [*notes, *dict.fromkeys(note for one in found for note in one.notes)]


def weight_groups(found: Sequence[Measures], weights: Sequence[float]) -> Combination:
    """Return the quantities of a population whose groups have these `weights`."""
    linear = WeightedMean([one.sample for one in found], weights)
    curves = _curves(found)
    return _with_quantiles(linear, found[0], curves and type(curves[0]).weighted(curves, weights))


def pool_sources(found: Sequence[Measures]) -> Combination:
    """Return the quantities of one population from several sources of it."""
    linear, curves = PooledSamples([one.sample for one in found]), _curves(found)
    return _with_quantiles(linear, found[0], curves and type(curves[0]).pooled(curves))


def differences(first: Measures, second: Measures) -> Differences | QuantileDifferences:
    """Return the second group's quantities less the first's."""
    linear = Differences.between(first.sample, second.sample)
    if first.quantiles is None or second.quantiles is None:
        return linear
    return QuantileDifferences(linear, first.quantiles, second.quantiles)


def measures_over_time(found: Sequence[Measures]) -> list[Measures]:
    """Return the measures of periods, with shares in the place of quantiles.

    A quantile moves by leaps where few people are between two values; the share of people up to
    the quantile of all periods does not, and moves whenever the quantile does.
    """
    curves = _curves(found)
    if not curves:
        return list(found)
    common, shares = type(curves[0]).pooled(curves), found[0].quantiles
    assert shares is not None  # there are curves
    places = sorted({common.position(share) for share in shares.shares})
    return [_with_shares_up_to(one, places, common.up_to_names(places)) for one in found]


def _with_shares_up_to(one: Measures, places: Sequence[int], names: Sequence[str]) -> Measures:
    assert one.quantiles is not None
    assert one.function is not None
    kept = [i for i in range(len(one.values)) if i not in set(one.quantiles.rows.tolist())]
    mean, stderr = (
        np.concatenate([rows[kept], shares[places]])
        for rows, shares in (
            (one.sample.mean, one.function.mean),
            (one.sample.stderr, one.function.stderr),
        )
    )
    values = [str(one.values[i]) for i in kept] + list(names)
    quantities = [one.quantities[i] for i in kept] + [UP_TO] * len(places)
    return Measures(values, quantities, Sample.known(mean, stderr), notes=(_FOLLOWED,))


def _curves(found: Sequence[Measures]) -> list[DistributionFunction]:
    return [one.quantiles.curve for one in found if one.quantiles is not None]


def _with_quantiles(
    linear: Combination,
    first: Measures,
    curve: DistributionFunction | list[DistributionFunction],
) -> Combination:
    if first.quantiles is None or isinstance(curve, list):
        return linear
    return WithQuantiles(linear, replace(first.quantiles, curve=curve))
