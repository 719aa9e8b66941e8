"""How much the plan's range needs to spare, on truths that nothing is judged by.

    python -m benchmarks.range_tuning

Twenty shapes, in settings of their own, so that those of honest_truths.py stay unseen: for every
margin, how many cells lie in the range, below it and above it. Five minutes of one core. Three
of the shapes differ from even by little or nothing: what is below the range is of those.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import product
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.kinds.planning.forecast import MARGIN, default_error, default_range, drawn_tally
from rumor.mechanisms.summary import Summary

Vector = NDArray[np.float64]

# Runs of a cell, by the number of values.
RUNS = {50: 20, 500: 20, 3000: 6, 10_000: 2}
PEOPLE = (1_000, 30_000, 500_000)
EPSILONS = (0.5, 1.5, 4.0)
MARGINS = (1.0, 1.1, 1.15, 1.2, 1.25)


def truths(domain: int) -> Mapping[str, Vector]:
    """The shapes on so many values, by name."""
    rank = np.arange(1.0, domain + 1)
    middle = (rank - 0.5) / domain
    normal = np.array([NormalDist().inv_cdf(1 - u) for u in middle])
    twentieth = max(round(domain / 20), 1)
    found = {
        "weibull": (-np.log(middle)) ** (1 / 0.7),
        "exponential": -np.log(middle),
        "linear": 1 - middle,
        "triangular": 1 + 0.4 * (0.5 - middle),
        "heaped": np.where(rank % 10 == 0, 8.0, np.where(rank % 5 == 0, 4.0, 1.0)),
        "mandelbrot": (rank + 10) ** -1.1,
        "zipf 0.8": rank**-0.8,
        "zipf 1.2": rank**-1.2,
        "lognormal 0.6": np.exp(0.6 * normal),
        "lognormal 2": np.exp(2.0 * normal),
        "bell": np.exp(-(((rank - domain / 2) / (domain / 8)) ** 2) / 2),
        "logarithmic": 0.98**rank / rank,
        "months": 1 + 0.05 * np.sin(2 * np.pi * middle),
        "three levels": np.where(middle < 1 / 3, 25.0, np.where(middle < 2 / 3, 5.0, 1.0)),
        "half empty": np.where(rank <= domain / 2, 1 / rank, 0.0),
        "even": np.ones(domain),
        "two leaders": _leaders((0.25, 0.15), rank**-0.5),
        "five of 6 %": _leaders((0.06,) * 5, np.ones(domain)),
        "twentieth": _leaders((0.8 / twentieth,) * twentieth, np.ones(domain)),
        "one of 30 %": _leaders((0.3,), np.ones(domain)),
    }
    return {name: np.asarray(law / law.sum()) for name, law in found.items()}


def _leaders(shares: tuple[float, ...], rest: Vector) -> Vector:
    """Shares of the first few; the others have what is left, as `rest` says."""
    law = rest.copy()
    law[: len(shares)] = 0.0
    law *= (1 - sum(shares)) / law.sum()
    law[: len(shares)] = shares
    return law


def error(
    oracle: rumor.SubsetSelection, law: Vector, people: int, runs: int, rng: np.random.Generator
) -> float:
    """The default's root mean squared error."""
    squares = 0.0
    for _ in range(runs):
        summary = Summary(oracle, people, drawn_tally(oracle, law, people, rng))
        squares += float(((rumor.estimate(oracle, summary).frequency - law) ** 2).mean())
    return math.sqrt(squares / runs)


def main() -> None:
    # Each cell by its error over the low end and over the high one, nothing being spared.
    found: list[tuple[str, float, float]] = []
    for domain, people, epsilon in product(RUNS, PEOPLE, EPSILONS):
        oracle = rumor.SubsetSelection(domain=domain, epsilon=epsilon)
        zipf = default_error(oracle, people)
        assert zipf is not None
        ends = default_range(oracle, people, zipf)
        assert ends is not None
        for place, (name, law) in enumerate(truths(domain).items()):
            rng = np.random.default_rng([5, domain, people, int(10 * epsilon), place])
            measured = error(oracle, law, people, RUNS[domain], rng)
            found.append((name, measured / (ends.low * MARGIN), measured / (ends.high / MARGIN)))
        print(f"\r{len(found)} cells", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print("margin  inside  below  above")
    for margin in MARGINS:
        below = Counter(name for name, low, _ in found if low < 1 / margin)
        above = Counter(name for name, _, high in found if high > margin)
        inside = 1 - (below.total() + above.total()) / len(found)
        print(f"{margin:6.2f} {inside:7.3f} {below.total():6} {above.total():6}")
        if margin == MARGIN:
            print(f"        below: {_named(below)}\n        above: {_named(above)}")


def _named(cells: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in cells.most_common()) or "none"


if __name__ == "__main__":
    main()
