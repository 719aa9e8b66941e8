"""Dry runs of a choice: a crowd whose answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.plain_text import aligned, decimals_for, one_line, percent, wrapped
from rumor.core.randomness import System
from rumor.core.types import Codes, Tally, Vector
from rumor.kinds.choice.estimate import estimate
from rumor.kinds.choice.tables import reader
from rumor.kinds.dry_run import DryRun, Trials, checked_trials, rescaled
from rumor.kinds.reading import Held, read_histogram
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.results.estimate import Estimate
from rumor.results.rows import ROWS_SHOWN
from rumor.results.view import View

_CHUNK_BYTES = 32 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(DryRun[Estimate]):
    """What came of some trials on people whose true shares are known.

    `frequency` is the mean of the estimates, `error` their root mean square error,
    `expected` the exact standard error of the unbiased estimate, `coverage` how often the
    interval of these people held the truth.
    """

    values: Sequence[int] | Sequence[str]
    truth: Vector
    frequency: Vector
    error: Vector
    expected: Vector
    coverage: Vector

    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """The simulation as plain data for JSON."""
        names = ("value", "truth", "frequency", "error", "expected_stderr", "coverage")
        vectors = (self.truth, self.frequency, self.error, self.expected, self.coverage)
        cells = zip(self.values, *(vector.tolist() for vector in vectors), strict=True)
        return {
            **self.tried(),
            "level": self.level,
            "of": "people",
            "error": float(np.sqrt(np.mean(self.error**2))),
            "expected_stderr": float(np.sqrt(np.mean(self.expected**2))),
            "coverage": float(self.coverage.mean()),
            "estimates": [dict(zip(names, row, strict=True)) for row in cells],
        }

    def table(self, rows: int = ROWS_SHOWN) -> str:
        """The values that are most frequent in truth, as text."""
        order = np.argsort(-self.truth, kind="stable")[:rows].tolist()
        digits = decimals_for(float(self.expected.min()))
        vectors = (self.truth, self.frequency, self.error, self.expected)
        body = [
            (
                one_line(self.values[i]),
                *(percent(vector[i], digits) for vector in vectors),
                percent(self.coverage[i], 0),
            )
            for i in order
        ]
        many = self.trials > 1
        head = (
            "value",
            "truth",
            "mean estimate" if many else "estimate",
            "RMS error" if many else "error",
            "expected s.e.",
            "covered",
        )
        lines = [aligned(head, body)]
        if len(self.values) > len(order):
            lines.append(f"... and {len(self.values) - len(order):,} less frequent")
        seen, due = (math.sqrt(np.mean(v**2)) for v in (self.error, self.expected))
        closing = (
            f"{self.people:,} people, {self.trials:,} {'trials' if many else 'trial'}; method "
            f"{self.last.method}; over all values, the root mean square error was "
            f"{percent(seen, digits)} (the unbiased estimate's is {percent(due, digits)}), and "
            f"the {percent(self.level)} intervals held the truth in "
            f"{percent(float(self.coverage.mean()), 1)} of cases."
        )
        lines += ["", wrapped(closing)]
        return "\n".join(lines)

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""
        from rumor.results.charts import frequency_chart, save_chart

        view = View(self.level, of="people", rows=rows)
        save_chart(frequency_chart(self.last, view, title=title, truth=self.truth), path)


def simulate(oracle: FrequencyOracle, counts: Tally, trials: Trials) -> Simulation:
    """Privatise and estimate people with these answers (so many for each value), some times."""
    people = int(counts.sum())
    checked_trials(trials.count)
    if people == 0:
        raise InputError("a simulation needs at least one person; got none")
    source = System() if trials.random is None else trials.random
    numbered, truth = oracle.unlabelled(), counts / people

    def trial(number: int) -> Estimate:
        summary, done = Summary.empty(oracle), 0
        for codes in _crowd(counts, max(1, _CHUNK_BYTES // oracle.width)):
            summary = summary.update(numbered.privatize(codes, random=source))
            done += codes.size
            if trials.on_progress is not None:
                trials.on_progress(number * people + done, trials.count * people)
        return estimate(oracle, summary, trials.method, trials.options)

    expected = np.sqrt(oracle.variance(truth, people, "people"))
    return repeated(trial, truth, expected, people, trials)


def repeated(
    trial: Callable[[int], Estimate],
    truth: Vector,
    expected: Vector,
    people: int,
    trials: Trials,
) -> Simulation:
    """What came of so many trials, each with its number, on people whose shares are known."""
    total, squares, covered = (np.zeros(truth.size) for _ in range(3))
    result: Estimate
    for number in range(checked_trials(trials.count)):
        result = trial(number)
        low, high = result.interval(trials.level, of="people")
        total += result.frequency
        squares += (result.frequency - truth) ** 2
        covered += (low <= truth) & (truth <= high)
    return Simulation(
        values=result.values,
        truth=truth,
        frequency=total / trials.count,
        error=np.sqrt(squares / trials.count),
        expected=expected,
        coverage=covered / trials.count,
        people=people,
        trials=trials.count,
        level=trials.level,
        last=result,
    )


def _crowd(counts: Tally, size: int) -> Iterator[Codes]:
    """The people in order of their answers, `size` at a time."""
    ends = np.cumsum(counts)
    starts, values = ends - counts, np.arange(counts.size)
    for start in range(0, int(ends[-1]), size):
        stop = start + size
        yield np.repeat(values, np.clip(ends, start, stop) - np.clip(starts, start, stop))


def dry_run(oracle: FrequencyOracle, held: Held, trials: Trials) -> Simulation:
    """A dry run with the answers of a table."""
    counts = read_histogram(oracle, reader(oracle), held)
    if trials.people is not None:
        counts = rescaled(counts, trials.people)
    return simulate(oracle, counts, trials)
