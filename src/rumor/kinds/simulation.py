"""A dry run: what an analyst would see of a crowd whose answers are known.

Either shares of listed values, or quantities that are numbers, whose truth is known.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rumor.core.errors import InputError
from rumor.core.exact import CONFIDENCE
from rumor.core.files import PathLike
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    digits_for,
    one_line,
    percent,
    rows_left_out,
    wrapped,
)
from rumor.core.randomness import RandomSource, System
from rumor.core.types import Progress, Tally, Vector
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary
from rumor.results.estimate import Estimate
from rumor.results.view import ROWS_SHOWN, View


@dataclass(frozen=True)
class SimulationSettings:
    """How a crowd is tried: how many people, how often, by which method."""

    count: int = 1
    people: int | None = None
    """Rescale to a crowd of so many."""
    method: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those of the method."""
    level: float = CONFIDENCE
    random: RandomSource | None = None
    words: Sequence[str] | None = None
    """Words to look for, where answers are words."""
    cache: PathLike | None = None
    """Where the map of these words is kept for the next time."""
    on_progress: Progress | None = None


class SimulatedEstimate(Protocol):
    """An estimate, as far as a dry run tells of it."""

    @property
    def epsilon(self) -> float:
        """The loss of one report."""
        ...

    @property
    def method(self) -> str:
        """How it was made."""
        ...


E = TypeVar("E", bound=SimulatedEstimate)


@dataclass(frozen=True, eq=False, kw_only=True)
class SimulationResult(abc.ABC, Generic[E]):
    """What came of the trials of a crowd of so many people."""

    people: int
    trials: int
    level: float
    """That of its intervals."""
    last: E
    """The estimate of the last trial."""

    @abc.abstractmethod
    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """As plain data for JSON."""

    @abc.abstractmethod
    def table(self, rows: int = ROWS_SHOWN) -> str:
        """Truth and estimates side by side, as text."""

    @abc.abstractmethod
    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""

    def tried(self) -> dict[str, object]:
        """What every dry run says of itself first."""
        made = {"epsilon": self.last.epsilon, "method": self.last.method}
        return {"reports": self.people, "trials": self.trials, **made}


def checked_trials(trials: int) -> int:
    """At least one."""
    if trials < 1:
        raise InputError(f"a simulation needs at least one trial; got {trials}")
    return trials


def rescaled(counts: Tally, people: int) -> Tally:
    """The same shares in a crowd of this size, to the nearest whole person."""
    exact = counts * (people / counts.sum())
    whole: Tally = np.floor(exact).astype(np.int64)
    missing = people - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole


class NumericEstimate(SimulatedEstimate, Protocol):
    """An estimate of quantities: what a dry run must know of it."""

    @property
    def values(self) -> Sequence[object]:
        """The rows."""
        ...


N = TypeVar("N", bound=NumericEstimate)
Answers = Callable[[N, str, float], tuple[Vector, Vector, Vector]]
"""The answers of a quantity, and the ends of their intervals at a level."""
Picture = Callable[[N, Mapping[str, Vector], PathLike, View, str | None], None]
"""The estimate beside the truth, drawn into a file with a title."""


@dataclass(frozen=True)
class SimulatedPopulation:
    """People to simulate: batches to privatise, and the truth about them, by quantity."""

    batches: Callable[[RandomSource], Iterator[Any]]
    people: int
    truth: Mapping[str, Vector]


