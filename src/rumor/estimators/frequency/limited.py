"""Limit how far a value that stands alone is moved: its own count says how frequent it is.

A law of all frequencies helps where values are alike. Of a value that no other is near, it knows
nothing that the value's own count does not tell better; yet the sum of all frequencies ties the
value to the others, and where the law is wrong about those, it moves. So the posterior mean of
such a value stays within a quarter of a standard error of its unbiased share (or of the projection,
or of what lies between), and the other values take up the rest. Efron and Morris (1972) call an
estimator with such a limit one of limited translation.
"""

from __future__ import annotations

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.frequency.simplex import project
from rumor.mechanisms.oracle import ItemCounts

# How far a value that stands alone may move, in standard errors.
_LIMIT = 0.25
# A value stands alone when the nearest other is so many standard errors of their difference
# away, and not at all below the smaller number; in between, the limit widens without bound.
_NEAR, _ALONE = 3.0, 6.0


def limit_translation(items: ItemCounts, frequency: Vector) -> Vector:
    """Return `frequency` with the values that stand alone near what `items` say of each."""
    unbiased = items.unbiased
    error = _standard_errors(items)
    crowded = np.clip((_ALONE - _distances(unbiased, error)) / (_ALONE - _NEAR), 0.0, 1.0)
    if crowded.min() == 1:
        return frequency
    with np.errstate(divide="ignore"):
        reach = error * (_LIMIT + crowded / (1 - crowded))
    projected = project(unbiased)
    low = np.minimum(unbiased, projected) - reach
    high = np.maximum(unbiased, projected) + reach
    limited = np.clip(np.clip(frequency, low, high), 0.0, 1.0)
    # What was taken from some goes to those that do not stand alone, as they share already.
    takes = crowded * limited + 1e-3 * error**2
    limited = np.maximum(limited + (1 - limited.sum()) * takes / takes.sum(), 0.0)
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
