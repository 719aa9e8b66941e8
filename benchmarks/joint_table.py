"""Joint answers beside other ways to a table: each promise and its measured figure.

    python -m benchmarks.joint_table [--quick] [--only cells tests ...]

All reports are real: people are drawn from a table, every one of them is reported by the mechanism,
and what is told is the root mean squared error over all cells, or over the values of both margins.
Three ways: "mixed" as Rumor asks and estimates it; "product", everybody reports the pair by subset
selection, and the unbiased table is projected onto the simplex; "split", both answers by
randomised response with half of epsilon each, and expectation-maximisation (2,000 steps) on the
linked reports.
Margins are relative to asking half of the people for each, by subset selection with the whole
epsilon, whose error is exact. Tables: Dirichlet(0.6) over all cells; independent, its margins
Dirichlet(5); mild and strong, the same drawn towards the diagonal by 0.15 and 0.6 of the weight.
100,000 people; 10 tables of each sort (seeds 1 to 10) with 20 trials (split: 2) on each, the noise
of a line seeded with its number; the quick form has 2 tables, 2 trials (1) and no verdict worth
having. Tests and intervals have 1,000 trials (60), seeds from 101, 201 and 301 on.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.randomness import RandomSource, Seeded
from rumor.core.types import Codes, Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.joint.fit.association import cramers_v, independence_test, odds_ratio
from rumor.kinds.joint.fit.bayes import (
    averaged,
    averaged_table,
    margins,
    nearest_table,
    table_posterior,
)
from rumor.kinds.joint.fit.linear import Moments, linear, observed_tables
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.randomized_response import RandomizedResponse
from rumor.mechanisms.subset_selection import SubsetSelection

Sizes = tuple[int, int]
PEOPLE = 100_000
STEPS = 2_000
Z = 1.959964
ROUNDING = 1e-9  # a V of 1 comes out as 1 less some of the last digits
FIVE, TEN = (5, 5), (10, 8)
CELLS: tuple[tuple[str, Sizes, float], ...] = (
    *(("Dirichlet", FIVE, e) for e in (0.5, 1.0, 2.0, 4.0)),
    *((name, FIVE, e) for name in ("independent", "mild", "strong") for e in (1.0, 2.0)),
    *((name, TEN, 1.0) for name in ("independent", "strong", "Dirichlet")),
)
# Table, sizes, epsilon, people: where tests and intervals are tried.
INDEPENDENT: tuple[tuple[Sizes, float, int], ...] = (
    ((2, 2), 1.0, 20_000),
    ((3, 3), 1.0, 20_000),
    (FIVE, 1.0, 10_000),
    (FIVE, 2.0, 10_000),
)
# Few people, and answers of which one follows from the other: where intervals of V failed.
FEW: tuple[tuple[Sizes, float, int], ...] = (
    ((2, 2), 1.0, 200),
    ((3, 3), 2.0, 200),
    (FIVE, 4.0, 200),
    (FIVE, 1.0, 10_000),
)
STRENGTHS = [
    *((name, *cell) for name in ("independent", "mild", "strong") for cell in INDEPENDENT),
    *((name, *cell) for name in ("perfect", "mild") for cell in FEW),
]


@dataclass(frozen=True)
class Verdict:
    """A promise, what was measured, and whether it is kept."""

    promise: str
    figure: str
    kept: bool


def truth_of(name: str, sizes: Sizes, seed: int = 1) -> Vector:
    """A table of this name: the same for the same seed."""
    rng = np.random.default_rng(seed)
    if name == "Dirichlet":
        return np.asarray(rng.dirichlet(np.full(math.prod(sizes), 0.6)))
    rows, columns = (rng.dirichlet(np.full(size, 5.0)) for size in sizes)
    table = np.outer(rows, columns)
    weight = {"independent": 0.0, "mild": 0.15, "strong": 0.6, "perfect": 1.0}[name]
    diagonal = np.zeros(sizes)
    for row in range(sizes[0]):
        diagonal[row, row * sizes[1] // sizes[0]] = rows[row]
    return np.asarray(((1 - weight) * table + weight * diagonal).ravel())


def by_linear(mixed: Mixed, cells: Codes, source: RandomSource) -> Moments:
    """The linear estimate of these people's reports."""
    tally = mixed.tally(mixed.privatize(cells, random=source))
    return linear(mixed.parts.sizes, observed_tables(mixed.counted(tally))).pair((0, 1))


def by_mixed(mixed: Mixed, sizes: Sizes, cells: Codes, source: RandomSource) -> Vector:
    """As Rumor does it."""
    plain = by_linear(mixed, cells, source)
    return averaged_table(averaged(plain, table_posterior(plain, sizes)))


