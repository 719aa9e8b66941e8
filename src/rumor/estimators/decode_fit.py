"""The fit behind "auto": how strong a penalty, and how sure of each word.

The penalty is chosen by generalised cross-validation along a path. With s of n degrees of
freedom used, tau^2 = (RSS/n) / (1 - s/n)^2 is the noise that a candidate's de-biased estimate

    b_j + x_j'(w r) / (nu_j (1 - s/n)),    nu_j = the squared length of its column,

sees: it is normal about the truth with variance tau^2 / nu_j (Javanmard and Montanari 2014;
Bayati and Montanari 2012 for the correction by the degrees of freedom). With a dictionary that
explains the data tau^2 is near 1, the variances being known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.estimators.decode_counts import Table
from rumor.estimators.decode_lasso import Lasso, Vector

PENALTIES = (4.0, 3.5, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.2)
# The search ends when tau has risen so often in a row, or so much of the freedom is used.
_RISES = 3
_FULLEST = 0.7


@dataclass(frozen=True, eq=False)
class Fit:
    """A chosen fit; vectors are over the rows of the candidate map.

    `score` is what tests compare: the total x'(w r) that each candidate would have had under the
    fit without it, to be held against that of words made up after the fit, under `pull`, the
    table w r of this fit (cohorts, bits).
    """

    penalty: float
    support: int
    freedom: int
    tau: float
    estimate: Vector
    stderr: Vector
    score: Vector
    pull: Table


def best_fit(lasso: Lasso, penalties: Sequence[float] = PENALTIES) -> Fit:
    """The fit at the penalty with the smallest tau, searched from the strongest down."""
    best: Fit | None = None
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
        if best is None or tau < best.tau:
            best = _debiased(lasso, penalty, tau, left)
        if rises == _RISES:
            break
    assert best is not None
    return best


def _debiased(lasso: Lasso, penalty: float, tau: float, left: float) -> Fit:
    seen = lasso.norms > 0
    norms, b = np.where(seen, lasso.norms, 1.0), lasso.coefficients
    estimate = np.where(seen, b + lasso.scores / (norms * left), 0.0)
    # Without candidate j the residuals would be longer: what it explains would stay in them.
    squares = max(lasso.squares(), 1e-300)
    longer = np.sqrt(1.0 + b * (b * norms * left + 2.0 * penalty * np.sqrt(norms)) / squares)
    return Fit(
        penalty=penalty,
        support=lasso.support,
        freedom=lasso.freedom,
        tau=tau,
        estimate=estimate,
        stderr=np.where(seen, tau / np.sqrt(norms), np.inf),
        score=estimate * left * norms / longer,
        pull=lasso.residual_pull()[:, :-1],
    )
