"""The dashboard's headline, read every day: how often it states a change that never was.

At any look a change is clear where the weekly watch found it, or where the p-value of the daily
trend, by Holm over the values, is below 0.05/t² after t days (`collector/web/changes.js`).
A history is a year of days on which nothing changes, read at the end of each. Whether any value has
a clear change is counted, though the headline has one value alone.

Counts of supporting reports are drawn by their law, a binomial for each value and day. Days of a
week differ in their numbers of reports; all histories of a block have the same numbers.
"""

from __future__ import annotations

import functools

import numpy as np

import rumor
from benchmarks.kept_parts import TrialRows
from benchmarks.looks_alarms import (
    ALPHA,
    HORIZON,
    WEEKS,
    Block,
    any_below,
    as_rows,
    as_sample,
    supports,
    zipf,
)
from rumor.analysis.trend.line import find_change
from rumor.analysis.trend.scores import standardised
from rumor.core.types import Tally, Vector
from rumor.estimators.groups import PooledSamples, Sample
from rumor.estimators.sequential import ChangeEvidence, flat_weights
from rumor.mechanisms import FrequencyOracle

PROMISED = 0.07
REPORTS = (420, 400, 400, 400, 380, 200, 150)  # the reports of the days of a week
_FIRST = 3  # the days that a trend needs


def blocks() -> dict[str, Block]:
    """Return by name what reads the headline of years without a change."""
    names = {1: "a share", 2: "2 values", 10: "10 values"}
    return {name: functools.partial(headlines, domain) for domain, name in names.items()}


def headlines(domain: int, histories: int, rng: np.random.Generator) -> TrialRows:
    """Return for each history whether a change was ever clear, by the watch, and by the trend."""
    oracle = rumor.UnaryEncoding(domain=max(domain, 2), epsilon=1.0)
    law = np.tile(zipf(max(domain, 2))[:domain], histories)
    chance = supports(oracle, law)
    watched, followed = np.zeros(histories, dtype=bool), np.zeros(histories, dtype=bool)
    days: list[Sample] = []
    weeks: list[Tally] = []
    for day in range(7 * WEEKS):
        counts = rng.binomial(REPORTS[day % 7], chance)
        days.append(as_sample(oracle, counts, REPORTS[day % 7]))
        weeks = [*weeks, counts] if day % 7 == 0 else [*weeks[:-1], weeks[-1] + counts]
        if len(weeks) > 1:
            e_values = np.exp(np.maximum(log_evidence(oracle, weeks, day), 0.0))
            watched |= any_below((1 / e_values).reshape(histories, domain))
        if len(days) >= _FIRST:
            small = p_values(days).reshape(histories, domain)
            followed |= any_below(small, ALPHA / len(days) ** 2)
    return as_rows(watched | followed, watched, followed)


def log_evidence(oracle: FrequencyOracle, weeks: list[Tally], day: int) -> Vector:
    """Return the log evidence of the watch at a day, whose week is not over yet."""
    sizes = [sum(REPORTS)] * (len(weeks) - 1) + [sum(REPORTS[: day % 7 + 1])]
    samples = [as_sample(oracle, *week) for week in zip(weeks, sizes, strict=True)]
    weights = flat_weights(np.ones(len(weeks) - 1), HORIZON)
    # A week has hundreds of reports: no count is small enough for exact scores.
    return ChangeEvidence(standardised(samples, sizes).scores, weights).log_at(len(weeks) - 1)


def p_values(days: list[Sample]) -> Vector:
    """Return the p-value of the largest change of each value, as a trend has it."""
    common = PooledSamples(days).mean
    observed = np.array([day.mean for day in days])
    variance = np.array([day.variance(day.plausible(common)) for day in days])
    return find_change(observed, variance).p_value
