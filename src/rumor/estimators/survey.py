"""Survey designs: weights, strata, clusters and margins, and the variances that follow.

A report's score is an ordinary survey variable: y_i is 1 if report i supports the value, and the
weighted mean s = sum w y / sum w is mapped to the share as an unweighted one is. So everything that
survey statistics knows of such means holds for private answers too, noise included.

*Variance.* By linearisation: u_i = w_i (y_i - s) / sum w, summed over each cluster c of a stratum h
with C_h clusters, gives V = sum_h C_h / (C_h - 1) sum_c (u_hc - mean_h)^2. Weights that were raked
to margins take the residual of y's weighted regression on the margins in the place of y - s
(Deville and Sarndal, Journal of the American Statistical Association 87, 1992). A stratum with one
cluster shows no spread: its u is measured from the common mean, which is 0.

*Interval.* Wilson's for s, of n* = s (1 - s) / V reports, with Student's quantile. Where weights
differ much and few reports support a value, V is small by chance, exactly where s is too low. So
without clusters V is at least that of reports that are independent of their weights,
s (1 - s) sum w^2 / (sum w)^2. Simulated at design effects up to 5, this covers as it says; without
it, 83 % do.

*Degrees of freedom.* By Satterthwaite's formula, from weights alone: those of an estimated variance
would be many where it happens to be small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from rumor.core.columns import as_column
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Mask, Reports
from rumor.core.types import Rows, Vector
from rumor.estimators.groups import Sample

_ROUNDS = 100
_MET = 1e-8  # the relative error at which a margin is met
_UNEVEN = 3.0  # the design effect from which the heaviest weights are named
_HEAVIEST = 0.05
_LEAST = 1e-300
_NAMED = 12


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """How people came into a sample: a weight, a stratum and a cluster for each of them.

    `margins` are what is known of the population, to which weights are raked: by the name of a
    public column, its value for each person and the size of each value in the population.
    """

    weights: object = None
    strata: object = None
    clusters: object = None
    margins: Mapping[str, tuple[object, Mapping[str, float]]] = field(default_factory=dict)

    def resolve(self, people: int) -> Survey:
        """Return the design of `people` people, with their weights raked to the margins."""
        weights = np.ones(people) if self.weights is None else checked_weights(self.weights)
        strata, clusters = (
            None if column is None else _codes(column) for column in (self.strata, self.clusters)
        )
        margins = {name: (_names(column), sizes) for name, (column, sizes) in self.margins.items()}
        lengths = {
            "weights": weights.size,
            **({} if strata is None else {"strata": len(strata[1])}),
            **({} if clusters is None else {"clusters": len(clusters[1])}),
            **{name: len(column) for name, (column, _) in margins.items()},
        }
        for name, length in lengths.items():
            if length != people:
                raise InputError(
                    f"{name} must have a row for each of the {people:,} reports; got {length:,}"
                )
        return _resolved(weights, strata, clusters, margins)


def checked_weights(weights: object) -> Vector:
    """Return `weights` as numbers, or raise an InputError that names the first that is none."""
    column = as_column(weights)
    rule = "weights must be numbers above 0"
    try:
        found = np.asarray(column, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InputError(f"{rule}; got a column of other things") from None
    wrong = np.flatnonzero(~((found > 0) & (found < np.inf)))
    if wrong.size:
        row = int(wrong[0])
        raise InputError(f"{rule}; got {found[row]:g} in row {row + 1:,}")
    return found


_Coded = tuple[Sequence[str], Rows]


def _codes(column: object) -> _Coded:
    names, codes = np.unique(_names(column), return_inverse=True)
    return names.tolist(), codes.reshape(-1)


def _names(column: object) -> Sequence[str]:
    """Return a column as texts; a missing value is "none"."""
    values = column if isinstance(column, list) else as_column(column).tolist()
    return ["none" if value is None or value != value else str(value) for value in values]


def _resolved(
    weights: Vector,
    strata: _Coded | None,
    clusters: _Coded | None,
    margins: Mapping[str, tuple[Sequence[str], Mapping[str, float]]],
) -> Survey:
    kept, notes = _known_margins(margins, weights)
    rows = np.flatnonzero(kept)
    inside = [
        _Margin.of(name, np.asarray(column, dtype=object)[rows], sizes)
        for name, (column, sizes) in margins.items()
    ]
    raked = _raked(weights[rows], inside)
    layers = None if strata is None else strata[1][rows]
    units = None if clusters is None else clusters[1][rows]
    columns = [margin.columns() for margin in inside]
    survey = Survey(
        raked / raked.mean(),
        kept,
        layers,
        _units(layers, units, raked.size),
        units is not None,
        np.hstack(columns) if columns else None,
        tuple(notes),
    )
    alone = survey.alone()
    if strata is None or not alone.size:
        return survey
    names = [strata[0][i] for i in alone]
    what = "cluster" if units is not None else "report"
    lonely = (
        f"strata of one {what}: {listed(names)}. What they add to the variance is measured from "
        f"the common mean."
    )
    return Survey(**{**vars(survey), "notes": (*survey.notes, lonely)})


@dataclass(frozen=True)
class _Margin:
    """A public column, and the population's share of each of its values."""

    name: str
    values: Sequence[str]
    shares: Vector
    codes: Rows

    @classmethod
    def of(cls, name: str, column: NDArray[np.object_], sizes: Mapping[str, float]) -> _Margin:
        values, codes = np.unique(column.astype(str), return_inverse=True)
        known = np.array([sizes[str(value)] for value in values], dtype=np.float64)
        return cls(name, values.tolist(), known / known.sum(), codes.reshape(-1))

    def columns(self) -> Vector:
        """Return an indicator column for each value."""
        return np.asarray(self.codes[:, None] == np.arange(len(self.values)), dtype=np.float64)

    def shares_of(self, weights: Vector) -> Vector:
        """Return the share of each value by `weights`."""
        held = np.bincount(self.codes, weights, minlength=len(self.values))
        return np.asarray(held / weights.sum())


