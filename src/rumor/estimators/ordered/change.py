"""Did anything change? A test on two output histograms of one channel, without any law.

The differences of the two histograms' first five cosine moments are compared with what chance
gives (Neyman's smooth test, 1937): a distribution that moved, spread or tilted shows there, and
five numbers spend less on chance than hundreds of outputs would.
"""

from __future__ import annotations

import numpy as np

from rumor.core.band import Band
from rumor.core.overall import Overall
from rumor.estimators.compare.overall import beyond
from rumor.estimators.ordered.seen import checked_outputs

_MOMENTS = 5


def changed(band: Band, before: object, after: object) -> Overall:
    """The statistic, and the probability of one as large if nothing changed."""
    first, second = checked_outputs(band, before), checked_outputs(band, after)
    moments = min(_MOMENTS, band.outcomes - 1)
    place = (np.arange(band.outcomes) + 0.5) / band.outcomes
    waves = np.cos(np.pi * np.outer(np.arange(1, moments + 1), place))
    difference = waves @ (first / first.sum() - second / second.sum())
    pooled = (first + second) / (first.sum() + second.sum())
    middle = waves @ pooled
    spread = (waves * pooled) @ waves.T - np.outer(middle, middle)
    people = 1 / (1 / first.sum() + 1 / second.sum())
    # A handful of reports may leave some moments without spread: those say nothing.
    statistic = float(people * (difference @ np.linalg.pinv(spread, hermitian=True) @ difference))
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    return Overall("smooth test", statistic, freedom, beyond(statistic, freedom))
