"""Is what is read again and again as rarely wrong as promised? Every promise with its figure.

    python -m benchmarks.looks_table [--quick] [--seed N] [--only NAME ...]

Alarms of a watch (`rumor trend --watch`): 52 weekly looks, 400 histories without a change in each
block; the same for two groups without a difference that are compared while they grow (`rumor
compare --watch`). No block may have significantly more alarms than the promised 5% (exact binomial,
Holm over blocks, 1%), all together at most 5.5%. A change of 1.5 noise units in the 27th of 52
weeks is found in at least 95% of 1,000 histories, by the median after at most 9 weeks.

Intervals for any look: 200 looks at a share or mean named in advance, and at the rows shown, 400
histories in each block. No block may have significantly more histories in which one misses, by the
rule above; of rows shown at most 5% miss at the worst look, on average. At the planned number of
reports they are at most 1.7 times as long as intervals for one look. `--quick` makes a tenth.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import looks_alarms, looks_intervals


@dataclass(frozen=True)
class Figure:
    """What was measured, of how many trials, and what was wanted of it."""

    name: str
    trials: str
    measured: str
    wanted: str = ""
    met: bool = True


def false_alarms(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    """Yield how many histories without a change have an alarm, by block and of all."""
    return alarms("without a change", looks_alarms.blocks(), scale, rng)


def comparisons(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    """Yield how often two groups without a difference are told apart at some look."""
    return alarms("without a difference", looks_alarms.comparisons(), scale, rng)


def alarms(
    what: str, blocks: Mapping[str, looks_alarms.Alarmed], scale: float, rng: np.random.Generator
) -> Iterator[Figure]:
    """Yield how many histories have an alarm, by block and of all."""
    histories, found = round(looks_alarms.HISTORIES * scale), {}
    for (name, alarmed), each in zip(blocks.items(), rng.spawn(len(blocks)), strict=True):
        start = time.process_time()
        found[name] = looks_alarms.alarms_of(each, alarmed, histories)
        yield Figure(f"alarms {what}: {name}", f"{histories} of 52 weeks", str(found[name]))
        print(f"{name}: {time.process_time() - start:.0f} s", file=sys.stderr)
    least = float(looks_alarms.above_promise(found, histories).min())
    wanted = "Holm's p >= 0.01"
    yield Figure("blocks above 5%", f"{len(found)} blocks", f"p {least:.2g}", wanted, least >= 0.01)
    share = sum(found.values()) / histories / len(found)
    yield Figure(
        f"alarms {what}, all blocks",
        f"{histories * len(found)}",
        f"{share:.2%}",
        "<= 5.5%",
        share <= 0.055,
    )


def detection(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    """Yield how changes are found, dated and measured."""
    histories = round(1000 * scale)
    for size, each in zip((1.0, 1.5, 2.0), rng.spawn(3), strict=True):
        found = looks_alarms.detection(size, histories, each)
        told, trials = f"change of {size:g} noise units", f"{histories} of 52 weeks"
        must = size == 1.5
        wanted = ">= 95%, <= 9 weeks" if must else ""
        met = not must or (found.found >= 0.95 and found.median_delay <= 9)
        yield Figure(
            f"{told}: found, median delay",
            trials,
            f"{found.found:.1%}, {found.median_delay:g} weeks",
            wanted,
            met,
        )
        yield Figure(
            f"{told}: date held, size held", trials, f"{found.dated:.1%}, {found.measured:.1%}"
        )


def repeated(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    """Yield what happens to a test for one look that is repeated every week."""
    histories = round(400 * scale)
    often, always = looks_alarms.alarms_by_look(histories, 10, rng)
    trials = f"{histories} of 52 weeks, 10 values"
    yield Figure("one-look test, repeated every week: false alarms", trials, f"{often[-1]:.1%}")
    yield Figure("watch: false alarms", trials, f"{always[-1]:.1%}", "<= 5%", always[-1] <= 0.05)


def intervals(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    """Yield how many histories have an interval that ever misses, and how long intervals are."""
    histories, found = round(looks_intervals.HISTORIES * scale), {}
    blocks = looks_intervals.blocks()
    for (name, block), each in zip(blocks.items(), rng.spawn(len(blocks)), strict=True):
        one = found[name] = block(histories, each)
        told = f"{one.ever} (for one look: {one.one_look}), length {one.width:.2f}"
        met = one.width <= looks_intervals.WIDEST
        trials = f"{histories} of {looks_intervals.LOOKS.size} looks"
        yield Figure(f"missed: {name}", trials, told, f"length <= {looks_intervals.WIDEST}", met)
        if "rows" in name:
            share = one.worst_share
            yield Figure(
                f"rows that miss at the worst look: {name}",
                trials,
                f"{share:.2%}",
                "<= 5%",
                share <= looks_intervals.ALPHA,
            )
    ever = {name: one.ever for name, one in found.items()}
    least = float(looks_alarms.above_promise(ever, histories).min())
    wanted = "Holm's p >= 0.01"
    yield Figure(
        "interval blocks above 5%", f"{len(ever)} blocks", f"p {least:.2g}", wanted, least >= 0.01
    )


SECTIONS: dict[str, Callable[[float, np.random.Generator], Iterator[Figure]]] = {
    "false-alarms": false_alarms,
    "comparisons": comparisons,
    "detection": detection,
    "repeated": repeated,
    "intervals": intervals,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.looks_table")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    said = parser.parse_args(arguments)
    met = True
    for number, (name, section) in enumerate(SECTIONS.items()):
        if name not in said.only:
            continue
        for one in section(0.1 if said.quick else 1.0, np.random.default_rng([said.seed, number])):
            verdict = (
                "" if not one.wanted else f", wanted {one.wanted}: {'yes' if one.met else 'NO'}"
            )
            print(f"{one.name} ({one.trials}): {one.measured}{verdict}", flush=True)
            met &= one.met
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
