"""The peers of decoding, where they are installed: scikit-learn's Lasso, statsmodels' OLS."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.kinds.text.fit.candidates import Candidates


def installed(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


def methods(found: Callable[[Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """The published decode as its author runs it, if both libraries are there."""
    if not installed("sklearn", "statsmodels"):
        return {}

    def run(rappor: rumor.Rappor, summary: rumor.Summary, made: Candidates) -> Any:
        detected, frequency = published(rappor, summary, made)
        return found(detected, frequency)

    return {"scikit-learn + statsmodels": run}


def dense(made: Candidates) -> NDArray[np.float64]:
    """The design matrix, bits of all cohorts by candidates, in the order of the map."""
    bloom = made.bloom
    out = np.zeros((len(made), bloom.cohorts, bloom.bits + 1))
    grouped = made.rows.reshape(len(made), bloom.cohorts, bloom.hashes).astype(np.int64)
    out[np.arange(len(made))[:, None, None], np.arange(bloom.cohorts)[:, None], grouped] = 1.0
    return out[:, :, :-1].reshape(len(made), -1).T


def published(
    rappor: rumor.Rappor, summary: rumor.Summary, made: Candidates
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Lasso(alpha=0.1, positive=True), cut at 0.001, OLS, one-sided t-test at 5 %."""
    import statsmodels.api as sm
    from sklearn.linear_model import Lasso

    sizes, counts = rappor.cohort_counts(summary.tally)
    y = ((counts - rappor.p_star * sizes[:, None]) / (rappor.q_star - rappor.p_star)).reshape(-1)
    x = dense(made)
    lasso = Lasso(alpha=0.1, positive=True, max_iter=10_000, fit_intercept=False).fit(x, y)
    kept = np.flatnonzero(np.abs(lasso.coef_) > 1e-3)
    fitted = sm.OLS(y, x[:, kept]).fit()
    p_value = np.where(fitted.tvalues > 0, fitted.pvalues / 2, 1.0)
    detected, frequency = np.zeros(len(made), dtype=np.bool_), np.zeros(len(made))
    detected[kept] = p_value < 0.05
    frequency[kept] = np.where(p_value < 0.05, fitted.params / sizes.mean(), 0.0)
    return made.restore(detected), made.restore(frequency)
