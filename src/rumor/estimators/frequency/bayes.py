"""The generalised iterative Bayesian update (CSS 2020), and the optimum that it approaches.

"em" repeats h <- h * G (equations 5 and 9 to 12) with the start and the stopping rule of the
caller's choice; "bayes" finds the same optimum by a solver, to a certified gap. Both work on
distinct outputs only (equation 11), for oracles and for any explicit channel matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rumor.core.checks import checked_above_zero, checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.estimators.data import EstimationData, Passes
from rumor.estimators.frequency.likelihood import Likelihood, MatrixLikelihood, oracle_likelihood
from rumor.estimators.frequency.linear import clip_and_rescale, project
from rumor.estimators.frequency.scaling import probability_likelihood
from rumor.estimators.frequency.solver import Solution, interior_start, maximize, single_support
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.support import ItemCounts

Diagnostics = dict[str, object]

NORMS: Mapping[str, Callable[[Vector], float]] = {
    "sum": lambda step: float(np.abs(step).sum()),
    "euclidean": lambda step: float(np.sqrt(step @ step)),
    "largest": lambda step: float(np.abs(step).max()),
}
LIKELIHOODS = ("odds", "probability", "scaled")
_MOST = 10_000_000
# Updates after which the rounding of the sum of frequencies, otherwise constant, is taken out.
_DRIFT = 32


@dataclass(frozen=True)
class Stopping:
    """When to stop: after `iterations` updates, at a `gap`, or at a step below `tolerance`.

    The paper stops at a step below `eta` in counts, that is in frequencies times reports, in a
    norm it does not name; a small step says little about how far the optimum is, the gap does.
    """

    max_iterations: int = 1000
    gap: float | None = None
    tolerance: float | None = None
    norm: str = "euclidean"
    eta: float | None = None

    def __post_init__(self) -> None:
        checked_size("max_iterations", self.max_iterations, 1, _MOST)
        if self.eta is not None and self.tolerance is not None:
            raise InputError(
                "a step is limited by tolerance, in frequencies, or by eta, in counts; got both"
            )
        limits = (("gap", self.gap), ("tolerance", self.tolerance), ("eta", self.eta))
        for name, limit in limits:
            if limit is not None:
                checked_above_zero(name, limit)
        if self.norm not in NORMS:
            raise InputError(
                f"norm must be one of {', '.join(NORMS)}; got {format_value(self.norm)}"
            )

    @property
    def wanted_gap(self) -> float:
        """The gap to stop at; 1e-6 if no rule was given."""
        if self.gap is not None:
            return self.gap
        return 1e-6 if self.tolerance is None and self.eta is None else -math.inf

    def smallest_step(self, reports: float) -> float | None:
        """Return the step in frequencies below which to stop, or None."""
        return self.tolerance if self.eta is None else self.eta / reports


def iterate(
    likelihood: Likelihood, start: Vector, stopping: Stopping
) -> tuple[Vector, Diagnostics]:
    """Repeat the plain update from `start` until `stopping` ends it."""
    here, step = start, math.inf
    limit, gap = stopping.smallest_step(likelihood.reports), stopping.wanted_gap
    length, most = NORMS[stopping.norm], stopping.max_iterations
    for iteration in range(most + 1):
        now = likelihood.update(here)
        done = limit is not None and step < limit
        done = done or (gap > -math.inf and now.gap <= gap)
        if done or iteration == most:
            break
        moved = here * now.gradient
        if not iteration % _DRIFT:
            moved /= np.add.reduce(moved)
        if limit is not None:
            step = length(moved - here)
        here = moved
    return here / np.add.reduce(here), {
        "iterations": iteration,
        "gap": now.gap,
        "log_likelihood": now.log_likelihood,
        "converged": bool(done),
    }


def start_at(given: object, observed: Vector | None, values: int) -> Vector:
    """Return the frequencies to start from: equal, as observed, or given by the caller.

    The observed frequencies make sense if outputs are values. The caller's frequencies must be
    above 0, since a frequency of 0 never changes.
    """
    if not isinstance(given, str):
        return _own_start(given, values)
    if given == "uniform":
        return np.full(values, 1 / values)
    if given != "observed":
        raise InputError(
            f'start must be "uniform", "observed" or frequencies; got {format_value(given)}'
        )
    if observed is None or observed.size != values:
        raise InputError(
            'start "observed" needs as many outputs as inputs; '
            f"got {'none' if observed is None else observed.size} for {values} inputs"
        )
    if not observed.sum() > 0:
        return np.full(values, 1 / values)
    return np.asarray(observed / observed.sum())


def _own_start(given: object, values: int) -> Vector:
    try:
        start = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f'start must be "uniform", "observed" or frequencies; got {format_value(given)}'
        ) from None
    if start.shape != (values,) or not (np.isfinite(start).all() and (start > 0).all()):
        raise InputError(
            f"start must be a number above 0 for each of the {values} inputs; "
            f"got shape {start.shape} with a least of {start.min() if start.size else 0:g}"
        )
    return np.asarray(start / start.sum())


def oracle_em(
    data: EstimationData,
    *,
    start: object = "uniform",
    per_bit: bool = False,
    likelihood: str = "odds",
    **stopping: object,
) -> tuple[Vector, Diagnostics]:
    """Return the estimate of method "em" for an oracle.

    `per_bit` is the paper's alternative for RAPPOR (section 2.3.2): each value's bit on its
    own as a channel of two states, the results rescaled to sum to one. `likelihood` is what
    is iterated on: the "odds" of support; the "probability" of each report, as in equation
    11; or that "scaled" by a constant, as in equation 12 (both of which underflow on large
    domains, as the paper says). Randomised response needs no iterations to a `gap`: without a
    start or another stopping rule the result is the maximum itself, in closed form.
    """
    rule = Stopping(**stopping)  # type: ignore[arg-type]
    summary, oracle = data.summary, data.oracle
    if not isinstance(per_bit, bool):
        raise InputError(f"per_bit must be true or false; got {format_value(per_bit)}")
    if per_bit:
        if likelihood != "odds":
            raise InputError(f'per_bit goes with likelihood "odds"; got {format_value(likelihood)}')
        return two_states(oracle.item_channel(summary.tally, summary.reports), start, rule)
    observed = oracle.support_counts(summary.tally).astype(np.float64)
    first = start_at(start, observed, oracle.domain)
    reports, weights = data.distinct("em")
    if likelihood == "odds":
        if (
            oracle.dispersion == 0
            and isinstance(start, str)
            and start == "uniform"
            and set(stopping) <= {"gap"}
        ):
            exact = _closed_form(data, _likelihood(oracle, reports, weights))
            told = _told(exact, rule.wanted_gap)
            del told["updates"]
            return exact.frequency, {"iterations": 0, **told}
        return iterate(_likelihood(oracle, reports, weights), first, rule)
    if likelihood not in LIKELIHOODS:
        raise InputError(
            f"likelihood must be one of {', '.join(LIKELIHOODS)}; got {format_value(likelihood)}"
        )
    scaled = likelihood == "scaled"
    return iterate(probability_likelihood(oracle, reports, weights, scaled=scaled), first, rule)


def oracle_bayes(
    data: EstimationData, *, gap: float = 1e-6, max_updates: int = 2000
) -> tuple[Vector, Diagnostics]:
    """Return the estimate of method "bayes" for an oracle: the certified optimum."""
    checked_size("max_updates", max_updates, 1, _MOST)
    rule = Stopping(max_iterations=max_updates, gap=gap)
    oracle = data.oracle
    reports, weights = data.distinct("bayes")
    likelihood = _likelihood(oracle, reports, weights)
    if oracle.dispersion == 0:
        exact = _closed_form(data, likelihood)
        return exact.frequency, _told(exact, gap)
    start = interior_start(data.unbiased)
    found = maximize(likelihood, start, gap=rule.wanted_gap, max_updates=rule.max_iterations)
    return found.frequency, _told(found, gap)


def channel_bayes(
    likelihood: Likelihood, *, gap: float = 1e-6, max_updates: int = 2000
) -> tuple[Vector, Diagnostics]:
    """Return the estimate of method "bayes" for an explicit channel."""
    checked_size("max_updates", max_updates, 1, _MOST)
    rule = Stopping(max_iterations=max_updates, gap=gap)
    start = np.full(likelihood.values, 1 / likelihood.values)
    found = maximize(likelihood, start, gap=rule.wanted_gap, max_updates=rule.max_iterations)
    return found.frequency, _told(found, gap)


def channel_em(
    likelihood: Likelihood,
    observed: Vector | None,
    *,
    start: object = "uniform",
    **stopping: object,
) -> tuple[Vector, Diagnostics]:
    """Return the estimate of method "em" for an explicit channel."""
    first = start_at(start, observed, likelihood.values)
    return iterate(likelihood, first, Stopping(**stopping))  # type: ignore[arg-type]


def _likelihood(
    oracle: FrequencyOracle, reports: Reports | Passes, weights: Vector | None
) -> Likelihood:
    """Return the likelihood of reports by their support, or by rows where support is not all."""
    rows = None if isinstance(reports, Passes) else oracle.likelihood_rows(reports)
    if rows is None:
        return oracle_likelihood(oracle, reports, weights)
    return MatrixLikelihood(rows, np.ones(len(rows)) if weights is None else weights)


def _closed_form(data: EstimationData, likelihood: Likelihood) -> Solution:
    """Return the maximum where every report supports one value, without an iteration.

    The counts are all there is to know; one update of the `likelihood` certifies the result.
    """
    oracle = data.oracle
    counts = oracle.support_counts(data.summary.tally).astype(np.float64)
    # Two shares are one number: where their chances of support differ, its likelihood is largest
    # at the inversion, clipped.
    exact = (
        single_support(counts, oracle.hit, oracle.miss)
        if oracle.likelihood_rows(oracle.outputs()) is None
        else project(data.unbiased)
    )
    now = likelihood.update(exact)
    return Solution(exact, now.gap, now.log_likelihood, 1)


def _told(found: Solution, gap: float) -> Diagnostics:
    return {
        "updates": found.updates,
        "gap": found.gap,
        "log_likelihood": found.log_likelihood,
        "converged": found.gap <= gap,
    }


def two_states(items: ItemCounts, start: object, stopping: Stopping) -> tuple[Vector, Diagnostics]:
    """Return the estimate with each value's support as a two-state channel (CSS 2020, 2.3.2)."""
    share = items.counts / items.trials
    if not isinstance(start, str) or start not in ("uniform", "observed"):
        raise InputError(
            f'start must be "uniform" or "observed" by bits; got {format_value(start)}'
        )
    here = np.full(share.size, 0.5) if start == "uniform" else share
    step, iterations = math.inf, 0
    limit = stopping.smallest_step(float(np.mean(items.trials))) or 1e-9
    while step >= limit and iterations < stopping.max_iterations:
        iterations += 1
        seen = items.miss + items.gain * here
        moved = here * (share * items.hit / seen + (1 - share) * (1 - items.hit) / (1 - seen))
        step, here = NORMS[stopping.norm](moved - here), moved
    return clip_and_rescale(here), {"iterations": iterations, "converged": step < limit}
