"""Projective-geometry response: ten million reports of a million values, counted, and its noise.

Beside Hadamard response, which was the choice for so many values: its counting is faster, and its
noise is larger. Two promises: counting takes less than three seconds of processor time, and noise
is at most 1.03 of that of subset selection.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

import rumor
from benchmarks.harness import Contender, Row, Scale, race
from benchmarks.privatize import people
from rumor.core.reports import Reports, little_endian
from rumor.mechanisms.oracle import FrequencyOracle

EPSILON = 2.0
DOMAINS = (10_000, 100_000, 1_000_000, 2_000_000)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
_SECONDS, _NOISE = 3.0, 1.03


def run(scale: Scale) -> Iterable[Row]:
    """A race, the time of one counting, and the most noise over a grid."""
    domain, count = 1_000_000, scale.pick(10_000_000, 1_000_000)
    oracle = rumor.Projective(domain=domain, epsilon=EPSILON)
    before = rumor.HadamardResponse(domain=domain, epsilon=EPSILON)
    batches = {one: spread(one, count) for one in (oracle, before)}
    yield from race(
        f"projective: counts of {count:,} reports, D = {domain:,}",
        "/s",
        Contender("Rumor", lambda: counted(oracle, batches[oracle]), count),
        [Contender("Hadamard response", lambda: counted(before, batches[before]), count)],
        scale,
    )
    started = time.process_time()
    counted(oracle, batches[oracle])
    taken = time.process_time() - started
    yield _limited("projective: processor seconds of that", taken, _SECONDS, "s")
    most = max(noises())
    yield _limited("projective: most noise over that of subset selection", most, _NOISE, "")
    small = rumor.Projective(domain=1000, epsilon=1.0)
    values = people(scale.pick(1_000_000, 200_000), 1000)
    hadamard = rumor.HadamardResponse(domain=1000, epsilon=1.0)
    yield from race(
        "projective privatize, D = 1000",
        "/s",
        Contender("Rumor", lambda: small.privatize(values), values.size),
        [Contender("Hadamard response", lambda: hadamard.privatize(values), values.size)],
        scale,
    )


def _limited(name: str, value: float, limit: float, unit: str) -> Row:
    shown = f"{value:.3f}{unit}"
    return Row(name, shown, "its limit", "", value, shown, f"<= {limit:g}{unit}", value <= limit)


def spread(oracle: FrequencyOracle, count: int) -> Reports:
    """Reports that are any output: how they are counted does not depend on what they say."""
    outputs = np.random.default_rng(1).integers(0, oracle.alphabet, count)
    return little_endian(outputs, oracle.width)


def counted(oracle: FrequencyOracle, reports: Reports) -> object:
    """The support counts; a changed tally is never remembered."""
    tally = oracle.tally(reports)
    tally[0] += time.perf_counter_ns() % 1000
    return oracle.support_counts(tally)


def noises() -> Iterator[float]:
    """Of each cell, over that of subset selection with the best size."""
    for domain in DOMAINS:
        for epsilon in EPSILONS:
            power = math.exp(epsilon)
            sizes = {max(1, math.floor(domain / (power + 1))), math.ceil(domain / (power + 1))}
            least = min(subset_noise(domain, power, size) for size in sizes)
            oracle = rumor.Projective(domain=domain, epsilon=epsilon)
            yield float(oracle.variance(0.0, 1)) / least


def subset_noise(domain: int, power: float, size: int) -> float:
    """The variance of subset selection, for a value that nobody holds."""
    hit = size * power / (size * power + domain - size)
    miss = (hit * (size - 1) + (1 - hit) * size) / (domain - 1)
    return miss * (1 - miss) / (hit - miss) ** 2
