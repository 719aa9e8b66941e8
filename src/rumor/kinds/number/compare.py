"""The quantity compared for numbers: the unbiased mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rumor.core.reports import Mask, Reports
from rumor.core.types import Rows, Target, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.survey import Scores, each_report
from rumor.kinds.measures import MEAN, Measures, ScoredReports
from rumor.kinds.number.estimate import FewNumbers, ShareIntervals, estimate
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import Bounds


@dataclass(frozen=True)
class FewReportsOfNumber:
    """The mean as a single row of reports that may be few."""

    intervals: ShareIntervals | FewNumbers

    @property
    def trials(self) -> Vector:
        """The number of reports, as a one-row array."""
        return np.array([float(self.intervals.reports)])

    @property
    def within(self) -> Bounds:
        """The smallest and the largest estimate of one report."""
        least, most = self.intervals.ends
        return np.array([least]), np.array([most])

    def is_few(self, rows: Rows) -> Mask:
        """Return, for the single row, whether its reports are few."""
        return np.full(rows.size, self.intervals.few)

    def quantile_ends(self, rows: Rows, z: Vector) -> Bounds:
        """Return the ends of the interval at each normal quantile in `z`."""
        found = [self.intervals.bounds(float(each), "population") for each in z]
        low, high = (np.array([end[side][0] for end in found]) for side in (0, 1))
        return low, high


def measures(
    mechanism: MeanMechanism, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased mean of the numbers.

    Reports of one coin each are a binomial share, whose variance is known.
    """
    coins = mechanism.binomial(summary.tally, summary.reports)
    found = estimate(mechanism, summary, "inversion", {})
    if coins is None:
        sample = Sample.known(np.array([found.unbiased]), np.array([found.stderr]))
    else:
        mean = coins.zero + (coins.one - coins.zero) * coins.share
        sample = Sample.coins(mean, (coins.zero, coins.one), summary.reports)
    if isinstance(found.intervals, ShareIntervals | FewNumbers):
        sample = replace(sample, exact=FewReportsOfNumber(found.intervals))
    return Measures(["mean"], [MEAN], sample)


def scores(mechanism: MeanMechanism, reports: Reports) -> ScoredReports:
    """Return the unbiased number that each report gives alone."""
    found = each_report(
        reports, lambda row: np.array([mechanism.moments(mechanism.tally(row), 1)[0]])
    )
    coins = mechanism.binomial(mechanism.tally(reports), len(reports))
    if coins is None:
        return ScoredReports(["mean"], [MEAN], Scores(found, least=mechanism.least_variance))
    span = coins.one - coins.zero
    hits = np.rint((found - coins.zero) / span)
    known = Scores(hits, None, -coins.zero / span, 1 / span, coins=True)
    return ScoredReports(["mean"], [MEAN], known)
