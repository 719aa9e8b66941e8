"""Frequencies and means of keys from a summary, by any of the methods.

"auto" (an alias of "pooled") is the default of rumor.kinds.keyvalue.fit.pooled; "flat" treats
every key apart, under a uniform prior; "mle" is maximum likelihood in closed form; "inversion"
gives the linear estimates; "calibration" is the published method of PrivKV, and so is "em", which
runs over the states of any mechanism.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rumor.core import exact
from rumor.core.checks import checked_method, checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.estimators.data import as_summary
from rumor.kinds.keyvalue.fit.linear import LinearKeys, most_likely
from rumor.kinds.keyvalue.fit.pooled import MODELS, posterior_means
from rumor.kinds.keyvalue.fit.published import (
    MOST_ROUNDS,
    THRESHOLD,
    calibrate,
    frequencies_and_means,
    key_states,
    state_em,
)
from rumor.kinds.keyvalue.intervals import (
    KeyIntervals,
    LaterRound,
    NoIntervals,
    ReachingKeyIntervals,
    RoundIntervals,
)
from rumor.kinds.keyvalue.result import KeyValueEstimate
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates, KeyValueMechanism
from rumor.mechanisms.poisoning import PoisoningBound
from rumor.mechanisms.privkv import PrivKV, PrivKVM
from rumor.mechanisms.summary import Summary
from rumor.results.kept import FullSlots

OPTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("auto", "pooled", "flat", "mle", "inversion", "calibration"), ()),
    "em": ("eta", "theta", "max_iterations"),
}
"""The methods, each with the names of its options."""
# The paper uses this name for another estimate (papers/privkv-em).
_OTHER_MLE = (
    "what Horigome, Kikuchi and Yu call maximum likelihood estimation is method calibration"
)


def estimate(
    mechanism: KeyValueMechanism, data: object, method: str, options: Mapping[str, Any]
) -> KeyValueEstimate:
    """Return the estimate from reports, from a summary, or from the summaries of all rounds
    in order.
    """
    chosen = checked_method(method, options, OPTIONS, f" for {mechanism.name}")
    if isinstance(data, (list, tuple)) and data and all(isinstance(s, Summary) for s in data):
        # Saved counts know no labels; the contract's mechanism does.
        return replace(estimate_rounds(data, chosen, options), values=_names(mechanism))
    return estimate_keyvalue(as_summary(mechanism, data), chosen, options)


def estimate_keyvalue(
    summary: Summary, method: str, options: Mapping[str, Any] | None = None
) -> KeyValueEstimate:
    """Return the estimate of every key's frequency and mean."""
    mechanism = _keyed(summary)
    if mechanism.round > 1:
        return _later_round(summary, summary.made_by(PrivKVM), method)
    counts, rates = mechanism.counts(summary.tally, summary.reports), mechanism.rates
    chosen = "pooled" if method == "auto" else method
    diagnostics: dict[str, object] = {}
    apart = posterior_means(counts, rates, ("apart",))
    if chosen == "pooled":
        pooled = posterior_means(counts, rates, tuple(MODELS))
        frequency, mean = pooled.frequency, pooled.mean
        diagnostics["weights"] = {name: round(w, 6) for name, w in pooled.weights.items()}
    elif chosen == "flat":
        frequency, mean = apart.frequency, apart.mean
    elif chosen == "mle":
        frequency, product = most_likely(counts, rates)
        mean = _ratio(product, frequency)
        if isinstance(mechanism, (PrivKV, PrivKVM)):
            diagnostics["warning"] = _OTHER_MLE
    elif chosen == "inversion":
        linear = LinearKeys.of(counts, rates)
        frequency, mean = linear.f, _ratio(linear.s, linear.f)
    elif chosen == "em":
        theta, told = _states(mechanism, counts, **(options or {}))
        frequency, mean = frequencies_and_means(theta)
        diagnostics |= told
    else:
        if not isinstance(mechanism, (PrivKV, PrivKVM)):
            raise InputError(
                f"method {chosen!r} was published for PrivKV and PrivKVM; got {mechanism.name!r}"
            )
        frequency, mean = calibrate(mechanism, counts)
    known = apart.frequency_known, apart.mean_known
    return _result(summary, counts, rates, chosen, frequency, mean, known, diagnostics)


