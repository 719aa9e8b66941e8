"""The decode of the literature: Lasso, then least squares, then a t-test on what is left.

Erlingsson, Pihur and Korolova 2014, as evaluated by Seike, "Evaluating the decoding of RAPPOR",
2025. Counts are de-biased once for each cohort (its equations 2 and 3) with the cohort's own
size; a positive Lasso without intercept (1/(2n) RSS + 0.1 sum b over the n bits) drops the words
whose coefficient is at most 0.001; least squares without intercept on the others; a one-sided
t-test at level 0.05. The p-values ignore that the same counts chose the words, and nothing
corrects for their number: the false discovery rate is NOT controlled, and with no true
candidate at all a false one is reported with near certainty. Kept as the yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.decode.candidates import Candidates
from rumor.estimators.decode.counts import BitShares
from rumor.estimators.decode.lasso import Lasso
from rumor.estimators.decode.refit import refit

PENALTY = 0.1
CUT = 0.001
# In standard deviations; the cut is fine, so this is finer than elsewhere.
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class LiteratureDecoded:
    """What was found; vectors are over the rows of the candidate map, shares of people.

    Words that the Lasso dropped have share 0, p-value 1 and an infinite standard error.
    """

    frequency: Vector
    stderr: Vector
    p_value: Vector
    detected: NDArray[np.bool_]
    kept: int
    total_stderr: float


def decode_literature(
    candidates: Candidates, shares: BitShares, *, level: float, penalty: float, cut: float
) -> LiteratureDecoded:
    """Lasso and least squares on counts per cohort.

    A coefficient is a count per cohort. Cohorts differ in size, so every cohort's shares are
    scaled to the mean size; with equal sizes this is the count itself.
    """
    present = shares.sizes > 0
    mean = float(shares.sizes[present].mean())
    counts = shares.share * mean
    weight = np.repeat(present[:, None].astype(np.float64), counts.shape[1], axis=1)
    rows, hashes = candidates.rows, candidates.bloom.hashes
    bits = int(weight.sum())
    noise = mean / float(np.sqrt(shares.weight[present].mean()))  # of a bit, in counts
    lasso = Lasso(rows, hashes, counts, weight, levels=False, tolerance=_TOLERANCE * noise)
    lasso.approach(float(penalty * bits / max(lasso.lengths.max(), 1e-300)))
    lasso.solve(np.full(len(rows), penalty * bits))
    kept = np.flatnonzero(lasso.coefficients > cut)
    freedom = bits - kept.size
    if freedom < 1:
        raise InputError(
            f"the Lasso must keep fewer words than there are bits, {bits:,}; "
            f"got {kept.size:,} at penalty {penalty:g} (a larger one keeps fewer)"
        )
    found = refit(rows[kept], hashes, counts, weight, levels=False)
    # Unlike "auto", the literature estimates the variance from the residuals.
    sigma = float(np.sqrt(found.squares / freedom))
    stderr, p_value = np.full(len(rows), np.inf), np.ones(len(rows))
    stderr[kept] = sigma * found.stderr / mean
    p_value[kept] = one_sided_t(found.unbiased / (sigma * found.stderr), freedom)
    frequency = np.zeros(len(rows))
    frequency[kept] = found.unbiased / mean
    return LiteratureDecoded(
        frequency=frequency,
        stderr=stderr,
        p_value=p_value,
        detected=p_value < level,
        kept=int(kept.size),
        total_stderr=sigma * found.total_stderr / mean,
    )


def one_sided_t(statistic: Vector, freedom: int) -> Vector:
    """The p-values of t statistics, against values of at most 0."""
    from scipy.special import stdtr

    return np.asarray(stdtr(freedom, -statistic))
