"""The quantities compared for joint answers: the unbiased share of every cell and every margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports
from rumor.core.types import Target, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.survey import Scores, each_report
from rumor.kinds.joint.estimate import estimate
from rumor.kinds.joint.fit.linear import linear, observed_tables
from rumor.kinds.measures import SHARE, Measures, ScoredReports
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary


def measures(
    mechanism: Mixed, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased share of each row of the linear estimate."""
    if of != "population":
        raise InputError(
            f'joint answers are compared of the "population" only; got {format_value(of)}'
        )
    found = estimate(mechanism, summary, "linear", {})
    return Measures.shares(list(found.values), Sample.known(found.unbiased, found.stderr))


def scores(mechanism: Mixed, reports: Reports) -> ScoredReports:
    """Return the unbiased share of each cell and each margin that each report gives alone.

    A report is about one component's parts. What it says beyond the estimate of all reports counts
    for those of the other components too, so that which component a person got adds no noise.
    """
    whole = mechanism.tally(reports)
    found = estimate(mechanism, Summary(mechanism, len(reports), whole), "linear", {})
    counted = mechanism.counted(whole)
    common = linear(mechanism.parts.sizes, observed_tables(counted))
    rows = np.zeros((len(reports), found.unbiased.size))
    for index, own, one in mechanism.apart(reports):
        seen, inner = counted[index], mechanism.inner(reports, own, one)
        said = _tables(one.oracle, inner) - one.oracle.unbiased(seen.tally, seen.reports)
        rows[own] = said @ common.influence(one.asks).T * (len(reports) / seen.reports)
    values = list(found.values)
    known = Scores(found.unbiased + rows, limits=(0.0, 1.0))
    return ScoredReports(values, [SHARE] * len(values), known)


def _tables(oracle: FrequencyOracle, reports: Reports) -> Vector:
    """Return the unbiased table that each report gives alone."""
    return each_report(reports, lambda row: oracle.unbiased(oracle.tally(row), 1))