def _states(
    mechanism: KeyValueMechanism,
    counts: KeyCounts,
    *,
    eta: float = THRESHOLD,
    theta: object = None,
    max_iterations: int = MOST_ROUNDS,
) -> tuple[Vector, dict[str, object]]:
    """Return EM over the states of every key, from `theta` until no share moves by more
    than `eta`.
    """
    if isinstance(eta, bool) or not isinstance(eta, (int, float)) or not 0 < eta < 1:
        raise InputError(f"eta must be a number above 0 and below 1; got {format_value(eta)}")
    most = checked_size("max_iterations", max_iterations, 1, MOST_ROUNDS)
    states = len(mechanism.state_channel)
    start = None if theta is None else _start(theta, states)
    iterate = functools.partial(state_em, threshold=eta, start=start, most=most)
    found, rounds = key_states(mechanism, counts, iterate)
    return found, {"rounds": rounds, "eta": eta, "theta": found.tolist()}


def _start(theta: object, states: int) -> Vector:
    rule = f"theta must be a number above 0 for each of the {states} states"
    try:
        given = np.asarray(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{rule}; got {format_value(theta)}") from None
    if given.shape != (states,) or not (np.isfinite(given).all() and (given > 0).all()):
        raise InputError(f"{rule}; got {format_value(theta)}")
    return np.asarray(given / given.sum())


def _keyed(summary: Summary) -> KeyValueMechanism:
    mechanism = summary.mechanism
    assert isinstance(mechanism, KeyValueMechanism)
    return mechanism


def _ratio(product: Vector, frequency: Vector) -> Vector:
    """Return the mean s / f, unknown where the frequency is not positive."""
    return np.asarray(product / np.where(frequency > 0, frequency, np.nan))


def _result(
    summary: Summary,
    counts: KeyCounts,
    rates: KeyRates,
    method: str,
    frequency: Vector,
    mean: Vector,
    known: tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], ...],
    diagnostics: dict[str, object],
) -> KeyValueEstimate:
    mechanism = _keyed(summary)
    grid, half = mechanism.grid, mechanism.grid.span / 2
    linear = LinearKeys.of(counts, rates, prior=0.5)
    # Few reports may agree by chance; the mechanism's noise is a lower bound on the variance.
    noise = min(rate * (1 - rate) for rate in (rates.miss, rates.miss + rates.gain))
    floor = noise / (np.maximum(counts.trials, 1) * rates.gain**2)
    return KeyValueEstimate(
        values=_names(mechanism),
        frequency=frequency,
        mean=grid.middle + half * mean,
        unbiased=linear.f,
        product=linear.s,
        stderr=np.sqrt(np.maximum(linear.var_f, floor)),
        mean_stderr=half * np.sqrt(linear.mean_variance()),
        frequency_known=known[0],
        mean_known=known[1],
        range=(grid.low, grid.high),
        reports=summary.reports,
        epsilon=mechanism.epsilon,
        method=method,
        intervals=_intervals(mechanism, summary, counts, rates),
        kept=mechanism.kept,
        diagnostics={
            **diagnostics,
            "fake_clients": _fakes(mechanism, summary.reports, counts, linear),
        },
    )


def _intervals(
    mechanism: KeyValueMechanism, summary: Summary, counts: KeyCounts, rates: KeyRates
) -> KeyIntervals:
    """Return intervals of kept keys, widened where people may have more keys than the cap."""
    plain = KeyIntervals(counts, rates, mechanism.grid.low, mechanism.grid.high)
    kept = mechanism.kept
    if kept is None or not kept.may_exceed:
        return plain
    hits = float(counts.plus.sum() + counts.minus.sum())
    slots = FullSlots.of(kept, hits, summary.reports, rates.miss, rates.gain)
    return ReachingKeyIntervals(*_parts(plain), slots)


def _fakes(
    mechanism: KeyValueMechanism, reports: int, counts: KeyCounts, linear: LinearKeys
) -> dict[str, object]:
    """Return the largest shift by fakes of one key's share, and of the leading key's mean."""
    bound = PoisoningBound.for_trials(mechanism, reports, float(np.min(counts.trials)))
    bound = bound.with_share_shift(float(np.sqrt(np.max(linear.var_f))))
    leader = int(np.argmax(linear.f))
    # The share of honest people is at least the observed one less the fakes' part.
    share = min(float(linear.f[leader]), 1.0) - bound.gain
    moves = mechanism.mean_moved(bound.clients / max(counts.trials[leader], bound.clients), share)
    mean = f"they could move the mean of the most frequent key by {moves:.2g}"
    sentence = f"{bound.sentence()}; {mean}"
    return {**bound.to_dict(), "mean_moves": moves, "sentence": sentence}


