"""The fit behind "auto": how strong a penalty, and how sure of each word.

The penalty is chosen by generalised cross-validation along a path. With s of n degrees of
freedom used, tau^2 = (RSS/n) / (1 - s/n)^2 is the noise that a candidate's de-biased estimate

    b_j + x_j'(w r) / (nu_j (1 - s/n)),    nu_j = the squared length of its column,

sees: it is normal about the truth with variance tau^2 / nu_j (Javanmard and Montanari 2014;
Bayati and Montanari 2012 for the correction by the degrees of freedom). With a dictionary that
explains the data tau^2 is near 1, the variances being known. (Estimates are made of it, tests
are not: decode_left_out.py says why.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.types import Vector
from rumor.estimators.decode.lasso import Lasso, State

PENALTIES = (4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.2)
# The search ends when tau has risen so often in a row, or so much of the freedom is used.
_RISES = 3
_FULLEST = 0.7


@dataclass(frozen=True, eq=False)
class Fit:
    """A chosen fit; vectors are over the rows of the candidate map. The Lasso stands at it."""

    lasso: Lasso
    penalty: float
    tau: float
    left: float
    """1 - s/n, the share of the freedom that is left."""

    def debiased(self) -> tuple[Vector, Vector]:
        """An estimate for each candidate, and its standard error."""
        seen = self.lasso.norms > 0
        norms = np.where(seen, self.lasso.norms, 1.0)
        estimate = self.lasso.coefficients + self.lasso.scores / (norms * self.left)
        return np.where(seen, estimate, 0.0), np.where(seen, self.tau / np.sqrt(norms), np.inf)


def best_fit(lasso: Lasso, penalties: Sequence[float] = PENALTIES) -> Fit:
    """The fit at the penalty with the smallest tau, searched from the strongest down."""
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
    return Fit(lasso, penalty, tau, left)
