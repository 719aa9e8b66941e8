"""A watch over answers: alarms for changes, however often the reports are looked at.

`watch_reports` does the work of the command `rumor trend --watch`.

Everything is computed from the counts of periods as they stand, for every look since the watch
began: nothing is remembered between two looks. The promise therefore speaks of these counts. Where
reports of past periods arrive late or are withdrawn, it holds for the counts after that.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rumor.analysis.compare.method import ReportSelection, question_heading
from rumor.analysis.compare.quantities import collect_notes, measure_groups, measures_over_time
from rumor.analysis.people import require_different
from rumor.analysis.trend.periods import Periods, read_day
from rumor.analysis.trend.scores import Standardised, exact_scores, standardised
from rumor.analysis.trend.watch import Change, Watch
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.types import Vector
from rumor.estimators.data import as_summary
from rumor.estimators.groups import Sample
from rumor.estimators.multiple_testing import holm
from rumor.estimators.sequential import ChangeEvidence, flat_weights
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.mechanisms.base import Mechanism

HORIZON = 52
FALSE_ALARMS = 0.05
_LONGEST = 10_000
_WORTH = 2.0  # evidence from which small counts are scored exactly


def watch(
    mechanism: Mechanism,
    days: Mapping[Any, object],
    *,
    every: str = "week",
    horizon: int = HORIZON,
    false_alarms: float = FALSE_ALARMS,
    **options: Any,
) -> Watch:
    """Watch answers for changes, with alarms that stay valid however often they are looked at.

    `days` are reports, or summaries of them, by day (a date, or "2026-03-01"), put together by
    `every` "week" or "day". If nothing changes, an alarm for any value comes in at most the share
    `false_alarms` of stretches of `horizon` periods. An alarm says when the change began and how
    large it is. Days must be of different people.
    """
    summaries = {read_day(day): as_summary(mechanism, data) for day, data in days.items()}
    return estimate_watch(
        kind_of(mechanism),
        Periods.of(summaries, every),
        horizon=horizon,
        false_alarms=false_alarms,
        options=options,
    )


def watch_reports(
    stored: ReportSelection,
    every: str = "week",
    horizon: int = HORIZON,
    false_alarms: float = FALSE_ALARMS,
) -> Watch:
    """Watch the answers in stored reports for changes from day to day, or week to week."""
    asked, found = stored.groups("day")
    notes = require_different(asked, "days", stored.different_people)
    days = {datetime.date.fromisoformat(day): summary for day, summary in found.items()}
    return estimate_watch(
        KINDS[asked.kind],
        Periods.of(days, every),
        horizon=horizon,
        false_alarms=false_alarms,
        options=stored.counting.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )


def estimate_watch(
    kind: Kind[Any],
    periods: Periods,
    *,
    horizon: int = HORIZON,
    false_alarms: float = FALSE_ALARMS,
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
) -> Watch:
    """Watch the `periods` of a question whose `kind` is known."""
    checked_size("a horizon", horizon, 2, _LONGEST)
    alpha = _checked_share(false_alarms)
    if not periods.starts:
        raise InputError("a watch needs reports; got none")
    whole = periods
    periods = whole.since(_first_of_watch(whole, horizon))
    found = measures_over_time(measure_groups(kind, periods.summaries, options=options))
    samples = [one.sample for one in found]
    seen = standardised(samples, periods.counts)
    weights = flat_weights(periods.gaps, horizon)
    evidence, by_look = evidence_by_look(samples, seen, weights)
    peak = np.maximum.accumulate(by_look, axis=0)
    p_values = np.exp(-np.maximum(peak, 0.0))
    adjusted = holm(p_values[-1])
    return Watch(
        periods=periods.names,
        values=found[0].values,
        quantities=found[0].quantities,
        unbiased=seen.mean,
        counts=periods.counts,
        every=periods.every,
        horizon=horizon,
        false_alarms=alpha,
        evidence=np.exp(np.minimum(peak[-1], 700.0)),
        p_value=p_values[-1],
        adjusted=adjusted,
        tested=seen.scores.tested,
        changes=tuple(
            _change(int(i), evidence, seen, by_look, p_values, alpha)
            for i in np.flatnonzero(adjusted <= alpha)
        ),
        restarts=len(whole.starts) - len(periods.starts),
        reports=sum(periods.counts),
        epsilon=max(summary.mechanism.epsilon for summary in periods.summaries),
        heading=heading,
        notes=tuple(collect_notes(notes, found)),
    )


def _checked_share(false_alarms: object) -> float:
    number = isinstance(false_alarms, int | float) and not isinstance(false_alarms, bool)
    if not number or not 0 < false_alarms < 1:  # type: ignore[operator]
        raise InputError(
            "the share of false alarms must be a number above 0 and below 1; got "
            f"{format_value(false_alarms)}"
        )
    return float(false_alarms)  # type: ignore[arg-type]


def _first_of_watch(periods: Periods, horizon: int) -> int:
    """Return the first period of the present watch: one begins anew after each `horizon`."""
    place = np.concatenate([[0.0], np.cumsum(periods.gaps)])
    return int(np.searchsorted(place, place[-1] // horizon * horizon))


def evidence_by_look(
    samples: Sequence[Sample], seen: Standardised, weights: Vector
) -> tuple[ChangeEvidence, Vector]:
    """Return the evidence and its logarithm by look, exact wherever it may matter."""
    rough = ChangeEvidence(seen.scores, weights)
    by_look = rough.log_by_look()
    rows = np.flatnonzero(by_look.max(axis=0) >= np.log(_WORTH))
    if not rows.size:
        return rough, by_look
    low, high = seen.scores.low.copy(), seen.scores.low.copy()
    exact = exact_scores(samples, seen.scores, rows)
    by_look[:, rows] = ChangeEvidence(exact, weights).log_by_look()
    low[:, rows], high[:, rows] = exact.low, exact.high
    scores = type(exact)(low, high, seen.scores.precision)
    return ChangeEvidence(scores, weights), by_look


def _change(
    i: int,
    evidence: ChangeEvidence,
    seen: Standardised,
    by_look: Vector,
    p_values: Vector,
    alpha: float,
) -> Change:
    """Describe the change of value `i`, as of the look at which its evidence is largest."""
    look = int(by_look[:, i].argmax())
    column = np.array([i])
    own = evidence.log_by_change(look, column)[:, 0]
    weight = evidence.weights[:look] * np.exp(own - own.max())
    precision = evidence.scores.precision[: look + 1, i]
    sums = np.cumsum(precision)
    totals = np.cumsum(precision * seen.mean[: look + 1, i])
    first, second = sums[:-1], sums[-1] - sums[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = totals[:-1] / first, (totals[-1] - totals[:-1]) / second
        one = seen.per_report[look, i]
        variance = one * (1 / first + 1 / second)
        prior = one * np.cumsum(precision > 0)[:-1] / first
    usable = (first > 0) & (second > 0)
    alarm = next(k for k in range(look + 1) if holm(p_values[k])[i] <= alpha)
    return Change(
        index=i,
        alarm=alarm,
        look=look,
        after_period=np.flatnonzero(usable) + 1,
        probability=weight[usable] / weight[usable].sum(),
        before=before[usable],
        after=after[usable],
        variance=variance[usable],
        prior=prior[usable],
    )
