"""Distributions of ordered answers: every method, and the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rumor.core.checks import checked_above_zero, checked_method, checked_size
from rumor.core.types import Vector
from rumor.estimators.data import as_summary
from rumor.kinds.ordered.fit.average import OrderedFit, fit_ordered
from rumor.kinds.ordered.fit.em import em, ems, linear_mean
from rumor.kinds.ordered.point_estimate import checked_assumption
from rumor.kinds.ordered.result import OrderedEstimate
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave.wave import Wave

_EM_OPTIONS = ("tolerance", "iterations", "assume")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "auto": ("assume",),
    "ordered": ("assume",),
    "em": _EM_OPTIONS,
    "ems": _EM_OPTIONS,
}
"""The methods, each with the names of its options."""
_ITERATED: Mapping[str, Callable[..., Vector]] = {"em": em, "ems": ems}
_PUBLISHED_TOLERANCE = 1e-3
_MOST_ITERATIONS = 10_000_000


def estimate(
    mechanism: Wave, data: object, method: str, options: Mapping[str, Any]
) -> OrderedEstimate:
    """Return the distribution from reports or a summary of them."""
    chosen = checked_method(method, options, OPTIONS)
    if "tolerance" in options:
        checked_above_zero("tolerance", options["tolerance"])
    if "iterations" in options:
        checked_size("iterations", options["iterations"], 1, _MOST_ITERATIONS)
    assume = checked_assumption(options.get("assume"))
    summary = as_summary(mechanism, data)
    fit = fit_ordered(mechanism.band, summary.tally, mechanism.marks)
    frequency = _frequencies_by_method(mechanism, summary, fit, chosen, options)
    scale, n = mechanism.scale, summary.reports
    mean, error = linear_mean(mechanism.band, summary.tally)
    # Few reports may agree by chance; the mechanism's noise is a lower bound on the variance.
    error = max(error, math.sqrt(least_variance(mechanism) / n))
    return OrderedEstimate(
        scale=scale,
        frequency=frequency,
        unbiased=float(scale.at(mean + 0.5)),
        stderr=scale.unit * error,
        rounded=scale.labels is not None or bool(mechanism.marks),
        reports=n,
        epsilon=mechanism.epsilon,
        method="ordered" if chosen == "auto" else chosen,
        fit=fit,
        band=mechanism.band,
        counts=summary.tally,
        heaps=bool(mechanism.marks),
        assume=assume,
        diagnostics={"fake_clients": bound_poisoning(mechanism, n).to_dict()},
    )


def _frequencies_by_method(
    mechanism: Wave, summary: Summary, fit: OrderedFit, method: str, options: Mapping[str, Any]
) -> Vector:
    if method not in _ITERATED:
        return fit.frequency
    seen = summary.tally.astype(np.float64)
    # The published tolerances: e^epsilon / 1000 for "em", 1 / 1000 for "ems".
    factor = math.exp(mechanism.epsilon) if method == "em" else 1.0
    said = {name: value for name, value in options.items() if name != "assume"}
    wished = {"tolerance": factor * _PUBLISHED_TOLERANCE, **said}
    return _ITERATED[method](mechanism.band, seen, **wished)


def least_variance(mechanism: Wave) -> float:
    """Return the smallest variance, over positions, of one report's estimate of the position."""
    band = mechanism.band
    outputs: Vector = np.arange(band.outcomes, dtype=np.float64) - (band.outcomes - 1) / 2
    spread: Vector = band.adjoint(outputs**2) - band.adjoint(outputs) ** 2
    return float(spread.min()) / (band.gain * band.window) ** 2
