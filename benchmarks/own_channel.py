"""A channel of one's own: `rumor.estimate` beside equation 11 of CSS 2020 written out in numpy.

20 inputs, 2^20 outputs, 1,000 reports: `python -m benchmarks.own_channel [--quick]`. The least
time of several rounds each; memory is the largest that was held beyond the channel itself.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rumor

Vector = NDArray[np.float64]
INPUTS, REPORTS, ITERATIONS = 20, 1_000, 100


def equation_11(columns: Vector, counts: Vector, iterations: int = ITERATIONS) -> Vector:
    """The update on the columns that occur, as the paper writes it."""
    h = np.full(len(columns), counts.sum() / len(columns))
    for _ in range(iterations):
        h = h * (columns @ (counts / (h @ columns)))
    return np.asarray(h / counts.sum())


def timed(work: Callable[[], Vector], rounds: int) -> tuple[float, Vector]:
    """The least seconds of some rounds, and the answer."""
    answer, least = work(), np.inf
    for _ in range(rounds):
        started = time.perf_counter()
        answer = work()
        least = min(least, time.perf_counter() - started)
    return float(least), answer


def main(arguments: list[str]) -> None:
    """Print the table."""
    outputs = 1 << (16 if "--quick" in arguments else 20)
    random = np.random.default_rng(1)
    channel = random.random((INPUTS, outputs))
    channel /= channel.sum(axis=1, keepdims=True)
    counts = random.multinomial(REPORTS, random.dirichlet(np.ones(INPUTS)) @ channel)
    seen = np.flatnonzero(counts)
    columns, often = np.ascontiguousarray(channel[:, seen]), counts[seen].astype(np.float64)
    by_output = dict(zip(seen.tolist(), often.tolist(), strict=True))
    rule: dict[str, Any] = {"method": "em", "max_iterations": ITERATIONS, "gap": 1e-300}

    def ours(given: object, data: object) -> Callable[[], Vector]:
        return lambda: rumor.estimate(given, data, **rule).frequency

    from scipy.sparse import csc_array

    ways: dict[str, tuple[Callable[[], Vector], int]] = {
        "equation 11 in numpy": (lambda: equation_11(columns, often), 30),
        "seen columns": (ours(columns, often), 30),
        "seen columns, times 1e9": (ours(1e9 * columns, often), 30),
        "a function of outputs": (ours(lambda output: channel[:, output], by_output), 10),
        "seen columns, sparse": (ours(csc_array(columns), often), 10),
        "the whole matrix": (ours(channel, counts), 2),
    }
    expected = ways["equation 11 in numpy"][0]()
    base = np.inf
    print(f"{INPUTS} x {outputs:,} channel, {REPORTS:,} reports, {ITERATIONS} iterations")
    print(f"{'':28}{'seconds':>10}{'over':>8}{'MB':>8}{'off by':>10}")
    for name, (work, rounds) in ways.items():
        least, answer = timed(work, rounds)
        base = min(base, least) if name.startswith("equation") else base
        tracemalloc.start()
        work()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        off = float(np.abs(answer - expected).max())
        print(f"{name:28}{least:10.5f}{least / base:8.2f}{peak / 1e6:8.2f}{off:10.0e}")


if __name__ == "__main__":
    main(sys.argv[1:])
