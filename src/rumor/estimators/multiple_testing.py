"""Many tests at once: false discoveries (Benjamini and Hochberg) and families (Holm)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector


def benjamini_hochberg(p_values: Vector, level: float) -> NDArray[np.bool_]:
    """Return the hypotheses rejected so that at most `level` of them, on average, are true.

    Benjamini and Hochberg 1995: all with p at most level * r / M, r the largest rank for which
    the r-th smallest p-value is at most that.
    """
    # Larger p-values than the level cannot be rejected and need not be sorted.
    small = np.sort(p_values[p_values <= level])
    passing = np.flatnonzero(small <= level * np.arange(1, small.size + 1) / p_values.size)
    if passing.size == 0:
        return np.zeros(p_values.size, dtype=np.bool_)
    return np.asarray(p_values <= small[passing[-1]])


def holm(p_values: Vector) -> Vector:
    """Return Holm's p-values, which hold for all tests together.

    If all below 5% are rejected, a true hypothesis is rejected in 5% of families at most.
    """
    order = np.argsort(p_values, kind="stable")
    left = np.arange(p_values.size, 0, -1)
    raised = np.minimum(np.maximum.accumulate(p_values[order] * left), 1.0)
    found = np.empty(p_values.size)
    found[order] = raised
    return found
