"""Are crafted reports seen? A hundred attacked crowds and a hundred honest ones.

    python -m benchmarks.liars_table [--runs N] [--people N]

Five clients in a hundred send what raises ten answers most (the maximal gain attack of Cao,
Jia and Gong 2021), hidden among people who answer by Zipf's law over a hundred values at
epsilon 1; the targets are others in each run. The test of rumor.privacy.integrity looks at
the reports alone. Wanted: flagged in at least 99 of 100, and at most 2 false alarms in 100.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import rumor
from rumor.kinds.planning.forecast import typical_law
from rumor.mechanisms import FrequencyOracle
from rumor.privacy.integrity import co_support, craft

DOMAIN, EPSILON, PEOPLE, TARGETS, SHARE, RUNS = 100, 1.0, 100_000, 10, 0.05, 100
FLAGGED, FALSE_ALARMS = 0.99, 0.02

ORACLES: tuple[FrequencyOracle, ...] = (
    rumor.UnaryEncoding(domain=DOMAIN, epsilon=EPSILON),
    rumor.LocalHashing(domain=DOMAIN, epsilon=EPSILON),
    rumor.SubsetSelection(domain=DOMAIN, epsilon=EPSILON),
    rumor.HadamardResponse(domain=DOMAIN, epsilon=EPSILON),
)


def crowds(
    oracle: FrequencyOracle, people: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An honest crowd, the same with liars instead of some, and what the liars aimed at."""
    rng, source = np.random.default_rng(seed), rumor.Seeded(seed)
    values = rng.choice(oracle.domain, size=people, p=typical_law(oracle.domain))
    honest = oracle.privatize(values, random=source)
    targets = rng.choice(oracle.domain, TARGETS, replace=False)
    fakes = craft(oracle, targets, int(SHARE * people), random=source)
    mixed = np.concatenate([honest[len(fakes) :], fakes])
    rng.shuffle(mixed)
    return honest, mixed, targets


def run(oracle: FrequencyOracle, people: int, seed: int) -> tuple[bool, bool, float]:
    """Whether the honest crowd and the attacked one raise an alarm, and what the liars added."""
    honest, mixed, targets = crowds(oracle, people, seed)
    before, after = (oracle.unbiased(oracle.tally(batch), people) for batch in (honest, mixed))
    false, flagged = (
        co_support(oracle, batch, random=rumor.Seeded(seed)).alarm for batch in (honest, mixed)
    )
    return false, flagged, float((after - before)[targets].mean())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--people", type=int, default=PEOPLE)
    options = parser.parse_args(arguments)
    table = Table("mechanism", "runs", "flagged", "false alarms", title="maximal gain attack")
    for head in ("added to each target", "bound", "verdict"):
        table.add_column(head, justify="right")
    missed = False
    for oracle in ORACLES:
        steps = track(range(options.runs), oracle.name, console=Console(stderr=True))
        found = [run(oracle, options.people, 1 + seed) for seed in steps]
        false, flagged = (sum(row[i] for row in found) / options.runs for i in (0, 1))
        good = flagged >= FLAGGED and false <= FALSE_ALARMS
        missed |= not good
        table.add_row(
            oracle.name,
            f"{options.runs}",
            f"{flagged:.0%}",
            f"{false:.0%}",
            f"{np.mean([row[2] for row in found]):.2%}",
            f"{oracle.poisoning.gain(options.people, int(SHARE * options.people)):.2%}",
            "pass" if good else "miss",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
