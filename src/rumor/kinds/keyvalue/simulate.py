"""Simulations of keys with numbers: a population whose keys and values are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.randomness import RandomSource, System
from rumor.core.types import Vector
from rumor.kinds.keyvalue.estimate import estimate, estimate_keyvalue, estimate_rounds
from rumor.kinds.keyvalue.read import is_long, read_people
from rumor.kinds.keyvalue.result import KeyValueEstimate
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import (
    NumericSimulation,
    SimulatedPopulation,
    SimulationSettings,
    simulate_numeric,
    summary_of,
)
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.privkv import PrivKVM
from rumor.mechanisms.summary import Summary
from rumor.results.view import View

# The number of people whose tables are made at a time when only shares and means are known.
_CHUNK_CELLS = 1 << 22


def dry_run(
    mechanism: KeyValueMechanism, held: TableAnswers, trials: SimulationSettings
) -> NumericSimulation[KeyValueEstimate]:
    """Simulate the people in the table `held`, whose columns are called as keys are."""
    return simulate_keys(mechanism, read_crowd(mechanism, held.table, trials.people), trials)


def simulate_keys(
    mechanism: KeyValueMechanism, crowd: SimulatedPopulation, trials: SimulationSettings
) -> NumericSimulation[KeyValueEstimate]:
    """Privatise and estimate the population `crowd`, several times.

    A mechanism in rounds is simulated in all its rounds.
    """

    def trial(source: RandomSource) -> KeyValueEstimate:
        if isinstance(mechanism, PrivKVM):
            return _rounds(mechanism, crowd, trials, source)
        summary = summary_of(mechanism, crowd, source)
        return estimate(mechanism, summary, trials.method, trials.options)

    return simulate_numeric(crowd, trial, _answers, _picture, trials)


def _rounds(
    first: PrivKVM, crowd: SimulatedPopulation, trials: SimulationSettings, source: RandomSource
) -> KeyValueEstimate:
    wide = [first.read(batch) for batch in crowd.batches(source)]
    if len(wide) != 1:
        raise InputError(
            f"rounds are simulated with one batch of people; got {crowd.people:,} people"
        )
    published = "calibration" if trials.method == "auto" else trials.method
    options = trials.options
    return simulate_rounds(first, wide[0], method=published, options=options, random=source)[0]


def _answers(
    result: KeyValueEstimate, quantity: str, level: float
) -> tuple[Vector, Vector, Vector]:
    return getattr(result, quantity), *result.interval(level, quantity=quantity)


def _picture(
    result: KeyValueEstimate,
    truth: Mapping[str, Vector],
    path: PathLike,
    view: View,
    title: str | None,
) -> None:
    result.plot(path, view, title=title, truth=(truth["frequency"], truth["mean"]))


def read_crowd(
    mechanism: KeyValueMechanism, table: AnswerTable, people: int | None = None
) -> SimulatedPopulation:
    """Return the people of a `table`, resampled to `people` if a number is given."""
    names = set(table.schema.names)
    if {"key", "frequency", "mean"} <= names and not is_long(table):
        return _shares(mechanism, table, people)
    return _pairs(mechanism, table, people)


def _shares(
    mechanism: KeyValueMechanism, table: AnswerTable, people: int | None
) -> SimulatedPopulation:
    """Return people with independent keys, from a table of keys with their shares and means."""
    if people is None:
        raise InputError(
            f"{table.path}: a table of shares has no number of people; give one with --people"
        )
    f, m = np.zeros(mechanism.keys), np.full(mechanism.keys, mechanism.grid.middle)
    key = "integer" if mechanism.labels is None else "text"
    for batch in table.batches(["key", "frequency", "mean"], [key, "number", "number"]):
        columns = (batch.column(i).to_pylist() for i in range(3))
        for name, share, mean in zip(*columns, strict=True):
            with table.locate_errors("key"):
                place = mechanism.layout.key(name)
            if not 0 <= share <= 1:
                raise InputError(
                    f"{table.path}: a share must lie in 0 to 1; got {format_value(share)} for "
                    f"{name!r}"
                )
            f[place], m[place] = share, float(mechanism.grid.codes(np.array([float(mean)]))[0])
            m[place] = float(mechanism.grid.value_at(m[place]))

    def batches(source: RandomSource) -> Iterator[Any]:
        rows = max(1, _CHUNK_CELLS // mechanism.keys)
        step = people if mechanism.rounds > 1 else rows
        for start in range(0, people, step):
            size = min(step, people - start)
            words = source.stream().words(size * mechanism.keys).reshape(size, -1)
            yield np.where(words < (f * 2.0**64), m, np.nan)

    # A key without holders has no mean.
    return SimulatedPopulation(
        batches, people, {"frequency": f, "mean": np.where(f > 0, m, np.nan)}
    )


def _pairs(
    mechanism: KeyValueMechanism, table: AnswerTable, people: int | None
) -> SimulatedPopulation:
    """Return the people of a wide or long `table`; another number of people is drawn at random."""
    read, before = [], 0
    for values, _ in read_people(mechanism, table):
        with table.locate_errors(before=before):
            read.append(mechanism.checked(values))
        before += read[-1].people
    cells = np.concatenate([_steps(mechanism, part) for part in read])
    held = ~np.isnan(cells)
    f = held.mean(axis=0)
    with np.errstate(invalid="ignore"):
        m = np.where(held, cells, 0.0).sum(axis=0) / held.sum(axis=0)
    truth = {"frequency": f, "mean": m}
    if people is None:
        return SimulatedPopulation(lambda source: iter([cells]), len(cells), truth)

    def batches(source: RandomSource) -> Iterator[Any]:
        yield cells[source.stream().below(len(cells), people).astype(np.int64)]

    return SimulatedPopulation(batches, people, truth)


def _steps(mechanism: KeyValueMechanism, pairs: Any) -> Vector:
    """Return a wide table of values on the grid, NaN where a person does not have the key."""
    everything = np.broadcast_to(np.arange(mechanism.keys), (pairs.people, mechanism.keys))
    steps = pairs.at(0, everything)
    return np.where(steps < 0, np.nan, mechanism.grid.value_at(steps.astype(np.float64)))


def simulate_rounds(
    first: PrivKVM,
    values: object,
    *,
    method: str = "calibration",
    options: Mapping[str, Any] | None = None,
    random: RandomSource | None = None,
) -> tuple[KeyValueEstimate, list[Summary]]:
    """Run all rounds with the same people; return the estimate, and the summary of each round.

    The means that are published between rounds are those of the calibration.
    """
    if first.round != 1:
        raise InputError(f"a simulation of PrivKVM starts with round 1; got round {first.round}")
    source = System() if random is None else random
    people, mechanism = first.checked(values), first
    summaries: list[Summary] = []
    for number in range(1, first.rounds + 1):
        reports = mechanism.privatize(people, random=source)
        summaries.append(Summary.empty(mechanism).update(reports))
        if number < first.rounds:
            mechanism = mechanism.next(estimate_keyvalue(summaries[-1], "calibration").mean)
    return estimate_rounds(summaries, method, options), summaries
