"""The state of a coordinate descent of the non-negative Lasso, for compiled and plain loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


class Descent(NamedTuple):
    """One Lasso fit, or several in parallel; `pull`, `level` and `coefficients` are updated."""

    rows: NDArray[np.unsignedinteger]
    """The bits of each candidate."""
    hashes: int
    pull: F64
    """The weight times the residual of every bit."""
    weights: F64
    inverse: F64
    """One over the total weight of each cohort, or 0 where its level is not free."""
    level: F64
    norms: F64
    penalties: F64
    coefficients: F64
