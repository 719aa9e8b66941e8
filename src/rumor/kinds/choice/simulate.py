"""Simulations of a choice: a population whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rumor.core.errors import InputError
from rumor.core.randomness import System
from rumor.core.types import Codes, Tally
from rumor.kinds.choice.estimate import estimate
from rumor.kinds.choice.read import reader
from rumor.kinds.reading import TableAnswers, read_histogram
from rumor.kinds.simulation import (
    Simulation,
    SimulationSettings,
    checked_trials,
    repeat_trials,
    rescale_counts,
)
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.results.estimate import Estimate

_CHUNK_BYTES = 32 << 20


def simulate(oracle: FrequencyOracle, counts: Tally, trials: SimulationSettings) -> Simulation:
    """Privatise and estimate a population with `counts` of people by value, several times."""
    people = int(counts.sum())
    checked_trials(trials.count)
    if people == 0:
        raise InputError("a simulation needs at least one person; got none")
    source = System() if trials.random is None else trials.random
    numbered, truth = oracle.without_labels(), counts / people

    def trial(number: int) -> Estimate:
        summary, done = Summary.empty(oracle), 0
        for codes in _crowd(counts, max(1, _CHUNK_BYTES // oracle.width)):
            summary = summary.update(numbered.privatize(codes, random=source))
            done += codes.size
            if trials.on_progress is not None:
                trials.on_progress(number * people + done, trials.count * people)
        return estimate(oracle, summary, trials.method, trials.options)

    expected = np.sqrt(oracle.variance(truth, people, "people"))
    return repeat_trials(trial, truth, expected, people, trials)


def _crowd(counts: Tally, size: int) -> Iterator[Codes]:
    """Yield the people in order of their answers, `size` at a time."""
    ends = np.cumsum(counts)
    starts, values = ends - counts, np.arange(counts.size)
    for start in range(0, int(ends[-1]), size):
        stop = start + size
        yield np.repeat(values, np.clip(ends, start, stop) - np.clip(starts, start, stop))


def dry_run(oracle: FrequencyOracle, held: TableAnswers, trials: SimulationSettings) -> Simulation:
    """Simulate the people in the table `held`."""
    counts = read_histogram(oracle, reader(oracle), held)
    if trials.people is not None:
        counts = rescale_counts(counts, trials.people)
    return simulate(oracle, counts, trials)
