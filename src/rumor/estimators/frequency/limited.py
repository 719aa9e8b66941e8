"""Limit how far a value that stands alone is moved: its own count says how frequent it is.

A law of all frequencies helps where values are alike. Of a value that no other is near, it knows
nothing that the value's own count does not tell better; yet the sum of all frequencies ties the
value to the others, and where the law is wrong about those, it moves. So the posterior mean of
such a value stays within a quarter of a standard error of its unbiased share (or of the projection,
or of what lies between), and the other values take up the rest. Efron and Morris (1972) call an
estimator with such a limit one of limited translation.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.simplex import project
from rumor.mechanisms.oracle import ItemCounts

# How far a value that stands alone may move, in standard errors.
_LIMIT = 0.25
# A value stands alone when the nearest other is so many standard errors of their difference
# away, and not at all below the smaller number; in between, the limit widens without bound.
_NEAR, _ALONE = 3.0, 6.0
# A share of 0 could not be scaled; the logarithm of the factor is sought between these ends.
_LEAST = 1e-15
_STEEPEST, _HALVINGS = 50.0, 60


def limit_translation(items: ItemCounts, frequency: Vector) -> Vector:
    """Return `frequency` with the values that stand alone near what `items` say of each."""
    unbiased, error = items.unbiased, _standard_errors(items)
    crowded = np.clip((_ALONE - _distances(unbiased, error)) / (_ALONE - _NEAR), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        reach = error * (_LIMIT + crowded / (1 - crowded))
    projected, order = project(unbiased), np.argsort(unbiased)
    # Limits ascend with the unbiased shares, so that limited shares do.
    low, high = np.empty_like(reach), np.empty_like(reach)
    least, largest = (
        np.minimum(unbiased, projected) - reach,
        np.maximum(unbiased, projected) + reach,
    )
    low[order] = np.maximum.accumulate(np.maximum(least, 0.0)[order])
    high[order] = np.minimum.accumulate(largest[order][::-1])[::-1]
    if ((low <= frequency) & (frequency <= high)).all():
        return frequency
    return _scaled_within(np.maximum(frequency, _LEAST), low, high)


def _scaled_within(frequency: Vector, low: Vector, high: Vector) -> Vector:
    """Return shares of sum 1: `frequency` times one factor, kept between `low` and `high`.

    The projection lies between these limits, so there is such a factor.
    """
    least, largest = -_STEEPEST, _STEEPEST
    for _ in range(_HALVINGS):
        middle = (least + largest) / 2
        if np.clip(frequency * math.exp(middle), low, high).sum() < 1:
            least = middle
        else:
            largest = middle
    limited = np.clip(frequency * math.exp(least), low, high)
    return np.asarray(limited / limited.sum())


def _standard_errors(items: ItemCounts) -> Vector:
    """The standard error of each unbiased share, two imaginary reports added.

    Without these, a value that no report supports would have none.
    """
    support = np.maximum((items.counts + 1) / (items.trials + 2), items.miss)
    return np.asarray(np.sqrt(support * (1 - support) / items.trials) / items.gain)


def _distances(unbiased: Vector, error: Vector) -> Vector:
    """How many standard errors of the difference the nearest other value is from each."""
    order = np.argsort(unbiased)
    ranked, square = unbiased[order], error[order] ** 2
    gaps = np.diff(ranked) / np.sqrt(square[1:] + square[:-1])
    gaps = np.concatenate([[np.inf], gaps, [np.inf]])
    nearest = np.empty_like(unbiased)
    nearest[order] = np.minimum(gaps[1:], gaps[:-1])
    return nearest
