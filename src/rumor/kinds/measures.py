"""What analysts compare, weigh and follow of a question: unbiased quantities, by name.

A kind's `compare.py` makes them of a summary. Shares of a choice, the mean of a number, mean,
quantiles and running shares of ordered answers: to everybody else they are rows alike. Quantiles
bring the distribution that they are of, which is what groups are put together by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rumor.core.errors import InputError
from rumor.core.types import Vector, checked_target
from rumor.estimators.compare.differences import Differences, WeightedMean
from rumor.estimators.compare.inverted import (
    Combination,
    QuantileDifferences,
    Quantiles,
    WithQuantiles,
)
from rumor.estimators.compare.pooled import Pooled
from rumor.estimators.compare.sample import Sample
from rumor.estimators.ordered.curve import Curve
from rumor.kinds.base import Kind
from rumor.mechanisms.kept import Kept
from rumor.mechanisms.summary import Summary

_FOLLOWED = "shares up to a value: if answers are spread smoothly around it."
SHARE, MEAN, UP_TO, QUANTILE = "share", "mean", "up to", "quantile"


@dataclass(frozen=True)
class Measures:
    """Quantities of one group: what each is, of which value, and what the reports say."""

    values: Sequence[str] | Sequence[int]
    quantities: Sequence[str]
    sample: Sample
    notes: tuple[str, ...] = ()
    """What must be said wherever these quantities are shown."""
    quantiles: Quantiles | None = None
    """The rows that are quantiles, with the distribution that they are of."""
    function: Sample | None = None
    """That distribution's function at every position, as the default method has it."""

    def noting(self, kept: Kept | None) -> Measures:
        """Add that only kept keys or options are counted, where there is a cap."""
        return self if kept is None else replace(self, notes=(*self.notes, kept.counted))

    @classmethod
    def shares(cls, values: Sequence[str] | Sequence[int], sample: Sample) -> Measures:
        """A share for each value."""
        return cls(values, [SHARE] * len(values), sample)

    @classmethod
    def known(
        cls, parts: Mapping[str, tuple[Sequence[str] | Sequence[int], Vector, Vector]]
    ) -> Measures:
        """By quantity: values, estimates and their standard errors."""
        values = [value for names, _, _ in parts.values() for value in names]
        quantities = [name for name, (names, _, _) in parts.items() for _ in names]
        mean, stderr = (np.concatenate([part[i] for part in parts.values()]) for i in (1, 2))
        return cls(values, quantities, Sample.known(mean, stderr))  # type: ignore[arg-type]


def measured(
    kind: Kind[Any],
    summaries: Sequence[Summary],
    of: str = "population",
    options: Mapping[str, Any] | None = None,
) -> list[Measures]:
    """What each summary says, checked to be of the same quantities."""
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


def noted(notes: Sequence[str], found: Sequence[Measures]) -> list[str]:
    """Return `notes`, and what any of these groups has to say, each sentence once."""
    return [*notes, *dict.fromkeys(note for one in found for note in one.notes)]


def weighted(found: Sequence[Measures], weights: Sequence[float]) -> Combination:
    """Return the quantities of a population whose groups have these `weights`."""
    linear = WeightedMean([one.sample for one in found], weights)
    curves = _curves(found)
    return _with_quantiles(linear, found[0], curves and Curve.weighted(curves, weights))


def pooled(found: Sequence[Measures]) -> Combination:
    """Return the quantities of one population from several sources of it."""
    linear, curves = Pooled([one.sample for one in found]), _curves(found)
    return _with_quantiles(linear, found[0], curves and Curve.pooled(curves))


def differences(first: Measures, second: Measures) -> Differences | QuantileDifferences:
    """Return the second group's quantities less the first's."""
    linear = Differences.between(first.sample, second.sample)
    if first.quantiles is None or second.quantiles is None:
        return linear
    return QuantileDifferences(linear, first.quantiles, second.quantiles)


def over_time(found: Sequence[Measures]) -> list[Measures]:
    """Return quantities of periods that are followed, shares in the place of quantiles.

    A quantile moves by leaps where few people are between two values; the share of people up to
    the quantile of all periods does not, and moves whenever the quantile does.
    """
    curves = _curves(found)
    if not curves:
        return list(found)
    common, shares = Curve.pooled(curves), found[0].quantiles
    assert shares is not None  # there are curves
    places = sorted({common.position(share) for share in shares.shares})
    return [_followed(one, places, common.scale.up_to_names(places)) for one in found]


def _followed(one: Measures, places: Sequence[int], names: Sequence[str]) -> Measures:
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


def _curves(found: Sequence[Measures]) -> list[Curve]:
    return [one.quantiles.curve for one in found if one.quantiles is not None]


def _with_quantiles(
    linear: Combination, first: Measures, curve: Curve | list[Curve]
) -> Combination:
    if first.quantiles is None or not isinstance(curve, Curve):
        return linear
    return WithQuantiles(linear, replace(first.quantiles, curve=curve))
