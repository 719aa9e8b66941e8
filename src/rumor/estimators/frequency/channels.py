"""Explicit channels, as a matrix, its seen columns or a function, and the counts they give.

The likelihood of counts n_y is sum_y n_y log sum_x h_x P(y | x). Outputs that were never seen
drop out of it (CSS 2020, equation 11), and so does a constant factor of P (equation 12). So
besides a whole matrix a channel may be given by its seen columns alone, times any constant, by a
sparse matrix, or by a function from an output to its column. Inversion needs the whole matrix.

The default estimate needs support counts. A channel whose outputs support values, as those of
every built-in mechanism do, has two numbers in each column, always in one proportion; its counts
are then those of the mechanism. For any other channel that can be inverted, the unbiased shares
and their standard errors are written as counts that would have given them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, format_value, type_in_words
from rumor.core.types import Vector
from rumor.mechanisms.support import ItemCounts

# The error that the row sums of a whole channel may have, from adding up in doubles.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Columns:
    """The columns of a channel that were seen, as rows: outputs seen by inputs.

    `rows` is an array, or a sparse matrix of scipy. `whole` is the channel and all its counts,
    where every output is there and each row sums to one.
    """

    rows: Any
    counts: Vector
    whole: tuple[NDArray[np.float64], Vector] | None

    @property
    def values(self) -> int:
        """The number of inputs."""
        return int(self.rows.shape[1])

    def require_possible(self) -> None:
        """Refuse an output that was seen and that no input can give."""
        if not (self.rows @ np.ones(self.values) > 0).all():
            raise InputError("a channel must be able to give every output seen; got one it cannot")


def require_whole(channel: object, columns: Columns, method: str) -> tuple[Vector, Vector]:
    """Return the whole channel and all counts, for a `method` that inverts the channel."""
    if columns.whole is not None:
        return columns.whole
    if is_sparse(channel) or callable(channel):
        raise InputError(
            f'method "{method}" needs the whole channel as an array; got its seen columns alone'
        )
    worst = float(np.abs(np.asarray(channel, dtype=np.float64).sum(axis=1) - 1).max())
    raise InputError(
        f"each row of a channel matrix must sum to 1; got one off by {worst:.3g} (to "
        'methods "em" and "bayes" the seen columns will do, times any constant)'
    )


def is_channel(given: object) -> bool:
    """Return whether `given` may be a channel: numbers in rows, a sparse matrix, or a function."""
    return isinstance(given, (np.ndarray, list, tuple)) or is_sparse(given) or callable(given)


def is_sparse(given: object) -> bool:
    """Return whether `given` is a sparse matrix, without loading scipy."""
    return type(given).__module__.startswith("scipy.sparse") and hasattr(given, "tocsc")


def columns_of(channel: object, counts: object) -> Columns:
    """Return the seen columns of a channel in any form, checked."""
    if callable(channel):
        return _called(channel, counts)
    if is_sparse(channel):
        return _sparse(channel, counts)
    matrix = checked_entries(channel)
    seen = checked_counts(counts, matrix.shape[1])
    there = seen > 0
    rows = matrix.T if there.all() else matrix[:, there].T
    worst = float(np.abs(matrix.sum(axis=1) - 1).max())
    return _of(rows, seen[there], (matrix, seen) if worst <= _ROUNDING else None)


def _of(rows: Vector, counts: Vector, whole: tuple[Vector, Vector] | None) -> Columns:
    """Return the columns contiguous by input: products with few inputs are faster so."""
    if rows.shape[1] < 2:
        raise InputError(f"a channel must have at least two inputs; got {rows.shape[1]}")
    if whole is None:
        # Every column has a factor of its own to spare: nothing is too small for doubles then.
        largest = rows.max(axis=1, keepdims=True)
        rows = rows / np.where(largest > 0, largest, 1.0)
    return Columns(np.ascontiguousarray(rows.T).T, counts, whole)


def _sparse(channel: Any, counts: object) -> Columns:
    if channel.ndim != 2:
        raise InputError(f"a channel matrix must have two dimensions; got shape {channel.shape}")
    seen = checked_counts(counts, channel.shape[1])
    there = np.flatnonzero(seen > 0)
    rows = channel.tocsc()[:, there].T.tocsr().astype(np.float64)
    if not np.isfinite(rows.data).all() or (rows.data < 0).any():
        raise InputError("a channel matrix must hold probabilities; got a negative or missing one")
    if rows.shape[1] < 2:
        raise InputError(f"a channel must have at least two inputs; got {rows.shape[1]}")
    return Columns(rows, seen[there], None)


def _called(channel: Callable[..., object], counts: object) -> Columns:
    """Return a column for each output seen: `counts` are by output, or one for each from 0."""
    if isinstance(counts, Mapping):
        outputs, often = list(counts), list(counts.values())
        seen = checked_counts(np.asarray(often) if often else np.zeros(1), max(1, len(often)))
    else:
        size = np.size(counts) if isinstance(counts, (np.ndarray, list, tuple)) else 0
        seen = checked_counts(counts, size)
        outputs = list(range(size))
    there = np.flatnonzero(seen > 0)
    found = [np.asarray(channel(outputs[place]), dtype=np.float64) for place in there]
    shapes = {column.shape for column in found}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise InputError(
            "a channel's function must give for every output one number for each input; "
            f"got shapes {format_value(sorted(shapes))}"
        )
    rows = np.stack(found)
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise InputError("a channel must hold probabilities; got a negative or missing one")
    return _of(rows, seen[there], None)


def checked_entries(matrix: object) -> NDArray[np.float64]:
    """Return a matrix of numbers that may be probabilities, up to a constant factor."""
    try:
        channel = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"a channel matrix must hold numbers; got {format_value(matrix)}"
        ) from None
    if channel.ndim != 2 or min(channel.shape) < 2:
        raise InputError(
            f"a channel matrix must have at least two inputs (rows) and two outputs (columns); "
            f"got shape {channel.shape}"
        )
    # One pass: a sum is finite and a least entry not below 0 only where all entries are so.
    if not (channel.min() >= 0 and np.isfinite(channel.sum())):
        raise InputError("a channel matrix must hold probabilities; got a negative or missing one")
    return channel


def checked_counts(counts: object, outputs: int) -> NDArray[np.float64]:
    """Return how often each output was seen, checked against the number of outputs."""
    try:
        seen = np.asarray(counts)
    except ValueError:
        raise InputError(
            f"counts must be one number for each of the {outputs} outputs; got "
            f"{type_in_words(counts)}"
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


# Numbers of a channel that differ by less than this part are equal.
_EQUAL = 1e-9
# Columns that are looked at first: most channels that are none of supports show it there.
_FIRST = 64
# The largest distance of a support probability from a half, for shares from 0 to 1, and the least
# number of trials: within both a binomial count is nearly normal.
_ROOM, _FEWEST_TRIALS = 0.4, 100.0


def channel_items(
    channel: NDArray[np.float64], seen: Vector, unbiased: Vector, stderr: Vector
) -> ItemCounts:
    """Return counts for each input of `channel` from the counts `seen` of its outputs."""
    found = _support_counts(channel, seen)
    return _normal_counts(unbiased, stderr, float(seen.sum())) if found is None else found


def _support_counts(channel: NDArray[np.float64], seen: Vector) -> ItemCounts | None:
    """Return the counts of a channel of supports; None for other channels or differing values."""
    if _supports(channel[:, :_FIRST]) is None:
        return None
    supports = _supports(channel)
    if supports is None or not supports.any():
        return None
    rates = channel @ supports.T
    apart = ~np.eye(len(rates), dtype=np.bool_)
    hits, misses = rates.diagonal(), rates[apart]
    if not (_alike(hits, hits.mean()) and _alike(misses, misses.mean())):
        return None
    even = channel.mean(axis=0)
    together = ((supports * even) @ supports.T)[apart].mean()
    dispersion = float(together / np.mean(supports @ even) ** 2)
    reports, hit, miss = float(seen.sum()), float(hits.mean()), float(misses.mean())
    return ItemCounts(supports @ seen, reports, hit, miss, dispersion)


def _supports(channel: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Return which outputs support which inputs; None if a column has more than two numbers.

    An output that is as likely from every input supports none.
    """
    high, low = channel.max(axis=0), channel.min(axis=0)
    tells = high - low > _EQUAL * high
    supports = np.asarray(channel > (high + low) / 2) & tells
    if not _alike(channel, np.where(supports, high, np.where(tells, low, channel))):
        return None
    ratio = low[tells] / high[tells]
    return supports if not ratio.size or _alike(ratio, float(ratio.mean())) else None


def _alike(first: Vector, second: Vector | float) -> bool:
    return bool((np.abs(first - second) <= _EQUAL * np.abs(second)).all())


def _normal_counts(unbiased: Vector, stderr: Vector, reports: float) -> ItemCounts:
    """Return binomial counts of supports close to a half with these unbiased shares and errors.

    The common noise of all shares is left out, since the shares sum to one; the part of it that a
    fixed sum has taken out of the standard errors is added again.
    """
    # An output that nobody gave would have no spread: it is at least that of one report.
    error = np.maximum(stderr, 1 / reports) * np.sqrt(unbiased.size / (unbiased.size - 1))
    gain = min(
        _ROOM / (1 + float(np.abs(unbiased).max())),
        0.5 / float(np.sqrt(_FEWEST_TRIALS) * error.max()),
    )
    trials = (0.5 / (gain * error)) ** 2
    return ItemCounts(trials * (0.5 + gain * unbiased), trials, 0.5 + gain, 0.5, 1.0)
