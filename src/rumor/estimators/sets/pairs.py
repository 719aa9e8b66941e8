"""The share of people who chose both of two options, for every pair: linear and unbiased."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.mechanisms.sets import PairCounts, pair_weights


@dataclass(frozen=True)
class PairShares:
    """For each pair its unbiased share and the variance of it.

    `noise` is that of the mechanism alone, the people held fixed.
    """

    share: Vector
    variance: Vector
    noise: Vector


def pair_shares(counts: PairCounts, reports: int, miss: float, gain: float) -> PairShares:
    """Mean and spread of what each report adds, by which of the two it supports.

    Whether a report supports none, one or both of a pair is all that it says of it, so how what it
    adds varies is counted, too. What a person adds on average is 1 if they chose both and 0
    otherwise, whoever they are: of all n people f (1 - f) / n of the variance is their own part.
    """
    weights = np.array(pair_weights(miss, gain, counts.rates))
    one = counts.first + counts.second - 2 * counts.both
    kinds = np.stack([counts.trials - one - counts.both, one, counts.both])
    trials = np.maximum(counts.trials, 0.5)
    share = weights @ kinds / trials
    # Half a report of each kind more: where there are few, some kinds are missing by chance.
    chances = (kinds + 0.5) / (counts.trials + 1.5)
    mean, square = weights @ chances, weights**2 @ chances
    variance = np.maximum(square - mean**2, 0.0) / trials
    held = np.clip(share, 0.0, 1.0)
    noise = np.maximum(variance - held * (1 - held) / reports, variance / 100)
    return PairShares(share, variance, noise)
