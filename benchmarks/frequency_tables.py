"""How close frequencies come: the published table, a list of hard cells, and intervals.

    python -m benchmarks.frequency_tables [--quick] [--only published stress intervals]

Errors are sums over values of squared differences, against the law that people were drawn
from. Every method sees the same reports. Ratios of the stress list have 0.05/N added to both
sides (a fifth of the sampling variance of a value at 50 per cent): without it, a truth at a
corner, which a projection may hit exactly, would make them meaningless. The list was fixed
by rotation, before any of it was run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import rumor
from rumor.estimators.frequency.linear import clip_and_rescale, project
from rumor.estimators.frequency.posterior import CountTable
from rumor.estimators.frequency.priors import Grid, make_grid
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.papers.frequency import ORACLES, draw, published_tables, truth

Vector = NDArray[np.float64]

LAWS = {"zipf": "zipf 1", "geometric": "geometric 0.8"}
# Trials of a cell, by its number of people.
TRIALS = {1_000: 60, 10_000: 30, 100_000: 12}
TIE = ("zipf", 1.0, 1_000)
TIE_TRIALS = 200
STRESS_TRIALS = 20
COVERAGE_TRIALS = 40

STRESS: tuple[tuple[str, str, int, float, int], ...] = (
    ("subset", "uniform", 1000, 1, 1000),
    ("optimized", "zipf 1.5", 100, 4, 10000),
    ("response", "geometric 0.95", 10, 0.5, 300),
    ("subset", "dirichlet 0.05", 1000, 2, 10000),
    ("hadamard", "one 50", 10000, 8, 1000),
    ("hashing", "one 100", 100, 4, 100000),
    ("symmetric", "zipf 1", 1000, 0.5, 10000),
    ("optimized", "geometric 0.8", 2, 2, 300),
    ("response", "dirichlet 0.05", 1000, 8, 10000),
    ("subset", "one 50", 100, 1, 1000),
    ("hadamard", "one 100", 10, 0.5, 100000),
    ("hashing", "zipf 1", 1000, 2, 1000),
    ("symmetric", "geometric 0.8", 10000, 8, 300),
    ("subset", "lognormal 2", 100, 1, 10000),
    ("response", "two levels", 1000, 4, 1000),
    ("subset", "one 99.9", 2, 2, 100000),
    ("hadamard", "zipf 1", 1000, 8, 1000),
    ("hashing", "geometric 0.8", 100, 1, 10000),
    ("symmetric", "lognormal 2", 10, 4, 10000),
    ("subset", "two levels", 1000, 0.5, 1000),
    ("optimized", "one 99.9", 10000, 8, 100000),
    ("subset", "zipf 0.5", 100, 1, 1000),
    ("hadamard", "zipf 2", 1000, 4, 10000),
    ("hashing", "bump", 2, 0.5, 300),
    ("symmetric", "two levels", 1000, 2, 1000),
    ("subset", "one 99.9", 100, 1, 100000),
    ("optimized", "zipf 0.5", 10, 4, 1000),
    ("response", "zipf 2", 1000, 0.5, 10000),
    ("hadamard", "bump", 10000, 2, 300),
    ("hashing", "tenth", 100, 8, 10000),
    ("symmetric", "one 90", 1000, 4, 100000),
    ("subset", "uniform", 2, 0.5, 1000),
    ("optimized", "zipf 2", 1000, 2, 10000),
    ("response", "bump", 100, 8, 300),
    ("subset", "tenth", 10, 1, 10000),
    ("hashing", "one 90", 1000, 0.5, 1000),
    ("symmetric", "uniform", 10000, 2, 1000),
    ("subset", "zipf 1.5", 100, 8, 10000),
    ("optimized", "geometric 0.95", 1000, 1, 300),
    ("response", "dirichlet 0.05", 2, 4, 10000),
)


@dataclass(frozen=True)
class Cell:
    """Mean errors by method, and their standard errors."""

    mean: Mapping[str, float]
    stderr: Mapping[str, float]


def measure(
    oracle: FrequencyOracle, law: Vector, people: int, trials: int, methods: Sequence[str]
) -> Cell:
    """Every method on the same reports, again and again."""
    errors: dict[str, list[float]] = {method: [] for method in methods}
    for trial in range(trials):
        reports = draw(oracle, law, people, trial)
        data = reports if {"refined", "bayes"} & set(methods) else None
        summary = Summary.empty(oracle).update(reports)
        unbiased = oracle.unbiased(summary.tally, people)
        for method in methods:
            if method == "projection":
                frequency = project(unbiased)
            elif method == "clip":
                frequency = clip_and_rescale(unbiased)
            elif method == "known":
                frequency = known_shares(oracle, summary, law)
            else:
                given = summary if data is None else data
                frequency = rumor.estimate(oracle, given, method=method).frequency
            errors[method].append(float(((frequency - law) ** 2).sum()))
    return Cell(
        {method: float(np.mean(e)) for method, e in errors.items()},
        {method: float(np.std(e) / np.sqrt(len(e))) for method, e in errors.items()},
    )


def known_shares(oracle: FrequencyOracle, summary: Summary, law: Vector) -> Vector:
    """Return posterior means from the counts if all shares are known, and not whose each is.

    As far as counts are independent, no estimate that treats values alike has a smaller
    expected error from counts alone.
    """
    items = oracle.item_channel(summary.tally, summary.reports)
    grid = Grid(np.union1d(make_grid(items, items.unbiased).points, law), law.size)
    prior = np.bincount(np.searchsorted(grid.points, law), minlength=grid.points.size) / law.size
    table = CountTable(items, grid)
    with np.errstate(divide="ignore"):
        logarithms = np.maximum(np.log(prior), -700.0)
    return np.asarray(table.condition(logarithms[:, None]).means[table.where, 0])


def published() -> dict[tuple[str, float, int], float]:
    """The best of the five published rows, for every cell."""
    table = published_tables("css2020")
    return {
        (law, float(epsilon), people): min(row[i] for row in table[law].values())
        for law in LAWS
        for i, (epsilon, people) in enumerate(table["columns"])
    }


def geometric_mean(numbers: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(numbers)))))


def published_table(console: Console, quick: bool) -> None:
    """The 18 cells of Tables 1 and 2 of the paper, with subset selection."""
    best = published()
    methods = ("projection", "auto", "refined")
    table = Table(title="18 published cells (1000 values, subset selection)")
    for head in ("law", "epsilon", "people", "best published", *methods, "auto/best", "refined/"):
        table.add_column(head, justify="left" if head == "law" else "right")
    ratios: dict[str, list[float]] = {method: [] for method in methods}
    with Progress(console=console, transient=True) as progress:
        for (law, epsilon, people), record in progress.track(best.items(), description="cells"):
            oracle = rumor.SubsetSelection(domain=1000, epsilon=epsilon)
            trials = TRIALS[people] // (6 if quick else 1)
            cell = measure(oracle, truth(LAWS[law], 1000), people, trials, methods)
            for method in methods:
                ratios[method].append(cell.mean[method] / record)
            table.add_row(
                law,
                f"{epsilon:g}",
                f"{people:,}",
                f"{record:.4g}",
                *(f"{cell.mean[method]:.4g}" for method in methods),
                f"{ratios['auto'][-1]:.3f} ± {cell.stderr['auto'] / record:.3f}",
                f"{ratios['refined'][-1]:.3f}",
            )
    console.print(table)
    for method in methods:
        won = sum(ratio < 1 for ratio in ratios[method])
        console.print(
            f"{method}: below the best published in {won} of 18 cells; geometric mean of the "
            f"ratio {geometric_mean(ratios[method]):.3f}"
        )
    law, epsilon, people = TIE
    trials = TIE_TRIALS // (6 if quick else 1)
    oracle = rumor.SubsetSelection(domain=1000, epsilon=epsilon)
    cell = measure(oracle, truth(LAWS[law], 1000), people, trials, ("auto", "clip"))
    console.print(
        f"the closest cell ({law}, epsilon {epsilon:g}, {people:,} people), {trials} paired "
        f"trials: auto {cell.mean['auto']:.5f} ± {cell.stderr['auto']:.5f}, subset selection "
        f"with clipping "
        f"{cell.mean['clip']:.5f} ± {cell.stderr['clip']:.5f}, published {best[TIE]:.5f}"
    )


def stress_table(console: Console, quick: bool) -> None:
    """Forty cells of all kinds, against the projection."""
    table = Table(title='40 cells: "auto" against the simplex projection')
    for head in ("mechanism", "law", "values", "epsilon", "people", "projection", "auto", "ratio"):
        table.add_column(head, justify="left" if head in ("mechanism", "law") else "right")
    ratios = []
    with Progress(console=console, transient=True) as progress:
        for name, law, domain, epsilon, people in progress.track(STRESS, description="cells"):
            oracle = ORACLES[name](domain, epsilon)
            trials = STRESS_TRIALS // (5 if quick else 1)
            cell = measure(oracle, truth(law, domain), people, trials, ("projection", "auto"))
            floor = 0.05 / people
            ratios.append((cell.mean["auto"] + floor) / (cell.mean["projection"] + floor))
            table.add_row(
                name,
                law,
                f"{domain:,}",
                f"{epsilon:g}",
                f"{people:,}",
                f"{cell.mean['projection']:.3g}",
                f"{cell.mean['auto']:.3g}",
                f"{ratios[-1]:.3f}",
            )
    console.print(table)
    console.print(
        f"geometric mean {geometric_mean(ratios):.3f}, largest {max(ratios):.2f}, "
        f"{sum(r > 1.25 for r in ratios)} above 1.25, {sum(r > 1.6 for r in ratios)} above 1.6"
    )
    oracle = rumor.SubsetSelection(domain=1000, epsilon=4.0)
    for law in ("one 99.9", "one 100"):
        trials = STRESS_TRIALS // (5 if quick else 1)
        cell = measure(oracle, truth(law, 1000), 10_000, trials, ("projection", "auto"))
        console.print(
            f"{law} per cent, 1000 values, epsilon 4, 10,000 people: auto "
            f"{cell.mean['auto']:.2g}, projection {cell.mean['projection']:.2g}"
        )


def interval_table(console: Console, quick: bool) -> None:
    """How often 95 per cent intervals hold the truth."""
    table = Table(title="coverage of 95 per cent intervals (1000 values, subset selection)")
    for head in ("law", "epsilon", "people", "all values", "20 largest", "largest", "mean width"):
        table.add_column(head, justify="left" if head == "law" else "right")
    laws = [(law, people) for law in (*LAWS.values(), "one 99.9") for people in (1_000, 10_000)]
    cells = [(law, epsilon, people) for law, people in laws for epsilon in (1.0, 2.0, 4.0)]
    trials = COVERAGE_TRIALS // (5 if quick else 1)
    with Progress(console=console, transient=True) as progress:
        for law, epsilon, people in progress.track(cells, description="cells"):
            oracle, share = rumor.SubsetSelection(domain=1000, epsilon=epsilon), truth(law, 1000)
            covered, width = np.zeros(1000), 0.0
            for trial in range(trials):
                result = rumor.estimate(oracle, draw(oracle, share, people, trial))
                low, high = result.interval(0.95)
                covered += ((low <= share) & (share <= high)) / trials
                width += float((high - low).mean()) / trials
            table.add_row(
                law,
                f"{epsilon:g}",
                f"{people:,}",
                f"{covered.mean():.3f}",
                f"{covered[:20].mean():.3f}",
                f"{covered[0]:.3f}",
                f"{width:.4f}",
            )
    console.print(table)


PARTS: Mapping[str, Callable[[Console, bool], None]] = {
    "published": published_table,
    "stress": stress_table,
    "intervals": interval_table,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer trials, for a look")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    console = Console(width=150)
    for name in options.only:
        PARTS[name](console, options.quick)


if __name__ == "__main__":
    main()