def by_product(sizes: Sizes, epsilon: float, cells: Codes, source: RandomSource) -> Vector:
    """Everybody reports the pair; the unbiased table is projected."""
    oracle = SubsetSelection(domain=math.prod(sizes), epsilon=epsilon)
    tally = oracle.tally(oracle.privatize(cells, random=source))
    return project(oracle.unbiased(tally, cells.size))


def by_split(sizes: Sizes, epsilon: float, cells: Codes, source: RandomSource) -> Vector:
    """Both answers apart with half of epsilon each, and EM on the linked reports."""
    seen, channels = np.zeros_like(cells), []
    for size, place in zip(sizes, np.unravel_index(cells, sizes), strict=True):
        oracle = RandomizedResponse(domain=size, epsilon=epsilon / 2)
        said = oracle.privatize(np.asarray(place), random=source)[:, 0].astype(np.int64)
        seen = seen * size + said
        channels.append(
            np.full((size, size), oracle.miss) + np.eye(size) * (oracle.hit - oracle.miss)
        )
    counts = np.bincount(seen, minlength=math.prod(sizes)).reshape(sizes) / cells.size
    table = np.full(sizes, 1 / math.prod(sizes))
    rows, columns = channels
    for _ in range(STEPS):
        expected = rows.T @ table @ columns
        table = table * (rows @ (counts / expected) @ columns.T)
    return np.asarray(table.ravel())


@dataclass
class Errors:
    """Sums of squared errors of one way."""

    cells: float = 0.0
    margins: float = 0.0
    trials: int = 0

    def add(self, found: Vector, truth: Vector, sizes: Sizes) -> None:
        """One more trial."""
        self.cells += float(((found - truth) ** 2).mean())
        pairs = zip(margins(found, sizes), margins(truth, sizes), strict=True)
        self.margins += float(np.mean([((a - b) ** 2).mean() for a, b in pairs]))
        self.trials += 1

    @property
    def cell(self) -> float:
        """The root mean squared error of a cell."""
        return math.sqrt(self.cells / self.trials)

    @property
    def margin(self) -> float:
        """The same of a value of a margin."""
        return math.sqrt(self.margins / self.trials)


