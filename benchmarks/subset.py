"""Subset selection: value to a uniform set of about D / (e^epsilon + 1) values.

The numpy way draws a float for every value and takes the w smallest (`argpartition`), the
person's own value put first or last according to its coin. Both give packed bitmaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import limits, peers
from benchmarks.harness import Contender, Row, Scale, growth, race
from benchmarks.privatize import EPSILON, people

_ROWS = 1024


def run(scale: Scale) -> Iterable[Row]:
    """A race at D = 1000, and how time grows with n and D."""
    domain, count = 1000, scale.pick(100_000, 40_000)
    oracle = rumor.SubsetSelection(domain=domain, epsilon=EPSILON)
    values = people(count, domain)
    few, some = values[: scale.pick(4_000, 2_000)].tolist(), values[: count // 10]
    yield from race(
        f"subset selection privatize, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.privatize(values), count),
        [
            *peers.subset_selection(few, domain, EPSILON),
            Contender("numpy: argpartition", lambda: numpy_subsets(oracle, some), some.size),
            limits.aes_bytes(count, domain * limits.RANDOM_BITS_PER_COIN / 8),
        ],
        scale,
        {peers.MULTI: 40, "numpy: argpartition": 14},
    )

    def privatize(people_: int, size: int) -> Callable[[], object]:
        mechanism = rumor.SubsetSelection(domain=size, epsilon=EPSILON)
        answers = people(people_, size)
        return lambda: mechanism.privatize(answers)

    name, sizes = "growth of subset selection privatize", [20_000, 40_000, 80_000]
    yield growth(name, "n", sizes, lambda n: privatize(n, 1000), scale, at_most=1.15)
    domains = [250, 1000, 4000, 16_000]
    yield growth(name, "D", domains, lambda d: privatize(5_000, d), scale, at_most=1.15)


def numpy_subsets(oracle: rumor.SubsetSelection, values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Subset selection as one writes it in numpy."""
    rng, domain, size = np.random.default_rng(), oracle.domain, oracle.size
    blocks = []
    for start in range(0, values.size, _ROWS):
        own = values[start : start + _ROWS]
        keys = rng.random((own.size, domain))
        included = rng.random(own.size) < oracle.hit
        keys[np.arange(own.size), own] = np.where(included, -1.0, 2.0)
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        bits = np.zeros((own.size, domain), dtype=np.bool_)
        np.put_along_axis(bits, chosen, True, axis=1)
        blocks.append(np.packbits(bits, axis=1, bitorder="little"))
    return np.concatenate(blocks)
