"""How things are measured: contenders in turn, best of several rounds, ratios.

A shared machine runs twice as fast in one minute as in the next. So the contenders of a
race take turns, each round starting with another one, and the best time of each counts;
what is reported is how many times faster one is than the other. Contenders may handle
different amounts (a slow peer would take minutes otherwise): rates are compared.

Seconds are the processor time of this process, all its threads together: waiting for a
processor that others hold is nobody's fault, and a second thread would gain nothing. On an
idle machine they are the seconds of a clock. Where other processes do the work, a benchmark
brings a clock of its own that counts theirs too.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

Clock = Callable[[], float]

# Shorter runs are repeated until they take this long, so that the clock is no matter.
_MIN_SECONDS = 0.02


@dataclass(frozen=True)
class Scale:
    """How much to do: `quick` for a look, `full` for what takes disk and minutes."""

    quick: bool = False
    full: bool = False
    turns: int | None = None

    @property
    def rounds(self) -> int:
        """How many times each contender has its turn; more help on a busy machine."""
        return self.turns or (3 if self.quick else 9)

    def pick(self, usual: int, quick: int) -> int:
        """A size for this scale."""
        return quick if self.quick else usual


@dataclass(frozen=True)
class Contender:
    """Something that does `items` items of work each time it runs."""

    name: str
    run: Callable[[], object]
    items: float


@dataclass(frozen=True)
class Row:
    """One line of the table: a value, what it is held against, and what it should be."""

    benchmark: str
    value: str
    against: str
    other: str
    figure: float
    shown: str
    target: str = ""
    passed: bool | None = None
    detail: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """The row as JSON types."""
        return dataclasses.asdict(self)


def race(
    benchmark: str,
    unit: str,
    ours: Contender,
    others: Iterable[Contender],
    scale: Scale,
    targets: Mapping[str, float] | None = None,
    clock: Clock = time.process_time,
) -> list[Row]:
    """Our rate over that of each other contender, with the ratio it should reach."""
    entrants = [ours, *others]
    seconds = take_turns([entrant.run for entrant in entrants], scale.rounds, clock)
    rates = [entrant.items / min(times) for entrant, times in zip(entrants, seconds, strict=True)]
    rows = []
    for other, rate, times in zip(entrants[1:], rates[1:], seconds[1:], strict=True):
        ratio = rates[0] / rate
        in_rounds = [
            (ours.items / mine) / (other.items / theirs)
            for mine, theirs in zip(seconds[0], times, strict=True)
        ]
        wanted = (targets or {}).get(other.name)
        rows.append(
            Row(
                benchmark,
                f"{engineering(rates[0])}{unit}",
                other.name,
                f"{engineering(rate)}{unit}",
                ratio,
                as_ratio(ratio),
                "" if wanted is None else f">= {as_ratio(wanted)}",
                None if wanted is None else ratio >= wanted,
                {
                    "ours_per_second": rates[0],
                    "other_per_second": rate,
                    "lowest_ratio_of_a_round": min(in_rounds),
                    "median_ratio_of_rounds": float(np.median(in_rounds)),
                },
            )
        )
    return rows


def growth(
    benchmark: str,
    variable: str,
    sizes: Sequence[int],
    make: Callable[[int], Callable[[], object]],
    scale: Scale,
    at_most: float,
    clock: Clock = time.process_time,
) -> Row:
    """How time grows with a size: the slope of log time over log size."""
    seconds = take_turns([make(size) for size in sizes], scale.rounds, clock)
    best = [min(times) for times in seconds]
    slope = float(np.polyfit(np.log(sizes), np.log(best), 1)[0])
    return Row(
        benchmark,
        f"{best[0] * 1e3:.3g} to {best[-1] * 1e3:.3g} ms",
        f"{variable} = {sizes[0]:,} to {sizes[-1]:,}",
        "",
        slope,
        f"{variable}^{slope:.2f}",
        f"<= {variable}^{at_most:.2f}",
        slope <= at_most,
        {f"seconds at {size}": time for size, time in zip(sizes, best, strict=True)},
    )


def fact(benchmark: str, what: str, figure: float, shown: str) -> Row:
    """A figure without a contest."""
    return Row(benchmark, shown, what, "", figure, "")


def ceiling(benchmark: str, what: str, figure: float, unit: str, below: float) -> Row:
    """A figure that should stay below a bound."""
    return Row(
        benchmark,
        f"{figure:.3g} {unit}",
        what,
        "",
        figure,
        f"{figure:.3g} {unit}",
        f"< {below:g} {unit}",
        figure < below,
    )


def take_turns(
    runs: Sequence[Callable[[], object]], rounds: int, clock: Clock = time.process_time
) -> list[list[float]]:
    """Seconds for each run in each round; every run is warmed up first (compilers, caches)."""
    repeats = []
    for run in runs:
        run()
        repeats.append(max(1, math.ceil(_MIN_SECONDS / max(_seconds(run, 1, clock), 1e-9))))
    seconds: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds):
        for place in range(len(runs)):
            index = (place + turn) % len(runs)
            seconds[index].append(_seconds(runs[index], repeats[index], clock))
    return seconds


def _seconds(run: Callable[[], object], repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        run()
    return (clock() - start) / repeats


def engineering(rate: float) -> str:
    """1234567 as "1.23 M"."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= factor:
            return f"{rate / factor:.3g} {prefix}"
    return f"{rate:.3g} "


def as_ratio(ratio: float) -> str:
    """A ratio with the digits that matter."""
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2f}x"
