"""Do two groups differ in anything? All values at once, with their exact covariance.

The differences of all values, without what they have in common (truths sum to one in both groups,
so a common shift is noise), are compared with the covariance that both groups would have at their
common shares: a chi-squared statistic with as many degrees of freedom as there are values less
one. It sees many small differences that no test of a single value does.
"""

from __future__ import annotations

import numpy as np

from rumor.core.overall import Overall
from rumor.core.types import Vector

MAX_VALUES = 2000
"""Beyond so many the covariance is too large to be worth its time."""


def beyond(statistic: float, freedom: int) -> float:
    """The chance that a chi-squared number is larger."""
    from scipy.special import chdtrc

    return 1.0 if freedom == 0 else float(chdtrc(freedom, statistic))


def chi_squared(difference: Vector, covariance: Vector) -> Overall:
    """Of differences that sum to nothing in truth, where their covariance is known."""
    contrast = difference[:-1] - difference[-1]
    last = covariance[-1]
    spread = covariance[:-1, :-1] - last[:-1] - last[:-1, None] + last[-1]
    statistic = float(contrast @ np.linalg.pinv(spread, hermitian=True) @ contrast)
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    return Overall("chi-squared", statistic, freedom, beyond(statistic, freedom))
