"""The quantities compared for sets: the unbiased share of every option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.types import Target
from rumor.estimators.groups import Sample
from rumor.kinds.measures import Measures
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
