"""The normal mixture: evidence for a difference that may be read at any number of reports.

Let z be a standardised difference, and let the difference that is looked for have a normal prior of
`ratio` times its variance. The likelihood ratio, averaged over that prior, is

    E = (1 + ratio)^(-1/2) exp(z^2 ratio / (2 (1 + ratio)))

(Robbins, Annals of Mathematical Statistics 41, 1970). Without a difference E is a martingale of
mean 1 as reports arrive, so it ever reaches 1/alpha with probability at most alpha (Ville 1939).
"""

from __future__ import annotations

import numpy as np

from rumor.core.types import Vector

# The ratio at the planned number of reports for the shortest intervals of level 95 %: the root of
# x - log x = 1 + 2 log(1/.05) with x = 1 + ratio. One number for all levels, since the level of a
# row that is shown depends on the reports, and the mixture must not.
PLANNED_RATIO = 8.2


def log_mixture(z: Vector, ratio: Vector | float) -> Vector:
    """Return the log evidence of standardised differences `z`; `ratio` is prior to variance."""
    return np.asarray((z * z * (ratio / (1 + ratio)) - np.log1p(ratio)) / 2)


def mixture_quantile(ratio: Vector | float, alpha: Vector | float) -> Vector:
    """Return the |z| at which `log_mixture` with `ratio` reaches 1/`alpha`; infinite at 0."""
    ratio = np.asarray(ratio, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.sqrt((1 + ratio) / ratio * (np.log1p(ratio) - 2 * np.log(alpha)))
    return np.where(ratio > 0, found, np.inf)
