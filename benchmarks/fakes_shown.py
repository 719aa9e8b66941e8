"""How far do fakes move what a table shows? Crowds with fakes and without, against the bound.

    python -m benchmarks.fakes_shown [--seed N] [--cells N] [--runs N]

Each cell draws a mechanism, a number of values from 2 to 1,000, an epsilon, a number of people
from 100 to 60,000 and a distribution by a rule. One client in a hundred is a fake, and all fakes
send the same report: one that supports a leader, a middling or a rare value and as few or as many
others as it can, or one that does not. Of the share shown: how far any value moved when the fakes
joined, as a part of what the table says of it. Of the intervals shown: how often the true share
lies further outside than the table says. Wanted: no share moved further, and at most one interval
in twenty missed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import rumor
from rumor.core.reports import Reports
from rumor.kinds.choice.question import candidates
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.poisoning import fake_count
from rumor.results.estimate import Estimate
from rumor.results.view import View

DOMAINS, EPSILONS = (2, 3, 5, 10, 30, 100, 300, 1000), (0.5, 1.0, 2.0, 4.0, 6.0)
FEWEST, MOST, POOL, MISSED = 100, 60_000, 2000, 0.05
RANKED = View(order="estimate")


@dataclass
class Found:
    """What came of one mechanism's cells."""

    moved: list[float] = field(default_factory=list)
    """The largest move of a share in each table, as a part of what the table says."""
    missed: list[float] = field(default_factory=list)
    """The part of each table's rows whose truth lies further outside than the table says."""


def crafted(oracle: FrequencyOracle, target: int, rng: np.random.Generator) -> Iterator[Reports]:
    """One report for each way to push a value, found among many."""
    held = np.concatenate([np.full(POOL, target), rng.integers(0, oracle.domain, POOL)])
    pool = oracle.privatize(held, random=rumor.Seeded(int(rng.integers(1 << 40))))
    if oracle.bit_shape() is not None:
        bits = np.zeros((4, oracle.domain), dtype=np.uint8)
        bits[1:3] = 1
        bits[::2, target] = 1 - bits[::2, target]  # the target alone, and all but the target
        packed = np.packbits(bits, axis=1, bitorder="little")
        pool = np.concatenate([pool, np.ascontiguousarray(packed[:, : oracle.width])])
    supports = np.rint(oracle.forward(pool, np.eye(1, oracle.domain, target)[0])) == 1
    others = oracle.forward(pool, np.ones(oracle.domain))
    for own in (supports, ~supports):
        rows = np.flatnonzero(own)
        if rows.size:
            yield pool[rows[np.argmin(others[rows])]]
            yield pool[rows[np.argmax(others[rows])]]


def drawn_law(domain: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Shares from nearly equal to very unequal, three in ten with a leader of nine tenths."""
    law = np.sort(rng.dirichlet(np.full(domain, math.exp(rng.uniform(-2.5, 1.5)))))[::-1]
    if rng.random() < 0.3:
        law = np.array([0.9, *(0.1 * law[1:] / law[1:].sum())])
    return np.asarray(law / law.sum())


def told(result: Estimate) -> Mapping[str, float]:
    """The bound under a table."""
    bound = result.diagnostics["fake_clients"]
    assert isinstance(bound, Mapping)
    return bound


def attacked(
    oracle: FrequencyOracle, law: NDArray[np.float64], people: int, rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """Of one honest crowd and each attack: the largest move, and the part of rows missed."""
    fakes = fake_count(people)
    values = rng.choice(law.size, people - fakes, p=law)
    honest = oracle.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 40))))
    before = rumor.estimate(oracle, honest)
    for target in {0, law.size // 2, law.size - 1}:
        for report in crafted(oracle, target, rng):
            batch = np.concatenate([honest, np.tile(report, (fakes, 1))])
            after = rumor.estimate(oracle, batch)
            bound, order = told(after), after.ranking()
            low, high = after.bounds(order, RANKED)
            outside = (law[order] < low - bound["adds"]) | (law[order] > high + bound["takes"])
            moved = np.abs(after.frequency - before.frequency).max()
            yield float(moved / bound["shown"]), float(outside.mean())


def measured(seed: int, cells: int, runs: int) -> dict[str, Found]:
    """Every mechanism's cells."""
    rng, found = np.random.default_rng(seed), defaultdict[str, Found](Found)
    for _ in track(range(cells), "cells", console=Console(stderr=True)):
        domain, epsilon = int(rng.choice(DOMAINS)), float(rng.choice(EPSILONS))
        people = round(math.exp(rng.uniform(math.log(FEWEST), math.log(MOST))))
        oracles = candidates(domain, epsilon)
        oracle, law = oracles[int(rng.integers(len(oracles)))], drawn_law(domain, rng)
        for _ in range(runs):
            for moved, missed in attacked(oracle, law, people, rng):
                found[oracle.name].moved.append(moved)
                found[oracle.name].missed.append(missed)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", type=int, default=60)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args(arguments)
    table = Table("mechanism", title="one fake in a hundred")
    for head in ("tables", "largest move / bound", "usual", "intervals missed", "verdict"):
        table.add_column(head, justify="right")
    failed = False
    for name, found in sorted(measured(options.seed, options.cells, options.runs).items()):
        missed = float(np.mean(found.missed))
        allowed = MISSED + 3 * math.sqrt(MISSED * (1 - MISSED) / len(found.missed))
        good = max(found.moved) <= 1 and missed <= allowed
        failed |= not good
        table.add_row(
            name,
            f"{len(found.moved):,}",
            f"{max(found.moved):.2f}",
            f"{np.median(found.moved):.2f}",
            f"{missed:.1%}",
            "pass" if good else "miss",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
