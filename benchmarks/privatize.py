"""Value to report: unary encoding and k-RR.

Rumor's draws are exact and secure (AES keystream, keyed by the operating system, all 64 bits
of every threshold); numpy and the peers compare floats of a simulation generator. Rumor and
numpy give packed bytes, the peers lists of arrays. Rumor's check of its input is in its time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import limits, peers
from benchmarks.harness import Contender, Row, Scale, growth, race

EPSILON = 1.0
# numpy's floats are made in blocks of about this many, to be fair to its cache.
_BLOCK, _SHORT = 1 << 18, 1 << 16


def run(scale: Scale) -> Iterable[Row]:
    """Races at D = 1000 (and 32), and how time grows with n and D."""
    yield from _unary(1000, scale.pick(100_000, 40_000), scale.pick(4_000, 2_000), scale)
    yield from _unary(32, scale.pick(1_000_000, 400_000), scale.pick(20_000, 10_000), scale)
    yield from _randomized_response(1000, scale.pick(1_000_000, 400_000), scale)
    yield from _growth(scale)


def people(count: int, domain: int) -> NDArray[np.int64]:
    """Values to privatize."""
    return np.random.default_rng(2).integers(0, domain, count)


def _unary(domain: int, count: int, few: int, scale: Scale) -> Iterable[Row]:
    oracle = rumor.UnaryEncoding(domain=domain, epsilon=EPSILON)
    values = people(count, domain)
    some = values[: max(1, count // 5)]
    wide = domain >= 1000
    return race(
        f"unary privatize, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.privatize(values), count),
        [
            *peers.unary(values[:few].tolist(), domain, EPSILON),
            Contender("numpy: random < q, packbits", lambda: numpy_unary(some, domain), some.size),
            limits.aes_bytes(count, domain * limits.RANDOM_BITS_PER_COIN / 8),
        ],
        scale,
        {peers.MULTI: 50, "numpy: random < q, packbits": 12, "limit: AES bytes": 0.35}
        if wide
        else None,
    )


def numpy_unary(values: NDArray[np.int64], domain: int) -> NDArray[np.uint8]:
    """Optimized unary encoding as one writes it in numpy."""
    rng, q = np.random.default_rng(), 1 / (math.exp(EPSILON) + 1)
    rows = max(1, _BLOCK // domain)
    blocks = []
    for start in range(0, values.size, rows):
        own = values[start : start + rows]
        bits = rng.random((own.size, domain)) < q
        bits[np.arange(own.size), own] = rng.random(own.size) < 0.5
        blocks.append(np.packbits(bits, axis=1, bitorder="little"))
    return np.concatenate(blocks)


def _randomized_response(domain: int, count: int, scale: Scale) -> Iterable[Row]:
    oracle = rumor.RandomizedResponse(domain=domain, epsilon=EPSILON)
    values = people(count, domain)
    few = values[: scale.pick(50_000, 20_000)].tolist()
    return race(
        f"k-RR privatize, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.privatize(values), count),
        [
            *peers.randomized_response(few, domain, EPSILON),
            Contender("numpy", lambda: numpy_randomized_response(values, domain), count),
            limits.aes_bytes(count, 8),
        ],
        scale,
        {peers.MULTI: 200},
    )


def numpy_randomized_response(values: NDArray[np.int64], domain: int) -> NDArray[np.uint16]:
    """k-RR as one writes it in numpy."""
    rng, p = np.random.default_rng(), math.exp(EPSILON) / (math.exp(EPSILON) + domain - 1)
    out = np.empty(values.size, dtype=np.uint16)
    for start in range(0, values.size, _SHORT):
        own = values[start : start + _SHORT]
        other = rng.integers(0, domain - 1, own.size)
        other += other >= own
        out[start : start + _SHORT] = np.where(rng.random(own.size) < p, own, other)
    return out


def _growth(scale: Scale) -> Iterable[Row]:
    def unary(count: int, domain: int) -> Callable[[], object]:
        oracle = rumor.UnaryEncoding(domain=domain, epsilon=EPSILON)
        values = people(count, domain)
        return lambda: oracle.privatize(values)

    def answers(count: int, domain: int) -> Callable[[], object]:
        oracle = rumor.RandomizedResponse(domain=domain, epsilon=EPSILON)
        values = people(count, domain)
        return lambda: oracle.privatize(values)

    domains = [250, 1000, 4000, 16_000]
    name, sizes = "growth of unary privatize", [20_000, 40_000, 80_000, 160_000]
    yield growth(name, "n", sizes, lambda n: unary(n, 1000), scale, at_most=1.15)
    yield growth(name, "D", domains, lambda d: unary(10_000, d), scale, at_most=1.15)
    name, sizes = "growth of k-RR privatize", [500_000, 1_000_000, 2_000_000, 4_000_000]
    yield growth(name, "n", sizes, lambda n: answers(n, 1000), scale, at_most=1.15)
    yield growth(name, "D", domains, lambda d: answers(400_000, d), scale, at_most=0.15)
