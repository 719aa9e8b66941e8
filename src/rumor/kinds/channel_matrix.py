"""Methods for frequencies with their options, and the estimate from an explicit channel matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.checks import checked_method
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.frequency.bayes import channel_bayes, channel_em
from rumor.estimators.frequency.channels import (
    Columns,
    channel_items,
    columns_of,
    is_sparse,
    require_whole,
)
from rumor.estimators.frequency.empirical import default_frequency
from rumor.estimators.frequency.likelihood import MatrixLikelihood
from rumor.estimators.frequency.linear import (
    MENDING,
    channel_epsilon,
    inverse_of,
    invert,
    linear_estimate,
)
from rumor.kinds.method_aliases import ALIASES, resolve_method
from rumor.results.counts import BoundedIntervals
from rumor.results.estimate import Estimate
from rumor.results.intervals import NormalIntervals, RankedIntervals
from rumor.results.shares import ChannelGroups

_EM_OPTIONS = (
    "start",
    "max_iterations",
    "gap",
    "tolerance",
    "eta",
    "norm",
    "per_bit",
    "likelihood",
)

METHODS: Mapping[str, tuple[str, ...]] = {
    "auto": ("target",),
    "refined": (),
    "bayes": ("gap", "max_updates"),
    "em": _EM_OPTIONS,
    **dict.fromkeys(MENDING, ()),
}
"""The methods for frequencies, each with the names of its options."""

# Options that only make sense with an oracle's bits and counts.
_ORACLE_ONLY = ("per_bit", "likelihood", "target")


def estimate_channel(
    channel: object, counts: object, method: str, options: Mapping[str, Any]
) -> Estimate:
    """Return the frequencies behind the output `counts` of an explicit `channel` matrix.

    "auto" means empirical Bayes where the channel can be inverted, and "bayes" where it cannot;
    standard errors and intervals are those of the inverse, and unknown without one. Methods
    "bayes" and "em" also accept the columns that occurred alone
    (`rumor.estimators.frequency.channels`).
    """
    known = resolve_method(method, METHODS, ALIASES["choice"])
    method = checked_method(known, options, METHODS)
    for name in _ORACLE_ONLY:
        if name in options:
            raise InputError(f"{name} is an option for oracles; got it with a channel matrix")
    if method == "refined":
        raise InputError('method "refined" is for subset selection; got a channel matrix')
    columns = columns_of(channel, counts)
    if method in MENDING or (method == "auto" and not (is_sparse(channel) or callable(channel))):
        require_whole(channel, columns, method)
    if columns.whole is None:
        return _from_columns(columns, "bayes" if method == "auto" else method, options)
    matrix, seen = columns.whole
    inverse = inverse_of(matrix)
    if method == "auto" and inverse is None:
        method = "bayes"
    if inverse is not None:
        unbiased, stderr = linear_estimate(inverse[seen > 0], columns.counts)
    elif method in MENDING:
        unbiased, stderr = invert(matrix, seen)  # raises where no inverse exists
    else:
        unbiased = stderr = np.full(matrix.shape[0], np.nan)
    if method in MENDING:
        frequency, told = MENDING[method](unbiased), dict[str, object]()
    elif method == "auto":
        items = channel_items(matrix, seen, unbiased, stderr)
        frequency, told = default_frequency(items, items.unbiased)
    else:
        frequency, told = _most_likely(columns, method, options)
    return Estimate(
        values=range(matrix.shape[0]),
        frequency=frequency,
        unbiased=unbiased,
        stderr=stderr,
        reports=round(float(seen.sum())),
        epsilon=channel_epsilon(matrix),
        method=method,
        intervals=_channel_intervals(inverse, unbiased, stderr, float(seen.sum())),
        groups=None if inverse is None else ChannelGroups(inverse, seen),
        diagnostics=told,
    )


def _channel_intervals(
    inverse: Vector | None, unbiased: Vector, stderr: Vector, reports: float
) -> RankedIntervals:
    """Return intervals of the means of what each report adds; none without an inverse."""
    normal = NormalIntervals(unbiased, stderr)
    if inverse is None:
        return normal
    trials = np.full(unbiased.size, reports)
    return BoundedIntervals(normal, trials, (inverse.min(axis=0), inverse.max(axis=0)))


def _from_columns(columns: Columns, method: str, options: Mapping[str, Any]) -> Estimate:
    """Return the estimate from the columns that occurred, which determine no intervals."""
    frequency, told = _most_likely(columns, method, options)
    unknown = np.full(columns.values, np.nan)
    return Estimate(
        values=range(columns.values),
        frequency=frequency,
        unbiased=unknown,
        stderr=unknown,
        reports=round(float(columns.counts.sum())),
        epsilon=float("nan"),
        method=method,
        intervals=NormalIntervals(unknown, unknown),
        groups=None,
        diagnostics={**told, "columns": len(columns.counts)},
    )


def _most_likely(
    columns: Columns, method: str, options: Mapping[str, Any]
) -> tuple[Vector, dict[str, object]]:
    columns.require_possible()
    likelihood = MatrixLikelihood(columns.rows, columns.counts)
    if method == "em":
        observed = None if columns.whole is None else columns.whole[1]
        return channel_em(likelihood, observed, **options)
    return channel_bayes(likelihood, **options)
