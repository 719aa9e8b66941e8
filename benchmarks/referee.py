"""Judge what Rumor promises, in worlds that nobody has seen: one line for each promise.

    python -m benchmarks.referee [--seed N] [--long | --trials N] [--only NAME ...] [--processes 2]

Every trial draws its own world from the seed: how many values (2 to 30,000), people (20 to a
million), which epsilon (0.2 to 6), which mechanism, how the shares fall (referee_worlds.py). It
asks that world's people, estimates as the program does, and compares what is shown with the truth.
Choose a seed that nobody has tried; without one, the date is the seed.

Three sorts of promises. *Covered*: an interval at 95 % holds the truth. A block of trials is missed
if that many or fewer intervals would hold by chance with a probability below 1 % (exact binomial
test, Holm's adjustment over all blocks), and all blocks together must reach .945. *False*: what is
found though it is not there is at most 5 %, judged likewise. *Noticed*: what a plan or a table says
will be noticed is, as often as it says. *Errors* have the limits that their
line names. A trial that raises an exception is a promise missed as well. `--long` has five times
the trials.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy.stats import binom

from benchmarks import referee_errors as errors
from benchmarks import referee_groups as groups
from benchmarks import referee_kinds as kinds
from benchmarks import referee_plans as plans
from benchmarks.referee_kinds import Outcome, Outcomes
from benchmarks.referee_worlds import Generator
from rumor.estimators.multiple_testing import holm

ALPHA = 0.01
POOLED = 0.945
_BATCH = 20
_LONG = 5
_FEWEST = 400


@dataclass(frozen=True)
class Check:
    """A trial, and how many of them are made."""

    trial: Callable[[Generator, int], Outcomes]
    trials: int


CHECKS: Mapping[str, Check] = {
    "choice": Check(kinds.choice, 2400),
    "set": Check(kinds.sets, 2000),
    "keyvalue": Check(kinds.keys, 2000),
    "cap": Check(kinds.over_cap, 1000),
    "number": Check(kinds.numbers, 2400),
    "ordered": Check(kinds.ordered, 2000),
    "joint": Check(kinds.joint, 2000),
    "linked": Check(kinds.linked, 1600),
    "text": Check(kinds.listed_words, 1700),
    "words": Check(kinds.open_words, 600),
    "weigh": Check(groups.weighed_choice, 1200),
    "weigh-ordered": Check(groups.weighed_ordered, 1680),
    "compare": Check(groups.compared_choice, 1200),
    "compare-number": Check(groups.compared_numbers, 800),
    "compare-ordered": Check(groups.compared_ordered, 900),
    "trend": Check(groups.followed, 600),
    "few-values": Check(errors.few_values, 84),
    "leader": Check(errors.leader, 40),
    "one-more": Check(errors.one_more, 1000),
    "smallest-share": Check(plans.smallest_share, 600),
    "plan-difference": Check(plans.planned_difference, 1000),
    "fakes": Check(plans.fakes, 100),
}


@dataclass(frozen=True)
class Verdict:
    """A promise, what was measured in how many trials, and whether it is kept."""

    promise: str
    figure: str
    trials: int
    kept: bool


def batch(name: str, seed: int, first: int, last: int) -> list[Outcome]:
    """Make some trials of a check, each with a generator of its own."""
    found: list[Outcome] = []
    for number in range(first, last):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
        try:
            found += CHECKS[name].trial(rng, number)
        except Exception as error:  # whatever it is, the promise of this trial is not kept
            said = f"{name}, trial {number}: {type(error).__name__}: {error}"
            found.append(Outcome("raised", said.splitlines()[0], 1.0))
    return found


def outcomes(trials: Mapping[str, int], seed: int, processes: int) -> Iterator[Outcome]:
    """Make so many trials of each check, telling how far they are."""
    work = [
        (name, first, min(first + _BATCH, count))
        for name, count in trials.items()
        for first in range(0, count, _BATCH)
    ]
    with ProcessPoolExecutor(processes) as pool:
        waiting = [(pool.submit(batch, n, seed, first, last), n) for n, first, last in work]
        for done, (one, name) in enumerate(waiting, 1):
            yield from one.result()
            if sys.stderr.isatty():
                print(f"\r{done} of {len(work)}: {name:20}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)


def judged(found: Sequence[Outcome]) -> list[Verdict]:
    """Judge every block, and what they come to together."""
    sorts: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in found:
        sorts[outcome.sort][outcome.block].append(outcome.figure)
    raised = [Verdict(f"answers: {said}", "an error", 1, False) for said in sorts.pop("raised", {})]
    verdicts = [*raised, *covered(sorts.pop("covered", {})), *kept_low(sorts.pop("false", {}))]
    verdicts += noticed(sorts.pop(plans.NOTICED, {}))
    for sort, blocks in sorts.items():
        verdicts += LIMITS[sort](blocks[sort])
    return verdicts


def covered(blocks: Mapping[str, Sequence[float]]) -> list[Verdict]:
    """Judge intervals: no block below 95 % by more than chance, and .945 in all."""
    if not blocks:
        return []
    chances = [float(binom.cdf(sum(held), len(held), 0.95)) for held in blocks.values()]
    verdicts = [
        Verdict(
            f"covered: {name}",
            f"{np.mean(held):.3f} (p {p:.2g} after Holm){_small(held)}",
            len(held),
            bool(p >= ALPHA),
        )
        for (name, held), p in zip(blocks.items(), holm(np.array(chances)), strict=True)
    ]
    every = np.concatenate([np.asarray(held) for held in blocks.values()])
    pooled = float(every.mean())
    last = Verdict(
        f"covered: all blocks together, at least {POOLED}",
        f"{pooled:.4f}",
        every.size,
        pooled >= POOLED,
    )
    return [*verdicts, last]


def _small(held: Sequence[float]) -> str:
    return "" if len(held) >= _FEWEST else f", fewer than {_FEWEST} draws"


def kept_low(blocks: Mapping[str, Sequence[float]]) -> list[Verdict]:
    """Judge false finds: no block above 5 % by more than chance."""
    if not blocks:
        return []
    chances = holm(np.array([_above(np.asarray(figures)) for figures in blocks.values()]))
    return [
        Verdict(
            f"false, at most .05: {name}",
            f"{np.mean(figures):.3f} (p {p:.2g} after Holm)",
            len(figures),
            bool(p >= ALPHA),
        )
        for (name, figures), p in zip(blocks.items(), chances, strict=True)
    ]


def _above(figures: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The chance of such figures or higher ones, if they are .05 in the mean."""
    if set(figures.tolist()) <= {0.0, 1.0}:
        return float(binom.sf(figures.sum() - 1, figures.size, 0.05))
    error = max(float(figures.std(ddof=1)), 0.05) / figures.size**0.5
    return 1 - NormalDist().cdf((float(figures.mean()) - 0.05) / error)


