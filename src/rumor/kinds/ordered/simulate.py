"""Simulations of ordered answers: a population whose distribution is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rumor.core.files import PathLike
from rumor.core.randomness import RandomSource
from rumor.core.types import Tally, Vector
from rumor.kinds.ordered.estimate import estimate
from rumor.kinds.ordered.read import reader
from rumor.kinds.ordered.result import QUANTILES, OrderedEstimate
from rumor.kinds.reading import TableAnswers, read_histogram
from rumor.kinds.simulation import (
    NumericSimulation,
    SimulatedPopulation,
    SimulationSettings,
    rescale_counts,
    simulate_numeric,
    summary_of,
)
from rumor.mechanisms.wave.scale import Scale
from rumor.mechanisms.wave.wave import Wave
from rumor.results.view import View

_ROUNDING = 1e-12
# The quantities that a simulation reports.
_MEASURED = ("mean", *(f"{100 * share:g}%" for share in QUANTILES))


def dry_run(
    mechanism: Wave, held: TableAnswers, trials: SimulationSettings
) -> NumericSimulation[OrderedEstimate]:
    """Simulate the people in the table `held`."""
    counts = read_histogram(mechanism, reader(mechanism), held)
    if trials.people is not None:
        counts = rescale_counts(counts, trials.people)
    crowd, numbered = build_crowd(mechanism, counts), mechanism.without_labels()

    def trial(source: RandomSource) -> OrderedEstimate:
        summary = summary_of(numbered, crowd, source)
        return estimate(mechanism, summary, trials.method, trials.options)

    def picture(
        result: OrderedEstimate,
        truth: Mapping[str, Vector],
        path: PathLike,
        view: View,
        title: str | None,
    ) -> None:
        result.plot(path, view, title=title, truth=counts / counts.sum())

    return simulate_numeric(crowd, trial, _estimates_with_ends, picture, trials, _MEASURED)


def build_crowd(mechanism: Wave, counts: Tally) -> SimulatedPopulation:
    """Return the people with `counts` by position, and the true quantities."""
    scale = mechanism.scale
    positions = np.repeat(np.arange(scale.domain), counts)
    people = positions if scale.labels is not None else scale.middles[positions]
    shares = counts / counts.sum()
    measured = [
        float(shares @ scale.middles),
        *(true_quantile(scale, shares, q) for q in QUANTILES),
    ]
    return SimulatedPopulation(
        lambda source: iter([people]), people.size, {"value": np.array(measured)}
    )


def true_quantile(scale: Scale, shares: Vector, share: float) -> float:
    """Return the true quantile at `share`, interpolated linearly between the ends of a bin."""
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    after = max(int(np.searchsorted(sums, share - _ROUNDING, side="left")), 1)
    inside = (share - sums[after - 1]) / (sums[after] - sums[after - 1])
    return float(scale.at(after - 0.5 if scale.whole else after - 1 + inside))


def _estimates_with_ends(
    result: OrderedEstimate, quantity: str, level: float
) -> tuple[Vector, Vector, Vector]:
    found = [result.mean_interval(level), *(result.quantile(q, level) for q in QUANTILES)]
    return (
        np.array([each.value for each in found]),
        np.array([each.low for each in found]),
        np.array([each.high for each in found]),
    )