def half_asked(truth: Vector, sizes: Sizes, epsilon: float) -> float:
    """The exact error of a margin, each asked of half of the people."""
    spread = [
        SubsetSelection(domain=size, epsilon=epsilon).variance(margin, PEOPLE // 2).mean()
        for size, margin in zip(sizes, margins(truth, sizes), strict=True)
    ]
    return math.sqrt(float(np.mean(spread)))


def cells(quick: bool) -> list[Verdict]:
    """The errors of cells and margins."""
    print(f"{PEOPLE:,} people; cells: root mean squared error; margins: of half of the people each")
    print(
        "table               epsilon  split EM  product    mixed  mixed/product"
        "   margins: product  mixed"
    )
    ratios: dict[Sizes, list[float]] = {FIVE: [], TEN: []}
    worst, first = 0.0, 0.0
    for number, (name, sizes, epsilon) in enumerate(CELLS, 1):
        rng, source = np.random.default_rng(number), Seeded(number)
        mixed, halves = Mixed(parts=sizes, epsilon=epsilon), []
        errors = {way: Errors() for way in ("mixed", "product", "split")}
        for seed in range(1, 3 if quick else 11):
            truth = truth_of(name, sizes, seed)
            halves.append(half_asked(truth, sizes, epsilon))
            for trial in range(2 if quick else 20):
                people = rng.choice(truth.size, size=PEOPLE, p=truth)
                errors["mixed"].add(by_mixed(mixed, sizes, people, source), truth, sizes)
                errors["product"].add(by_product(sizes, epsilon, people, source), truth, sizes)
                if trial < (1 if quick else 2):
                    errors["split"].add(by_split(sizes, epsilon, people, source), truth, sizes)
        ours, product, split = (errors[way] for way in ("mixed", "product", "split"))
        half = math.sqrt(float(np.mean(np.square(halves))))
        ratio, margin = ours.cell / product.cell, ours.margin / half
        print(
            f"{name:12} {sizes[0]:2}x{sizes[1]:<2} {epsilon:9g} {split.cell:9.4f} "
            f"{product.cell:8.4f} {ours.cell:8.4f} {ratio:14.2f} "
            f"{product.margin / half:18.2f} {margin:6.2f}",
            flush=True,
        )
        ratios[sizes].append(ratio)
        worst = max(worst, margin)
        if (name, sizes, epsilon) == ("Dirichlet", FIVE, 1.0):
            first = split.cell / ours.cell
    return [
        Verdict("margins at most 1.36 times of half asked", f"{worst:.2f}", worst <= 1.36),
        Verdict(
            "cells 5x5 at most 1.13 of product",
            f"{max(ratios[FIVE]):.2f}",
            max(ratios[FIVE]) <= 1.13,
        ),
        Verdict(
            "cells 10x8 at most 1.26 of product",
            f"{max(ratios[TEN]):.2f}",
            max(ratios[TEN]) <= 1.26,
        ),
        Verdict("4 times below split EM, 5x5 Dirichlet, epsilon 1", f"{first:.1f}", first >= 4.0),
    ]


def tests(quick: bool) -> list[Verdict]:
    """The size of the test of independence."""
    trials, sizes_found = 60 if quick else 1_000, []
    print(f"\nRejected at 5 % although independent, {trials:,} trials")
    for number, (sizes, epsilon, people) in enumerate(INDEPENDENT, 101):
        truth, rng = truth_of("independent", sizes, number), np.random.default_rng(number)
        mixed, source, rejected = Mixed(parts=sizes, epsilon=epsilon), Seeded(number), 0
        for _ in range(trials):
            cells = rng.choice(truth.size, size=people, p=truth)
            rejected += independence_test(by_linear(mixed, cells, source), sizes).p_value < 0.05
        sizes_found.append(rejected / trials)
        print(
            f"{sizes[0]}x{sizes[1]}, epsilon {epsilon:g}, {people:,} people: {sizes_found[-1]:.3f}"
        )
    kept = all(0.03 <= size <= 0.07 for size in sizes_found)
    return [Verdict("size of the test .03 to .07", _range(sizes_found, 3), kept)]


def strength(quick: bool) -> list[Verdict]:
    """How often the interval of Cramer's V holds the truth."""
    trials, covered = 60 if quick else 1_000, []
    print(f"\nCoverage of Cramer's V, {trials:,} trials, 95 % intervals")
    number = 200
    for name, sizes, epsilon, people in STRENGTHS:
        number += 1
        truth, rng = truth_of(name, sizes, number), np.random.default_rng(number)
        rows, columns = margins(truth, sizes)
        product = np.kron(rows, columns)
        v = math.sqrt(float(((truth - product) ** 2 / product).sum()) / (min(sizes) - 1))
        mixed, source, held = Mixed(parts=sizes, epsilon=epsilon), Seeded(number), 0
        width = 0.0
        for _ in range(trials):
            found = by_linear(mixed, rng.choice(truth.size, size=people, p=truth), source)
            shares = nearest_table(table_posterior(found, sizes))
            ends = cramers_v(found, sizes, shares, 0.95)
            held += ends.low - ROUNDING <= v <= ends.high + ROUNDING
            width += (ends.high - ends.low) / trials
        covered.append(held / trials)
        place = f"{sizes[0]}x{sizes[1]}, epsilon {epsilon:g}, {people:,} people"
        print(f"{name:12} {place}, V {v:.2f}: {covered[-1]:.3f}, width {width:.2f}")
    kept = all(share >= 0.93 for share in covered)
    return [Verdict("coverage of V at least 93 %", _range(covered, 3), kept)]


def odds(quick: bool) -> list[Verdict]:
    """How often the interval of an odds ratio holds the truth."""
    trials, covered = 60 if quick else 1_000, []
    print(f"\nCoverage of the odds ratio of 2x2, {trials:,} trials, 95 % intervals")
    truths = ((0.3, 0.2, 0.15, 0.35), (0.25, 0.25, 0.25, 0.25), (0.05, 0.15, 0.2, 0.6))
    for number, shares in enumerate(truths, 301):
        for epsilon, people in ((1.0, 20_000), (2.0, 5_000)):
            truth, rng = np.array(shares), np.random.default_rng(number)
            ratio = shares[0] * shares[3] / (shares[1] * shares[2])
            mixed, source, held = Mixed(parts=(2, 2), epsilon=epsilon), Seeded(number), 0
            for _ in range(trials):
                found = by_linear(mixed, rng.choice(4, size=people, p=truth), source)
                low, high = odds_ratio(found, (2, 2), (0, 1, 0, 1), Z)
                held += low <= ratio <= high
            covered.append(held / trials)
            print(f"{ratio:5.2f}, epsilon {epsilon:g}, {people:,} people: {covered[-1]:.3f}")
    kept = all(0.93 <= share <= 0.97 for share in covered)
    return [Verdict("coverage of odds ratios 93 to 97 %", _range(covered, 3), kept)]


def _range(numbers: Sequence[float], digits: int) -> str:
    return f"{min(numbers):.{digits}f} to {max(numbers):.{digits}f}"


PARTS = {"cells": cells, "tests": tests, "strength": strength, "odds": odds}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, then each promise with its figure."""
    parser = argparse.ArgumentParser(description="Joint answers, measured.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    said = parser.parse_args(arguments)
    verdicts = [verdict for name in said.only for verdict in PARTS[name](said.quick)]
    print()
    for verdict in verdicts:
        mark = "kept    " if verdict.kept else "not kept"
        print(f"{mark}  {verdict.promise}: {verdict.figure}")
    return 0 if said.quick or all(verdict.kept for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
