"""RAPPOR: strings to reports, a dictionary to Bloom filters, and the device's durable ledger.

The literature's hashing takes a SHA-256 for every word, cohort and hash. A device commits
each report to its disk before it sends it; that is compared with committing the same bytes
without anything else, by the clock, since waiting for the disk is what it is about.
"""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import rumor
from benchmarks import peers
from benchmarks.harness import Contender, Row, Scale, as_ratio, ceiling, engineering, race
from rumor.contract.collection import Collection

BITS, HASHES, COHORTS = 128, 2, 64

_COLLECTION = """
name = "Benchmark"
series = "benchmark"
contact = "nobody"
[[questions]]
id = "word"
kind = "choice"
domain = 128
mechanism = {{ name = "basic-rappor", f = 0.5, p = 0.5, q = 0.75 }}
reports_per_person = {reports}
"""


def run(scale: Scale) -> Iterable[Row]:
    """Races of simulation and hashing, and the rate of durable reports."""
    rappor = rumor.Rappor.full(key=b"benchmark", bits=BITS, hashes=HASHES, cohorts=COHORTS)
    count = scale.pick(400_000, 100_000)
    words = [f"word number {i % 5000}" for i in range(count)]
    yield from race(
        f"RAPPOR privatize, {BITS} bits, strings in",
        "/s",
        Contender("Rumor", lambda: rappor.privatize(words), count),
        peers.rappor(scale.pick(4000, 1000), BITS, HASHES),
        scale,
        {peers.PURE: 15},
    )
    candidates = [f"candidate {i}" for i in range(scale.pick(50_000, 10_000))]
    few = candidates[: scale.pick(200, 50)]
    yield from race(
        f"dictionary for {COHORTS} cohorts",
        " words/s",
        Contender(
            "Rumor", lambda: rappor.bloom.map(rappor.bloom.seeds(candidates)), len(candidates)
        ),
        [Contender("SHA-256 for each hash", lambda: sha256_each(few), len(few))],
        scale,
        {"SHA-256 for each hash": 60},
    )
    yield from durable(scale.pick(300, 80))


def sha256_each(words: list[str]) -> list[int]:
    """One SHA-256 of key, cohort, word and hash for every bit."""
    return [
        int(hashlib.sha256(f"secret{cohort}{word}{i}".encode()).hexdigest(), 16) % BITS
        for word in words
        for cohort in range(COHORTS)
        for i in range(HASHES)
    ]


def durable(reports: int) -> Iterable[Row]:
    """Reports through the device, against bare commits of as many bytes, in turn.

    Where a commit takes half a millisecond, as on the disks of servers, what the device does
    besides shows: it checks contract, ceilings and days, draws, charges the ledger to the last
    digit, and commits several tables. So the ratio falls as the disk gets faster (.29 to .38 were
    seen within an hour) and says little of the device; a phone's disk, ten times as slow, leaves
    one near 1. What has a target is what the device is answerable for: its own work, and that a
    report waits for the disk once, which is less than a bare commit takes with its work.
    """
    contract = Collection.from_toml(_COLLECTION.format(reports=2 * reports))
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "bare.sqlite3", isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE bare (id BLOB PRIMARY KEY, report BLOB)")
        ours = bare = worked = 0.0
        with rumor.Respondent(Path(folder) / "device") as device:
            for number in range(reports):
                start, busy = time.perf_counter(), time.process_time()
                (envelope,) = device.prepare(contract, {"word": 7})
                middle, done = time.perf_counter(), time.process_time()
                database.execute("INSERT INTO bare VALUES (?, ?)", (envelope.id, envelope.report))
                end = time.perf_counter()
                if number:  # the first one warms up
                    ours, bare = ours + middle - start, bare + end - middle
                    worked += done - busy
        database.close()
    ratio = bare / ours
    yield Row(
        "durable reports through the device",
        f"{engineering(reports / ours)}/s",
        "bare durable commits",
        f"{engineering(reports / bare)}/s",
        ratio,
        as_ratio(ratio),
    )
    yield ceiling(
        "durable reports through the device",
        "time that one waits, in bare commits",
        (ours - worked) / bare,
        "commits",
        1,
    )
    yield ceiling(
        "durable reports through the device",
        "processor time of one, with its commit",
        1e3 * worked / reports,
        "ms",
        2,
    )
