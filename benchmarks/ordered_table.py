"""Ordered answers beside the other ways to a distribution: each promise and its measured figure.

    python -m benchmarks.ordered_table [--quick] [--only table grid ...] [--cells FILE] [--settle]

The truths are those of ordered_truths.py: ten, of which seven are shaped (neither flat nor a
single value), and five that were held back by a rule, told apart wherever they are told.
Distances are Wasserstein's on a range of length 1, means of 20 trials (3 in the quick form, which
takes a couple of minutes and gives no verdict worth having); a distance beyond its limit counts
with that of 50 more. Output histograms are drawn as
multinomials from the channel. `--cells` keeps what was measured in a file, a line for each cell,
and reads it again; the whole takes half an hour of one core. `--settle` runs single cells that are
beyond the limit again, 50 times.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.ordered_cells import DECLARED, PEERS, SETTLING, Cell, Cells, distance, law_of
from benchmarks.ordered_peers import rule_width, wave
from benchmarks.ordered_truths import HELD_BACK, SHAPED, spacing, truths
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.average import OrderedFit, fit_ordered
from rumor.kinds.ordered.fit.em import linear_mean
from rumor.kinds.ordered.fit.forecast import forecast

HELD = tuple(f"held {number}" for number in range(1, HELD_BACK + 1))
MAIN = (256, 1.0, 100_000)
# Single values among them, and neither heaps nor plateaus.
FOUND_WITH = ("beta", "bimodal", "income", "spike", "point", "U", "tail")
LIMITS = {
    "beta": 0.006,
    "bimodal": 0.007,
    "income": 0.007,
    "spike": 0.003,
    "U": 0.0075,
    "tail": 0.008,
    DECLARED: 0.0055,
}
GRID = (
    *((d, e, n) for d in (5, 16) for e in (0.5, 1.0, 2.0, 4.0) for n in (10_000, 100_000)),
    *((64, e, n) for e in (0.5, 1.0, 2.0, 4.0) for n in (10_000, 100_000)),
    *((64, e, 1_000_000) for e in (1.0, 2.0)),
    (256, 1.0, 10_000),
    *((256, e, 100_000) for e in (0.5, 1.0, 2.0)),
    (1024, 1.0, 100_000),
)
QUICK_GRID = ((5, 1.0, 10_000), (16, 2.0, 10_000), (64, 1.0, 10_000))
# Settings that only the forecast is judged by, a few trials each.
FORECAST_ONLY = (
    *((d, e, n) for d in (11, 32, 128) for e, n in ((1.0, 3_000), (2.0, 30_000), (0.5, 300_000))),
)
COVERED = (
    (5, 1.0, 10_000),
    (11, 1.0, 10_000),
    (64, 0.5, 1_000),
    (64, 1.0, 10_000),
    (64, 4.0, 1_000_000),
    (256, 1.0, 100_000),
)
Z = 1.959964
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


@dataclass(frozen=True)
class Verdict:
    """A promise, what was measured, and whether it is kept."""

    promise: str
    figure: str
    kept: bool


@dataclass(frozen=True)
class Work:
    """What there is to do it with."""

    cells: Cells
    quick: bool
    settle: bool

    def trials(self, full: int, quick: int = 3) -> int:
        """So many, or so few."""
        return quick if self.quick else full

    def several(self, names: Sequence[str], place: tuple[int, float, int]) -> list[Cell]:
        """The cells of these truths."""
        found = []
        for name in names:
            trials = self.trials(20 if place[0] < 1000 else 5)
            found.append(self.cells.get(name, *place, trials, place == MAIN))
            progress(f"{_place(place)}: {name}")
        return found

    @property
    def grid(self) -> Sequence[tuple[int, float, int]]:
        """The settings that are compared."""
        return QUICK_GRID if self.quick else GRID


def table(work: Work) -> list[Verdict]:
    """All methods where the targets are: 256 values, epsilon 1, 100,000 people."""
    names = (*truths(8), DECLARED, *HELD)
    rows = work.several(names, MAIN)
    print(f"\nMean distance at {_place(MAIN)}, {rows[0].trials} trials")
    print("                  ours  +-     on the same counts    wave, paper's width")
    print("truth                           EM      EMS          EM      EMS    tree   choice")
    for cell in rows:
        print(
            f"{cell.truth:15} {cell.ours:.4f} {cell.spread:.4f}   {cell.paired_em:.4f}  "
            f"{cell.paired_ems:.4f}      {cell.em:.4f}  {cell.ems:.4f}  {cell.tree:.4f}  "
            f"{cell.choice:.4f}"
        )
    by_name = {cell.truth: cell for cell in rows}
    found = [_settled(work, by_name[name], limit) for name, limit in LIMITS.items()]
    for label, group in (
        ("seven shaped", SHAPED),
        ("seven shaped, heaps declared", (*(set(SHAPED) - {"heap"}), DECLARED)),
        ("the seven that the target was found with", FOUND_WITH),
        ("five held back", HELD),
    ):
        ratio = _geometric(
            by_name[name].ours / min(by_name[name].paired_em, by_name[name].paired_ems)
            for name in group
        )
        found.append(
            Verdict(
                f"{label}: at most .75 of the better of EM and EMS on the same counts",
                f"{ratio:.3f}",
                ratio <= 0.75,
            )
        )
    return found


def _settled(work: Work, cell: Cell, limit: float) -> Verdict:
    """A distance and its limit; one beyond it is measured again, with fresh people."""
    figure = f"{cell.ours:.4f}"
    if cell.ours > limit and not work.quick:
        first = cell
        cell = work.cells.get(cell.truth, *MAIN, SETTLING)
        figure = f"{cell.ours:.5f} in {SETTLING} fresh trials (first {first.ours:.5f})"
    return Verdict(f"{cell.truth}: at most {limit}", figure, cell.ours <= limit)


def grid(work: Work) -> list[Verdict]:
    """Pooled over truths, beside the best of the four others."""
    print("\nGeometric means over truths: ours, and our ratio to each of the four others")
    print("values  epsilon   people | shaped    EM   EMS  tree choice  best | held back: best")
    worst: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    held_worst: list[tuple[float, str]] = []
    better: dict[str, list[float]] = {"seven shaped": [], "five held back": []}
    high: list[Cell] = []
    for place in work.grid:
        rows, held = work.several(SHAPED, place), work.several(HELD, place)
        each = {peer: _pooled(rows) / _pooled(rows, peer) for peer in PEERS}
        ratio, apart = max(each.values()), max(_pooled(held) / _pooled(held, p) for p in PEERS)
        worst[place[0] >= 64].append((ratio, _place(place)))
        held_worst.append((apart, _place(place)))
        if place[0] >= 64:
            for label, group in (("seven shaped", rows), ("five held back", held)):
                better[label] += [cell.ours / min(cell.em, cell.ems) for cell in group]
        limit = 1.15 if place[0] >= 64 else 1.2
        high += [cell for cell in (*rows, *held) if cell.ours > limit * cell.best]
        print(
            f"{place[0]:6} {place[1]:8g} {place[2]:8} | {_pooled(rows):.5f} "
            + " ".join(f"{each[peer]:5.2f}" for peer in PEERS)
            + f" {ratio:6.2f} | {_pooled(held):.5f} {apart:5.2f}",
            flush=True,
        )
    _listed(work, high)
    found = []
    for large, label, limit in ((True, "64 values and more", 1.15), (False, "5 and 16", 1.2)):
        if worst[large]:
            ratio, where = max(worst[large])
            found.append(
                Verdict(
                    f"{label}: pooled over the shaped, at most {limit} of the best of four",
                    f"largest {ratio:.2f} ({where})",
                    ratio <= limit,
                )
            )
    ratio, where = max(held_worst)
    found.append(
        Verdict("pooled over the held back, at most 1.2", f"{ratio:.2f} ({where})", ratio <= 1.2)
    )
    for label, ratios in better.items():
        mean = _geometric(ratios)
        found.append(
            Verdict(
                f"{label}: at most .90 of the better of EM and EMS from 64 values on",
                f"{mean:.3f} over {len(ratios)} cells",
                mean <= 0.9,
            )
        )
    return found


def _listed(work: Work, high: list[Cell]) -> None:
    """Single cells beyond the limit, run again where that was asked for."""
    if work.settle:
        again = [
            work.cells.get(cell.truth, cell.domain, cell.epsilon, cell.people, SETTLING)
            for cell in high
        ]
        high = [
            cell for cell in again if cell.ours > (1.15 if cell.domain >= 64 else 1.2) * cell.best
        ]
    print(f"single cells beyond the limit ({SETTLING if work.settle else 'these'} trials):")
    for cell in sorted(high, key=lambda each: -each.ours / each.best):
        print(
            f"   {cell.truth}, {_place((cell.domain, cell.epsilon, cell.people))}: "
            f"{cell.ours / cell.best:.2f} ({cell.ours:.5f})"
        )


@dataclass
class _Held:
    """How often intervals of each kind held the truth."""

    cdf: list[float]
    share: list[float]
    quantile: list[float]
    mean: list[float]


def coverage(work: Work) -> list[Verdict]:
    """Intervals of 95 %: of the distribution function, range shares, quantiles, linear means."""
    print("\nHeld by 95 % intervals, over all fifteen truths (and over the held back)")
    print("values  epsilon   people   runs    CDF          shares       quantiles    linear mean")
    names = (*truths(8), *HELD)
    pooled: dict[str, list[float]] = {kind: [] for kind in ("cdf", "share", "quantile", "mean")}
    weak: list[str] = []
    for place in COVERED[:1] if work.quick else COVERED:
        trials = work.trials(12 if place[0] < 256 else 8, 2)
        by_truth = {name: _coverage(name, place, trials) for name in names}
        line = []
        for kind, numbers in pooled.items():
            means = {name: _mean(getattr(held, kind)) for name, held in by_truth.items()}
            numbers.append(_mean(means.values()))
            line.append(f"{numbers[-1]:.3f} ({_mean(means[name] for name in HELD):.3f})")
            weak += [
                f"{kind} of {name}, {_place(place)}: {value:.2f}"
                for name, value in means.items()
                if value < 0.85
            ]
        print(
            f"{place[0]:6} {place[1]:8g} {place[2]:8} {trials * len(names):6}   "
            + " ".join(f"{each:12}" for each in line),
            flush=True,
        )
    print("single truths below .85:")
    for each in weak:
        print(f"   {each}")
    limits = (
        ("cdf", 0.93, 0.99),
        ("share", 0.93, 0.99),
        ("quantile", 0.94, 0.985),
        ("mean", 0.93, 0.97),
    )
    words = {
        "cdf": "distribution function",
        "share": "shares of ranges that do not end on a sharp edge",
        "quantile": "quantiles",
        "mean": "linear mean",
    }
    return [
        Verdict(
            f"{words[kind]}: {low} to {high}, settings pooled",
            f"mean {_mean(pooled[kind]):.3f}, from {min(pooled[kind]):.3f} to "
            f"{max(pooled[kind]):.3f} over settings",
            low <= _mean(pooled[kind]) <= high,
        )
        for kind, low, high in limits
    ]


def _coverage(name: str, place: tuple[int, float, int], trials: int) -> _Held:
    domain, epsilon, people = place
    law, heaps = law_of(name, domain), name == "heap" and domain >= 30
    band = wave(domain, epsilon, rule_width(domain, epsilon, spacing(domain) if heaps else 0))
    rng = np.random.default_rng([22, domain, round(1000 * epsilon), people, *name.encode()])
    edges = np.concatenate([[0.0], np.cumsum(law)])
    ranges = _ranges(law)
    held = _Held([], [], [], [])
    for _ in range(trials):
        counts = rng.multinomial(people, band.forward(law))
        found = fit_ordered(band, counts, ((spacing(domain), 0),) if heaps else ())
        values, deviations = found.cdf
        at = np.unique(np.linspace(0, domain, 9)[1:-1].astype(int)) - 1
        inside = np.abs(values - edges[1:])[at] <= Z * deviations[at] + 1e-9
        held.cdf.append(float(inside.mean()))
        value, deviation = found.linear(ranges)
        held.share.append(float((np.abs(value - law @ ranges) <= Z * deviation + 1e-9).mean()))
        held.quantile.append(_quantiles(found, edges))
        mean, error = linear_mean(band, counts)
        held.mean.append(float(abs(mean - law @ np.arange(domain)) <= Z * error))
    return held


def _ranges(law: Vector) -> Vector:
    """Twelve ranges at random, none of which ends where the law jumps."""
    domain = law.size
    jumps = np.abs(np.diff(np.concatenate([[law[0]], law, [law[-1]]])))
    # An end of the range is no edge of the law.
    places = np.flatnonzero(jumps <= max(0.2 * law.max(), 1.5 / domain))
    rng, columns = np.random.default_rng(23), []
    for _ in range(12):
        low, high = sorted(rng.choice(places, 2, replace=False))
        columns.append((np.arange(domain) >= low) & (np.arange(domain) < high))
    return np.array(columns, dtype=np.float64).T


def _quantiles(found: OrderedFit, edges: Vector) -> float:
    held = []
    for share in SHARES:
        _, low, high = found.quantile(share, Z)
        after = max(int(np.searchsorted(edges, share)), 1)
        true = after - 1 + (share - edges[after - 1]) / (edges[after] - edges[after - 1])
        held.append(low - 1e-9 <= true <= high + 1e-9)
    return _mean(held)


def planner(work: Work) -> list[Verdict]:
    """What is foretold beside what was measured, over the shaped truths."""
    print("\nMeasured over foretold distance, shaped truths")
    ratios, apart = {}, []
    for place in work.grid:
        domain, epsilon, people = place
        foretold = forecast(wave(domain, epsilon, rule_width(domain, epsilon)), people).w1
        ratios[place] = _pooled(work.several(SHAPED, place)) / foretold
        apart.append(_pooled(work.several(HELD, place)) / foretold)
    for place in () if work.quick else FORECAST_ONLY:
        domain, epsilon, people = place
        band = wave(domain, epsilon, rule_width(domain, epsilon))
        rng, each = np.random.default_rng([24, domain, people]), []
        for name in SHAPED:
            law = law_of(name, domain)
            counts = [rng.multinomial(people, band.forward(law)) for _ in range(6)]
            each.append(_mean(distance(fit_ordered(band, c).frequency, law) for c in counts))
        progress(f"forecast: {_place(place)}")
        ratios[place] = _geometric(each) / forecast(band, people).w1
    off = {place: ratio for place, ratio in ratios.items() if not 0.7 <= ratio <= 1.3}
    for place, ratio in off.items():
        print(f"   {_place(place)}: {ratio:.2f}")
    print(f"over the held back, which are easier: {min(apart):.2f} to {max(apart):.2f}")
    return [
        Verdict(
            f"plan: within 30 % in {len(ratios)} settings",
            f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}, median "
            f"{np.median(list(ratios.values())):.2f}, {len(off)} outside",
            not off,
        )
    ]


def times(work: Work) -> list[Verdict]:
    """Processor seconds of one estimate, over the ten truths."""
    print("\nProcessor seconds of one estimate: mean and largest over the ten truths")
    means = {}
    for domain in (64, 256) if work.quick else (64, 256, 1024, 4096):
        for people in (10_000, 1_000_000):
            band = wave(domain, 1.0, rule_width(domain, 1.0))
            rng, spent = np.random.default_rng([25, domain, people]), []
            for law in truths(domain).values():
                counts = rng.multinomial(people, band.forward(law))
                start = time.process_time()
                _ = fit_ordered(band, counts).cdf
                spent.append(time.process_time() - start)
            means[domain, people] = _mean(spent)
            print(f"{domain:6} values, {people:9,} people: {_mean(spent):.3f}  {max(spent):.3f}")
    found = []
    for domain, limit in ((256, 0.3), (1024, 1.0), (4096, 5.0)):
        figures = [spent for (size, _), spent in means.items() if size == domain]
        if figures:
            text = " and ".join(f"{spent:.3f}" for spent in figures)
            found.append(
                Verdict(
                    f"{domain} values: at most {limit} s on average",
                    f"{text} s for 10,000 and 1,000,000 people",
                    max(figures) <= limit,
                )
            )
    return found


PARTS: Mapping[str, Callable[[Work], list[Verdict]]] = {
    "table": table,
    "grid": grid,
    "coverage": coverage,
    "planner": planner,
    "times": times,
}


def progress(words: str) -> None:
    """A line that says where the run is."""
    if sys.stderr.isatty():
        print(f"\r{words:60}", end="\r", file=sys.stderr, flush=True)


def _pooled(rows: Iterable[Cell], name: str = "ours") -> float:
    return _geometric(getattr(cell, name) for cell in rows)


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def _geometric(numbers: Iterable[float]) -> float:
    return math.exp(_mean(math.log(number) for number in numbers))


def _place(place: tuple[int, float, int]) -> str:
    return f"{place[0]:,} values, epsilon {place[1]:g}, {place[2]:,} people"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a look, with three trials")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--cells", type=Path, help="where measured cells are kept")
    parser.add_argument("--settle", action="store_true", help="cells beyond the limit, 50 times")
    options = parser.parse_args(arguments)
    work = Work(Cells(options.cells), options.quick, options.settle)
    found: list[Verdict] = []
    for name in options.only:
        found += PARTS[name](work)
    print()
    for verdict in found:
        print(f"{'pass' if verdict.kept else 'MISS'}  {verdict.promise}: {verdict.figure}")
    return 0 if options.quick or all(verdict.kept for verdict in found) else 1


if __name__ == "__main__":
    sys.exit(main())
