"""Frequencies of a choice: every method with its options, and the estimate that it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.errors import InputError
from rumor.core.settings import checked_method
from rumor.core.types import Vector
from rumor.estimators.data import Material
from rumor.estimators.frequency.bayes import channel_bayes, channel_em, oracle_bayes, oracle_em
from rumor.estimators.frequency.channel_items import channel_items
from rumor.estimators.frequency.columns import Columns, columns_of, is_sparse, require_whole
from rumor.estimators.frequency.diagnostics import (
    POWER,
    TEST_LEVEL,
    detectable,
    deviation,
    evenness,
)
from rumor.estimators.frequency.empirical import default_frequency, oracle_auto
from rumor.estimators.frequency.likelihood import MatrixLikelihood
from rumor.estimators.frequency.linear import (
    MENDING,
    channel_epsilon,
    inverse_of,
    invert,
    linear_estimate,
)
from rumor.estimators.frequency.refined import oracle_refined
from rumor.kinds.evidence import reports_in, summarized
from rumor.mechanisms.liars import fake_clients
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.results.counts import BoundedIntervals, CountIntervals, ExactIntervals
from rumor.results.estimate import Estimate
from rumor.results.intervals import NormalIntervals, RankedIntervals, ScoreIntervals
from rumor.results.shares import ChannelGroups, OracleGroups
from rumor.results.smallest_share import RareCount

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

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "auto": ("target",),
    "refined": (),
    "bayes": ("gap", "max_updates"),
    "em": _EM_OPTIONS,
    **dict.fromkeys(MENDING, ()),
}
"""Every method, and its options."""

_FITTED = {
    "auto": oracle_auto,
    "refined": oracle_refined,
    "bayes": oracle_bayes,
    "em": oracle_em,
}
# What makes sense of an oracle's bits and counts only.
_ORACLE_ONLY = ("per_bit", "likelihood", "target")


# Above this p-value the counts are what equal frequencies would give.
_EVEN = 0.05


def estimate(
    oracle: FrequencyOracle, data: object, method: str, options: Mapping[str, Any]
) -> Estimate:
    """The frequencies of an oracle's values from reports, a summary of them or both."""
    chosen = checked_method(method, options, OPTIONS)
    summary = summarized(oracle, data)
    return estimate_oracle(Material(summary, reports_in(oracle, data)), chosen, options)


def estimate_oracle(material: Material, method: str, options: Mapping[str, Any]) -> Estimate:
    """The frequencies of an oracle's values, by any method."""
    if method in MENDING:
        return frequency_estimate(material, MENDING[method](material.unbiased), method)
    frequency, told = _FITTED[method](material, **options)
    return frequency_estimate(material, frequency, method, told)


def estimate_channel(
    channel: object, counts: object, method: str, options: Mapping[str, Any]
) -> Estimate:
    """The frequencies behind an explicit channel's outputs.

    "auto" is what it is for an oracle where the channel can be inverted, and "bayes" where not;
    standard errors and intervals are those of the inverse, and unknown without one. To "bayes"
    and "em" the seen columns will do (`rumor.estimators.frequency.columns`).
    """
    method = checked_method(method, options, OPTIONS)
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
        unbiased, stderr = invert(matrix, seen)  # says why not
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
    """From seen columns alone: the likelihood knows no more, so there are no intervals."""
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


def frequency_estimate(
    material: Material, frequency: Vector, method: str, told: Mapping[str, object] | None = None
) -> Estimate:
    """An Estimate of an oracle's frequencies: any method's answer beside the linear facts."""
    summary, oracle, unbiased = material.summary, material.oracle, material.unbiased
    plausible = np.clip(unbiased, 0.0, 1.0)
    items = oracle.item_channel(summary.tally, summary.reports)
    return Estimate(
        values=range(oracle.domain) if oracle.labels is None else oracle.labels,
        frequency=frequency,
        unbiased=unbiased,
        stderr=np.sqrt(oracle.variance(plausible, summary.reports)),
        reports=summary.reports,
        epsilon=oracle.epsilon,
        method=method,
        intervals=CountIntervals(
            ScoreIntervals(oracle.score(summary.tally, summary.reports), summary.reports),
            ExactIntervals(items),
        ),
        exact=ExactIntervals(items),
        groups=OracleGroups(oracle, summary.tally, summary.reports),
        rare=RareCount.noisiest(items),
        diagnostics={**_facts(oracle, summary, method), **(told or {})},
    )


def _facts(oracle: FrequencyOracle, summary: Summary, method: str) -> dict[str, object]:
    """Noise level, smallest detectable frequency, and a warning where it is due."""
    fakes = fake_clients(oracle, summary.reports)
    if method != "inversion":
        plausible = np.clip(oracle.unbiased(summary.tally, summary.reports), 0.0, 1.0)
        noise = np.sqrt(oracle.variance(plausible, summary.reports))
        fakes = fakes.with_shares(float(noise.max()))
    even = evenness(oracle.item_channel(summary.tally, summary.reports))
    found: dict[str, object] = {
        "noise": deviation(oracle, 0.0, summary.reports),
        "detectable": detectable(oracle, summary.reports),
        "test_level": TEST_LEVEL,
        "power": POWER,
        "even_p": even,
        "fake_clients": fakes.to_dict(),
    }
    if even > _EVEN:
        found["warning"] = (
            f"these reports do not tell the values apart: all of them equally frequent would "
            f"look the same (p = {even:.2g})"
        )
    return found