def _known_margins(
    margins: Mapping[str, tuple[Sequence[str], Mapping[str, float]]], weights: Vector
) -> tuple[Mask, list[str]]:
    """Return who has a value of known size in every margin, and what is left out, in words."""
    kept = np.ones(weights.size, dtype=np.bool_)
    notes = []
    for name, (column, sizes) in margins.items():
        for value, size in sizes.items():
            if not (isinstance(size, (int, float, np.number)) and 0 <= size < np.inf):
                raise InputError(
                    f"sizes of a margin must be numbers from 0 on; got {format_value(size)} for "
                    f"{value!r} of {name!r}"
                )
        known = np.array([sizes.get(value, 0.0) > 0 for value in column], dtype=np.bool_)
        unknown = sorted({v for v, there in zip(column, known, strict=True) if not there})
        if unknown:
            notes.append(f"{name}: without a size, and left out: {listed(unknown)}.")
        kept &= known
    if not kept.any():
        raise InputError(
            f"margins must be of values that reports have; no report has a value of "
            f"{listed(list(margins))} whose size is given"
        )
    for name, (column, sizes) in margins.items():
        seen = {value for value, there in zip(column, kept, strict=True) if there}
        silent = [value for value, size in sizes.items() if size > 0 and value not in seen]
        if silent:
            part = sum(sizes[value] for value in silent) / sum(sizes.values())
            notes.append(
                f"{name}: no reports of {listed(silent)}, {part:.1%} of the population: the "
                f"estimate is of the rest."
            )
    return kept, notes


def _raked(weights: Vector, margins: Sequence[_Margin]) -> Vector:
    """Return the weights nearest to `weights` that meet all margins (Deming and Stephan 1940)."""
    for _ in range(_ROUNDS if margins else 0):
        for margin in margins:
            weights = weights * (margin.shares / margin.shares_of(weights))[margin.codes]
        if all(_distance(margin, weights) < _MET for margin in margins):
            return weights
    for margin in margins:
        if (off := _distance(margin, weights)) >= _MET:
            raise InputError(
                f"weights must meet all margins after at most {_ROUNDS} rounds of raking; "
                f"{margin.name!r} is still {off:.2g} off, as some values never occur together: "
                f"join some of them, or leave a margin out"
            )
    return weights


def _distance(margin: _Margin, weights: Vector) -> float:
    return float(np.abs(margin.shares_of(weights) / margin.shares - 1).max())


