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
from rumor.estimators.frequency.diagnostics import (
    POWER,
    TEST_LEVEL,
    detectable,
    deviation,
    evenness,
)
from rumor.estimators.frequency.empirical import oracle_auto
from rumor.estimators.frequency.likelihood import MatrixLikelihood
from rumor.estimators.frequency.linear import (
    MENDING,
    channel_epsilon,
    checked_channel,
    checked_counts,
    invert,
)
from rumor.estimators.frequency.refined import oracle_refined
from rumor.kinds.evidence import reports_in, summarized
from rumor.mechanisms.liars import fake_clients
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.results.estimate import Estimate
from rumor.results.intervals import CountIntervals, ExactIntervals, NormalIntervals, ScoreIntervals
from rumor.results.shares import ChannelGroups, OracleGroups

_EM_OPTIONS = ("start", "max_iterations", "gap", "tolerance", "norm", "per_bit", "likelihood")

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "auto": ("target",),
    "refined": (),
    "bayes": ("gap", "max_updates"),
    "em": _EM_OPTIONS,
    **dict.fromkeys(MENDING, ()),
}
"""Every method, and its options."""

METHODS = tuple(OPTIONS)

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
    matrix: object, counts: object, method: str, options: Mapping[str, Any]
) -> Estimate:
    """The frequencies behind an explicit channel's outputs.

    "auto" is the projection where the channel can be inverted, and "bayes" where it cannot;
    standard errors and intervals are those of the inverse, and unknown without one.
    """
    method = checked_method(method, options, OPTIONS)
    channel = checked_channel(matrix)
    seen = checked_counts(counts, channel.shape[1])
    for name in _ORACLE_ONLY:
        if name in options:
            raise InputError(f"{name} is an option for oracles; got it with a channel matrix")
    invertible = bool(np.linalg.matrix_rank(channel) == channel.shape[0])
    if method == "auto":
        method = "projection" if invertible else "bayes"
    if method == "refined":
        raise InputError('method "refined" is for subset selection; got a channel matrix')
    if invertible or method in MENDING:
        unbiased, stderr = invert(channel, seen)
    else:
        unbiased = stderr = np.full(channel.shape[0], np.nan)
    frequency, told = _channel_frequency(channel, seen, unbiased, method, options)
    return Estimate(
        values=range(channel.shape[0]),
        frequency=frequency,
        unbiased=unbiased,
        stderr=stderr,
        reports=round(float(seen.sum())),
        epsilon=channel_epsilon(channel),
        method=method,
        intervals=NormalIntervals(unbiased, stderr),
        groups=ChannelGroups(np.asarray(np.linalg.pinv(channel)), seen) if invertible else None,
        diagnostics=told,
    )


def _channel_frequency(
    channel: Vector, seen: Vector, unbiased: Vector, method: str, options: Mapping[str, Any]
) -> tuple[Vector, dict[str, object]]:
    if method in MENDING:
        return MENDING[method](unbiased), {}
    likelihood = MatrixLikelihood(channel, seen)
    if method == "em":
        return channel_em(likelihood, seen, **options)
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
        # Counts out of a fixed number of reports are exactly binomial.
        exact=ExactIntervals(items) if np.ndim(items.trials) == 0 else None,
        groups=OracleGroups(oracle, summary.tally, summary.reports),
        diagnostics={**_facts(oracle, summary), **(told or {})},
    )


def _facts(oracle: FrequencyOracle, summary: Summary) -> dict[str, object]:
    """Noise level, smallest detectable frequency, and a warning where it is due."""
    even = evenness(oracle.item_channel(summary.tally, summary.reports))
    found: dict[str, object] = {
        "noise": deviation(oracle, 0.0, summary.reports),
        "detectable": detectable(oracle, summary.reports),
        "test_level": TEST_LEVEL,
        "power": POWER,
        "even_p": even,
        "fake_clients": fake_clients(oracle, summary.reports).to_dict(),
    }
    if even > _EVEN:
        found["warning"] = (
            f"these reports do not tell the values apart: all of them equally frequent would "
            f"look the same (p = {even:.2g})"
        )
    return found
