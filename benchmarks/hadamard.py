"""Hadamard response: value to one of about D outputs, and counts back to values.

The numpy way is the same construction (one block) with a simulation generator: a uniform
output, its parity with the value's row made to agree with a coin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import limits, peers
from benchmarks.harness import Contender, Row, Scale, growth, race
from benchmarks.privatize import EPSILON, people

_BLOCK = 1 << 16


def run(scale: Scale) -> Iterable[Row]:
    """Races at D = 1000, and how time grows with n and D."""
    domain, count = 1000, scale.pick(1_000_000, 400_000)
    oracle = rumor.HadamardResponse(domain=domain, epsilon=EPSILON)
    values = people(count, domain)
    few = values[: scale.pick(10_000, 4_000)].tolist()
    yield from race(
        f"Hadamard response privatize, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.privatize(values), count),
        [
            *peers.hadamard(few, domain, EPSILON),
            Contender("numpy", lambda: numpy_hadamard(values), count),
            limits.aes_bytes(count, 8),
        ],
        scale,
        {peers.PURE: 500},
    )
    reports = oracle.privatize(people(scale.pick(20_000_000, 4_000_000), domain))
    codes = reports.view("<u2").ravel()
    yield from race(
        f"Hadamard response counts and transform, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.support_counts(oracle.tally(reports)), len(reports)),
        [
            Contender("numpy: bincount alone", lambda: np.bincount(codes), len(reports)),
            limits.memory_read(reports, len(reports)),
        ],
        scale,
    )

    def privatize(people_: int, size: int) -> Callable[[], object]:
        mechanism = rumor.HadamardResponse(domain=size, epsilon=EPSILON)
        answers = people(people_, size)
        return lambda: mechanism.privatize(answers)

    name, sizes = "growth of Hadamard response privatize", [500_000, 1_000_000, 2_000_000]
    yield growth(name, "n", sizes, lambda n: privatize(n, 1000), scale, at_most=1.15)
    domains = [1000, 10_000, 100_000, 1_000_000]
    yield growth(name, "D", domains, lambda d: privatize(400_000, d), scale, at_most=0.15)


def numpy_hadamard(values: NDArray[np.int64]) -> NDArray[np.uint16]:
    """One block of 1024 outputs, as one writes it in numpy."""
    rng, truth = np.random.default_rng(), math.exp(EPSILON) / (math.exp(EPSILON) + 1)
    out = np.empty(values.size, dtype=np.uint16)
    for start in range(0, values.size, _BLOCK):
        row = values[start : start + _BLOCK] + 1
        picked = rng.integers(0, 1024, row.size)
        even = np.bitwise_count(row & picked) & 1 == 0
        wrong = even != (rng.random(row.size) < truth)
        out[start : start + _BLOCK] = np.where(wrong, picked ^ (row & -row), picked)
    return out
