"""Dry runs with numbers: quantities whose truth is known, over some trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from rumor.core.files import PathLike
from rumor.core.plain_text import aligned, digits_for, one_line, percent
from rumor.core.randomness import Source, System
from rumor.core.types import Vector
from rumor.kinds.dry_run import DryRun, Made, Trials, checked_trials
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary
from rumor.results.view import ROWS_SHOWN, View


class NumericEstimate(Made, Protocol):
    """An estimate of quantities: what a dry run must know of it."""

    @property
    def values(self) -> Sequence[object]:
        """The rows."""
        ...


E = TypeVar("E", bound=NumericEstimate)
Answers = Callable[[E, str, float], tuple[Vector, Vector, Vector]]
"""The answers of a quantity, and the ends of their intervals at a level."""
Picture = Callable[[E, Mapping[str, Vector], PathLike, View, str | None], None]
"""The estimate beside the truth, drawn into a file with a title."""


@dataclass(frozen=True)
class Crowd:
    """People to simulate: batches to privatise, and the truth about them, by quantity."""

    batches: Callable[[Source], Iterator[Any]]
    people: int
    truth: Mapping[str, Vector]


@dataclass(frozen=True, eq=False, kw_only=True)
class NumericSimulation(DryRun[E]):
    """What came of some trials: for each quantity its truth, mean estimate, error and coverage."""

    values: Sequence[object]
    truth: Mapping[str, Vector]
    estimates: Mapping[str, Vector]
    errors: Mapping[str, Vector]
    coverage: Mapping[str, Vector]
    picture: Picture[E]
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
        if len(self.values) > len(order):
            lines.append(f"... and {len(self.values) - len(order):,} less frequent")
        covered = ", ".join(
            f"{percent(float(c[np.isfinite(c)].mean()), 1)} of cases ({quantity})"
            for quantity, c in self.coverage.items()
            if np.isfinite(c).any()
        )
        lines.append(
            f"{self.people:,} people, {self.trials:,} trial{'s' if self.trials > 1 else ''}; "
            f"method {self.last.method}; the {percent(self.level)} intervals held the truth in "
            f"{covered}"
        )
        return "\n".join(lines)

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""
        self.picture(self.last, self.truth, path, View(self.level, rows=rows), title)


def _shown(number: float, digits: int) -> str:
    return "none" if np.isnan(number) else f"{number:.{digits}f}"


def simulate_numeric(
    crowd: Crowd,
    trial: Callable[[Source], E],
    answers: Answers[E],
    picture: Picture[E],
    trials: Trials,
    measured: Sequence[object] | None = None,
) -> NumericSimulation[E]:
    """Privatise and estimate this crowd some times: each `trial` makes its own reports.

    Rows are the values of the estimate, or what is `measured` of it, in the order given.
    """
    count = checked_trials(trials.count)
    source = System() if trials.random is None else trials.random
    total = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    squares = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    covered = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    result: E
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


def summary_of(mechanism: Mechanism, crowd: Crowd, source: Source) -> Summary:
    """The reports of a crowd, counted."""
    summary = Summary.empty(mechanism)
    for batch in crowd.batches(source):
        summary = summary.update(mechanism.privatize(batch, random=source))
    return summary
