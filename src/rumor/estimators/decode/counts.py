"""From bit counts to what a decode fits: for every bit a de-biased share and its variance.

Erlingsson, Pihur and Korolova 2014: a bit that a share s of a cohort's people set is reported
as 1 with probability r = p* + (q* - p*) s, so s is estimated by (c/N - p*) / (q* - p*), with the
cohort's own N. Of the *population*, c is binomial, with variance N r (1 - r); of these *people*,
it is a sum of two binomials, with variance N (s q*(1-q*) + (1-s) p*(1-p*)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.mechanisms.rappor import Rappor
from rumor.mechanisms.summary import Summary

Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BitShares:
    """De-biased shares of every bit of every cohort, (cohorts, bits), and their weights.

    A weight is 1 / variance, and 0 in a cohort without reports.
    """

    sizes: NDArray[np.int64]
    share: Table
    weight: Table
    people_weight: Table


def bit_shares(summary: Summary) -> BitShares:
    """The shares of a summary's bits."""
    rappor = summary.made_by(Rappor)
    sizes, counts = rappor.cohort_counts(summary.tally)
    p, q = rappor.p_star, rappor.q_star
    gain, reports = q - p, sizes[:, None].astype(np.float64)
    there = np.maximum(reports, 1.0)
    share = np.where(reports > 0, (counts / there - p) / gain, 0.0)
    rate = np.clip((counts + 1) / (reports + 2), p, q)
    plausible = (rate - p) / gain
    people = plausible * q * (1 - q) + (1 - plausible) * p * (1 - p)
    return BitShares(
        sizes=sizes,
        share=share,
        weight=reports * gain**2 / (rate * (1 - rate)),
        people_weight=reports * gain**2 / people,
    )
