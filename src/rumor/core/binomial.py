"""Exact confidence limits of a success probability, from a count of successes.

Clopper and Pearson (Biometrika 26, 1934). Means of numbers within known bounds follow: numbers with
one mean spread furthest where all are at one bound or the other, as coins are (Hoeffding, Journal
of the American Statistical Association 58, 1963, bounds their tails likewise).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rumor.core.extras import import_optional
from rumor.core.types import Rows, Vector

FEW = 400.0  # variance of a count below which its distribution is not taken for normal


def success_ends(
    counts: Vector, trials: Vector, lower: Vector, upper: Vector
) -> tuple[Vector, Vector]:
    """Return the Clopper-Pearson limits of a success probability for `counts` of `trials`.

    The probability of a count at least as large is `lower` at the first limit, that of one at most
    as large is `upper` at the second.
    """
    special = import_optional("scipy.special", "an interval of counts")

    others = trials - counts
    with np.errstate(invalid="ignore"):
        low = np.where(counts > 0, special.betaincinv(counts, others + 1, lower), 0.0)
        high = np.where(others > 0, special.betainccinv(counts + 1, others, upper), 1.0)
    return low, high


def distinct_columns(columns: Vector) -> tuple[Vector, Rows]:
    """Return the distinct ones among `columns`, and the place of each column among them.

    Many values have one count: its limits are computed once.
    """
    varying = columns[(columns != columns[:, :1]).any(axis=1)]
    order = np.lexsort(varying[::-1]) if len(varying) else np.arange(columns.shape[1])
    ordered = varying[:, order]
    first = np.ones(order.size, dtype=bool)
    first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    place = np.empty(order.size, dtype=np.intp)
    place[order] = np.cumsum(first) - 1
    return columns[:, order[first]], place


class SuccessEnds(Protocol):
    """The interface of functions that return limits of a success probability, as `success_ends`."""

    def __call__(
        self, counts: Vector, trials: Vector, lower: Vector, upper: Vector, /
    ) -> tuple[Vector, Vector]:
        """Return the limits for `counts` of `trials`, with the tails `lower` and `upper`."""
        ...


def coin_ends(
    mean: Vector,
    trials: Vector,
    within: tuple[Vector, Vector],
    lower: Vector,
    upper: Vector,
    ends: SuccessEnds = success_ends,
) -> tuple[Vector, Vector]:
    """Return confidence limits for the expectation of `trials` numbers `within` bounds.

    They are the limits by `ends` of a count of coins at one bound or the other, whole or not,
    with the tails `lower` and `upper`.
    """
    span = np.maximum(within[1] - within[0], np.finfo(float).tiny)
    counts = trials * np.clip((mean - within[0]) / span, 0.0, 1.0)
    low, high = ends(counts, trials, lower, upper)
    return within[0] + span * low, within[0] + span * high
