"""The key-value tables, cell by cell: published, reproduced and ours.

    python -m benchmarks.keyvalue_tables [--quick] [--trials N] [--out keyvalue-results.json]

Tables 2 to 7 of Horigome, Kikuchi and Yu (MSE of frequencies, times 1e-4), with a tenth of
the printed users in Tables 5 to 7: the variance of PrivKV is known in closed form, and only
so do their own numbers agree with it. Then the default at the same stated and at the same
exact epsilon, the stress sets, and the coverage of intervals.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.keyvalue_data import (
    KEYS,
    SETS,
    STRESS,
    data_set,
    draw_counts,
    published,
    squared_errors,
)
from rumor.kinds.keyvalue.intervals import KeyIntervals
from rumor.mechanisms import KeyValueBlock
from rumor.mechanisms.keyvalue import KeyCounts
from rumor.papers.keyvalue import as_published, em_at_exact, ours
from rumor.results.intervals import Tails

USERS = 100_000
Errors = dict[str, tuple[float, float]]


def coverage(epsilon: float, name: str, trials: int, seed: int) -> dict[str, float]:
    """How often the 95 % intervals hold f and m, over all keys and over those with f < 0.1."""
    random, hits = np.random.default_rng(seed), {k: [0, 0] for k in ("f", "m", "f rare", "m rare")}
    block = KeyValueBlock(keys=KEYS, epsilon=epsilon)
    for _ in range(trials):
        f, m = data_set(name, random)
        counts: KeyCounts = draw_counts(block, f, m, USERS, random)
        intervals = KeyIntervals(counts, block.rates, -1.0, 1.0)
        every, tails = np.arange(KEYS), Tails.alike(0.025, 0.025, KEYS)
        for key, truth, (low, high) in (
            ("f", f, intervals.frequency(every, tails)),
            ("m", m, intervals.mean(every, tails)),
        ):
            # Ends are compared with a hair of slack: a mean of exactly 1 may be missed by 1e-16.
            held = (low <= truth + 1e-9) & (truth <= high + 1e-9)
            rare = f < 0.1
            for label, inside in ((key, held), (f"{key} rare", held[rare])):
                hits[label][0] += int(inside.sum())
                hits[label][1] += inside.size
    return {label: inside / all_ for label, (inside, all_) in hits.items() if all_}


def geometric(ratios: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.keyvalue_tables")
    parser.add_argument("--quick", action="store_true", help="few trials, for a look")
    parser.add_argument("--trials", type=int, default=None, help="trials of every cell")
    parser.add_argument("--out", type=Path, default=Path("keyvalue-results.json"))
    options = parser.parse_args(arguments)
    papers = options.trials or (6 if options.quick else 60)
    own = options.trials or (3 if options.quick else 30)
    console, tables = Console(width=150), published()
    cells = [("by_epsilon", name, i) for name in SETS for i in range(len(tables["epsilons"]))]
    cells += [("by_users", name, i) for name in SETS for i in range(len(tables["users_printed"]))]
    stress = [(name, e) for name in STRESS for e in (0.5, 1.0, 2.0, 4.0)]
    started, results = time.time(), []
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("cells", total=2 * len(cells) + len(stress) + 21)
        for number, (kind, name, i) in enumerate(cells):
            epsilon = tables["epsilons"][i] if kind == "by_epsilon" else 2.0
            people = USERS if kind == "by_epsilon" else tables["users_printed"][i] // 10
            errors: Errors = {}
            for trials, contenders in ((papers, (as_published, em_at_exact)), (own, (ours,))):
                for contender in contenders:
                    run = _once(contender, epsilon, people)
                    errors |= squared_errors(trials, name, 1000 + number, run)
                bar.advance(task)
            results.append(
                {"table": kind, "data": name, "column": i, "epsilon": epsilon, "people": people}
                | {"errors": errors}
            )
        pressed = []
        for number, (name, epsilon) in enumerate(stress):
            run = _once(ours, epsilon, USERS)
            pressed.append((name, epsilon, squared_errors(own, name, 5000 + number, run)))
            bar.advance(task)
        covered = []
        for name in SETS:
            for epsilon in tables["epsilons"]:
                covered.append((name, epsilon, coverage(epsilon, name, 5 * own, 9000)))
                bar.advance(task)
    verdicts = _print(console, tables, results, pressed, covered)
    console.print(f"{time.time() - started:.0f} s; {papers} trials as published, {own} ours")
    options.out.write_text(
        json.dumps(
            {"cells": results, "stress": pressed, "coverage": covered, "verdicts": verdicts},
            indent=1,
        )
    )


def _once(contender: object, epsilon: float, people: int):  # type: ignore[no-untyped-def]
    return lambda f, m, random: contender(epsilon, people, f, m, random)  # type: ignore[operator]


def _print(  # type: ignore[no-untyped-def]
    console: Console, tables: Mapping[str, object], results, pressed, covered
) -> dict[str, object]:
    worst: dict[str, float] = {}
    gains: dict[str, list[float]] = {
        "f": [],
        "f published": [],
        "m": [],
        "f exact": [],
        "m exact": [],
    }
    for kind in ("by_epsilon", "by_users"):
        for name in SETS:
            grid = Table(title=f"{name}, {kind.replace('_', ' ')}: published / reproduced (off)")
            for head in ("epsilon", "people", "PrivKV", "PrivKVM3", "EM", "ours", "gain f"):
                grid.add_column(head, justify="right")
            for head in ("m PrivKV", "m PrivKVM3", "m EM", "m ours", "gain m"):
                grid.add_column(head, justify="right")
            for cell in (c for c in results if (c["table"], c["data"]) == (kind, name)):
                i, errors = cell["column"], cell["errors"]
                print_row = [f"{cell['epsilon']:g}", f"{cell['people']:,}"]
                reference = tables["reference"][kind][name][i]  # type: ignore[index]
                for row in ("PrivKV", "PrivKVM3", "EM"):
                    printed = tables[kind][name][row][i]  # type: ignore[index]
                    off = errors[row][0] / reference[row] - 1
                    worst[row] = max(worst.get(row, 0.0), abs(off))
                    print_row.append(f"{printed:.4g} / {errors[row][0]:.4g} ({off:+.0%})")
                default, em = errors["default"], errors["EM"]
                printed_em = tables[kind][name]["EM"][i]  # type: ignore[index]
                if kind == "by_epsilon":
                    gains["f published"].append(printed_em / default[0])
                    gains["f"].append(em[0] / default[0])
                    gains["m"].append(em[1] / default[1])
                    gains["f exact"].append(errors["EM exact"][0] / default[0])
                    gains["m exact"].append(errors["EM exact"][1] / default[1])
                print_row += [f"{default[0]:.4g}", f"{printed_em / default[0]:.2f}x"]
                print_row += [f"{errors[row][1]:.3f}" for row in ("PrivKV", "PrivKVM3", "EM")]
                print_row += [f"{default[1]:.4f}", f"{em[1] / default[1]:.1f}x"]
                grid.add_row(*print_row)
            console.print(grid)
    grid = Table(title="stress sets: the default against a flat prior on the same reports")
    for head in ("data", "epsilon", "f default", "f flat", "ratio", "m default", "m flat", "ratio"):
        grid.add_column(head, justify="right")
    pressing: list[float] = []
    for name, epsilon, errors in pressed:
        ratios = [errors["default"][q] / errors["flat"][q] for q in (0, 1)]
        pressing += ratios
        grid.add_row(
            name,
            f"{epsilon:g}",
            f"{errors['default'][0]:.3f}",
            f"{errors['flat'][0]:.3f}",
            f"{ratios[0]:.3f}",
            f"{errors['default'][1]:.4f}",
            f"{errors['flat'][1]:.4f}",
            f"{ratios[1]:.3f}",
        )
    console.print(grid)
    ends = {
        label: (
            min(c[label] for *_, c in covered if label in c),
            max(c[label] for *_, c in covered if label in c),
            float(np.mean([c[label] for *_, c in covered if label in c])),
        )
        for label in ("f", "m", "f rare", "m rare")
    }
    verdicts: dict[str, object] = {
        "PrivKV within 15 % of the reference": worst["PrivKV"],
        "EM within 15 % of the reference": worst["EM"],
        "PrivKVM within 15 % of the reference": worst["PrivKVM3"],
        "gain f over published EM, least": min(gains["f published"]),
        "gain f over published EM, geometric (>= 2.2)": geometric(gains["f published"]),
        "gain f over our EM, geometric": geometric(gains["f"]),
        "gain m over our EM, geometric (>= 10)": geometric(gains["m"]),
        "gain f at equal exact epsilon (>= 1.4)": geometric(gains["f exact"]),
        "gain m at equal exact epsilon (>= 5)": geometric(gains["m exact"]),
        "stress: worst ratio to flat (<= 1.05)": max(pressing),
        "coverage (least cell, greatest cell, mean)": ends,
    }
    for what, figure in verdicts.items():
        shown = f"{figure:.3f}" if isinstance(figure, float) else json.dumps(figure)
        console.print(f"{what}: {shown}")
    return verdicts


if __name__ == "__main__":
    main()
