"""Frequencies of a choice: every method with its options, and the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.checks import checked_method
from rumor.core.types import Vector
from rumor.estimators.data import EstimationData, as_summary, reports_in
from rumor.estimators.frequency.bayes import oracle_bayes, oracle_em
from rumor.estimators.frequency.diagnostics import (
    POWER,
    TEST_LEVEL,
    detectable,
    deviation,
    evenness,
)
from rumor.estimators.frequency.empirical import oracle_auto
from rumor.estimators.frequency.linear import (
    MENDING,
)
from rumor.estimators.frequency.refined import oracle_refined
from rumor.kinds.channel_matrix import METHODS
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.results.counts import CountIntervals, ExactIntervals
from rumor.results.estimate import Estimate
from rumor.results.intervals import ScoreIntervals
from rumor.results.shares import OracleGroups
from rumor.results.smallest_share import RareCount

OPTIONS = METHODS
"""The methods, each with the names of its options."""

_FITTED = {
    "auto": oracle_auto,
    "refined": oracle_refined,
    "bayes": oracle_bayes,
    "em": oracle_em,
}

# Above this p-value of the evenness test, the counts are consistent with equal frequencies.
_EVEN = 0.05


def estimate(
    oracle: FrequencyOracle, data: object, method: str, options: Mapping[str, Any]
) -> Estimate:
    """Return the frequencies of an oracle's values from reports, a summary of them or both."""
    chosen = checked_method(method, options, OPTIONS)
    summary = as_summary(oracle, data)
    return estimate_oracle(EstimationData(summary, reports_in(oracle, data)), chosen, options)


def estimate_oracle(data: EstimationData, method: str, options: Mapping[str, Any]) -> Estimate:
    """Return the frequencies of an oracle's values by any `method`."""
    if method in MENDING:
        return frequency_estimate(data, MENDING[method](data.unbiased), method)
    frequency, told = _FITTED[method](data, **options)
    return frequency_estimate(data, frequency, method, told)


def frequency_estimate(
    data: EstimationData,
    frequency: Vector,
    method: str,
    told: Mapping[str, object] | None = None,
) -> Estimate:
    """Return an Estimate with the given `frequency` and the linear estimate with its intervals."""
    summary, oracle, unbiased = data.summary, data.oracle, data.unbiased
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
    """Return noise level, smallest detectable frequency, poisoning bound, and a warning if due."""
    fakes = bound_poisoning(oracle, summary.reports)
    if method != "inversion":
        plausible = np.clip(oracle.unbiased(summary.tally, summary.reports), 0.0, 1.0)
        noise = np.sqrt(oracle.variance(plausible, summary.reports))
        fakes = fakes.with_share_shift(float(noise.max()))
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
            f"the counts do not differ significantly from equal frequencies of all values "
            f"(p = {even:.2g})"
        )
    return found
