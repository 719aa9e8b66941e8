"""The quantities compared for joint answers: the unbiased share of every cell and every margin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.errors import InputError, format_value
from rumor.core.types import Target
from rumor.estimators.groups import Sample
from rumor.kinds.joint.estimate import estimate
from rumor.kinds.measures import Measures
from rumor.mechanisms.mixed.mixed import Mixed
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