def _parts(intervals: KeyIntervals) -> tuple[KeyCounts, KeyRates, float, float]:
    return intervals.counts, intervals.rates, intervals.low, intervals.high


def _names(mechanism: KeyValueMechanism) -> Sequence[int] | Sequence[str]:
    return range(mechanism.keys) if mechanism.labels is None else mechanism.labels


def _later_round(summary: Summary, mechanism: PrivKVM, method: str) -> KeyValueEstimate:
    """Return a later round of PrivKVM: means by calibration, and no frequencies."""
    if method not in ("auto", "calibration"):
        raise InputError(
            f'round {mechanism.round} of PrivKVM is estimated by "calibration"; got '
            f"{format_value(method)}"
        )
    counts = mechanism.counts(summary.tally, summary.reports)
    _, mean = calibrate(mechanism, counts)
    grid, half = mechanism.grid, mechanism.grid.span / 2
    seen = (counts.plus + counts.minus).astype(np.float64)
    nothing, unknown = np.full(mechanism.keys, np.nan), np.zeros(mechanism.keys, dtype=np.bool_)
    p2 = mechanism.value_truth / exact.WORD
    tilt = (counts.plus - counts.minus) / np.maximum(seen, 1)
    error = np.sqrt((1 - tilt**2) / np.maximum(seen, 1)) / (2 * p2 - 1)
    return KeyValueEstimate(
        values=_names(mechanism),
        frequency=nothing,
        mean=grid.middle + half * mean,
        unbiased=nothing,
        product=nothing,
        stderr=nothing,
        mean_stderr=half * error,
        frequency_known=unknown,
        mean_known=seen > 0,
        range=(grid.low, grid.high),
        reports=summary.reports,
        epsilon=mechanism.epsilon,
        method="calibration",
        intervals=NoIntervals(counts, KeyRates(0.0, 1.0, 1.0), grid.low, grid.high),
        diagnostics={
            "round": mechanism.round,
            "frequencies": "come from round 1",
            "warning": "shares, and intervals of means, need the reports of the rounds before as "
            "well (--earlier)",
        },
    )


def estimate_rounds(
    summaries: Sequence[Summary], method: str = "auto", options: Mapping[str, Any] | None = None
) -> KeyValueEstimate:
    """Return all rounds of PrivKVM together: frequencies of round 1, means of the last."""
    rounds = [s.mechanism for s in summaries]
    numbers = [m.round if m.rounds > 1 else None for m in rounds]
    if not summaries or numbers != list(range(1, len(summaries) + 1)):
        raise InputError(
            "PrivKVM rounds must be given once each, in order from 1; got rounds "
            f"{format_value(numbers)}"
        )
    first = estimate_keyvalue(summaries[0], method, options)
    if len(summaries) == 1:
        return first
    last = estimate_keyvalue(summaries[-1], "calibration")
    number = rounds[-1].round
    return replace(
        last,
        frequency=first.frequency,
        unbiased=first.unbiased,
        product=first.product,
        stderr=first.stderr,
        frequency_known=first.frequency_known,
        reports=sum(s.reports for s in summaries),
        epsilon=max(m.epsilon for m in rounds),
        method=f"{first.method}, means of round {number}",
        intervals=RoundIntervals(*_parts(first.intervals), _later(summaries[-1])),
        diagnostics={
            "rounds": len(summaries),
            "fake_clients": first.diagnostics["fake_clients"],
            "warning": f"means are those of round {number}, which lean towards round {number - 1} "
            "where few hold the key; their intervals allow for it",
        },
    )


def _later(summary: Summary) -> LaterRound:
    """Return what a round after the first tells of means."""
    mechanism = summary.made_by(PrivKVM)
    counts = mechanism.counts(summary.tally, summary.reports)
    made_up = np.array(mechanism.fakes) / mechanism.grid.steps - 1
    return LaterRound(counts, made_up, 2 * mechanism.value_truth / exact.WORD - 1)
