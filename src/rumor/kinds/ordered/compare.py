"""The quantities compared for ordered answers, and an omnibus test on output histograms.

The quantities are the mean, quantiles and, of labels, running shares.

The test compares the histograms of one channel's outputs: the differences of their first five
cosine moments against chance (Neyman's smooth test, 1937). A distribution that moved, spread or
tilted shows in these moments, and five numbers have less noise than hundreds of outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rumor.core.types import Target
from rumor.estimators.groups import OmnibusTest, Sample, chi_squared_tail
from rumor.kinds.measures import MEAN, QUANTILE, UP_TO, Measures, Quantiles
from rumor.kinds.ordered.estimate import estimate
from rumor.kinds.ordered.fit.likelihood import checked_outputs
from rumor.kinds.ordered.point_estimate import PointEstimate, assumption_phrase
from rumor.kinds.ordered.result import QUANTILES
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave.band import Band
from rumor.mechanisms.wave.wave import Wave

_MOMENTS = 5


def smooth_test(band: Band, before: object, after: object) -> OmnibusTest:
    """Return the statistic of Neyman's smooth test and its p-value."""
    first, second = checked_outputs(band, before), checked_outputs(band, after)
    moments = min(_MOMENTS, band.outcomes - 1)
    place = (np.arange(band.outcomes) + 0.5) / band.outcomes
    waves = np.cos(np.pi * np.outer(np.arange(1, moments + 1), place))
    difference = waves @ (first / first.sum() - second / second.sum())
    pooled = (first + second) / (first.sum() + second.sum())
    middle = waves @ pooled
    spread = (waves * pooled) @ waves.T - np.outer(middle, middle)
    people = 1 / (1 / first.sum() + 1 / second.sum())
    # A handful of reports may leave some moments without variance: those are left out.
    statistic = float(people * (difference @ np.linalg.pinv(spread, hermitian=True) @ difference))
    freedom = int(np.linalg.matrix_rank(spread, hermitian=True))
    return OmnibusTest("smooth test", statistic, freedom, chi_squared_tail(statistic, freedom))


_LISTED = 50


def measures(mechanism: Wave, summary: Summary, of: Target, options: Mapping[str, Any]) -> Measures:
    """Return the linear mean and, of numbers, quantiles; of labels, running shares.

    Running shares are unbiased, whatever the distribution; where it is assumed to be smooth they
    are those of the default method, with errors from priors that are rough enough.
    """
    found, scale = estimate(mechanism, summary, "auto", options), mechanism.scale
    parts = {MEAN: (["mean"], np.array([found.unbiased]), np.array([found.stderr]))}
    if scale.labels is None:
        names = [f"{share:.0%}" for share in QUANTILES]
        parts[QUANTILE] = (names, *_columns([found.quantile(share) for share in QUANTILES]))
        rows = np.arange(1, 1 + len(QUANTILES))
        quantiles = Quantiles(rows, QUANTILES, found.curve())
        function = Sample.known(np.cumsum(found.frequency), found.fit.cdf[1])
        note = f"quantiles: intervals hold {assumption_phrase(found.assume, found.heaps)}."
        known = Measures.known(parts)
        return replace(known, quantiles=quantiles, function=function, notes=(note,))
    if scale.domain <= _LISTED:
        value, deviation = found.unbiased_function()
        parts[UP_TO] = (list(scale.names())[:-1], value[:-1], deviation[:-1])
    note = f"shares: intervals hold {assumption_phrase(found.assume, found.heaps)}."
    return replace(Measures.known(parts), notes=(note,))


def _columns(found: list[PointEstimate]) -> tuple[Any, Any]:
    return np.array([one.value for one in found]), np.array([one.stderr for one in found])


def omnibus_test(first: Summary, second: Summary) -> OmnibusTest | None:
    """Return the test that two groups' reports differ in nothing; None for different mechanisms."""
    one, other = first.mechanism, second.mechanism
    if one != other or not isinstance(one, Wave):
        return None
    return smooth_test(one.band, first.tally, second.tally)
