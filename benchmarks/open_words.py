"""Words that nobody listed: what finding them promises, and what it keeps, beside its peers.

    python -m benchmarks.open_words [--quick] [--only false peers plan time]

What is judged, and with which truths, is in open_words_worlds.py; it needs the package wordfreq,
and without it only the worlds that need no language are run. The peers (open_words_peers.py) are
PEM with the better of two steps in hindsight, TreeHist and sequence fragments. In full it takes
half an hour of one core; the quick form has a tenth of the runs, and no verdict worth having.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.open_words_peers import PEERS, PEM_STEPS, pem
from benchmarks.open_words_worlds import LATIN, Crowd, World, alike, crowd, world
from rumor.core.randomness import Seeded
from rumor.kinds.words.fit.forecast import needed_share
from rumor.kinds.words.fit.found import Discovered, discover
from rumor.mechanisms.open_words.design import open_words
from rumor.mechanisms.summary import Summary, merge

# Targets.
MOST_FALSE = 0.06
BEHIND_PEM = 0.03
HALF, MOST = (0.35, 0.65), 0.80
MOST_SECONDS = 1.0
# Runs of a cell.
RUNS_FALSE, RUNS_NULL, RUNS_PEERS, RUNS_OTHERS, RUNS_PLAN = 100, 300, 8, 2, 60

ENGLISH = ((100_000, 2.0), (100_000, 4.0), (1_000_000, 1.0), (1_000_000, 2.0))
NULL = ((10_000, 4.0), (30_000, 1.0), (100_000, 2.0))
ONE_LENGTH = ((30_000, 2.0), (100_000, 1.0), (100_000, 4.0))
LANGUAGES = tuple((n, e) for n in (100_000, 1_000_000) for e in (1.0, 2.0, 4.0))
ADDRESSES = tuple((1_000_000, e) for e in (1.0, 2.0, 4.0))
STRINGS = tuple((n, e) for n in (30_000, 100_000, 1_000_000) for e in (1.0, 2.0, 4.0))
CELLS = {"en": LANGUAGES, "de": LANGUAGES, "ja": LANGUAGES, "url": ADDRESSES, "six": STRINGS}
# The last one is of words that all have six letters.
PLANS = (
    (100_000, 2.0, "nothing", LATIN),
    (100_000, 4.0, "nothing", LATIN),
    (1_000_000, 1.0, "nothing", LATIN),
    (100_000, 4.0, "understand", LATIN),
    (100_000, 2.0, "how", LATIN),
    (30_000, 4.0, "understand", LATIN),
    (100_000, 2.0, "strand", alike(6)),
)


@dataclass(frozen=True)
class Verdict:
    """A promise, what was measured, and whether it is kept."""

    promise: str
    figure: str
    kept: bool


@dataclass(frozen=True)
class Work:
    """How much of it to do."""

    quick: bool

    def runs(self, full: int) -> int:
        """So many, or a tenth."""
        return max(2, full // 10) if self.quick else full

    def step(self, what: str) -> None:
        """Say on the terminal what is going on."""
        if sys.stderr.isatty():
            print(f"\r{what:<70}", end="", file=sys.stderr, flush=True)


def has_languages() -> bool:
    """Whether frequencies of real words are installed."""
    return importlib.util.find_spec("wordfreq") is not None


def f1(found: Sequence[str], there: World, k: int) -> float:
    """Of the k best found against the k most frequent."""
    best = found[:k]
    return 2 * len(set(best) & there.top(k)) / (len(best) + k)


def false_share(there: World, people: Crowd, found: Discovered) -> float:
    """The share of the words found that nobody holds."""
    held = {there.words[i] for i in np.flatnonzero(people.counts)}
    return sum(word not in held for word in found.words) / max(1, len(found.words))


def _false_cell(work: Work, name: str, people: int, epsilon: float, full: int) -> list[float]:
    there, shares, number = world(name), [], 0.0
    covered: list[bool] = []
    for run in range(work.runs(full)):
        work.step(f"{name} {people:,} at {epsilon:g}: run {run}")
        crowd_ = crowd(there, people, epsilon, run)
        found = discover(crowd_.mechanism, crowd_.tally)
        shares.append(false_share(there, crowd_, found))
        number += len(found.words)
        true = dict(zip(there.words, there.shares.tolist(), strict=True))
        ends = zip(found.words, found.low, found.high, strict=True)
        covered += [low <= true.get(word, 0.0) <= high for word, low, high in ends]
    spread = np.std(shares) / math.sqrt(len(shares))
    print(
        f"{name:9} {people:9,} {epsilon:8g} {len(shares):5} {number / len(shares):7.1f} "
        f"{np.mean(shares):7.3f} ({spread:.3f}) {np.mean(np.array(shares) > 0):10.3f} "
        f"{np.mean(covered) if covered else math.nan:8.3f}",
        flush=True,
    )
    return shares


def false_words(work: Work) -> list[Verdict]:
    """How many of the words found nobody holds."""
    print("\nFalse words at a promised 5 %")
    print("world        people  epsilon  runs   found   false    (se)  any false  covered")
    found = []
    if has_languages():
        rates = [float(np.mean(_false_cell(work, "en", *cell, RUNS_FALSE))) for cell in ENGLISH]
        found.append(_at_most("English: FDR at most 6 % in each of four cells", rates, MOST_FALSE))
    of_one = [float(np.mean(_false_cell(work, "six", *cell, RUNS_FALSE))) for cell in ONE_LENGTH]
    found.append(_at_most("one length: FDR at most 6 % in each of three cells", of_one, MOST_FALSE))
    cells = [("null", *cell) for cell in NULL] + [("plates", 30_000, 2.0)]
    any_false = [
        float(np.mean(np.array(_false_cell(work, *cell, RUNS_NULL)) > 0)) for cell in cells
    ]
    found.append(_at_most("no word: any false one in at most 6 % of runs", any_false, MOST_FALSE))
    if has_languages():
        rate = float(np.mean(_false_cell(work, "overlong", 100_000, 4.0, RUNS_FALSE)))
        found.append(_at_most("30 % on an overlong string: FDR at most 6 %", [rate], MOST_FALSE))
    return found


def peers(work: Work) -> list[Verdict]:
    """F1 against the most frequent words, beside the peers."""
    print("\nF1 of the k best found; PEM with the better of two steps, in hindsight")
    print("world      people  epsilon   k  ours   PEM  TreeHist  fragments   ours less PEM")
    ahead: dict[int, list[tuple[float, str]]] = {10: [], 20: [], 50: []}
    for name, cells in CELLS.items():
        if name in ("en", "de", "ja") and not has_languages():
            continue
        there = world(name)
        for people, epsilon in cells:
            for k, score in _peers_cell(work, there, people, epsilon).items():
                ahead[k].append((score, f"{name} {people:,} at {epsilon:g}"))
    # Of the twenty strings, most crowds name all: there nobody can be above the other.
    least = {k: min(scores) for k, scores in ahead.items() if scores}
    found = [
        Verdict(f"F1 at k = {k}: PEM's less .03 in every cell", f"{score:+.3f} ({where})",
                score >= -BEHIND_PEM)
        for k, (score, where) in least.items()
    ]  # fmt: skip
    score, where = least[50]
    return [
        *found,
        Verdict("F1 at k = 50: above PEM in every cell", f"{score:+.3f} ({where})", score > 0),
    ]


def _peers_cell(work: Work, there: World, people: int, epsilon: float) -> dict[int, float]:
    ks = (10, 20) if there.fixed else (10, 50)
    ours: dict[int, list[float]] = {k: [] for k in ks}
    theirs: dict[tuple[str, int], list[float]] = {}
    for run in range(work.runs(RUNS_PEERS)):
        work.step(f"{there.name} {people:,} at {epsilon:g}: run {run}")
        crowd_ = crowd(there, people, epsilon, run)
        found = discover(crowd_.mechanism, crowd_.tally)
        rng = np.random.default_rng([77, run])
        for k in ks:
            ours[k].append(f1(found.words, there, k))
            for step in PEM_STEPS:
                best = pem(there, crowd_.counts, epsilon, k, step, rng)
                theirs.setdefault((f"PEM {step}", k), []).append(f1(best, there, k))
            for name, peer in PEERS.items() if run < RUNS_OTHERS else ():
                best = peer(there, crowd_.counts, epsilon, k, rng)
                theirs.setdefault((name, k), []).append(f1(best, there, k))
    ahead = {}
    for k in ks:
        own = float(np.mean(ours[k]))
        best_pem = max(float(np.mean(theirs[f"PEM {step}", k])) for step in PEM_STEPS)
        others = [float(np.mean(theirs[name, k])) for name in PEERS]
        ahead[k] = own - best_pem
        print(
            f"{there.name:7} {people:9,} {epsilon:8g} {k:3} {own:5.2f} {best_pem:5.2f} "
            f"{others[0]:9.2f} {others[1]:10.2f} {ahead[k]:+15.3f}",
            flush=True,
        )
    return ahead


def plan(work: Work) -> list[Verdict]:
    """How often a word is found at the shares that a plan names."""
    print("\nA word at the plan's shares, in a tail of 30,000 words")
    print("   people  epsilon  bits     50 %: share  found     90 %: share  found")
    rates: tuple[list[float], list[float]] = [], []
    rng = np.random.default_rng(30)
    drawn = rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=(30_000, 8))
    for people, epsilon, word, code in PLANS:
        bits, told = code.write(word).length, []
        tail = ["".join(row[: code.length or 3 + i % 6]) for i, row in enumerate(drawn)]
        for chance, rate in zip((0.5, 0.9), rates, strict=True):
            longest = None if code.length else 12
            any_ = open_words(epsilon=epsilon, code=code, longest=longest, key=b"any")
            share = needed_share(any_, people, bits, chance)
            words = tuple(dict.fromkeys([word, *tail]))
            shares = np.array([share, *[(1 - share) / (len(words) - 1)] * (len(words) - 1)])
            there = World(f"plan {word} {chance}", words, shares, code, 12)
            hits = 0
            runs = work.runs(RUNS_PLAN)
            for run in range(runs):
                work.step(f"plan {people:,} at {epsilon:g}, {bits} bits: run {run}")
                crowd_ = crowd(there, people, epsilon, run)
                hits += word in discover(crowd_.mechanism, crowd_.tally).words
            rate.append(hits / runs)
            told.append(f"{share:.4f}  {hits}/{runs}")
        print(f"{people:9,} {epsilon:8g} {bits:5}     {told[0]:>18}   {told[1]:>18}", flush=True)
    within = all(HALF[0] <= rate <= HALF[1] for rate in rates[0])
    return [
        Verdict("plan's 50 % share: found in 35 to 65 % of runs",
                ", ".join(f"{rate:.2f}" for rate in rates[0]), within),
        Verdict("plan's 90 % share: found in at least 80 % of runs",
                ", ".join(f"{rate:.2f}" for rate in rates[1]), min(rates[1]) >= MOST),
    ]  # fmt: skip


def speed(work: Work) -> list[Verdict]:
    """Seconds of one processor for a million reports, and that summaries add up."""
    there = world("en") if has_languages() else world("null")
    seconds = []
    for run in range(4):
        work.step(f"a million reports: run {run}")
        crowd_ = crowd(there, 1_000_000, 4.0, run)
        start = time.process_time()
        found = discover(crowd_.mechanism, crowd_.tally)
        seconds.append(time.process_time() - start)
    mechanism = crowd_.mechanism
    shape = f"{mechanism.levels} levels, {mechanism.cohorts} cohorts, {mechanism.buckets} buckets"
    print(f"\nA million reports, {shape}: {found.candidates:,} beginnings looked at")
    print("decoded in", ", ".join(f"{second:.2f}" for second in seconds), "s (the first compiles)")
    words = [there.words[i] for i in range(2000)]
    codes = np.random.default_rng(1).integers(0, 2000, size=30_000)
    reports = mechanism.privatize_coded(words, codes, random=Seeded(1))
    whole = Summary.empty(mechanism).update(reports)
    parts = [Summary.empty(mechanism).update(reports[i::7]) for i in range(7)]
    same = merge(parts[::-1]).to_bytes() == whole.to_bytes()
    memory = mechanism.tally_size * 8 / 2**20
    print(
        f"a summary has {memory:.1f} MiB for any number of people, a report {mechanism.width} bytes"
    )
    return [
        Verdict("a million reports decoded within 1 s of a processor",
                f"{max(seconds[1:]):.2f} s", max(seconds[1:]) <= MOST_SECONDS),
        Verdict("merged summaries equal those of all reports, byte for byte", str(same), same),
        Verdict("three bytes to a report", str(mechanism.width), mechanism.width <= 3),
    ]  # fmt: skip


def _at_most(promise: str, rates: Sequence[float], most: float) -> Verdict:
    return Verdict(promise, ", ".join(f"{rate:.3f}" for rate in rates), max(rates) <= most)


PARTS: dict[str, Callable[[Work], list[Verdict]]] = {
    "time": speed,
    "plan": plan,
    "false": false_words,
    "peers": peers,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, and print each promise with its figure."""
    parser = argparse.ArgumentParser(prog="benchmarks.open_words", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args(arguments)
    work = Work(given.quick)
    if not has_languages():
        print("the package wordfreq is not installed: worlds of real words are left out")
    verdicts = [verdict for part in given.only for verdict in PARTS[part](work)]
    work.step("")
    print()
    for verdict in verdicts:
        print(f"{'pass' if verdict.kept else 'MISS'}  {verdict.promise}: {verdict.figure}")
    return 0 if all(verdict.kept for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
