"""Decoding with a controlled false discovery rate: fit, decoys, Benjamini-Hochberg, refit.

A heavy word that is not in the dictionary leaves bits far above anything that the candidates
explain. Such bits drown the rest, so they are trimmed and the decode is repeated, until the set of
trimmed bits is stable. Only words beyond doubt explain a bit: if any candidate could, a word that
nobody has would keep the very bits that its score comes from.
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
from rumor.kinds.text.fit.left_out import LassoFit, LeaveOut, best_fit
from rumor.kinds.text.fit.refit import Refit, refit

TRIM = 4.5
_MOST_ROUNDS = 6
# A word is beyond doubt when the p-value, times the number of candidates, is below this.
_DOUBT = 0.01
# Tests use this part of the level, since the p-values are approximate: the penalty and the trimmed
# bits depend on the word, and words share bits.
_KEPT = 0.8
# Words are tested again in the fit without themselves when their quick p-value is within this
# factor of the bound.
_WORTH = 8.0


@dataclass(frozen=True, eq=False)
class Decoded:
    """The result of a decode, in the order of the candidate map's rows.

    `noise` is the mean squared residual of the refit, in known variances: 1 when the detected
    words explain the data, more when other words remain.
    """

    fit: LassoFit
    p_value: Vector
    least: float
    """The smallest p-value that can occur."""
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
    """Return the words detected at the false discovery rate `level`, with sampled or all
    `decoys`.
    """
    rows, bloom = candidates.rows, candidates.bloom
    trimmed = np.zeros(shares.share.shape, dtype=np.bool_)
    seen: set[bytes] = set()
    found: LassoFit | None = None
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
        # A set of trimmed bits that occurred before would recur for ever.
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
    """The p-values of all candidates under one fit: quick ones first, exact ones near the bound."""

    def __init__(self, fit: LassoFit, judge: Judge) -> None:
        self._leave, self._judge = LeaveOut(fit), judge
        self.p_value = judge.p_values(self._leave.quick_scores())
        self._open = fit.lasso.coefficients > 0
        """The words of the fit that were not yet tested in the fit without themselves."""

    def below(self, bound: float) -> NDArray[np.bool_]:
        """Return the candidates whose p-value is at most `bound`."""
        self._settle(bound)
        return np.asarray(self.p_value <= bound)

    def discovered(self, level: float) -> NDArray[np.bool_]:
        """Return the discoveries at `level`, all of them tested in the fit without themselves."""
        first = int(benjamini_hochberg(self.p_value, level).sum())
        self._settle(level * max(first, 1) / self.p_value.size)
        return benjamini_hochberg(self.p_value, level)

    def _settle(self, bound: float) -> None:
        worth = np.flatnonzero(self._open & (self.p_value <= _WORTH * bound))
        self._open[worth] = False
        for words, p_values in self._leave.p_values(worth, self._judge):
            self.p_value[words] = p_values


def _fitted(lasso: Lasso, penalties: Sequence[float], last: LassoFit | None) -> LassoFit:
    """Return the best fit, started at the `last` one, which is near after trimming.

    A word all of whose bits were trimmed is left out, since no residual would ever remove it.
    """
    if last is None:
        return best_fit(lasso, penalties)
    active = np.flatnonzero((last.lasso.coefficients != 0) & (lasso.norms > 0))
    lasso.begin_at(active, last.lasso.coefficients[active])
    return best_fit(lasso, penalties[max(penalties.index(last.penalty) - 1, 0) :])


def _unexplained(
    residual: Table, shares: BitShares, weight: Table, trim: float
) -> NDArray[np.bool_]:
    """Return the bits that exceed what the words beyond doubt explain by more than `trim`."""
    excess = residual * np.sqrt(shares.weight)  # in standard deviations
    return np.asarray(excess > trim * max(1.0, _spread(excess[weight > 0])))


def _spread(values: Vector) -> float:
    """Return the standard deviation of the bulk of `values`, from their median absolute
    deviation.
    """
    if values.size == 0:
        return 1.0
    return float(1.4826 * np.median(np.abs(values - np.median(values))))
