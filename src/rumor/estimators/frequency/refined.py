"""A second pass over the reports, for the information that the counts alone leave out.

Counts are all there is to know only while reports tell little. Given a first estimate, each
report says which of its values are likely the person's own, and so how much it should count:
one step of approximate message passing turns that into better estimates with noise levels
of their own, which go through the same empirical Bayes again.

Reports of unary encoding whose other bits are often set gain most: rare values then need no
longer be told apart from those bits. Where other bits are seldom set, a first estimate that
missed a person's bit misleads the pass: one value that holds 70 per cent had up to five times the
error at q = .02. Subset selection gains a few per cent on the published cells that the method was
chosen on, nothing on other truths, and loses at epsilon 8. Hence the limits
(python -m benchmarks.honest_table --only published refined).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import EstimationData, Passes, total
from rumor.estimators.frequency.empirical import PosteriorMeans, oracle_auto, shrink
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.subset_selection import SubsetSelection
from rumor.mechanisms.support import ItemCounts
from rumor.mechanisms.unary import UnaryEncoding

# The largest epsilon of subset selection, and the least probability of another bit of unary
# encoding: beyond these the second pass can harm.
MAX_EPSILON = 4.0
LEAST_MISS = 0.1
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
    if isinstance(oracle, UnaryEncoding):
        taken, found = oracle.miss >= LEAST_MISS, f"q {oracle.miss:.3g}"
    else:
        taken = isinstance(oracle, SubsetSelection) and oracle.epsilon <= MAX_EPSILON
        found = f"epsilon {oracle.epsilon:.4g}"
    if not taken:
        raise InputError(
            f'method "refined" is for subset selection up to epsilon {MAX_EPSILON:g} and unary '
            f"encoding with q of at least {LEAST_MISS:g}; got {oracle.name!r} with {found}"
        )
    items = oracle.item_channel(summary.tally, summary.reports)
    first = shrink(items)
    if isinstance(oracle, SubsetSelection) and oracle.size == 1:
        return first
    if data.reports is None:
        raise InputError('method "refined" needs the reports; got a summary of them')
    return shrink(_second_look(oracle, data.reports, items, first))


def _second_look(
    oracle: FrequencyOracle, reports: Reports | Passes, items: ItemCounts, first: PosteriorMeans
) -> ItemCounts:
    """Return counts as they would be, had each value been seen with its own precision."""
    h = first.frequency
    sums = total(reports, _Look(oracle), (h, first.variance))
    (weights, expected), (squares, apart) = ((half[:-1], half[-1]) for half in np.split(sums, 2))
    precision, score = squares + apart, weights - expected
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

    With z the part of all values that a report supports and w its weight: for every value, the sum
    of w over the reports that support it, then the sum of z w over all reports; and for every value
    the sum of (1 - 2z) w^2 over the former, then the sum of z^2 w^2 over all.
    """

    oracle: FrequencyOracle

    def __call__(self, reports: Reports, state: tuple[Vector, Vector]) -> Vector:
        oracle, (h, variance) = self.oracle, state
        share = oracle.forward(reports, np.full(h.size, 1 / h.size))
        c = oracle.odds - 1
        average = 1 + c * share
        seen = oracle.forward(reports, h) - share
        # Each value's own part in the prediction is taken out again (the Onsager term).
        own = (1 - 2 * share) * oracle.forward(reports, variance) + share**2 * variance.sum()
        weight = c / np.maximum(average + c * (seen - own * c / average), _LEAST_SHARE * average)
        square = weight * weight
        return np.concatenate(
            [
                oracle.adjoint(reports, weight),
                [share @ weight],
                oracle.adjoint(reports, (1 - 2 * share) * square),
                [(share * share) @ square],
            ]
        )
