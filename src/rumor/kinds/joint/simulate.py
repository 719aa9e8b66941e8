"""Simulations of joint answers: a population whose table is known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import RandomSource
from rumor.core.types import Vector
from rumor.kinds.joint.estimate import estimate
from rumor.kinds.joint.read import read_counts
from rumor.kinds.joint.result import JointEstimate
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import (
    NumericSimulation,
    SimulatedPopulation,
    SimulationSettings,
    rescale_counts,
    simulate_numeric,
    summary_of,
)
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts
from rumor.results.view import View


def dry_run(
    mechanism: Mixed, held: TableAnswers, trials: SimulationSettings
) -> NumericSimulation[JointEstimate]:
    """Simulate the people in the table `held`: a row for each, or cells with a count."""
    if held.column is not None:
        raise InputError(
            f"a joint answer has a column for each part, so none is named; got {held.column!r}"
        )
    counts = read_counts(mechanism, held.table)
    if trials.people is not None:
        counts = rescale_counts(counts, trials.people)
    cells, numbered = np.repeat(np.arange(counts.size), counts), mechanism.without_labels()
    truth = true_rows(mechanism.parts, counts / counts.sum())
    crowd = SimulatedPopulation(lambda source: iter([cells]), cells.size, {"frequency": truth})

    def trial(source: RandomSource) -> JointEstimate:
        summary = summary_of(numbered, crowd, source)
        return estimate(mechanism, summary, trials.method, trials.options)

    return simulate_numeric(crowd, trial, _answers, _picture, trials)


def true_rows(parts: Parts, shares: Vector) -> Vector:
    """Return the true share of every row of an estimate: cells of each pair, then margins."""
    whole, every = shares.reshape(parts.sizes), range(parts.count)
    kept = [*itertools.combinations(every, 2), *((part,) for part in every)]
    sums = [whole.sum(axis=tuple(set(every) - set(group))) for group in kept]
    return np.concatenate([table.ravel() for table in sums])


def _answers(result: JointEstimate, quantity: str, level: float) -> tuple[Vector, Vector, Vector]:
    return result.frequency, *result.interval(level)


def _picture(
    result: JointEstimate,
    truth: Mapping[str, Vector],
    path: PathLike,
    view: View,
    title: str | None,
) -> None:
    result.plot(path, view, title=title, truth=truth["frequency"])
