"""Simulations of sets: the people of a table, whose options are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rumor.core.errors import InputError
from rumor.core.option_sets import OptionSets, joined
from rumor.core.randomness import System
from rumor.kinds.reading import TableAnswers
from rumor.kinds.set.estimate import estimate
from rumor.kinds.set.result import SetEstimate
from rumor.kinds.simulation import Simulation, SimulationSettings, repeat_trials
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.summary import Summary

# The number of people whose reports are made at a time.
_PEOPLE = 1 << 16


def dry_run(mechanism: SetMechanism, held: TableAnswers, trials: SimulationSettings) -> Simulation:
    """Simulate the people in the table `held`.

    A population larger than the table repeats the rows in order.
    """
    from rumor.kinds import KINDS

    table, column = held.table, held.column
    read = KINDS[mechanism.kind].read(held.id, mechanism, table, column)
    parts: list[OptionSets] = [sets for sets, _ in read]
    if not parts:
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    crowd = joined(parts)
    if trials.people is not None:
        crowd = crowd.take(np.arange(trials.people) % crowd.people)
    with table.locate_errors(column):
        return simulate_sets(mechanism, crowd, trials)


def simulate_sets(
    mechanism: SetMechanism, crowd: OptionSets, trials: SimulationSettings
) -> Simulation:
    """Privatise and estimate the population `crowd`, several times."""
    people, truth = crowd.people, crowd.shares()
    source = System() if trials.random is None else trials.random

    def trial(number: int) -> SetEstimate:
        summary = Summary.empty(mechanism)
        for part in _parts(crowd):
            summary = summary.update(mechanism.privatize(part, random=source))
            if trials.on_progress is not None:
                trials.on_progress(number * people + summary.reports, trials.count * people)
        return estimate(mechanism, summary, trials.method, trials.options)

    expected = np.sqrt(mechanism.variance(truth, people, "people"))
    return repeat_trials(trial, truth, expected, people, trials)


def _parts(crowd: OptionSets) -> Iterator[OptionSets]:
    """Yield the people in order, in batches."""
    for start in range(0, crowd.people, _PEOPLE):
        yield crowd.take(np.arange(start, min(start + _PEOPLE, crowd.people)))
