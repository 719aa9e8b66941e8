"""The fit of the default decode, and the score of a word in the fit of all others.

The penalty is chosen by generalised cross-validation along a path. With s of n degrees of freedom
used, tau^2 = (RSS/n) / (1 - s/n)^2 is the variance that a candidate's de-biased estimate

    b_j + x_j'(w r) / (nu_j (1 - s/n)),    nu_j = the squared length of its column,

has in units of 1 / nu_j: the estimate is normal about the truth with variance tau^2 / nu_j
(Javanmard and Montanari 2014; Bayati and Montanari 2012 for the correction by the degrees of
freedom). With a dictionary that explains the data tau^2 is near 1, the variances being known.
Estimates use this variance; tests do not, for the following reason.

The p-value of a word must come from the fit of all the other words. A word in the fit has shaped
the residuals, so against them the word looks better than it is: among words that nobody has, those
in the fit had p-values many times too small. So every word that is about to be detected is
removed, the fit is brought to its optimum without the word (words that would replace it may
enter), and only then the word is scored, against decoys under *those* residuals. Given everything
but its own bits, a word that nobody has has bits that are independent of them, so this p-value is
exact whatever made the counts: heavy words that no list has, or a fit that fits badly. (Two
choices remain that saw the word: the penalty, and the bits that were trimmed.)

First every word of the fit gets a quick score, as if the others kept their signs; the quick score
decides which words are worth the refit. For words outside the fit the ordinary score is this
score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumor.core.loops import decode_loops
from rumor.core.types import Vector
from rumor.kinds.text.fit.candidates import Map
from rumor.kinds.text.fit.decoys import Judge
from rumor.kinds.text.fit.lasso import Lasso, State, Table, combined
from rumor.kinds.text.fit.refit import cholesky_factor, cholesky_solve

PENALTIES = (4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.2)
# The search ends after this many rises of tau in a row, or with this share of the freedom used.
_RISES = 3
_FULLEST = 0.7


@dataclass(frozen=True, eq=False)
class LassoFit:
    """A Lasso at its chosen penalty; vectors are over the rows of the candidate map."""

    lasso: Lasso
    penalty: float
    tau: float
    left: float
    """1 - s/n, the unused share of the degrees of freedom."""

    def debiased(self) -> tuple[Vector, Vector]:
        """Return the de-biased estimate of each candidate, and its standard error."""
        seen = self.lasso.norms > 0
        norms = np.where(seen, self.lasso.norms, 1.0)
        estimate = self.lasso.coefficients + self.lasso.scores / (norms * self.left)
        return np.where(seen, estimate, 0.0), np.where(seen, self.tau / np.sqrt(norms), np.inf)


def best_fit(lasso: Lasso, penalties: Sequence[float] = PENALTIES) -> LassoFit:
    """Return the fit at the penalty with the smallest tau, searched from the strongest down."""
    best: tuple[float, float, float, State] | None = None
    rises, last = 0, np.inf
    lasso.approach(penalties[0])
    for penalty in penalties:
        lasso.solve(penalty * lasso.lengths)
        used = lasso.support / max(lasso.freedom, 1)
        if best is not None and used > _FULLEST:
            break
        left = 1.0 - min(used, _FULLEST)
        tau = float(np.sqrt(lasso.squares() / max(lasso.freedom, 1))) / left
        rises, last = (rises + 1 if tau > last else 0), tau
        if best is None or tau < best[1]:
            best = penalty, tau, left, lasso.state()
        if rises == _RISES:
            break
    assert best is not None
    penalty, tau, left, state = best
    lasso.restore(state)
    return LassoFit(lasso, penalty, tau, left)


Chosen = NDArray[np.intp]

# With more words than _MOST_INVERTED the Gram matrix is not inverted (the mean unused share of
# freedom replaces its diagonal); with more than _MOST_FACTORED not factored (the descent then takes
# longer).
_MOST_INVERTED = 1000
_MOST_FACTORED = 2500
# Words with a score above _ABLE times the penalty may enter; those above _NEAR times are in the
# working set from the start. (A word below _ABLE has bits that other words need more than the
# removed one does.)
_ABLE = 0.25
_NEAR = 0.9
# The number of words that may enter each fit in a round, those with the largest excess first.
_ENTER = 16
# A word that exceeds its penalty by less than this, in standard deviations, may stay out.
_SLACK = 0.05
# After one round, a word with a p-value below this needs no further rounds.
_BEYOND = 1e-10
_MOST_ROUNDS = 4
_MOST_SWEEPS = 500
# The size of residual tables that stay in the processor's cache.
_BLOCK_BYTES = 1 << 22
_BLOCKS = (8, 64)


class LeaveOut:
    """A fit with the means to compute what it would be without one of its words."""

    def __init__(self, fit: LassoFit) -> None:
        self._fit, lasso = fit, fit.lasso
        self.active = np.flatnonzero(lasso.coefficients)
        self.factor: Table | None = None
        if 0 < self.active.size <= _MOST_FACTORED:
            gram, rows = np.zeros((self.active.size,) * 2), lasso.rows[self.active]
            decode_loops().gram(rows, lasso.hashes, lasso.weight, lasso.inverse, gram)
            self.factor = cholesky_factor(gram)

    def quick_scores(self) -> Vector:
        """Return the score of each candidate in the fit without itself, as if the others kept their
        signs.

        With G the Gram matrix of the words in the fit, d_j = 1 / (G^-1)_jj is the squared length
        of the column of word j that the others do not explain; without the word the score would be
        x_j'(w r) + b_j d_j. The residuals would be longer too, which is divided out.
        """
        lasso, scores = self._fit.lasso, self._fit.lasso.scores.copy()
        b, norms = lasso.coefficients[self.active], lasso.norms[self.active]
        left = norms * self._fit.left
        if self.factor is not None and b.size <= _MOST_INVERTED:
            decode_loops().inverse_diagonal(self.factor, left)
            left = 1.0 / left
        squares = max(lasso.squares(), 1e-300)
        longer = np.sqrt(1.0 + b * (b * left + 2.0 * self._fit.penalty * np.sqrt(norms)) / squares)
        scores[self.active] = (scores[self.active] + b * left) / longer
        return scores

    def start(self, word: int) -> Vector:
        """Return the coefficients of the fit's words without `word`, as if the others kept
        their signs.
        """
        b, place = self._fit.lasso.coefficients[self.active], np.searchsorted(self.active, word)
        moved = np.zeros(b.size)
        moved[place] = 1.0
        if self.factor is not None:
            column = cholesky_solve(self.factor, moved)
            moved = column / column[place]
        out = np.maximum(b - b[place] * moved, 0.0)
        out[place] = 0.0
        return np.asarray(out)

    def p_values(self, words: Chosen, judge: Judge) -> Iterator[tuple[Chosen, Vector]]:
        """Yield the fit's `words` in blocks, with their p-values under the fits without them."""
        fit, lasso = self._fit, self._fit.lasso
        if not words.size:
            return
        bounds, inside = fit.penalty * lasso.lengths, lasso.coefficients > 0
        seen = lasso.norms > 0
        working = np.flatnonzero((inside | (lasso.scores > _NEAR * bounds)) & seen)
        able = np.flatnonzero((lasso.scores > _ABLE * bounds) & ~inside & seen)
        others = _Others(able, lasso.rows[able], (bounds + _SLACK * lasso.lengths)[able])
        size = int(np.clip(_BLOCK_BYTES // lasso.pull.nbytes, *_BLOCKS))
        for first in range(0, words.size, size):
            block = _Block(self, fit, words[first : first + size], working, others)
            yield block.words, block.judged(judge)
            working = block.working  # words that entered once may enter again


class _Others(NamedTuple):
    """The candidates that may enter a fit, their rows of the map, and their entry thresholds."""

    able: Chosen
    rows: Map
    bounds: Vector


class _Block:
    """A block of fits side by side, each without one word."""

    def __init__(
        self, leave: LeaveOut, fit: LassoFit, words: Chosen, working: Chosen, others: _Others
    ) -> None:
        self.lasso, self.words, self.working, self.others = fit.lasso, words, working, others
        self.penalties = fit.penalty * fit.lasso.lengths
        lasso, many = fit.lasso, words.size
        self.coefficients = np.zeros((working.size, many))
        self.pull = np.empty((*lasso.pull.shape, many))
        places, rows = np.searchsorted(working, leave.active), lasso.rows[leave.active]
        for k, word in enumerate(words.tolist()):
            start = leave.start(word)
            self.coefficients[places, k] = start
            fitted = combined(rows, lasso.hashes, start, lasso.weight)
            self.pull[:, :, k] = lasso.weighted_share - lasso.weight * fitted
        self.level = self.pull.sum(axis=1) * lasso.inverse[:, None]

    def judged(self, judge: Judge) -> Vector:
        """Return the words' p-values, each at the optimum of its fit among all other candidates.

        A fit also ends early once the strongest entrants are in and the p-value is below _BEYOND.
        """
        p_value, wanting = np.ones(self.words.size), np.arange(self.words.size)
        for number in range(_MOST_ROUNDS):
            self._descend()
            entering = self._wanted(wanting)
            at_rest = (entering < 0).all(axis=1) | (number == _MOST_ROUNDS - 1)
            for k in wanting[at_rest | (number > 0)].tolist():
                p_value[k] = self._p_value(k, judge)
            goes_on = ~at_rest & (p_value[wanting] > _BEYOND)
            if not goes_on.any():
                break
            wanting, entering = wanting[goes_on], entering[goes_on]
            self._let_in(entering[entering >= 0])
        return p_value

    def _descend(self) -> None:
        lasso, chosen = self.lasso, self.working
        fits = lasso.descent(chosen, self.pull, self.level, self.penalties, self.coefficients)
        barred = np.searchsorted(chosen, self.words)
        decode_loops().descend_many(fits, barred, lasso.tolerance, _MOST_SWEEPS)

    def _wanted(self, fits: Chosen) -> NDArray[np.int64]:
        """Return the words outside the working set that the `fits` would take; -1 for none."""
        lasso = self.lasso
        others, bounds = self.others, self.others.bounds.astype(np.float32)
        bounds[np.isin(others.able, self.working, assume_unique=True)] = np.inf
        who = np.empty((fits.size, _ENTER), dtype=np.int64)
        excess = np.empty(who.shape, dtype=np.float32)
        level = self.level[:, None, fits] * lasso.weight[:, :, None]
        tables = (self.pull[:, :, fits] - level).astype(np.float32)
        decode_loops().exceeding(others.rows, lasso.hashes, tables, bounds, excess, who)
        return np.append(others.able, -1)[who]

    def _let_in(self, more: NDArray[np.int64]) -> None:
        together = np.union1d(self.working, more)
        coefficients = np.zeros((together.size, self.words.size))
        coefficients[np.searchsorted(together, self.working)] = self.coefficients
        self.working, self.coefficients = together, coefficients

    def _p_value(self, k: int, judge: Judge) -> float:
        """Return the probability that a decoy scores as high under the fit without word `k`."""
        lasso, word = self.lasso, int(self.words[k])
        table = self.pull[:, :, k] - self.level[:, k, None] * lasso.weight
        row = lasso.rows[word].reshape(-1, lasso.hashes).astype(np.int64)
        score = float(table[np.arange(len(row))[:, None], row].sum())
        return judge.left_out(score, table[:, :-1])
