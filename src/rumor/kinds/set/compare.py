"""The quantities compared for sets: the unbiased share of every option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.reports import Reports
from rumor.core.types import Target, Vector
from rumor.estimators.groups import Sample
from rumor.estimators.survey import Scores, each_report
from rumor.kinds.measures import SHARE, Measures, ScoredReports
from rumor.kinds.set.estimate import share_scores
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.summary import Summary
from rumor.results.counts import ExactIntervals


def measures(
    mechanism: SetMechanism, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased share of each option.

    An option without a report gets a very wide distribution.
    """
    values = range(mechanism.domain) if mechanism.labels is None else mechanism.labels
    _, score = share_scores(mechanism, summary)
    items = mechanism.items(summary.tally, summary.reports)
    exact = ExactIntervals(items) if of == "population" else None
    found = Measures.shares(values, Sample.of_score(score, summary.reports, of, exact))
    return found.noting(mechanism.kept)


def scores(mechanism: SetMechanism, reports: Reports) -> ScoredReports:
    """Return whether each report supports each option, and whether it is about it."""

    def read(row: Reports) -> Vector:
        items = mechanism.items(mechanism.tally(row), 1)
        return np.concatenate([items.counts, np.broadcast_to(items.trials, items.counts.shape)])

    hits, trials = np.split(each_report(reports, read), 2, axis=1)
    values = range(mechanism.domain) if mechanism.labels is None else mechanism.labels
    known = Scores(hits, trials, mechanism.miss, mechanism.gain, coins=True, limits=(0.0, 1.0))
    notes = () if mechanism.kept is None else (mechanism.kept.estimate_sentence,)
    return ScoredReports(values, [SHARE] * mechanism.domain, known, notes)
