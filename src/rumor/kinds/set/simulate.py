"""Dry runs of sets: the people of a table, whose options are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rumor.core.answer_table import Table
from rumor.core.errors import InputError
from rumor.core.option_sets import OptionSets, joined
from rumor.core.randomness import System
from rumor.kinds.choice.simulate import Simulation
from rumor.kinds.dry_run import Trials, checked_trials
from rumor.kinds.set.estimate import estimate
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.summary import Summary

# People whose reports are made at a time.
_PEOPLE = 1 << 16


def dry_run(
    mechanism: SetMechanism, table: Table, id: str, column: str | None, trials: Trials
) -> Simulation:
    """A dry run with the people of a table; more or fewer are its rows, one after the other."""
    from rumor.kinds import KINDS

    read = KINDS[mechanism.kind].read(id, mechanism, table, column)
    parts: list[OptionSets] = [sets for sets, _ in read]
    if not parts:
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    crowd = joined(parts)
    if trials.people is not None:
        crowd = crowd.taken(np.arange(trials.people) % crowd.people)
    with table.placing(column):
        return simulate_sets(mechanism, crowd, trials)


def simulate_sets(mechanism: SetMechanism, crowd: OptionSets, trials: Trials) -> Simulation:
    """Privatise and estimate these people some times."""
    count, people = checked_trials(trials.count), crowd.people
    source = System() if trials.random is None else trials.random
    truth = crowd.shares()
    total, squares, covered = (np.zeros(mechanism.domain) for _ in range(3))
    for trial in range(count):
        summary = Summary.empty(mechanism)
        for part in _parts(crowd):
            summary = summary.update(mechanism.privatize(part, random=source))
            if trials.on_progress is not None:
                trials.on_progress(trial * people + summary.reports, count * people)
        result = estimate(mechanism, summary, trials.method, {})
        low, high = result.interval(trials.level, of="people")
        total += result.frequency
        squares += (result.frequency - truth) ** 2
        covered += (low <= truth) & (truth <= high)
    return Simulation(
        values=result.values,
        truth=truth,
        frequency=total / count,
        error=np.sqrt(squares / count),
        expected=np.sqrt(mechanism.variance(truth, people, "people")),
        coverage=covered / count,
        people=people,
        trials=count,
        level=trials.level,
        last=result,
    )


def _parts(crowd: OptionSets) -> Iterator[OptionSets]:
    """The people in order, some at a time."""
    for start in range(0, crowd.people, _PEOPLE):
        yield crowd.taken(np.arange(start, min(start + _PEOPLE, crowd.people)))
