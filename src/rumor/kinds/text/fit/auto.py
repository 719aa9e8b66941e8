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

from rumor.core.types import Vector
from rumor.estimators.multiple_testing import benjamini_hochberg
from rumor.kinds.text.fit.candidates import Candidates
from rumor.kinds.text.fit.decoys import Judge
from rumor.kinds.text.fit.lasso import BitShares, Lasso, Table
from rumor.kinds.text.fit.left_out import Fit, LeaveOut, best_fit
from rumor.kinds.text.fit.refit import Refit, refit

TRIM = 4.5
_MOST_ROUNDS = 6
# A word is beyond doubt when so rarely any of all the candidates would look like it by chance.
_DOUBT = 0.01
# Tests are made at this part of the level: the p-values are not perfect (the penalty and the
# trimmed bits know the word, and words share bits), and this much is kept for it.
_KEPT = 0.8
# Words are tested again without themselves when their quick p-value is within so many times
# the bound.
_WORTH = 8.0


@dataclass(frozen=True, eq=False)
class Decoded:
    """What was found, all in the order of the candidate map's rows.

    `noise` is the mean squared residual of the refit, in known variances: 1 when the words
    found explain the data, more when there is something else.
    """

    fit: Fit
    p_value: Vector
    least: float
    """The smallest p-value there is."""
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
    seen: set[bytes] = set()
    found: Fit | None = None
    for number in range(_MOST_ROUNDS):
        if on_round is not None:
            on_round(number)
        seen.add(trimmed.tobytes())
        weight = np.where(trimmed, 0.0, shares.weight)
        people = np.where(trimmed, 0.0, shares.people_weight)
        found = _fitted(Lasso(rows, bloom.hashes, shares.share, weight), penalties, found)
        judge = Judge(bloom, found.lasso.residual_pull()[:, :-1], len(candidates), level, decoys)
        tests = _Tests(found, judge)
        certain = tests.below(_DOUBT / len(candidates))
        explained = refit(rows[certain], bloom.hashes, shares.share, people)
        again = _unexplained(explained.residual, shares, weight, trim)
        # A set that was tried before would be tried for ever.
        if again.tobytes() in seen:
            break
        trimmed = again
    assert found is not None
    detected = tests.discovered(_KEPT * level)
    chosen = refit(rows[detected], bloom.hashes, shares.share, people)
    freedom = max(found.lasso.freedom - int(detected.sum()), 1)
    return Decoded(
        fit=found,
        p_value=tests.p_value,
        least=judge.least,
        detected=detected,
        refit=chosen,
        noise=float(np.sum(weight * chosen.residual**2)) / freedom,
        trimmed=int((weight < shares.weight).sum()),
    )


class _Tests:
    """The p-values of all candidates under one fit: quick ones first, exact where it matters."""

    def __init__(self, fit: Fit, judge: Judge) -> None:
        self._leave, self._judge = LeaveOut(fit), judge
        self.p_value = judge.p_values(self._leave.quick_scores())
        self._open = fit.lasso.coefficients > 0
        """Words of the fit that were not tested without themselves yet."""

    def below(self, bound: float) -> NDArray[np.bool_]:
        """The candidates whose p-value is at most a bound."""
        self._settle(bound)
        return np.asarray(self.p_value <= bound)

    def discovered(self, level: float) -> NDArray[np.bool_]:
        """The discoveries at a level, all of them tested without themselves."""
        first = int(benjamini_hochberg(self.p_value, level).sum())
        self._settle(level * max(first, 1) / self.p_value.size)
        return benjamini_hochberg(self.p_value, level)

    def _settle(self, bound: float) -> None:
        worth = np.flatnonzero(self._open & (self.p_value <= _WORTH * bound))
        self._open[worth] = False
        for words, p_values in self._leave.p_values(worth, self._judge):
            self.p_value[words] = p_values


def _fitted(lasso: Lasso, penalties: Sequence[float], last: Fit | None) -> Fit:
    """Return the best fit; after trimming it is near the last one, so it begins there.

    A word all of whose bits were trimmed is left out: nothing would ever take it out again.
    """
    if last is None:
        return best_fit(lasso, penalties)
    active = np.flatnonzero((last.lasso.coefficients != 0) & (lasso.norms > 0))
    lasso.begin_at(active, last.lasso.coefficients[active])
    return best_fit(lasso, penalties[max(penalties.index(last.penalty) - 1, 0) :])


def _unexplained(
    residual: Table, shares: BitShares, weight: Table, trim: float
) -> NDArray[np.bool_]:
    """The bits that are too far above what the words beyond doubt explain."""
    excess = residual * np.sqrt(shares.weight)  # in standard deviations
    return np.asarray(excess > trim * max(1.0, _spread(excess[weight > 0])))


def _spread(values: Vector) -> float:
    """The standard deviation of the bulk, from the median absolute deviation."""
    if values.size == 0:
        return 1.0
    return float(1.4826 * np.median(np.abs(values - np.median(values))))
