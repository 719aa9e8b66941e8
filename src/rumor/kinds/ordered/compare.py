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

from rumor.core.reports import Reports, from_little_endian
from rumor.core.types import Target
from rumor.estimators.groups import OmnibusTest, Sample, chi_squared_tail
from rumor.estimators.survey import Scores
from rumor.kinds.measures import (
    MEAN,
    QUANTILE,
    UP_TO,
    Measures,
    Quantiles,
    ScoredQuantiles,
    ScoredReports,
)
from rumor.kinds.ordered.estimate import estimate, least_variance
from rumor.kinds.ordered.fit.average import fit_ordered
from rumor.kinds.ordered.fit.bounds import expected_outputs, places_of, unbiased_weights
from rumor.kinds.ordered.fit.curve import CumulativeCurve
from rumor.kinds.ordered.fit.em import mean_positions
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


def scores(mechanism: Wave, reports: Reports) -> ScoredReports:
    """Return each report's mean; of numbers, its scores of the distribution function.

    Of labels, the scores of running shares are rows of their own.
    """
    band, scale = mechanism.band, mechanism.scale
    outputs = from_little_endian(reports).astype(np.intp)
    seen = mechanism.tally(reports)
    mean = scale.at(mean_positions(band) + 0.5)[outputs, None]
    least = scale.unit**2 * least_variance(mechanism)
    if scale.labels is not None and scale.domain > _LISTED:
        return ScoredReports(["mean"], [MEAN], Scores(mean, least=least))
    places = places_of(scale.domain)[:-1]
    law = fit_ordered(band, seen, mechanism.marks).frequency
    steps = np.asarray(np.arange(scale.domain)[:, None] <= places, dtype=np.float64)
    weights = unbiased_weights(band, steps, expected_outputs(band, law, len(reports)))
    function = weights[outputs]
    if scale.labels is None:
        names = [f"{share:.0%}" for share in QUANTILES]
        return ScoredReports(
            ["mean", *names],
            [MEAN] + [QUANTILE] * len(names),
            Scores(mean, least=least),
            quantiles=ScoredQuantiles(
                QUANTILES,
                function,
                lambda shares, errors: CumulativeCurve.through(scale, places, shares, errors),
            ),
        )
    return ScoredReports(
        ["mean", *list(scale.names())[:-1]],
        [MEAN] + [UP_TO] * (scale.domain - 1),
        Scores(np.hstack([mean, function]), least=np.append(least, np.zeros(scale.domain - 1))),
    )
