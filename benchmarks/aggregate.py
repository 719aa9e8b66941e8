"""Reports to counts: packed bits of unary encoding and codes of k-RR.

Rumor counts what lies in memory as it came over the wire. The numpy way unpacks bits and
adds bytes in blocks of 255 rows, the largest for which a byte per counter is enough: four
times as fast as the plain sum. The peers' servers get their own clients' reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import limits, peers
from benchmarks.harness import Contender, Row, Scale, growth, race
from benchmarks.privatize import EPSILON, people

# Cells that numpy unpacks at a time: a byte each, in the second-level cache.
_CELLS = 1 << 18


def run(scale: Scale) -> Iterable[Row]:
    """Races at D = 1000 (and 32), and how time grows with n and D."""
    yield from _columns(1000, scale.pick(1_000_000, 400_000), scale)
    yield from _columns(32, scale.pick(16_000_000, 4_000_000), scale)
    yield from _codes(1000, scale.pick(20_000_000, 4_000_000), scale)
    yield from _growth(scale)


def noise(count: int, width: int) -> NDArray[np.uint8]:
    """Packed bits to count; what they are makes no difference to anybody's time."""
    return np.random.default_rng(3).integers(0, 256, (count, width), dtype=np.uint8)


def _columns(domain: int, count: int, scale: Scale) -> Iterable[Row]:
    oracle = rumor.UnaryEncoding(domain=domain, epsilon=EPSILON)
    reports = noise(count, oracle.width)
    some = reports[: count // 4]
    few = people(scale.pick(2_000, 1_000), domain).tolist()
    return race(
        f"unary counts, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.tally(reports), count),
        [
            *peers.unary_counts(few, domain, EPSILON),
            Contender("numpy: unpackbits", lambda: numpy_columns(some), len(some)),
            limits.memory_read(reports, count),
        ],
        scale,
        {"numpy: unpackbits": 5, "limit: memory read": 0.4} if domain >= 1000 else None,
    )


def numpy_columns(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Column counts by unpacking."""
    columns = reports.shape[1] * 8
    counts = np.zeros(columns, dtype=np.int64)
    rows = 255 * max(1, _CELLS // (255 * columns))
    for start in range(0, len(reports), rows):
        bits = np.unpackbits(reports[start : start + rows], axis=1, bitorder="little")
        whole = len(bits) // 255 * 255
        blocks = bits[:whole].reshape(-1, 255, columns)
        counts += np.add.reduce(blocks, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
        counts += bits[whole:].sum(axis=0, dtype=np.int64)
    return counts


def _codes(domain: int, count: int, scale: Scale) -> Iterable[Row]:
    oracle = rumor.RandomizedResponse(domain=domain, epsilon=EPSILON)
    reports = oracle.privatize(people(count, domain))
    codes = reports.view("<u2").ravel()
    few = people(scale.pick(100_000, 20_000), domain).tolist()
    return race(
        f"k-RR counts, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.tally(reports), count),
        [
            *peers.randomized_response_counts(few, domain, EPSILON),
            Contender("numpy: bincount", lambda: np.bincount(codes, minlength=domain), count),
            limits.memory_read(reports, count),
        ],
        scale,
    )


def _growth(scale: Scale) -> Iterable[Row]:
    def columns(count: int, domain: int) -> Callable[[], object]:
        oracle = rumor.UnaryEncoding(domain=domain, epsilon=EPSILON)
        reports = noise(count, oracle.width)
        return lambda: oracle.tally(reports)

    name, sizes = "growth of unary counts", [100_000, 200_000, 400_000, 800_000]
    domains = [256, 1024, 4096, 16_384]
    yield growth(name, "n", sizes, lambda n: columns(n, 1000), scale, at_most=1.15)
    yield growth(name, "D", domains, lambda d: columns(50_000, d), scale, at_most=1.15)
