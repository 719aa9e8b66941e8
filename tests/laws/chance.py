"""The statistics that the laws need, and how unlikely an accident they call a failure.

All seeds are fixed, so a rerun repeats every number exactly. The thresholds matter when
code changes and with it the draws: there are a few hundred comparisons, so at 1e-6 each
a correct change is called wrong once in some thousands of changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtrc

UNLIKELY = 1e-6
# For what the operating system draws, which differs at every run: never, in practice.
NEVER = 1e-12


def chi_squared(observed: Sequence[int], probabilities: Sequence[float]) -> float:
    """The p-value of Pearson's test; cells that expect fewer than 5 are pooled."""
    total = sum(observed)
    # By expectation alone: a choice of cells that looked at the counts would bias the test.
    order = sorted(range(len(observed)), key=lambda i: probabilities[i])
    cells: list[tuple[float, int]] = []
    expected, seen = 0.0, 0
    for i in order:
        expected, seen = expected + probabilities[i] * total, seen + observed[i]
        if expected >= 5:
            cells.append((expected, seen))
            expected, seen = 0.0, 0
    if cells:  # what is left over, too little for a cell of its own
        cells[-1] = cells[-1][0] + expected, cells[-1][1] + seen
    if len(cells) < 2:
        return 1.0
    statistic = sum((o - e) ** 2 / e for e, o in cells)
    return float(chdtrc(len(cells) - 1, statistic))


def lower_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson: a probability that is below the true one except with this error."""
    if successes == 0:
        return 0.0
    return float(betaincinv(successes, trials - successes + 1, error))


def upper_bound(successes: int, trials: int, error: float) -> float:
    """Clopper and Pearson: a probability that is above the true one except with this error."""
    if successes == trials:
        return 1.0
    return float(betaincinv(successes + 1, trials - successes, 1 - error))


def largest_autocorrelation(series: NDArray[np.float64]) -> float:
    """The largest correlation of a series with itself at any lag, in standard deviations."""
    n = series.size
    centred = series - series.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    lags = np.arange(1, n // 2)
    products = np.fft.irfft(spectrum)[lags]
    return float(np.abs(products / (centred.var() * np.sqrt(n - lags))).max())


def normal_tail(deviations: float) -> float:
    """The probability that a normal deviates this far, in either direction."""
    return math.erfc(deviations / math.sqrt(2))
