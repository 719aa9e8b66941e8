"""Means of one number from a summary of reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.core.settings import checked_method
from rumor.core.types import Rows, Target
from rumor.kinds.evidence import summarized
from rumor.kinds.number.result import MeanEstimate
from rumor.mechanisms.liars import fake_clients
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import Bounds, Intervals, NormalIntervals, Tails

OPTIONS: Mapping[str, tuple[str, ...]] = {"auto": (), "inversion": (), "clip": ()}
"""Every method, and its options."""


@dataclass(frozen=True)
class ShareIntervals:
    """Score (Wilson) intervals of a binomial share, mapped by a line to the mean."""

    share: float
    reports: int
    zero: float
    one: float

    def bounds(self, z: float, of: Target) -> Bounds:
        """Both roots of (share - pi)^2 = z^2 pi (1 - pi) / n, on the line."""
        k = z * z / self.reports
        centre = (self.share + k / 2) / (1 + k)
        root = math.sqrt(k * self.share * (1 - self.share) + k * k / 4) / (1 + k)
        low, high = (self.zero + (self.one - self.zero) * (centre + e) for e in (-root, root))
        return np.array([low]), np.array([high])

    def tails(self, rows: Rows, tails: Tails, of: Target) -> Bounds:
        """One end of each of two such intervals."""
        below, above = (float(z[0]) for z in tails.quantiles())
        return self.bounds(below, of)[0], self.bounds(above, of)[1]


def estimate(
    mechanism: MeanMechanism, data: object, method: str, options: Mapping[str, Any]
) -> MeanEstimate:
    """The mean from reports or a summary of them."""
    chosen = checked_method(method, options, OPTIONS, f" for {mechanism.name}")
    return estimate_mean(mechanism, summarized(mechanism, data), chosen)


def estimate_mean(mechanism: MeanMechanism, summary: Summary, method: str) -> MeanEstimate:
    """The mean: "inversion" as it comes out, "clip" (and "auto") kept within the range."""
    n, grid = summary.reports, mechanism.grid
    unbiased, variance = mechanism.moments(summary.tally, n)
    # Few reports may agree by chance; the noise is there all the same.
    stderr = math.sqrt(max(variance, mechanism.least_variance) / n)
    intervals: Intervals
    coins = mechanism.binomial(summary.tally, n)
    if coins is not None:
        intervals = ShareIntervals(coins.share, n, coins.zero, coins.one)
    else:
        intervals = NormalIntervals(np.array([unbiased]), np.array([stderr]))
    chosen = "clip" if method == "auto" else method
    mean = unbiased if chosen == "inversion" else min(max(unbiased, grid.low), grid.high)
    return MeanEstimate(
        mean=mean,
        unbiased=unbiased,
        stderr=stderr,
        range=(grid.low, grid.high),
        reports=n,
        epsilon=mechanism.epsilon,
        method=chosen,
        intervals=intervals,
        diagnostics={"fake_clients": fake_clients(mechanism, n).to_dict()},
    )
