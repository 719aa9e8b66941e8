"""Is what is read again and again as rarely wrong as promised? Every promise with its figure.

    python -m benchmarks.looks_table [--quick] [--seed N] [--only NAME ...] [--workers N]
                                     [--kept FILE]

Alarms of a watch (`rumor trend --watch`): 52 weekly looks, 400 histories without a change in each
block; the same for two groups without a difference that are compared while they grow (`rumor
compare --watch`). No block may have significantly more alarms than the promised 5% (exact binomial,
Holm over blocks, 1%), all together at most 5.5%. A change of 1.5 noise units in the 27th of 52
weeks is found in at least 95% of 1,000 histories, by the median after at most 9 weeks.

The dashboard's headline: 364 daily looks, 400 years without a change in each block. It states a
change that never was in at most 7% of them, by the rule above and of all blocks together.

Intervals for any look: 200 looks at a share or mean named in advance, and at the rows shown, 400
histories in each block. No block may have significantly more histories in which one misses, by the
rule above; of rows shown at most 5% miss at the worst look, on average. At the planned number of
reports they are at most 1.7 times as long as intervals for one look. `--quick` makes a tenth.

What was drawn is kept in a file (`build/looks-SEED.jsonl`) part by part: a run that was stopped
goes on there, and comes to the same figures. Remove the file after a change of the code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import looks_alarms, looks_headline, looks_intervals
from benchmarks.kept_parts import KeptParts, Part, TrialRows
from benchmarks.looks_alarms import ALPHA, Block
from rumor.core.types import Vector

_HOLM = "Holm's p >= 0.01"


@dataclass(frozen=True)
class Figure:
    """What was measured, of how many trials, and what was wanted of it."""

    name: str
    trials: str
    measured: str
    wanted: str = ""
    met: bool = True

    def __str__(self) -> str:
        verdict = f", wanted {self.wanted}: {'yes' if self.met else 'NO'}" if self.wanted else ""
        return f"{self.name} ({self.trials}): {self.measured}{verdict}"


Found = Mapping[str, Vector]
"""What was found in each block: a row for each history."""


def alarms(what: str, promise: float, pooled: float, found: Found) -> Iterator[Figure]:
    """Yield how many histories have an alarm, by block and of all, against the `promise`."""
    counts = {name: int(rows[:, 0].sum()) for name, rows in found.items()}
    sizes = {len(rows) for rows in found.values()}
    (histories,) = sizes
    for name, count in counts.items():
        yield Figure(
            f"{what}: {name}", f"{histories} histories", f"{count} ({count / histories:.2%})"
        )
    yield _above(f"{what}, blocks above {promise:.0%}", counts, histories, promise)
    share = sum(counts.values()) / histories / len(counts)
    trials = f"{histories * len(counts)} histories"
    met = share <= pooled
    yield Figure(f"{what}, all blocks", trials, f"{share:.2%}", f"<= {pooled:.1%}", met)


def _above(name: str, counts: Mapping[str, int], histories: int, promise: float) -> Figure:
    least = float(looks_alarms.above_promise(counts, histories, promise).min())
    return Figure(name, f"{len(counts)} blocks", f"p {least:.2g}", _HOLM, least >= 0.01)


def headline(found: Found) -> Iterator[Figure]:
    """Yield how many years have a headline of a change that never was, and by which rule."""
    yield from alarms("headline without a change", looks_headline.PROMISED, 0.07, found)
    for place, rule in ((1, "the weekly watch"), (2, "p below 0.05/t²")):
        share = np.concatenate([rows[:, place] for rows in found.values()])
        yield Figure(f"headline by {rule}", f"{share.size} histories", f"{share.mean():.2%}")


def detection(found: Found) -> Iterator[Figure]:
    """Yield how changes are found, dated and measured."""
    for name, rows in found.items():
        alarmed = rows[rows[:, 0] > 0]
        share = len(alarmed) / len(rows)
        delay = float(np.median(alarmed[:, 0]))
        dated, held = alarmed[:, 1:].mean(axis=0).tolist()
        must = name == "1.5"
        wanted, trials = ">= 95%, <= 9 weeks" if must else "", f"{len(rows)} of 52 weeks"
        met = not must or (share >= 0.95 and delay <= 9)
        told = f"change of {name} noise units"
        measured = f"{share:.1%}, {delay:g} weeks"
        yield Figure(f"{told}: found, median delay", trials, measured, wanted, met)
        yield Figure(f"{told}: date held, size held", trials, f"{dated:.1%}, {held:.1%}")


def repeated(found: Found) -> Iterator[Figure]:
    """Yield what happens to a test for one look that is repeated every week."""
    (rows,) = found.values()
    often, always = rows.mean(axis=0).tolist()
    trials = f"{len(rows)} of 52 weeks, 10 values"
    yield Figure("one-look test, repeated every week: false alarms", trials, f"{often:.1%}")
    yield Figure("watch: false alarms", trials, f"{always:.1%}", "<= 5%", always <= ALPHA)


def intervals(found: Found) -> Iterator[Figure]:
    """Yield how many histories have an interval that ever misses, and how long intervals are."""
    widest = looks_intervals.WIDEST
    for name, rows in found.items():
        (ever, one), (worst, width) = rows[:, :2].sum(axis=0), rows[:, 2:].mean(axis=0)
        trials = f"{len(rows)} histories"
        told = f"{ever:.0f} ({ever / len(rows):.2%}; for one look {one / len(rows):.1%})"
        yield Figure(f"missed: {name}", trials, told)
        wanted = f"<= {widest}"
        yield Figure(f"length: {name}", trials, f"{width:.3f}", wanted, bool(width <= widest))
        if "rows" in name:
            told, met = f"rows that miss at the worst look: {name}", bool(worst <= ALPHA)
            yield Figure(told, trials, f"{worst:.2%}", "<= 5%", met)
    counts = {name: int(rows[:, 0].sum()) for name, rows in found.items()}
    histories = len(next(iter(found.values())))
    yield _above("missed, blocks above 5%", counts, histories, ALPHA)
    share = sum(counts.values()) / histories / len(counts)
    yield Figure("missed, all blocks", f"{histories * len(counts)} histories", f"{share:.2%}")


@dataclass(frozen=True)
class Section:
    """Blocks of one promise: their histories, and the figures that are made of them."""

    blocks: Callable[[], Mapping[str, Block]]
    figures: Callable[[Found], Iterator[Figure]]
    histories: int = 400
    parts: int = 16

    def trials(self, name: str, scale: float, seed: tuple[int, ...]) -> list[Part]:
        """Return the parts of all blocks of the section called `name`."""
        histories = round(self.histories * scale)
        parts = max(round(self.parts * scale), 1)
        sizes = np.diff(np.linspace(0, histories, parts + 1).astype(int)).tolist()
        return [
            Part(name, block, size, (*seed, place, part))
            for place, block in enumerate(self.blocks())
            for part, size in enumerate(sizes)
        ]


def _changes() -> dict[str, Block]:
    return {f"{size:g}": partial(looks_alarms.detection, size) for size in (1.0, 1.5, 2.0)}


SECTIONS = {
    "false-alarms": Section(
        looks_alarms.blocks, partial(alarms, "alarms without a change", ALPHA, 0.055)
    ),
    "comparisons": Section(
        looks_alarms.comparisons, partial(alarms, "alarms without a difference", ALPHA, 0.055)
    ),
    "headline": Section(looks_headline.blocks, headline, parts=1),
    "detection": Section(_changes, detection, 1000, 4),
    "repeated": Section(lambda: {"10 values": looks_alarms.repeated}, repeated, parts=1),
    "intervals": Section(looks_intervals.blocks, intervals),
}


def draw(part: Part) -> TrialRows:
    """Draw the histories of a `part`."""
    block = SECTIONS[part.section].blocks()[part.block]
    return block(part.trials, np.random.default_rng(part.seed))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.looks_table")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=45)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kept", type=Path)
    said = parser.parse_args(arguments)
    kept = KeptParts(said.kept or Path("build") / f"looks-{said.seed}.jsonl")
    met = True
    for number, (name, section) in enumerate(SECTIONS.items()):
        if name not in said.only:
            continue
        parts = section.trials(name, 0.1 if said.quick else 1.0, (said.seed, number))
        found = kept.complete(parts, draw, said.workers)
        for one in section.figures({block: np.array(rows) for block, rows in found.items()}):
            print(one, flush=True)
            met &= one.met
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
