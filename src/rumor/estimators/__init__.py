"""Summary to estimate: `estimate` finds the estimator that fits the mechanism and the method."""

from __future__ import annotations

import numpy as np

from rumor.errors import InputError, shown
from rumor.estimates import Estimate
from rumor.estimators.linear import (
    MENDING,
    checked_method,
    estimate_channel_linear,
    estimate_linear,
)
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.summary import Summary

METHODS = ("auto", *MENDING)


def estimate(mechanism: object, data: object, *, method: str = "auto") -> Estimate:
    """Estimate what the crowd answered, from reports or from a summary of them.

    `mechanism` is the one that made the reports, or an explicit channel matrix
    P[x, y] = P(output y | input x); then `data` is how often each output was seen.

    Methods: "inversion" (unbiased), "clip" (negatives to zero, rescaled), "projection"
    (nearest point of the simplex), "norm-sub" (the same, by its published iteration).
    "auto" is the projection.
    """
    chosen = checked_method(method, METHODS)
    linear = "projection" if chosen == "auto" else chosen
    if not isinstance(mechanism, Mechanism):
        if isinstance(mechanism, (np.ndarray, list, tuple)):
            return estimate_channel_linear(mechanism, data, linear)
        raise InputError(f"estimate needs a mechanism or a channel matrix; got {shown(mechanism)}")
    summary = summarized(mechanism, data)
    if isinstance(mechanism, FrequencyOracle):
        return estimate_linear(summary, linear)
    raise InputError(f"no estimator is known for {mechanism!r}")


def summarized(mechanism: Mechanism, data: object) -> Summary:
    """Reports or a summary as a non-empty summary of this mechanism."""
    if isinstance(data, Summary):
        if data.mechanism != mechanism:
            raise InputError(
                f"the summary must be of the mechanism given; got one of {data.mechanism!r}"
            )
        # The caller's mechanism knows the labels; a summary read from a file does not.
        summary = Summary(mechanism, data.reports, data.tally, data.contract, data.question)
    else:
        summary = Summary.empty(mechanism).update(data)
    if summary.reports == 0:
        raise InputError("an estimate needs at least one report; got none")
    return summary
