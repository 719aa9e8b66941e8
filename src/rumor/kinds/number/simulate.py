"""Simulations of a number: a population whose mean is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.number_range import as_number_column
from rumor.core.randomness import RandomSource
from rumor.core.types import Vector
from rumor.kinds.number.estimate import estimate
from rumor.kinds.number.result import MeanEstimate
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import (
    NumericSimulation,
    SimulatedPopulation,
    SimulationSettings,
    simulate_numeric,
    summary_of,
)
from rumor.mechanisms.mean import MeanMechanism
from rumor.results.view import View


def dry_run(
    mechanism: MeanMechanism, held: TableAnswers, trials: SimulationSettings
) -> NumericSimulation[MeanEstimate]:
    """Simulate the people in the table `held`."""
    crowd = read_numbers(mechanism, held, trials.people)
    return simulate_mean(mechanism, crowd, trials)


def simulate_mean(
    mechanism: MeanMechanism, crowd: SimulatedPopulation, trials: SimulationSettings
) -> NumericSimulation[MeanEstimate]:
    """Privatise and estimate the population `crowd`, several times."""

    def trial(source: RandomSource) -> MeanEstimate:
        summary = summary_of(mechanism, crowd, source)
        return estimate(mechanism, summary, trials.method, trials.options)

    return simulate_numeric(crowd, trial, _answers, _picture, trials)


def _answers(result: MeanEstimate, quantity: str, level: float) -> tuple[Vector, Vector, Vector]:
    low, high = result.interval(level)
    return np.array([result.mean]), np.array([low]), np.array([high])


def _picture(
    result: MeanEstimate,
    truth: Mapping[str, Vector],
    path: PathLike,
    view: View,
    title: str | None,
) -> None:
    result.plot(path, view, title=title, truth=float(truth["mean"][0]))


def read_numbers(
    mechanism: MeanMechanism, held: TableAnswers, people: int | None = None
) -> SimulatedPopulation:
    """Return the people in the table `held`, rescaled to `people` if a number is given."""
    table, column = held.table, held.column
    counted = column is None and {"value", "count"} <= set(table.schema.names)
    name = "value" if counted else held.id if column is None else column
    names = [name, "count"] if counted else [name]
    values, counts = [np.empty(0)], [np.empty(0)]
    for batch in table.answered_batches(names, ["number"] * len(names)):
        with table.locate_errors(name):
            values.append(as_number_column(batch.column(0)))
            counts.append(as_number_column(batch.column(1)) if counted else np.ones(len(batch)))
    value, count = np.concatenate(values), np.concatenate(counts)
    if (count < 0).any():
        raise InputError(f"{table.path}: counts must be numbers of 0 or more; got one that is not")
    if not value.size or not count.sum() > 0:
        raise InputError(f"{table.path}: a table must hold at least one person; got none")
    with table.locate_errors(name):
        clipped = mechanism.grid.value_at(mechanism.grid.codes(value).astype(np.float64))
    size = int(count.sum()) if people is None else people
    shares = np.cumsum(count) / count.sum()
    whole = np.diff(np.rint(shares * size), prepend=0).astype(np.int64)
    crowd = np.repeat(clipped, whole)
    truth = {"mean": np.array([float(crowd.mean())])}
    return SimulatedPopulation(lambda source: iter([crowd]), crowd.size, truth)