def noticed(blocks: Mapping[str, Sequence[float]]) -> list[Verdict]:
    """Judge power: at most one point below what was said, chance aside."""
    verdicts = []
    for name, seen in blocks.items():
        said = float(name.rsplit(", ", 1)[1].split(" ")[0]) / 100
        chance = float(binom.cdf(sum(seen), len(seen), said - 0.01))
        figure = f"{np.mean(seen):.3f} (p {chance:.2g})"
        verdicts.append(Verdict(f"noticed: {name}", figure, len(seen), chance >= ALPHA))
    return verdicts


def few_values(ratios: Sequence[float]) -> list[Verdict]:
    """Judge the default beside the projection with 5 to 12 values."""
    mean = float(np.exp(np.mean(np.log(ratios))))
    often, worst = float(np.mean(np.asarray(ratios) > 1.1)), max(ratios)
    name = "5 to 12 values, the default's squared error over the projection's"
    return [
        Verdict(f"{name}: geometric mean at most .65", f"{mean:.3f}", len(ratios), mean <= 0.65),
        Verdict(f"{name}: above 1.1 in at most 15 %", f"{often:.3f}", len(ratios), often <= 0.15),
        Verdict(f"{name}: at most 1.4", f"{worst:.2f}", len(ratios), worst <= 1.4),
    ]


def leader(ratios: Sequence[float]) -> list[Verdict]:
    """Judge the default beside the projection where one value has nearly all."""
    worst, name = max(ratios), "one value has nearly all, squared error over the projection's"
    return [Verdict(f"{name}: at most 1.4", f"{worst:.2f}", len(ratios), worst <= 1.4)]


def one_more(moves: Sequence[float]) -> list[Verdict]:
    """Judge what one report moves."""
    worst = max(moves)
    name = "one more report, what a share moves over what it may: at most 1"
    return [Verdict(name, f"{worst:.2f}", len(moves), worst <= 1)]


def moved_by_fakes(moves: Sequence[float]) -> list[Verdict]:
    """Judge how far fakes move a share, over what the table says."""
    worst, name = max(moves), "fakes, the largest move of a share over the bound: at most 1"
    return [Verdict(name, f"{worst:.2f}", len(moves), worst <= 1)]


LIMITS: Mapping[str, Callable[[Sequence[float]], list[Verdict]]] = {
    errors.FEW: few_values,
    errors.LEADER: leader,
    errors.MOVED: one_more,
    plans.MOVED_BY_FAKES: moved_by_fakes,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each promise; the exit status says whether all are kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    today = int(datetime.date.today().strftime("%Y%m%d"))
    parser.add_argument("--seed", type=int, default=today, help="any whole number (the date)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--long", action="store_true", help=f"{_LONG} times the trials")
    size.add_argument("--trials", type=int, help="so many trials of each check instead")
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    start = time.monotonic()
    scale = _LONG if options.long else 1
    trials = {name: options.trials or CHECKS[name].trials * scale for name in options.only}
    verdicts = judged(list(outcomes(trials, options.seed, options.processes)))
    for verdict in verdicts:
        mark = "pass" if verdict.kept else "MISS"
        print(f"{mark}  {verdict.promise}: {verdict.figure}; {verdict.trials:,} trials")
    missed = sum(not verdict.kept for verdict in verdicts)
    minutes = (time.monotonic() - start) / 60
    print(
        f"\nseed {options.seed}: {len(verdicts) - missed} promises kept, {missed} missed; "
        f"{minutes:.1f} minutes"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
