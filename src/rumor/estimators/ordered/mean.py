"""The mean of ordered answers, unbiased and without any law behind it.

A report's expectation is linear in the value:
    E[y | x] = q Y (Y - 1) / 2 + g (W x + W (W - 1) / 2),
so the mean report, moved and stretched, is the mean value, whatever the distribution.
"""

from __future__ import annotations

import math

import numpy as np

from rumor.core.band import Band
from rumor.estimators.ordered.seen import checked_outputs


def linear_mean(band: Band, counts: object) -> tuple[float, float]:
    """The mean in bins (of the bins' numbers 0..D-1), and its standard error."""
    seen = checked_outputs(band, counts)
    people = float(seen.sum())
    outputs = np.arange(band.outcomes)
    middle = float(seen @ outputs) / people
    spread = math.sqrt(float(seen @ (outputs - middle) ** 2) / people)
    outside = band.outside * band.outcomes * (band.outcomes - 1) / 2
    inside = band.gain * band.window * (band.window - 1) / 2
    slope = band.gain * band.window
    return (middle - outside - inside) / slope, spread / (math.sqrt(people) * slope)
