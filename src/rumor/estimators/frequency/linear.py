"""Linear estimation: invert the channel, then mend the result onto the simplex.

"inversion" is unbiased and may leave [0, 1]; the others start from it. Standard errors
and intervals are always those of the linear estimate, kept apart from the mended one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, shown, type_of
from rumor.core.types import Vector
from rumor.estimators.frequency.simplex import clip_and_rescale, norm_sub, project


def _as_it_is(estimate: Vector) -> Vector:
    return estimate


MENDING: Mapping[str, Callable[[Vector], Vector]] = {
    "inversion": _as_it_is,
    "clip": clip_and_rescale,
    "projection": project,
    "norm-sub": norm_sub,
}


def checked_channel(matrix: object) -> NDArray[np.float64]:
    """A channel matrix P[x, y] = P(output y | input x), checked to be one."""
    try:
        channel = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"a channel matrix must hold numbers; got {shown(matrix)}") from None
    if channel.ndim != 2 or min(channel.shape) < 2:
        raise InputError(
            f"a channel matrix must have at least two inputs (rows) and two outputs (columns); "
            f"got shape {channel.shape}"
        )
    if not np.isfinite(channel).all() or (channel < 0).any():
        raise InputError("a channel matrix must hold probabilities; got a negative or missing one")
    worst = float(np.abs(channel.sum(axis=1) - 1).max())
    if worst > 1e-9:
        raise InputError(f"each row of a channel matrix must sum to 1; got one off by {worst:.3g}")
    return channel


def checked_counts(counts: object, outputs: int) -> NDArray[np.float64]:
    """How often each output was seen, checked against the number of outputs."""
    try:
        seen = np.asarray(counts)
    except ValueError:
        raise InputError(
            f"counts must be one number for each of the {outputs} outputs; got {type_of(counts)}"
        ) from None
    if seen.shape != (outputs,) or seen.dtype.kind not in "iuf":
        raise InputError(
            f"counts must be one number for each of the {outputs} outputs; "
            f"got shape {seen.shape} of dtype {seen.dtype}"
        )
    if not np.isfinite(seen).all() or (seen < 0).any() or seen.sum() <= 0:
        raise InputError(
            f"counts must be 0 or more and not all 0; got a sum of {float(seen.sum()):g}"
        )
    return seen.astype(np.float64)


def invert(channel: NDArray[np.float64], seen: NDArray[np.float64]) -> tuple[Vector, Vector]:
    """Inversion of any explicit channel (CSS 2020, equation 4), and its standard errors.

    With more outputs than inputs the inverse is the least-squares one; it is unbiased
    whenever the rows of the matrix are linearly independent, and refused otherwise.
    """
    inputs = channel.shape[0]
    if np.linalg.matrix_rank(channel) < inputs:
        raise InputError(
            f"a channel can be inverted only when its rows are linearly independent; "
            f"got rank {np.linalg.matrix_rank(channel)} for {inputs} inputs"
        )
    total = float(seen.sum())
    shares = seen / total
    inverse = np.linalg.pinv(channel)
    unbiased = shares @ inverse
    # Multinomial counts: Var = (sum_y A_yx^2 s_y - (sum_y A_yx s_y)^2) / n.
    variance = np.maximum(shares @ inverse**2 - unbiased**2, 0.0) / total
    return np.asarray(unbiased), np.sqrt(variance)


def channel_epsilon(channel: NDArray[np.float64]) -> float:
    """The largest log-ratio in a column of an explicit channel (infinite where a 0 meets a p)."""
    high, low = channel.max(axis=0), channel.min(axis=0)
    reached = high > 0
    if (low[reached] == 0).any():
        return float("inf")
    return float(np.log(high[reached] / low[reached]).max())
