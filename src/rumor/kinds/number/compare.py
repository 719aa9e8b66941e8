"""What is compared of numbers: the unbiased mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rumor.core.types import Target
from rumor.estimators.compare.sample import Sample
from rumor.kinds.measures import MEAN, Measures
from rumor.kinds.number.estimate import estimate
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.summary import Summary


def measures(
    mechanism: MeanMechanism, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """The mean; from reports of one coin each as a share of coins, whose variance is known."""
    coins = mechanism.binomial(summary.tally, summary.reports)
    found = estimate(mechanism, summary, "inversion", {})
    if coins is None:
        sample = Sample.known(np.array([found.unbiased]), np.array([found.stderr]))
    else:
        mean = coins.zero + (coins.one - coins.zero) * coins.share
        sample = Sample.coins(mean, (coins.zero, coins.one), summary.reports)
    exact = replace(sample, exact=lambda z: found.intervals.bounds(z, "population"))
    return Measures(["mean"], [MEAN], exact)
