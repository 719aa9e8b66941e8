"""Weighted means of groups with few reports: exact ends that their intervals have to hold.

A report of a group moves the weighted mean by the group's weight over its number of reports. In
units of the largest such step, the mean is a sum of independent numbers within 0 and 1, and nothing
with its expectation spreads further than as many whole coins as these numbers come to (Hoeffding,
Annals of Mathematical Statistics 27, 1956). So groups whose steps are alike up to a factor of four
are taken for one count of coins, and with them all that moves the mean by no more than one of them.
Ends of unlike groups are put together by squares (MOVER, Zou and Donner 2008), as those of a
difference are: a lone person of a small group leaves a precise estimate of all others precise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from rumor.core.binomial import FEW, coin_ends
from rumor.core.types import Vector
from rumor.estimators.compare.sample import Bounds, Sample

_ALIKE = 4.0  # ratio of steps up to which groups are counted together
_MOST_CLASSES = 30


def few_ends(samples: Sequence[Sample], weights: Vector, z: float | Vector) -> Bounds:
    """Return ends of the mean of `samples` with these `weights` (samples by rows).

    Where no sample has few reports, a lower end is infinite and an upper one minus infinity.
    """
    few = np.flatnonzero(np.logical_or.reduce([sample.few for sample in samples]))
    low, high = np.full(weights.shape[1], np.inf), np.full(weights.shape[1], -np.inf)
    if few.size:
        each = np.broadcast_to(np.asarray(z, dtype=np.float64), low.shape)[few]
        low[few], high[few] = _ends([s.at(few) for s in samples], weights[:, few], each)
    return low, high


def _ends(samples: Sequence[Sample], weights: Vector, z: Vector) -> Bounds:
    """Return the ends, with squares of the distances of all classes added up."""
    means = np.array([sample.mean for sample in samples])
    span, least, trials = (np.zeros(weights.shape) for _ in range(3))
    for k, sample in enumerate(samples):
        if sample.exact is not None:
            within = sample.exact.within
            span[k], least[k] = within[1] - within[0], within[0]
            trials[k] = np.maximum(sample.exact.trials, 1.0)
    # What is not made of coins has no step, and is normal.
    coins = span > 0
    steps = np.divide(weights * span, trials, out=np.zeros_like(span), where=coins)
    longest = steps.max(axis=0)
    ratio = np.divide(longest, steps, out=np.ones_like(steps), where=steps > 0)
    classes = np.minimum(np.floor(np.log(ratio) / np.log(_ALIKE)), _MOST_CLASSES)
    for each in np.unique(classes):
        mine = classes == each
        whole = (weights * span * (mine & coins)).sum(axis=0)
        classes = np.where(mine & (whole <= longest), 0.0, classes)
    errors = np.array([sample.stderr for sample in samples])
    total, tail = (weights * means).sum(axis=0), ndtr(-z)
    normal = np.where(coins, 0.0, weights * errors)
    below = above = z * z * (normal**2).sum(axis=0)
    for each in np.unique(classes):
        mine = np.where((classes == each) & coins, weights, 0.0)
        start, length = (mine * least).sum(axis=0), (mine * span).sum(axis=0)
        step = (steps * (mine > 0)).max(axis=0)
        count = np.divide(length, step, out=np.zeros_like(length), where=step > 0)
        mean = (mine * means).sum(axis=0)
        share = np.divide(mean - start, length, out=np.zeros_like(mean), where=length > 0)
        ends = coin_ends(mean, np.maximum(count, 1.0), (start, start + length), tail, tail)
        many = count * share * (1 - share) >= FEW
        reach = z * np.sqrt((np.square(mine * errors)).sum(axis=0))
        below = below + np.square(np.where(many, reach, np.maximum(mean - ends[0], 0.0)))
        above = above + np.square(np.where(many, reach, np.maximum(ends[1] - mean, 0.0)))
    return total - np.sqrt(below), total + np.sqrt(above)
