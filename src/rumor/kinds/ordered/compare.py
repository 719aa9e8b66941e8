"""What is compared of ordered answers: the mean, quantiles and, of labels, running shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rumor.core.overall import Overall
from rumor.core.types import Target
from rumor.estimators.ordered.change import changed
from rumor.kinds.measures import MEAN, QUANTILE, UP_TO, Measures
from rumor.kinds.ordered.estimate import estimate
from rumor.kinds.ordered.measured import Measured
from rumor.kinds.ordered.result import QUANTILES
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave import Wave

_LISTED = 50


def measures(mechanism: Wave, summary: Summary, of: Target, options: Mapping[str, Any]) -> Measures:
    """The linear mean; the rest as the default has it, with the errors of laws rough enough."""
    found, scale = estimate(mechanism, summary, "auto", {}), mechanism.scale
    parts = {MEAN: (["mean"], np.array([found.unbiased]), np.array([found.stderr]))}
    if scale.labels is None:
        names = [f"{share:.0%}" for share in QUANTILES]
        parts[QUANTILE] = (names, *_columns([found.quantile(share) for share in QUANTILES]))
    if scale.labels is not None and scale.domain <= _LISTED:
        names = list(scale.names())[:-1]
        parts[UP_TO] = (names, *_columns([found.cdf(name) for name in names]))
    return Measures.known(parts)


def _columns(found: list[Measured]) -> tuple[Any, Any]:
    return np.array([one.value for one in found]), np.array([one.stderr for one in found])


def overall(first: Summary, second: Summary) -> Overall | None:
    """Whether anything changed, by the reports alone; None where they are of two mechanisms."""
    one, other = first.mechanism, second.mechanism
    if one != other or not isinstance(one, Wave):
        return None
    return changed(one.band, first.tally, second.tally)
