"""Support counts for an explicit channel: what the default estimate needs of it.

A channel whose outputs support values, as those of every built-in mechanism do, has two numbers
in each column, always in the same proportion; then the counts are those of the mechanism. Of any
other channel that can be inverted, the unbiased shares and their standard errors are written as
counts that would have given them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector
from rumor.mechanisms.oracle import ItemCounts

# Numbers of a channel that differ by less than this part are equal.
_EQUAL = 1e-9
# Columns that are looked at first: most channels that are none of supports show it there.
_FIRST = 64
# Supports of shares from 0 to 1 stay this close to a half, and no value has fewer trials: there a
# binomial count is nearly normal.
_ROOM, _FEWEST_TRIALS = 0.4, 100.0


def channel_items(
    channel: NDArray[np.float64], seen: Vector, unbiased: Vector, stderr: Vector
) -> ItemCounts:
    """Return counts for each input of `channel` from the counts `seen` of its outputs."""
    found = _support_counts(channel, seen)
    return _normal_counts(unbiased, stderr, float(seen.sum())) if found is None else found


def _support_counts(channel: NDArray[np.float64], seen: Vector) -> ItemCounts | None:
    """The counts of a channel of supports; None where it is none, or its values differ."""
    if _supports(channel[:, :_FIRST]) is None:
        return None
    supports = _supports(channel)
    if supports is None or not supports.any():
        return None
    rates = channel @ supports.T
    apart = ~np.eye(len(rates), dtype=np.bool_)
    hits, misses = rates.diagonal(), rates[apart]
    if not (_alike(hits, hits.mean()) and _alike(misses, misses.mean())):
        return None
    even = channel.mean(axis=0)
    together = ((supports * even) @ supports.T)[apart].mean()
    dispersion = float(together / np.mean(supports @ even) ** 2)
    reports, hit, miss = float(seen.sum()), float(hits.mean()), float(misses.mean())
    return ItemCounts(supports @ seen, reports, hit, miss, dispersion)


def _supports(channel: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Which outputs support which inputs; None where a column has more than two numbers.

    An output that is as likely from every input supports none.
    """
    high, low = channel.max(axis=0), channel.min(axis=0)
    tells = high - low > _EQUAL * high
    supports = np.asarray(channel > (high + low) / 2) & tells
    if not _alike(channel, np.where(supports, high, np.where(tells, low, channel))):
        return None
    ratio = low[tells] / high[tells]
    return supports if not ratio.size or _alike(ratio, float(ratio.mean())) else None


def _alike(first: Vector, second: Vector | float) -> bool:
    return bool((np.abs(first - second) <= _EQUAL * np.abs(second)).all())


def _normal_counts(unbiased: Vector, stderr: Vector, reports: float) -> ItemCounts:
    """Binomial counts, of supports close to a half, with these unbiased shares and errors.

    The noise that all shares have in common is none of the estimate, whose shares sum to one;
    the part of it that a fixed sum has taken out of the standard errors is added again.
    """
    # An output that nobody gave leaves no spread: there is at least that of one report.
    error = np.maximum(stderr, 1 / reports) * np.sqrt(unbiased.size / (unbiased.size - 1))
    gain = min(
        _ROOM / (1 + float(np.abs(unbiased).max())),
        0.5 / float(np.sqrt(_FEWEST_TRIALS) * error.max()),
    )
    trials = (0.5 / (gain * error)) ** 2
    return ItemCounts(trials * (0.5 + gain * unbiased), trials, 0.5 + gain, 0.5, 1.0)