def _units(strata: Rows | None, clusters: Rows | None, people: int) -> Rows | None:
    """Return the number of each person's sampling unit, a cluster of a stratum; None for people."""
    if clusters is None:
        return None if strata is None else np.arange(people)
    layer = np.zeros(people, dtype=np.intp) if strata is None else strata
    both = layer * (int(clusters.max()) + 1) + clusters
    return np.asarray(np.unique(both, return_inverse=True)[1].reshape(-1), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Survey:
    """The people of a sample: weights with a mean of 1, and how they were drawn."""

    weights: Vector
    kept: Mask
    """Who of those asked has a value in every margin."""
    strata: Rows | None
    units: Rows | None
    """Each person's sampling unit; None where people were drawn one by one, without strata."""
    clustered: bool
    columns: Vector | None
    """Indicators of all values of all margins."""
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> int:
        """The number of sampling units."""
        return self.people if self.units is None else int(self.units.max()) + 1

    @property
    def people(self) -> int:
        """The number of people with a weight."""
        return int(self.weights.size)

    def _of_unit(self) -> tuple[Rows, Rows]:
        """Return the stratum of each unit, and the number of units of each stratum."""
        assert self.units is not None
        layer = np.zeros(int(self.units.max()) + 1, dtype=np.intp)
        layer[self.units] = 0 if self.strata is None else self.strata
        return layer, np.bincount(layer)

    def alone(self) -> Rows:
        """Return the strata that have a single unit."""
        if self.strata is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(self._of_unit()[1] == 1)

    def variance(self, deviations: Vector) -> Vector:
        """Return the variance of weighted sums of `deviations` (people by quantities)."""
        return np.asarray((self._apart(deviations) ** 2).sum(axis=0))

    def covariance(self, deviations: Vector) -> Vector:
        """Return the covariance of weighted sums of `deviations` (people by quantities)."""
        apart = self._apart(deviations)
        return np.asarray(apart.T @ apart)

    def _apart(self, deviations: Vector) -> Vector:
        """Return each unit's distance from the mean of its stratum; squares sum to variances."""
        terms = self.weights[:, None] * self.residuals(deviations)
        if self.units is None:
            n = len(terms)
            return np.asarray((terms - terms.mean(axis=0)) * math.sqrt(n / max(n - 1, 1)))
        layer, units = self._of_unit()
        sums = np.zeros((layer.size, terms.shape[1]))
        np.add.at(sums, self.units, terms)
        total = np.zeros((units.size, terms.shape[1]))
        np.add.at(total, layer, sums)
        several = units > 1
        size = np.where(several, units, 1)
        mean = np.where(several[:, None], total / size[:, None], 0.0)
        scale = np.where(several, np.sqrt(size / np.maximum(size - 1, 1)), 1.0)
        return np.asarray((sums - mean[layer]) * scale[layer][:, None])

    def residuals(self, deviations: Vector) -> Vector:
        """Return what the margins do not explain of `deviations`."""
        if self.columns is None:
            return deviations
        weighted = self.columns * self.weights[:, None]
        slopes = np.linalg.lstsq(self.columns.T @ weighted, weighted.T @ deviations, rcond=None)[0]
        return np.asarray(deviations - self.columns @ slopes)

    def freedom(self, inside: Mask | None = None) -> float:
        """Return the degrees of freedom of a variance, of the people `inside`."""
        weights = self.weights if inside is None else np.where(inside, self.weights, 0.0)
        squares = weights**2
        if self.units is None or not self.clustered:
            return float(squares.sum() ** 2 / np.maximum((squares**2).sum(), _LEAST))
        layer, _ = self._of_unit()
        own = np.bincount(self.units, squares)
        there = own > 0
        units = np.bincount(layer[there], minlength=layer.max() + 1)
        within, fourth = np.bincount(layer, own), np.bincount(layer, own**2)
        some = units > 0
        part = np.where(units > 1, (units - 1) / np.maximum(units, 1), 1.0)
        each = within[some] ** 2 / fourth[some] * part[some]
        return float(within.sum() ** 2 / (within[some] ** 2 / each).sum())

    def effect(self, inside: Mask | None = None) -> float:
        """Return the design effect of unequal weights (Kish): how many times as many reports."""
        weights = self.weights if inside is None else self.weights[inside]
        return float(weights.size * (weights**2).sum() / weights.sum() ** 2)

    def sentences(self, inside: Mask | None = None) -> list[str]:
        """Return what the design does to the precision, of the people `inside`, in words."""
        weights = self.weights if inside is None else self.weights[inside]
        effect = self.effect(inside)
        found = [
            f"design effect of the weights {effect:.3g}: as precise as "
            f"{weights.size / effect:,.0f} reports of equal weight."
        ]
        if effect > _UNEVEN:
            most = np.sort(weights)[::-1][: max(1, round(_HEAVIEST * weights.size))]
            found.append(
                f"a few people decide: the largest {_HEAVIEST:.0%} of weights hold "
                f"{most.sum() / weights.sum():.0%} of the total."
            )
        if self.clustered:
            assert self.units is not None
            layer, _ = self._of_unit()
            units = np.unique(self.units if inside is None else self.units[inside])
            strata = np.unique(layer[units]).size
            layers = "" if self.strata is None else f" in {strata:,} strata"
            found.append(
                f"{units.size:,} clusters{layers}: Student's distribution with "
                f"{self.freedom(inside):.3g} degrees of freedom."
            )
        return found


@dataclass(frozen=True, eq=False)
class Scores:
    """What each report says of some quantities: `hits` out of `trials`, as a mean.

    The mean is `zero` + `gain` times the quantity. Hits are 0 or 1 if they are `coins`, and no
    report's hit varies less than `least`.
    """

    hits: Vector
    trials: Vector | None = None
    zero: Vector | float = 0.0
    gain: Vector | float = 1.0
    coins: bool = False
    least: Vector | float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    """The limits between which the quantities lie."""


@dataclass(frozen=True, eq=False)
class WeightedMeans:
    """Weighted means of some people, and each person's deviations from them."""

    sample: Sample
    variance: Vector
    effect: Vector
    """The variance over that of as many people of equal weight, drawn one by one."""
    deviations: Vector
    freedom: float


def weighted_means(survey: Survey, scores: Scores, inside: Mask | None = None) -> WeightedMeans:
    """Return the weighted means of the people `inside`, by default of all."""
    weights = survey.weights if inside is None else np.where(inside, survey.weights, 0.0)
    trials = np.ones((weights.size, 1)) if scores.trials is None else scores.trials
    whole = weights @ trials
    known = whole > 0
    total = np.where(known, whole, 1.0)
    mean = (weights @ scores.hits) / total
    away = scores.hits - mean * trials
    rows = np.ones(weights.size) if inside is None else inside.astype(np.float64)
    deviations = np.asarray(rows[:, None] * away / total)
    variance = survey.variance(deviations)
    plain = (weights @ away**2) / total  # of one person
    part = (weights**2 @ trials**2) / total**2
    if not survey.clustered:
        unexplained = _unexplained(survey, rows[:, None] * away)
        within = np.maximum(plain * unexplained, scores.least)
        variance = np.maximum(variance, within * part)
    people = (rows @ trials**2) if scores.trials is not None else rows.sum()
    effect = np.divide(variance * people, plain, out=np.ones_like(mean), where=plain > 0)
    zero, gain = (np.broadcast_to(v, mean.shape) for v in (scores.zero, scores.gain))
    estimate = np.asarray((mean - zero) / gain)
    if scores.coins:
        # Where all reports agree, as many as weights of this size come to.
        agreeing = (plain <= _LEAST) | (variance <= _LEAST)
        each = np.where(agreeing, part, variance / np.where(plain > _LEAST, plain, 1.0))
        spread = zero * (1 - zero) / gain**2, (1 - 2 * zero) / gain, -np.ones_like(estimate)
        first, second, third = (np.asarray(v * each) for v in spread)
    else:
        first, second, third = (np.asarray(variance / gain**2), *np.zeros((2, estimate.size)))
    # Of a quantity that no report is about, nothing is known.
    first = np.where(known, first, np.inf)
    sample = Sample(estimate, (first, second, third), 1.0, scores.limits)
    return WeightedMeans(
        sample,
        np.asarray(variance / gain**2),
        effect,
        np.asarray(deviations / gain),
        survey.freedom(inside),
    )


def _unexplained(survey: Survey, away: Vector) -> Vector | float:
    """Return the part of the variance that the margins leave; `away` is 0 outside a group."""
    if survey.columns is None:
        return 1.0
    left, whole = survey.weights @ survey.residuals(away) ** 2, survey.weights @ away**2
    return np.minimum(np.divide(left, whole, out=np.ones_like(whole), where=whole > 0), 1.0)


def each_report(reports: Reports, read: Callable[[Reports], Vector]) -> Vector:
    """Return what `read` makes of each report alone, as rows; equal reports are read once."""
    distinct, where = np.unique(reports, axis=0, return_inverse=True)
    found = np.array([read(row[None]) for row in distinct], dtype=np.float64)
    return np.asarray(found[where.reshape(-1)])


def student_quantile(z: float, freedom: float) -> float:
    """Return Student's quantile with the same tail as the normal quantile `z`."""
    return float(-stdtrit(freedom, ndtr(-z)))


def student_p_value(p_value: Vector, freedom: float) -> Vector:
    """Return the p-values that normal ones become where a variance is estimated."""
    from scipy.special import ndtri

    return np.asarray(2 * stdtr(freedom, ndtri(np.clip(p_value, _LEAST, 1.0) / 2)))


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """Return `names` in quotes, abbreviated after the first `most`."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(repr(str(name)) for name in names[:most]) + rest
