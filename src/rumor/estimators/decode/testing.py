"""Which words are there: a rejection rule that keeps false discoveries rare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.types import Vector


def benjamini_hochberg(p_values: Vector, level: float) -> NDArray[np.bool_]:
    """The hypotheses rejected so that at most `level` of them, on average, are true.

    Benjamini and Hochberg 1995: all with p at most level * r / M, r the largest rank for which
    the r-th smallest p-value is at most that.
    """
    # Larger p-values than the level cannot be rejected and need not be sorted.
    small = np.sort(p_values[p_values <= level])
    passing = np.flatnonzero(small <= level * np.arange(1, small.size + 1) / p_values.size)
    if passing.size == 0:
        return np.zeros(p_values.size, dtype=np.bool_)
    return np.asarray(p_values <= small[passing[-1]])
