"""A second pass over the reports, for the information that the counts alone leave out.

Counts are all there is to know only while reports tell little. Given a first estimate, each
report says which of its values are likely the person's own, and so how much it should count:
one step of approximate message passing turns that into better estimates with noise levels
of their own, which go through the same empirical Bayes again.

It takes a few per cent off the error on the published cells that it was chosen on. On truths
that it was not chosen on it gains nothing (python -m benchmarks.honest_table --only refined),
and at epsilon 8 it can harm. It stays to compare with; hence also its limits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import EstimationData, Passes, total
from rumor.estimators.frequency.empirical import PosteriorMeans, oracle_auto, shrink
from rumor.mechanisms.subset_selection import SubsetSelection
from rumor.mechanisms.support import ItemCounts

MAX_EPSILON = 4.0
# A report's likelihood is not taken below this share of its average, nor a value's precision
# outside these multiples of what its count alone gives.
_LEAST_SHARE = 0.05
_PRECISIONS = (0.5, 20.0)
_LENT = 100.0


def oracle_refined(data: EstimationData) -> tuple[Vector, dict[str, object]]:
    """Return the estimate of method "refined"."""
    if data.oracle.domain < 5:
        return oracle_auto(data)
    found = refine(data)
    return found.frequency, {"evidence": found.evidence, "fitted": found.fitted}


def refine(data: EstimationData) -> PosteriorMeans:
    """Return empirical Bayes on the counts, then again on the reports' further information."""
    oracle, summary = data.oracle, data.summary
    if not isinstance(oracle, SubsetSelection) or oracle.epsilon > MAX_EPSILON:
        raise InputError(
            f'method "refined" is for subset selection up to epsilon {MAX_EPSILON:g}; '
            f"got {oracle.name!r} with epsilon {oracle.epsilon:.4g}"
        )
    items = oracle.item_channel(summary.tally, summary.reports)
    first = shrink(items)
    if oracle.size == 1:
        return first
    if data.reports is None:
        raise InputError('method "refined" needs the reports; got a summary of them')
    return shrink(_second_look(oracle, data.reports, items, first))


def _second_look(
    oracle: SubsetSelection, reports: Reports | Passes, items: ItemCounts, first: PosteriorMeans
) -> ItemCounts:
    """Return counts as they would be, had each value been seen with its own precision."""
    h, share = first.frequency, oracle.size / oracle.domain
    sums = total(reports, _Look(oracle), (h, first.variance))
    (weights, all_weights), (squares, all_squares) = (
        (half[:-1], half[-1]) for half in np.split(sums, 2)
    )
    precision = (1 - 2 * share) * squares + share**2 * all_squares
    score = weights - share * all_weights
    # Against what the count alone would give. The few reports that support a value say little
    # of how much they add to it, so those of all values are weighed in.
    support = items.miss + items.gain * h
    plain = items.trials * items.gain**2 / (support * (1 - items.dispersion * support))
    ratio = precision / plain
    ratio = (items.counts * ratio + _LENT * np.median(ratio)) / (items.counts + _LENT)
    better = items.miss + items.gain * (h + score / (ratio * plain))
    trials = items.trials * np.clip(ratio, *_PRECISIONS)
    counts = trials * np.clip(better, 0.0, 1.0)
    return ItemCounts(counts, trials, items.hit, items.miss, items.dispersion)


@dataclass(frozen=True)
class _Look:
    """The weight of each report, given a first estimate and its variance.

    Gives, for every value and then for all reports, the sum of those weights over the reports
    that support it, and that of their squares.
    """

    oracle: SubsetSelection

    def __call__(self, reports: Reports, state: tuple[Vector, Vector]) -> Vector:
        oracle, (h, variance) = self.oracle, state
        c, share = oracle.odds - 1, oracle.size / oracle.domain
        average = 1 + c * share
        seen = oracle.forward(reports, h) - share
        # Each value's own part in the prediction is taken out again (the Onsager term).
        own = (1 - 2 * share) * oracle.forward(reports, variance) + share**2 * variance.sum()
        weight = c / np.maximum(average + c * (seen - own * c / average), _LEAST_SHARE * average)
        sums = (np.append(oracle.adjoint(reports, w), w.sum()) for w in (weight, weight * weight))
        return np.concatenate(list(sums))
