"""Dry runs with numbers: a crowd whose mean, or whose keys and values, are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.contract.collection import Question
from rumor.contract.rounds import simulate_rounds
from rumor.core.answer_table import Table
from rumor.core.errors import InputError, shown
from rumor.core.files import PathLike
from rumor.core.number_range import numbers
from rumor.core.plain_text import aligned, one_line, percent
from rumor.core.randomness import Source, System
from rumor.core.types import Vector
from rumor.kinds.estimating import estimate
from rumor.kinds.keyvalue.result import KeyValueEstimate, MeanEstimate, digits_for
from rumor.kinds.keyvalue.tables import is_long, read_pairs
from rumor.mechanisms import KeyValueMechanism, MeanMechanism, PrivKVM
from rumor.mechanisms.summary import Summary
from rumor.results.rows import ROWS_SHOWN

# People whose tables are made at a time when only shares and means are known.
_CHUNK_CELLS = 1 << 22


@dataclass(frozen=True)
class Crowd:
    """People to simulate: batches to privatise, and the truth about them, by quantity."""

    batches: Callable[[Source], Iterator[Any]]
    people: int
    truth: Mapping[str, Vector]


@dataclass(frozen=True, eq=False)
class NumericSimulation:
    """What came of some trials: for each quantity its truth, mean estimate, error and coverage."""

    values: Sequence[object]
    truth: Mapping[str, Vector]
    estimates: Mapping[str, Vector]
    errors: Mapping[str, Vector]
    coverage: Mapping[str, Vector]
    people: int
    trials: int
    level: float
    last: MeanEstimate | KeyValueEstimate

    def to_dict(self) -> dict[str, object]:
        """The simulation as plain data for JSON."""
        rows = []
        for i, value in enumerate(self.values):
            row: dict[str, object] = {"value": value}
            for quantity in self.truth:
                row[f"{quantity}_truth"] = float(self.truth[quantity][i])
                row[quantity] = float(self.estimates[quantity][i])
                row[f"{quantity}_error"] = float(self.errors[quantity][i])
                row[f"{quantity}_coverage"] = float(self.coverage[quantity][i])
            rows.append(row)
        return {
            "reports": self.people,
            "trials": self.trials,
            "epsilon": self.last.epsilon,
            "method": self.last.method,
            "level": self.level,
            "of": "population",
            "estimates": rows,
        }

    def table(self, rows: int = ROWS_SHOWN) -> str:
        """Truth and estimates side by side, as text."""
        first = next(iter(self.truth.values()))
        order = np.argsort(-first, kind="stable")[:rows].tolist()
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

    def plot(self, path: PathLike, *, rows: int = ROWS_SHOWN, title: str | None = None) -> None:
        """The last trial beside the truth."""
        if isinstance(self.last, MeanEstimate):
            truth = float(self.truth["mean"][0])
            self.last.plot(path, level=self.level, title=title, truth=truth)
        else:
            both = self.truth["frequency"], self.truth["mean"]
            self.last.plot(path, level=self.level, rows=rows, title=title, truth=both)


def _shown(number: float, digits: int) -> str:
    return "none" if np.isnan(number) else f"{number:.{digits}f}"


def simulate_numeric(
    question: Question,
    crowd: Crowd,
    *,
    trials: int = 1,
    method: str = "auto",
    level: float = 0.95,
    random: Source | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> NumericSimulation:
    """Privatise and estimate this crowd some times."""
    if trials < 1:
        raise InputError(f"a simulation needs at least one trial; got {trials}")
    source = System() if random is None else random
    total = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    squares = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    covered = {quantity: np.zeros_like(t) for quantity, t in crowd.truth.items()}
    result: MeanEstimate | KeyValueEstimate
    for trial in range(trials):
        result = _trial(question, crowd, method, source)
        for quantity, truth in crowd.truth.items():
            answer, low, high = _answers(result, quantity, level)
            total[quantity] += answer
            squares[quantity] += (answer - truth) ** 2
            covered[quantity] += (low <= truth) & (truth <= high)
        if on_progress is not None:
            on_progress((trial + 1) * crowd.people, trials * crowd.people)
    return NumericSimulation(
        values=list(result.values),
        truth=crowd.truth,
        estimates={q: x / trials for q, x in total.items()},
        errors={q: np.sqrt(x / trials) for q, x in squares.items()},
        coverage={
            q: np.where(np.isnan(crowd.truth[q]), np.nan, x / trials) for q, x in covered.items()
        },
        people=crowd.people,
        trials=trials,
        level=level,
        last=result,
    )


def _trial(
    question: Question, crowd: Crowd, method: str, source: Source
) -> MeanEstimate | KeyValueEstimate:
    mechanism = question.mechanism
    if isinstance(mechanism, PrivKVM):
        wide = [mechanism.read(batch) for batch in crowd.batches(source)]
        if len(wide) != 1:
            raise InputError(
                f"rounds are simulated with one batch of people; got {crowd.people:,} people"
            )
        published = "calibration" if method == "auto" else method
        return simulate_rounds(mechanism, wide[0], method=published, random=source)[0]
    summary = Summary.empty(mechanism)
    for batch in crowd.batches(source):
        summary = summary.update(mechanism.privatize(batch, random=source))
    if isinstance(mechanism, MeanMechanism):
        return estimate(mechanism, summary, method=method)
    assert isinstance(mechanism, KeyValueMechanism)
    return estimate(mechanism, summary, method=method)


def _answers(
    result: MeanEstimate | KeyValueEstimate, quantity: str, level: float
) -> tuple[Vector, Vector, Vector]:
    if isinstance(result, MeanEstimate):
        low, high = result.interval(level)
        return np.array([result.mean]), np.array([low]), np.array([high])
    bounds = result.interval(level, quantity=quantity)
    return getattr(result, quantity), *bounds


def read_crowd(
    question: Question, table: Table, column: str | None = None, people: int | None = None
) -> Crowd:
    """The people of a table; `people` rescales to a crowd of that size, drawn from them."""
    if question.kind == "number":
        return _numbers(question, table, column, people)
    names = set(table.schema.names)
    if {"key", "frequency", "mean"} <= names and not is_long(table):
        return _shares(question, table, people)
    return _pairs(question, table, people)


def _numbers(question: Question, table: Table, column: str | None, people: int | None) -> Crowd:
    mechanism = question.mechanism
    assert isinstance(mechanism, MeanMechanism)
    counted = column is None and {"value", "count"} <= set(table.schema.names)
    name = "value" if counted else question.id if column is None else column
    names = [name, "count"] if counted else [name]
    values, counts = [np.empty(0)], [np.empty(0)]
    for batch in table.batches(names, ["number"] * len(names)):
        with table.placing(name):
            values.append(numbers(batch.column(0)))
            counts.append(numbers(batch.column(1)) if counted else np.ones(len(batch)))
    value, count = np.concatenate(values), np.concatenate(counts)
    if not value.size or not count.sum() > 0 or (count < 0).any():
        raise InputError(f"{table.path}: a table must hold at least one person; got none")
    with table.placing(name):
        clipped = mechanism.grid.at(mechanism.grid.codes(value).astype(np.float64))
    size = int(count.sum()) if people is None else people
    shares = np.cumsum(count) / count.sum()
    whole = np.diff(np.rint(shares * size), prepend=0).astype(np.int64)
    crowd = np.repeat(clipped, whole)
    truth = {"mean": np.array([float(crowd.mean())])}
    return Crowd(lambda source: iter([crowd]), crowd.size, truth)


def _shares(question: Question, table: Table, people: int | None) -> Crowd:
    """Keys with their shares and means: people hold each key independently of the others."""
    mechanism = question.mechanism
    assert isinstance(mechanism, KeyValueMechanism)
    if people is None:
        raise InputError(
            f"{table.path}: a table of shares says nothing about how many people there are; "
            f"use --people"
        )
    f, m = np.zeros(mechanism.keys), np.full(mechanism.keys, mechanism.grid.middle)
    key = "integer" if mechanism.labels is None else "text"
    for batch in table.batches(["key", "frequency", "mean"], [key, "number", "number"]):
        columns = (batch.column(i).to_pylist() for i in range(3))
        for name, share, mean in zip(*columns, strict=True):
            with table.placing("key"):
                place = mechanism.layout.key(name)
            if not 0 <= share <= 1:
                raise InputError(
                    f"{table.path}: a share must lie in 0 to 1; got {shown(share)} for {name!r}"
                )
            f[place], m[place] = share, float(mechanism.grid.codes(np.array([float(mean)]))[0])
            m[place] = float(mechanism.grid.at(m[place]))

    def batches(source: Source) -> Iterator[Any]:
        rows = max(1, _CHUNK_CELLS // mechanism.keys)
        step = people if isinstance(mechanism, PrivKVM) else rows
        for start in range(0, people, step):
            size = min(step, people - start)
            words = source.stream().words(size * mechanism.keys).reshape(size, -1)
            yield np.where(words < (f * 2.0**64), m, np.nan)

    # Nobody's values have no mean.
    return Crowd(batches, people, {"frequency": f, "mean": np.where(f > 0, m, np.nan)})


def _pairs(question: Question, table: Table, people: int | None) -> Crowd:
    """The people of a wide or long table; more or fewer of them are drawn at random."""
    mechanism = question.mechanism
    assert isinstance(mechanism, KeyValueMechanism)
    read, before = [], 0
    for values, _ in read_pairs(question, table):
        with table.placing(before=before):
            read.append(mechanism.checked(values))
        before += read[-1].people
    cells = np.concatenate([_steps(mechanism, part) for part in read])
    held = ~np.isnan(cells)
    f = held.mean(axis=0)
    with np.errstate(invalid="ignore"):
        m = np.where(held, cells, 0.0).sum(axis=0) / held.sum(axis=0)
    truth = {"frequency": f, "mean": m}
    if people is None:
        return Crowd(lambda source: iter([cells]), len(cells), truth)

    def batches(source: Source) -> Iterator[Any]:
        yield cells[source.stream().below(len(cells), people).astype(np.int64)]

    return Crowd(batches, people, truth)


def _steps(mechanism: KeyValueMechanism, pairs: Any) -> Vector:
    """A wide table of values on the grid, NaN where a key is not held."""
    everything = np.broadcast_to(np.arange(mechanism.keys), (pairs.people, mechanism.keys))
    steps = pairs.at(0, everything)
    return np.where(steps < 0, np.nan, mechanism.grid.at(steps.astype(np.float64)))
