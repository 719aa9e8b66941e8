"""The quantities compared for words: the shares of all candidates, detected or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.types import Target
from rumor.estimators.groups import Sample
from rumor.kinds.measures import Measures
from rumor.kinds.text.estimate import estimate
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.summary import Summary


def measures(
    mechanism: Rappor, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased share of each candidate; errors are infinite without reports."""
    found = estimate(mechanism, summary, "auto", options)
    low, high = found.intervals.bounds(1.0, of)
    return Measures.shares(found.words, Sample.known(found.unbiased, (high - low) / 2))