@dataclass(frozen=True, eq=False, kw_only=True)
class NumericSimulation(SimulationResult[N]):
    """What came of some trials: for each quantity its truth, mean estimate, error and coverage."""

    values: Sequence[object]
    truth: Mapping[str, Vector]
    estimates: Mapping[str, Vector]
    errors: Mapping[str, Vector]
    coverage: Mapping[str, Vector]
    picture: Picture[N]
    ranked: bool = True
    """Whether rows are told in the order of their truth, the largest first."""

    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """The simulation as plain data for JSON."""
        cells = []
        for i, value in enumerate(self.values):
            row: dict[str, object] = {"value": value}
            for quantity in self.truth:
                row[f"{quantity}_truth"] = float(self.truth[quantity][i])
                row[quantity] = float(self.estimates[quantity][i])
                row[f"{quantity}_error"] = float(self.errors[quantity][i])
                row[f"{quantity}_coverage"] = float(self.coverage[quantity][i])
            cells.append(row)
        return {**self.tried(), "level": self.level, "of": "population", "estimates": cells}

    def table(self, rows: int = ROWS_SHOWN) -> str:
        """Truth and estimates side by side, as text."""
        first = next(iter(self.truth.values()))
        ranking = np.argsort(-first, kind="stable") if self.ranked else np.arange(first.size)
        order = ranking[:rows].tolist()
        head, columns = ["value"], [[one_line(self.values[i]) for i in order]]
        average = "mean estimate" if self.trials > 1 else "estimate"
        for quantity in self.truth:
            errors = self.errors[quantity]
            digits = digits_for(float(errors[np.isfinite(errors)].min(initial=np.inf)))
            head += [f"{quantity}: truth", average, "RMS error", "covered"]
            for vector in (self.truth, self.estimates, self.errors):
                columns.append([_shown(vector[quantity][i], digits) for i in order])
            coverage = self.coverage[quantity]
            columns.append(
                ["" if np.isnan(coverage[i]) else percent(coverage[i], 0) for i in order]
            )
        lines = [aligned(head, list(zip(*columns, strict=True)))]
        lines += rows_left_out(len(self.values) - len(order), "less frequent value")
        covered = ", ".join(
            f"{percent(float(c[np.isfinite(c)].mean()), 1)} ({quantity})"
            for quantity, c in self.coverage.items()
            if np.isfinite(c).any()
        )
        lines.append(
            f"{self.trials:,} trial{'s' if self.trials > 1 else ''} of {self.people:,} "
            f"respondents; method {self.last.method}; coverage of the {percent(self.level)} "
            f"intervals: {covered}"
        )
        return "\n".join(lines)

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""
        self.picture(self.last, self.truth, path, View(self.level, rows=rows), title)


def _shown(number: float, digits: int) -> str:
    return "none" if np.isnan(number) else f"{number:.{digits}f}"


def simulate_numeric(
    crowd: SimulatedPopulation,
    trial: Callable[[RandomSource], N],
    answers: Answers[N],
    picture: Picture[N],
    trials: SimulationSettings,
    measured: Sequence[object] | None = None,
) -> NumericSimulation[N]:
    """Privatise and estimate this crowd some times: each `trial` makes its own reports.

    Rows are the values of the estimate, or what is `measured` of it, in the order given.
    """
    count = checked_trials(trials.count)
    source = System() if trials.random is None else trials.random
    total = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    squares = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    covered = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    result: N
    for number in range(count):
        result = trial(source)
        for quantity, truth in crowd.truth.items():
            answer, low, high = answers(result, quantity, trials.level)
            total[quantity] += answer
            squares[quantity] += (answer - truth) ** 2
            covered[quantity] += (low <= truth) & (truth <= high)
        if trials.on_progress is not None:
            trials.on_progress((number + 1) * crowd.people, count * crowd.people)
    return NumericSimulation(
        values=list(result.values if measured is None else measured),
        truth=crowd.truth,
        estimates={q: x / count for q, x in total.items()},
        errors={q: np.sqrt(x / count) for q, x in squares.items()},
        coverage={
            q: np.where(np.isnan(crowd.truth[q]), np.nan, x / count) for q, x in covered.items()
        },
        people=crowd.people,
        trials=count,
        level=trials.level,
        last=result,
        picture=picture,
        ranked=measured is None,
    )


def summary_of(mechanism: Mechanism, crowd: SimulatedPopulation, source: RandomSource) -> Summary:
    """The reports of a crowd, counted."""
    summary = Summary.empty(mechanism)
    for batch in crowd.batches(source):
        summary = summary.update(mechanism.privatize(batch, random=source))
    return summary


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(SimulationResult[Estimate]):
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
        lines += rows_left_out(len(self.values) - len(order), "less frequent value")
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


def repeated(
    trial: Callable[[int], Estimate],
    truth: Vector,
    expected: Vector,
    people: int,
    trials: SimulationSettings,
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
