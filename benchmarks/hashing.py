"""Local hashing: value to a seed and a noisy bucket, and the hashes that counting takes.

Counting support hashes every value for every report. The numpy way uses the same hash and
the same single comparison, in 32 bits and in blocks that stay in the cache; it is timed from
the same (a, c, span) that Rumor works out of the reports within its own time. The peers hash
text with xxhash, one call for each value of each report, so they get a few dozen reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks import limits, peers
from benchmarks.harness import Contender, Row, Scale, growth, race
from benchmarks.privatize import EPSILON, people

# A block of cells stays in the cache, and a byte counts up to 255 rows.
_CELLS, _ROWS = 1 << 18, 255


def run(scale: Scale) -> Iterable[Row]:
    """Races at D = 1000, and how counting grows with n and D."""
    domain, count = 1000, scale.pick(400_000, 100_000)
    oracle = rumor.LocalHashing(domain=domain, epsilon=EPSILON)
    values = people(count, domain)
    few = values[: scale.pick(10_000, 4_000)].tolist()
    yield from race(
        f"local hashing privatize, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.privatize(values), count),
        [*peers.local_hashing(few, domain, EPSILON), limits.aes_bytes(count, 16)],
        scale,
    )
    reports = oracle.privatize(values)
    some, fewer = reports[: count // 10], values[: scale.pick(60, 30)].tolist()
    yield from race(
        f"local hashing counts, D = {domain}",
        "/s",
        Contender("Rumor", lambda: oracle.tally(reports), count),
        [
            *peers.local_hashing_counts(fewer, domain, EPSILON),
            Contender("numpy: same hash", numpy_counts(some, domain), len(some)),
        ],
        scale,
        {peers.PURE: 2000, "numpy: same hash": 10},
    )

    def tally(people_: int, size: int) -> Callable[[], object]:
        mechanism = rumor.LocalHashing(domain=size, epsilon=EPSILON)
        batch = mechanism.privatize(people(people_, size))
        return lambda: mechanism.tally(batch)

    name, sizes = "growth of local hashing counts", [25_000, 50_000, 100_000]
    yield growth(name, "n", sizes, lambda n: tally(n, 1000), scale, at_most=1.1)
    domains = [1000, 4000, 16_000, 64_000]
    yield growth(name, "D", domains, lambda d: tally(10_000, d), scale, at_most=1.1)


def numpy_counts(reports: NDArray[np.uint8], domain: int) -> Callable[[], NDArray[np.int64]]:
    """Support counts by one multiply, one add and one comparison for each cell."""
    pairs = np.ascontiguousarray(reports[:, :8]).view("<u4")
    factor, shift = pairs[:, :1].copy(), pairs[:, 1:].copy()
    span = np.full_like(factor, (1 << 32) // 4)
    everyone = np.arange(domain, dtype=np.uint32)
    rows = max(1, min(_ROWS, _CELLS // domain))

    def run() -> NDArray[np.int64]:
        counts = np.zeros(domain, dtype=np.int64)
        for start in range(0, len(factor), rows):
            part = slice(start, start + rows)
            hashed = factor[part] * everyone
            hashed += shift[part]
            counts += np.add.reduce((hashed <= span[part]).view(np.uint8), axis=0, dtype=np.uint8)
        return counts

    return run
