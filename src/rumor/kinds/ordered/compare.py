"""What is compared of ordered answers: the mean, quantiles and, of labels, running shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rumor.core.overall import Overall
from rumor.core.types import Target
from rumor.estimators.compare.inverted import Quantiles
from rumor.estimators.compare.sample import Sample
from rumor.estimators.ordered.change import changed
from rumor.kinds.measures import MEAN, QUANTILE, UP_TO, Measures
from rumor.kinds.ordered.assumption import condition
from rumor.kinds.ordered.estimate import estimate
from rumor.kinds.ordered.measured import Measured
from rumor.kinds.ordered.result import QUANTILES
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave import Wave

_LISTED = 50


def measures(mechanism: Wave, summary: Summary, of: Target, options: Mapping[str, Any]) -> Measures:
    """Return the linear mean and, of numbers, quantiles; of labels, running shares.

    Running shares are unbiased, whatever the distribution; where it is assumed to be smooth they
    are as the default has them, with the errors of laws rough enough.
    """
    found, scale = estimate(mechanism, summary, "auto", options), mechanism.scale
    parts = {MEAN: (["mean"], np.array([found.unbiased]), np.array([found.stderr]))}
    if scale.labels is None:
        names = [f"{share:.0%}" for share in QUANTILES]
        parts[QUANTILE] = (names, *_columns([found.quantile(share) for share in QUANTILES]))
        rows = np.arange(1, 1 + len(QUANTILES))
        quantiles = Quantiles(rows, QUANTILES, found.curve())
        function = Sample.known(np.cumsum(found.frequency), found.fit.cdf[1])
        note = f"quantiles: intervals hold {condition(found.assume, found.heaps)}."
        known = Measures.known(parts)
        return replace(known, quantiles=quantiles, function=function, notes=(note,))
    if scale.domain <= _LISTED:
        value, deviation = found.unbiased_function()
        parts[UP_TO] = (list(scale.names())[:-1], value[:-1], deviation[:-1])
    note = f"shares: intervals hold {condition(found.assume, found.heaps)}."
    return replace(Measures.known(parts), notes=(note,))


def _columns(found: list[Measured]) -> tuple[Any, Any]:
    return np.array([one.value for one in found]), np.array([one.stderr for one in found])


def overall(first: Summary, second: Summary) -> Overall | None:
    """Whether anything changed, by the reports alone; None where they are of two mechanisms."""
    one, other = first.mechanism, second.mechanism
    if one != other or not isinstance(one, Wave):
        return None
    return changed(one.band, first.tally, second.tally)
