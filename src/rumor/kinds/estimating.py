"""Summary to estimate: `estimate` finds the estimator that fits the mechanism and the method."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.core.reports import Reports, as_reports
from rumor.core.settings import known_keys
from rumor.estimators.data import Material
from rumor.estimators.frequency.linear import checked_method
from rumor.estimators.passes import Passes
from rumor.kinds.choice.estimate import METHODS, OPTIONS, estimate_channel, estimate_oracle
from rumor.kinds.keyvalue.result import KeyValueEstimate, MeanEstimate, NumericEstimate
from rumor.kinds.number.families import estimate_numeric, methods_of
from rumor.kinds.text.result import WordEstimate
from rumor.mechanisms import FrequencyOracle, KeyValueMechanism, MeanMechanism, Mechanism, Rappor
from rumor.mechanisms.summary import Summary
from rumor.results.estimate import Estimate

__all__ = ["METHODS", "OPTIONS", "estimate", "methods_for", "summarized"]


@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: MeanMechanism, data: object, *, method: str = ...
) -> MeanEstimate: ...
@overload
def estimate(  # type: ignore[overload-overlap]
    mechanism: KeyValueMechanism, data: object, *, method: str = ...
) -> KeyValueEstimate: ...
@overload
def estimate(
    mechanism: Rappor, data: object, *, method: str = ..., candidates: object, **options: Any
) -> WordEstimate: ...
@overload
def estimate(
    mechanism: object,
    data: object,
    *,
    method: str = ...,
    target: str = ...,
    start: str = ...,
    gap: float = ...,
    tolerance: float = ...,
    norm: str = ...,
    max_iterations: int = ...,
    max_updates: int = ...,
    per_bit: bool = ...,
    likelihood: str = ...,
) -> Estimate: ...
def estimate(
    mechanism: object, data: object, *, method: str = "auto", **options: Any
) -> Estimate | NumericEstimate:
    """Estimate what the crowd answered, from reports or from a summary of them.

    A `Material` holds both, the reports also where an engine keeps them.

    `mechanism` is the one that made the reports, or an explicit channel matrix
    P[x, y] = P(output y | input x); then `data` is how often each output was seen.

    Methods for frequencies: "auto" (empirical Bayes on the counts; the default), "refined"
    (a second pass over the reports, which seldom gains anything), "bayes" (largest likelihood,
    certified), "em" (the iterative Bayesian update), "inversion" (unbiased), "clip" (negatives
    to zero, rescaled), "projection" (nearest point of the simplex), "norm-sub" (the same, by its
    published iteration). Their options are in rumor.kinds.choice.estimate. "bayes", "em" and
    "refined" need the reports, or a summary that counts whole reports.

    Means and key-value data have methods of their own: rumor.kinds.number.estimate and
    rumor.kinds.keyvalue.estimate list them. Words of RAPPOR are decoded against `candidates`, with
    the methods and options of rumor.kinds.text.estimate.
    """
    if isinstance(mechanism, Rappor):
        from rumor.kinds.text.estimate import decode

        words = options.pop("candidates", None)
        return decode(summarized(mechanism, data), words, method=method, **options)
    if isinstance(mechanism, Mechanism) and methods_of(mechanism) is not None:
        known_keys("estimate", options, ())
        return estimate_numeric(mechanism, data, method, summarized)
    chosen = checked_method(method, METHODS)
    known_keys(f'method "{chosen}"', options, OPTIONS[chosen])
    if isinstance(mechanism, FrequencyOracle):
        summary = summarized(mechanism, data)
        return estimate_oracle(Material(summary, _reports(mechanism, data)), chosen, options)
    if isinstance(mechanism, (np.ndarray, list, tuple)):
        return estimate_channel(mechanism, data, chosen, options)
    if isinstance(mechanism, Mechanism):
        raise InputError(f"no estimator is known for {mechanism!r}")
    raise InputError(f"estimate needs a mechanism or a channel matrix; got {shown(mechanism)}")


def _reports(mechanism: Mechanism, data: object) -> Reports | Passes | None:
    """The reports in what was given, where they are there."""
    if isinstance(data, Material):
        return data.reports
    return None if isinstance(data, Summary) else as_reports(data, mechanism.width)


def methods_for(mechanism: Mechanism) -> tuple[str, ...]:
    """The methods that estimate this mechanism's reports."""
    if isinstance(mechanism, Rappor):
        from rumor.kinds.text import estimate as decode

        return tuple(decode.METHODS)
    return methods_of(mechanism) or METHODS


def summarized(mechanism: Mechanism, data: object) -> Summary:
    """Reports or a summary as a non-empty summary of this mechanism."""
    if isinstance(data, Material):
        data = data.summary
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
