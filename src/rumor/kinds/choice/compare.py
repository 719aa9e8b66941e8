"""The quantities compared for choices: the unbiased share of every value, and an omnibus test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.reports import Reports
from rumor.core.types import Target
from rumor.estimators.frequency.linear import project
from rumor.estimators.groups import MAX_VALUES, OmnibusTest, PooledSamples, Sample, chi_squared
from rumor.estimators.survey import Scores, each_report
from rumor.kinds.measures import SHARE, Measures, ScoredReports
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.results.counts import ExactIntervals


def measures(
    oracle: FrequencyOracle, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased share of each value, with its covariance."""
    score = oracle.score(summary.tally, summary.reports)
    values = range(oracle.domain) if oracle.labels is None else oracle.labels
    items = oracle.item_channel(summary.tally, summary.reports)
    exact = ExactIntervals(items) if of == "population" else None
    return Measures.shares(values, Sample.of_score(score, summary.reports, of, exact))


def scores(oracle: FrequencyOracle, reports: Reports) -> ScoredReports:
    """Return the unbiased share of each value that each report gives alone."""
    values = range(oracle.domain) if oracle.labels is None else oracle.labels
    found = each_report(reports, lambda row: oracle.unbiased(oracle.tally(row), 1))
    miss = oracle.rates[1]
    hits = found * oracle.gain + miss
    coins = np.allclose(hits, np.rint(hits), rtol=0, atol=1e-9) and {0.0, 1.0} >= set(
        np.unique(np.rint(hits)).tolist()
    )
    known = (
        Scores(np.rint(hits), None, miss, oracle.gain, coins=True, limits=(0.0, 1.0))
        if coins
        else Scores(found, limits=(0.0, 1.0))
    )
    return ScoredReports(values, [SHARE] * oracle.domain, known)


def omnibus_test(first: Summary, second: Summary) -> OmnibusTest | None:
    """Return the test whether any share differs; None with too many values for their covariance."""
    sides = [_side(summary) for summary in (first, second)]
    if sides[0][0].domain > MAX_VALUES:
        return None
    samples = [sample for _, sample, _ in sides]
    common = project(PooledSamples(samples).mean)
    covariance = np.asarray(sum(oracle.covariance(common, n) for oracle, _, n in sides))
    return chi_squared(samples[1].mean - samples[0].mean, covariance)


def _side(summary: Summary) -> tuple[FrequencyOracle, Sample, int]:
    oracle = summary.mechanism.oracle
    assert oracle is not None  # a choice is answered by an oracle
    score = oracle.score(summary.tally, summary.reports)
    return oracle, Sample.of_score(score, summary.reports, "population"), summary.reports
