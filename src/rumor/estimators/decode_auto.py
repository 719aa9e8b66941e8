"""Decoding with false discoveries under control: fit, decoys, Benjamini-Hochberg, refit.

A heavy word that is not in the dictionary leaves bits far above anything that the candidates
explain. Such bits drown the rest, so they are left out and everything is done again, until
the set of bits stands. Only words beyond doubt explain a bit: if any candidate could, one that
nobody holds would save the very bits that it owes its score to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.estimators.candidates import Candidates
from rumor.estimators.decode_counts import BitShares
from rumor.estimators.decode_decoys import decoys_of, sample_decoys
from rumor.estimators.decode_fit import Fit, best_fit
from rumor.estimators.decode_lasso import Lasso, Vector
from rumor.estimators.decode_refit import Refit, refit
from rumor.estimators.decode_testing import benjamini_hochberg

TRIM = 4.5
_MOST_ROUNDS = 6
# A word is beyond doubt when so rarely any of all the candidates would look like it by chance.
_DOUBT = 0.01


@dataclass(frozen=True, eq=False)
class Decoded:
    """What was found, all in the order of the candidate map's rows.

    `noise` is the mean squared residual of the refit, in known variances: 1 when the words
    found explain the data, more when there is something else.
    """

    fit: Fit
    p_value: Vector
    detected: NDArray[np.bool_]
    refit: Refit
    noise: float
    trimmed: int


def decode_auto(
    candidates: Candidates,
    shares: BitShares,
    *,
    level: float,
    decoys: int | None,
    penalties: Sequence[float],
    trim: float,
    on_round: Callable[[int], None] | None = None,
) -> Decoded:
    """Words found at this false discovery rate; with so many sampled decoys, or all there are."""
    rows, bloom = candidates.rows, candidates.bloom
    trimmed = np.zeros(shares.share.shape, dtype=np.bool_)
    for number in range(_MOST_ROUNDS):
        if on_round is not None:
            on_round(number)
        weight = np.where(trimmed, 0.0, shares.weight)
        people = np.where(trimmed, 0.0, shares.people_weight)
        found = best_fit(Lasso(rows, bloom.hashes, shares.share, weight), penalties)
        p_value = _p_values(candidates, found, level, decoys)
        certain = p_value <= _DOUBT / len(candidates)
        explained = refit(rows[certain], bloom.hashes, shares.share, people)
        excess = explained.residual * np.sqrt(shares.weight)  # in standard deviations
        again = excess > trim * max(1.0, _spread(excess[weight > 0]))
        if np.array_equal(again, trimmed):
            break
        trimmed = again
    detected = benjamini_hochberg(p_value, level)
    chosen = refit(rows[detected], bloom.hashes, shares.share, people)
    freedom = max(found.freedom - int(detected.sum()), 1)
    return Decoded(
        fit=found,
        p_value=p_value,
        detected=detected,
        refit=chosen,
        noise=float(np.sum(weight * chosen.residual**2)) / freedom,
        trimmed=int((weight < shares.weight).sum()),
    )


def _p_values(candidates: Candidates, found: Fit, level: float, decoys: int | None) -> Vector:
    bloom = candidates.bloom
    if decoys is None:
        return decoys_of(bloom, found.pull, len(candidates), level).p_values(found.score)
    return sample_decoys(bloom, found.pull, decoys).p_values(found.score)


def _spread(values: Vector) -> float:
    """The standard deviation of the bulk, from the median absolute deviation."""
    if values.size == 0:
        return 1.0
    return float(1.4826 * np.median(np.abs(values - np.median(values))))
