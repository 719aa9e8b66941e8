"""Trends of a question, from the quantities that its kind estimates for every day or week.

`follow_reports` does the work of the command `rumor trend`, and `follow_groups` with --by.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rumor.analysis.compare.method import ReportSelection, question_heading
from rumor.analysis.compare.quantities import collect_notes, measure_groups, measures_over_time
from rumor.analysis.grouping import named_columns
from rumor.analysis.people import require_different
from rumor.analysis.trend.grouped import GroupedTrends
from rumor.analysis.trend.line import find_change, smooth
from rumor.analysis.trend.periods import Periods, read_day
from rumor.analysis.trend.result import LineCoins, Trend
from rumor.core.day_columns import PERIODS
from rumor.core.errors import InputError
from rumor.core.reports import Mask
from rumor.core.types import Vector
from rumor.estimators.data import as_summary
from rumor.estimators.groups import PooledSamples, Sample
from rumor.estimators.multiple_testing import holm
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary

_LEAST = 3


def trend(
    mechanism: Mechanism, days: Mapping[Any, object], *, every: str = "day", **options: Any
) -> Trend:
    """Estimate how answers move over time.

    `days` are reports, or summaries of them, by day (a date, or "2026-03-01"); `every` "week" puts
    the days of a week together. Each value has its unbiased estimates, a smoothed line, and its
    largest change with a p-value adjusted for the search over all days. Days must be of different
    people.
    """
    summaries = {read_day(day): as_summary(mechanism, data) for day, data in days.items()}
    return estimate_trend(kind_of(mechanism), summaries, every=every, options=options)


def estimate_trend(
    kind: Kind[Any],
    days: Mapping[datetime.date, Summary],
    *,
    every: str = "day",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
    spans: Mapping[datetime.date, datetime.date] | None = None,
) -> Trend:
    """Estimate the trend of a question whose `kind` is known.

    `spans` gives the last day of each summary that is of several days, by its first.
    """
    periods = Periods.of(days, every, spans)
    if len(periods.starts) < _LEAST:
        raise InputError(
            f"a trend needs {_LEAST} {every}s with reports or more; got {len(periods.starts)}"
        )
    summaries = periods.summaries
    found = measures_over_time(measure_groups(kind, summaries, options=options))
    first, samples = found[0], [one.sample for one in found]
    observed = np.array([sample.mean for sample in samples])
    common = PooledSamples(samples).mean
    # Variances at the common estimate: a day's own would be small where its noise is.
    variance = np.array([sample.variance(sample.plausible(common)) for sample in samples])
    known = np.isfinite(variance).all(axis=0)
    if not known.any():
        raise InputError("a trend needs a value with a finite variance in every period; got none")
    observed, variance = observed[:, known], variance[:, known]
    line, moved = smooth(observed, variance, periods.gaps), find_change(observed, variance)
    kept: list[int] = np.flatnonzero(known).tolist()
    values: list[Any] = [first.values[i] for i in kept]
    return Trend(
        periods=periods.names,
        values=values,
        quantities=[first.quantities[i] for i in kept],
        unbiased=observed,
        stderr=np.sqrt(variance),
        line=line.mean,
        deviation=line.deviation,
        change=moved.day,
        before=moved.before,
        after=moved.after,
        p_value=moved.p_value,
        adjusted=holm(moved.p_value),
        counts=periods.counts,
        coins=_coins(samples, known, variance / line.deviation**2),
        reports=sum(periods.counts),
        epsilon=max(summary.mechanism.epsilon for summary in summaries),
        heading=heading,
        notes=tuple(collect_notes(notes, found)),
    )


def _coins(samples: Sequence[Sample], known: Mask, times: Vector) -> LineCoins | None:
    """Return the coins that the line is known as: `times` as many as a period has itself."""
    exact = [sample.exact for sample in samples if sample.exact is not None]
    if len(exact) < len(samples):
        return None
    trials = np.array([one.trials[known] for one in exact])
    least, most = (np.array([one.within[side][known] for one in exact]) for side in (0, 1))
    return LineCoins(trials * times, (least, most))


def follow_groups(stored: ReportSelection, by: str, every: str = "day") -> GroupedTrends:
    """Estimate how the answers of each group move over time.

    Groups are `by` a public column, or by several with commas between them.
    """
    if (over_time := {"day", *PERIODS} & set(named_columns(by))) != set():
        raise InputError(
            f"groups of a trend must be of public columns, since --every says its periods; got "
            f"{min(over_time)!r}"
        )
    asked, found = stored.groups(f"day,{by}")
    notes = require_different(asked, "days", stored.different_people)
    days: dict[str, dict[datetime.date, Summary]] = {}
    for name, summary in found.items():
        day, _, group = name.partition(", ")
        days.setdefault(group, {})[datetime.date.fromisoformat(day)] = summary
    trends: dict[str, Trend] = {}
    for group in sorted(days):
        periods = len(Periods.of(days[group], every).starts)
        if periods < _LEAST:
            notes.append(
                f"{group!r} is left out: it has reports in {periods} of the {_LEAST} {every}s or "
                f"more that a trend needs"
            )
            continue
        trends[group] = estimate_trend(
            KINDS[asked.kind], days[group], every=every, options=stored.counting.options(asked)
        )
    if not trends:
        raise InputError(
            f"a trend of groups needs {_LEAST} {every}s with reports or more in one of them; got "
            f"fewer in each of {len(days):,}"
        )
    return GroupedTrends.of(by, trends, question_heading(asked), notes)


def follow_reports(stored: ReportSelection, every: str = "day") -> Trend:
    """Estimate how the answers in stored reports move from day to day, or week to week."""
    asked, found = stored.groups("day")
    notes = require_different(asked, "days", stored.different_people)
    return estimate_trend(
        KINDS[asked.kind],
        {datetime.date.fromisoformat(day): summary for day, summary in found.items()},
        every=every,
        options=stored.counting.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )
