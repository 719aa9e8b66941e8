"""Whether numbers that people see are what they say: each promise beside its measured figure.

    python -m benchmarks.honest_table [--quick] [--only rows leaders ...] [--cells FILE]

The truths are those of honest_truths.py, fixed by a rule; with the package wordfreq installed
there are fourteen, else ten. A block is a number of values, of people and an epsilon; it has 400
runs over all truths (28 in the quick form, which has no block of 20,000 values: a couple of
minutes, and no verdict worth having). A cell of the sweep that is beyond a limit (leaders in more
than 5 % of its runs, or an error above 1.1 of the projection's from 300 values on) is run again,
100 times with fresh seeds, and counts with that: 29 runs do not resolve it. `--cells` keeps the
sweep's cells in a file, a line each, and reads them again if the file is there: the sweep takes
half an hour of one core. What words are found, and how many of them are false, is in
honest_words.py.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

import rumor
from benchmarks.frequency_tables import LAWS, STRESS, measure, published
from benchmarks.honest_sweep import (
    DOMAINS,
    EPSILONS,
    PEOPLE,
    RUNS,
    Cell,
    Vector,
    again,
    cells,
    few_values,
    largest_step,
)
from benchmarks.honest_truths import everyday, truths
from rumor.kinds.planning.forecast import default_error, default_range, drawn_tally
from rumor.mechanisms.summary import Summary
from rumor.papers.frequency import ORACLES, truth
from rumor.results.view import View

# Trials of a published cell by its people, and of a cell of the stress list.
PUBLISHED_TRIALS = {1_000: 48, 10_000: 24, 100_000: 6}
STRESS_TRIALS = 10
SETTLING_RUNS = 100
EVERYDAY_TRUTHS, EVERYDAY_RUNS = 16, 60
EVERYDAY_PEOPLE, EVERYDAY_EPSILONS = (500, 1_000, 5_000), (0.5, 1.0)
STEP_DOMAINS, STEP_EPSILONS = (2, 5, 8, 12, 20, 50, 3_000, 30_000), (0.5, 2.0, 6.0)
REFINED_CELLS = ((100, 3_000, 2.0), (100, 3_000, 4.0), (1000, 10_000, 2.0), (1000, 10_000, 4.0))


@dataclass(frozen=True)
class Verdict:
    """A promise, what was measured, and whether it is kept."""

    promise: str
    figure: str
    kept: bool


@dataclass(frozen=True)
class Work:
    """What there is to do it with: the sweep's cells, and whether to be quick."""

    sweep: Callable[[], Sequence[Cell]]
    quick: bool
    seed: int = 41

    def settled(self, cell: Cell) -> Cell:
        """A cell beyond a limit, run again."""
        return cell if self.quick else again(cell, SETTLING_RUNS)

    def trials(self, full: int, quick: int) -> int:
        """So many, or so few."""
        return quick if self.quick else full


def blocks(found: Iterable[Cell]) -> dict[tuple[int, int, float], list[Cell]]:
    """Cells of the same values, people and epsilon."""
    groups: dict[tuple[int, int, float], list[Cell]] = {}
    for cell in found:
        groups.setdefault((cell.domain, cell.people, cell.epsilon), []).append(cell)
    return groups


def rows_shown(work: Work) -> list[Verdict]:
    """How often the ten rows of a table hold the truth."""
    print("\nRows shown: ten rows of 95 % intervals, by block")
    print(" values    people  epsilon  runs  plain  covered  first  width")
    covered, first, width = [], [], []
    for (domain, people, epsilon), group in blocks(work.sweep()).items():
        covered.append(_mean(cell.covered for cell in group))
        first.append(_mean(cell.first for cell in group))
        width.append(math.exp(_mean(math.log(cell.width) for cell in group)))
        print(
            f"{domain:7,} {people:9,} {epsilon:8g} {sum(cell.runs for cell in group):5} "
            f"{_mean(cell.plain for cell in group):6.3f} {covered[-1]:8.3f} {first[-1]:6.3f} "
            f"{width[-1]:6.3f}"
        )
    return [
        Verdict("rows shown: at least .95 in every block", _least(covered), min(covered) >= 0.95),
        Verdict("first row: at least .93 in every block", _least(first), min(first) >= 0.93),
        Verdict(
            "width over plain: at most 1.2 over blocks",
            f"{_mean(width):.3f} (largest block {max(width):.3f})",
            _mean(width) <= 1.2,
        ),
    ]


def leaders(work: Work) -> list[Verdict]:
    """How often the largest answer is above three times the largest truth, without signal."""
    print("\nInvented leaders in cells without signal (1/D for all has below 1.5 of the error)")
    silent = [cell for cell in work.sweep() if cell.silent]
    silent = [work.settled(cell) if cell.leaders > 0.05 else cell for cell in silent]
    for domain in sorted({cell.domain for cell in silent}):
        group = [cell.leaders for cell in silent if cell.domain == domain]
        print(f"{domain:7,} values: {len(group):3} cells, mean {_mean(group):.4f}, {_most(group)}")
    for cell in silent:
        if cell.leaders > 0.02:
            print(f"   {_where(cell)}: {cell.leaders:.3f} of {cell.runs} runs")
    found = [cell.leaders for cell in silent]
    return [
        Verdict(
            "leaders: at most 1 % of runs on average", f"{_mean(found):.4f}", _mean(found) <= 0.01
        ),
        Verdict("leaders: at most 10 % in any cell", _most(found), max(found) <= 0.1),
    ]


def errors(work: Work) -> list[Verdict]:
    """The default beside the projection."""
    print("\nThe default's squared error over the projection's")
    found = [
        work.settled(cell) if cell.ratio > 1.1 and cell.domain >= 300 else cell
        for cell in work.sweep()
    ]
    for domain in sorted({cell.domain for cell in found}):
        group = [cell for cell in found if cell.domain == domain]
        high = [cell for cell in group if cell.ratio > 1.1]
        average = _geometric(cell.ratio for cell in group)
        print(f"{domain:7,} values: geometric mean {average:.3f}; above 1.1:")
        for cell in high:
            print(f"   {_where(cell)}: {cell.ratio:.2f}")
    large = [cell for cell in found if cell.domain >= 300]
    spread = [cell for cell in large if not cell.few]
    few = sum(cell.ratio > 1.1 for cell in large if cell.few)
    worst = max(cell.ratio for cell in spread)
    return [
        Verdict(
            "from 300 values on, no cell above 1.1 but of one or a few values",
            f"largest {worst:.2f} ({few} cells of one or a few values above)",
            worst <= 1.1,
        )
    ]


def everyday_questions(work: Work) -> list[Verdict]:
    """The default beside the projection, with 5 to 12 values."""
    print(
        f"\nEveryday questions, 5 to 12 values, truths of seed {work.seed}: the default's squared"
    )
    print("error over the projection's, randomised response and subset selection")
    found: dict[str, float] = {}
    runs = work.trials(EVERYDAY_RUNS, 10)
    for (name, law), people, epsilon in product(
        everyday(work.seed, EVERYDAY_TRUTHS).items(), EVERYDAY_PEOPLE, EVERYDAY_EPSILONS
    ):
        rng = np.random.default_rng([work.seed, len(found)])
        for place, ratio in enumerate(few_values(law, people, epsilon, runs, rng)):
            mechanism = ("randomised response", "subset selection")[place]
            found[f"{name}, {people:,} people, epsilon {epsilon:g}, {mechanism}"] = ratio
    for name, ratio in found.items():
        if ratio > 1.1:
            print(f"   {name}: {ratio:.2f}")
    ratios = list(found.values())
    average, worst = _geometric(ratios), max(ratios)
    above = _mean(ratio > 1.1 for ratio in ratios)
    return [
        Verdict("everyday: at most .65 in geometric mean", f"{average:.3f}", average <= 0.65),
        Verdict(
            "everyday: above 1.1 in at most 15 % of the cells",
            f"{above:.3f} of {len(ratios)} cells of {runs} runs",
            above <= 0.15,
        ),
        Verdict("everyday: at most 1.4 in any cell", f"largest {worst:.2f}", worst <= 1.4),
    ]


def one_more_report(work: Work) -> list[Verdict]:
    """How far one more report moves a share that is shown."""
    print("\nOne more report: the largest move of a share over what is allowed")
    found, rng = [], np.random.default_rng([work.seed, 5])
    for domain, epsilon in product(STEP_DOMAINS, STEP_EPSILONS):
        rank = np.arange(1.0, domain + 1)
        laws = (1 / rank, np.ones(domain), np.where(rank == 1, 9.0 * (domain - 1), 1.0))
        mechanisms = {
            name: make(domain, epsilon) for name, make in ORACLES.items() if domain < 300
        } or {"subset": rumor.SubsetSelection(domain=domain, epsilon=epsilon)}
        for (name, oracle), law, start in product(mechanisms.items(), laws, (20, 60, 295)):
            values = rng.choice(domain, size=start + work.trials(12, 6), p=law / law.sum())
            step = largest_step(oracle, values, start, work.seed)
            found.append(step)
            if step > 1:
                print(f"   {name}, {domain:,} values, epsilon {epsilon:g}, {start}: {step:.2f}")
    largest = max(found)
    return [
        Verdict(
            "one more report moves no share by more than one standard error, or twice the "
            "largest move of an unbiased share",
            f"largest {largest:.2f} of that in {len(found)} streams",
            largest <= 1,
        )
    ]


def published_cells(work: Work) -> list[Verdict]:
    """The default on the published cells, by mechanism, and on the stress list."""
    cells_ = _published_ratios(work)
    print(
        "\nThe squared error over the best of five published numbers, in each cell; known: of the"
    )
    print("posterior mean from the counts of symmetric unary, were the true shares the prior")
    print(
        "law         epsilon    people  best published  symmetric unary  refined on it    "
        "subset selection known"
    )
    for cell in cells_:
        told = (f"{mean:7.3f} ± {error:.3f}" for mean, error in cell.ratios.values())
        print(
            f"{cell.law:10} {cell.epsilon:8g} {cell.people:9,} {cell.best:15.4g} {' '.join(told)}"
        )
    ratios = {name: [cell.ratios[name][0] for cell in cells_] for name in cells_[0].ratios}
    print("\n| Rumor's | lower in | geometric mean | largest |\n|---|---|---|---|")
    for name, (_, _, said) in PUBLISHED_ROWS.items():
        found = ratios[name]
        below = sum(ratio < 1 for ratio in found)
        print(f"| {said} | {below} of {len(found)} | {_geometric(found):.2f} | {max(found):.2f} |")
    projections = []
    for name, law, domain, epsilon, people in STRESS:
        if work.quick and people * domain > 10_000_000:
            continue
        trials, oracle_ = work.trials(STRESS_TRIALS, 2), ORACLES[name](domain, epsilon)
        stress = measure(oracle_, truth(law, domain), people, trials, ("projection", "auto"))
        floor = 0.05 / people
        projections.append((stress.mean["auto"] + floor) / (stress.mean["projection"] + floor))
    first, unary = _geometric(ratios["subset"]), _geometric(ratios["unary"])
    second, worst = _geometric(projections), max(ratios["refined"])
    over = [min(r, r / k) for r, k in zip(ratios["unary"], ratios["known"], strict=True)]
    return [
        Verdict(
            "published cells, our reports of subset selection: at most .58 of the best published",
            f"{first:.3f}, {_below(ratios['subset'])}",
            first <= 0.58,
        ),
        Verdict(
            "published cells, our reports of symmetric unary encoding, as theirs: at most .75",
            f"{unary:.3f}, {_below(ratios['unary'])}",
            unary <= 0.75,
        ),
        Verdict(
            "published cells, symmetric unary encoding: none above 1.05 of the best published, "
            "unless of what its counts allow",
            f"largest {max(over):.2f} ({max(ratios['unary']):.2f} of the best published)",
            max(over) <= 1.05,
        ),
        Verdict(
            "published cells, symmetric unary encoding, refined: none above 1.05",
            f"largest {worst:.2f}, geometric mean {_geometric(ratios['refined']):.3f}",
            worst <= 1.05,
        ),
        Verdict(
            "stress list: at most .41 of the projection",
            f"{second:.3f}, largest {max(projections):.2f}, {len(projections)} cells",
            second <= 0.41,
        ),
    ]


# Mechanism, method and a row of the README's table.
PUBLISHED_ROWS = {
    "unary": ("symmetric", "auto", "default on symmetric unary encoding, as the document"),
    "refined": ("symmetric", "refined", "method `refined` on it, a second pass over the reports"),
    "subset": ("subset", "auto", "default on subset selection, which it would choose"),
}
KNOWN = {"known": ("symmetric", "known", "")}


@dataclass(frozen=True)
class PublishedCell:
    """A cell of the published tables, and the default's error over it on reports of our own."""

    law: str
    epsilon: float
    people: int
    best: float
    ratios: Mapping[str, tuple[float, float]]
    """By mechanism: the ratio, and its standard error."""


def _published_ratios(work: Work) -> list[PublishedCell]:
    """Return every published cell with the ratios of each row, and of known shares."""
    told = []
    for (name, epsilon, people), best in published().items():
        if work.quick and people > 10_000:
            continue
        trials, law = work.trials(PUBLISHED_TRIALS[people], 2), truth(LAWS[name], 1000)
        ratios = {}
        for row, (mechanism, method, _) in (PUBLISHED_ROWS | KNOWN).items():
            cell = measure(ORACLES[mechanism](1000, epsilon), law, people, trials, (method,))
            ratios[row] = cell.mean[method] / best, cell.stderr[method] / best
        told.append(PublishedCell(name, epsilon, people, best, ratios))
    return told


def _below(ratios: Sequence[float]) -> str:
    above = [f"{ratio:.2f}" for ratio in sorted(ratios) if ratio >= 1]
    told = f" (the others {', '.join(above)})" if above else ""
    return f"{len(ratios) - len(above)} of {len(ratios)} cells below it{told}"


def simultaneous(work: Work) -> list[Verdict]:
    """All intervals at once, where an absent value is expected to have 13 reports."""
    people, epsilon, runs = 300, 3.0, work.trials(400, 28)
    held = []
    for domain in (300, 2000):
        oracle, laws = rumor.SubsetSelection(domain=domain, epsilon=epsilon), truths(domain)
        covered = 0
        each = math.ceil(runs / len(laws))
        for place, law in enumerate(laws.values()):
            rng = np.random.default_rng([19, domain, place])
            for _ in range(each):
                summary = Summary(oracle, people, drawn_tally(oracle, law, people, rng))
                result = rumor.estimate(oracle, summary, method="projection")
                low, high = result.interval(0.95, simultaneous=True)
                covered += bool(((low <= law) & (law <= high)).all())
        held.append(covered / (each * len(laws)))
        expected = people * oracle.miss
        print(
            f"\nsimultaneous, {domain:,} values, {expected:.1f} reports expected of an absent one: "
            f"{held[-1]:.3f} of {each * len(laws)} runs"
        )
    return [Verdict("simultaneous: at least .945", _least(held), min(held) >= 0.945)]


def keys(work: Work) -> list[Verdict]:
    """The first ten of 100 keys: their shares, and their means."""
    found: dict[str, list[float]] = {"frequency": [], "mean": []}
    runs = work.trials(25, 3)
    view = View(order="estimate", rows=10)
    rank, rng = np.arange(100.0), np.random.default_rng(20)
    shapes = (1 / (rank + 2), 0.35 * np.exp(-rank / 30))
    mean = rank * (math.sqrt(5) - 1) / 2 % 1 - 0.5
    for people in (10_000, 100_000):
        for epsilon in (1.0, 3.0):
            block = rumor.KeyValueBlock(keys=100, epsilon=epsilon)
            for frequency in shapes:
                for _ in range(runs):
                    result = _keys(block, frequency, mean, people, rng)
                    order = result.ranking(10)
                    for quantity, true in (("frequency", frequency), ("mean", mean)):
                        low, high = result.bounds(order, view, quantity)
                        held = (low <= true[order]) & (true[order] <= high)
                        found[quantity].append(float(held.mean()))
    share, means = (_mean(values) for values in found.values())
    return [
        Verdict("keys shown: shares at least .95", f"{share:.3f}", share >= 0.95),
        Verdict("keys shown: means at least .95", f"{means:.3f}", means >= 0.95),
    ]


def _keys(
    block: rumor.KeyValueBlock,
    frequency: Vector,
    mean: Vector,
    people: int,
    rng: np.random.Generator,
) -> rumor.KeyValueEstimate:
    """People who hold keys independently, each with a value of 1 or -1; a block asks one key."""
    held = rng.random((people, frequency.size)) < frequency
    values = np.where(rng.random(held.shape) < (1 + mean) / 2, 1.0, -1.0)
    table = np.where(held, values, np.nan)
    reports = block.privatize(table, random=rumor.Seeded(int(rng.integers(1 << 60))))
    return rumor.estimate(block, reports)


def refined(work: Work) -> list[Verdict]:
    """The second pass beside the default, on the truths of the sweep."""
    ratios: dict[str, list[float]] = {"subset": [], "symmetric": []}
    for (name, found), (domain, people, epsilon) in product(ratios.items(), REFINED_CELLS):
        oracle = ORACLES[name](domain, epsilon)
        for law in truths(domain).values():
            cell = measure(oracle, law, people, work.trials(6, 1), ("refined", "auto"))
            floor = 0.05 / people
            found.append((cell.mean["refined"] + floor) / (cell.mean["auto"] + floor))
    mean = {name: _geometric(found) for name, found in ratios.items()}
    told = {
        name: f"{mean[name]:.3f} over {len(found)} cells, {min(found):.2f} to {max(found):.2f}"
        for name, found in ratios.items()
    }
    return [
        Verdict(
            "refined is said to gain nothing on subset selection: within 3 % of auto",
            told["subset"],
            abs(mean["subset"] - 1) <= 0.03,
        ),
        Verdict(
            "refined on symmetric unary encoding: at most .95 of auto",
            told["symmetric"],
            mean["symmetric"] <= 0.95,
        ),
    ]


def plan(work: Work) -> list[Verdict]:
    """Whether the errors of the sweep lie in the plan's range."""
    inside, below, above, spans, count = 0, 0, 0, [], 0
    for (domain, people, epsilon), group in blocks(work.sweep()).items():
        oracle = rumor.SubsetSelection(domain=domain, epsilon=epsilon)
        zipf = default_error(oracle, people)
        assert zipf is not None
        found = default_range(oracle, people, zipf)
        assert found is not None
        spans.append(found.high / found.low)
        for cell in group:
            error = math.sqrt(cell.error / domain)
            count += 1
            inside += found.low <= error <= found.high
            below += error < found.low
            above += error > found.high
    return [
        Verdict(
            "plan: the range holds in 90 % of the cells",
            f"{inside / count:.3f} of {count} cells ({below} below it, {above} above; "
            f"high over low {_geometric(spans):.1f})",
            inside / count >= 0.9,
        )
    ]


def sums(work: Work) -> list[Verdict]:
    """The quieter half of 300 values: added up, and as a share of its own."""
    law, oracle = truths(300)["pareto"], rumor.SubsetSelection(domain=300, epsilon=1.0)
    rng, quiet, rows, shares, covered = np.random.default_rng(21), range(150, 300), [], [], 0
    runs, true = work.trials(200, 20), float(law[150:].sum())
    for _ in range(runs):
        summary = Summary(oracle, 3_000, drawn_tally(oracle, law, 3_000, rng))
        result = rumor.estimate(oracle, summary)
        share = result.share(quiet)
        rows.append(float(result.frequency[150:].sum()))
        shares.append(share.unbiased)
        covered += share.low <= true <= share.high
    return [
        Verdict(
            "sums: share() is unbiased and covered at least .93",
            f"{_mean(shares):.3f} for {true:.3f} (rows added up: {_mean(rows):.3f}), covered "
            f"{covered / runs:.3f} of {runs} runs",
            covered / runs >= 0.93 - (0.1 if work.quick else 0.0),
        )
    ]


PARTS: Mapping[str, Callable[[Work], list[Verdict]]] = {
    "rows": rows_shown,
    "leaders": leaders,
    "errors": errors,
    "everyday": everyday_questions,
    "steps": one_more_report,
    "simultaneous": simultaneous,
    "keys": keys,
    "published": published_cells,
    "refined": refined,
    "plan": plan,
    "sums": sums,
}


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def _geometric(numbers: Iterable[float]) -> float:
    return math.exp(_mean(math.log(number) for number in numbers))


def _least(numbers: Sequence[float]) -> str:
    return f"least {min(numbers):.3f}, mean {_mean(numbers):.3f}"


def _most(numbers: Sequence[float]) -> str:
    return f"largest {max(numbers):.3f}"


def _where(cell: Cell) -> str:
    return f"{cell.truth}, {cell.domain:,} values, {cell.people:,} people, epsilon {cell.epsilon:g}"


def swept(path: Path | None, quick: bool) -> Sequence[Cell]:
    """The cells of the sweep, from the file if it is there."""
    if path is not None and path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Cell(**json.loads(line)) for line in lines]
    domains, runs = (DOMAINS[:3], 28) if quick else (DOMAINS, RUNS)
    total, found = len(domains) * len(PEOPLE) * len(EPSILONS) * len(truths(domains[0])), []
    for cell in cells(domains, runs):
        found.append(cell)
        print(f"\rsweep: {len(found)} of {total} cells", end="", file=sys.stderr, flush=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(cell)) + "\n")
    print(file=sys.stderr)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a look, without 20,000 values")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seed", type=int, default=41, help="of truths and streams of few values")
    parser.add_argument("--cells", type=Path, help="where the cells of the sweep are kept")
    options = parser.parse_args(arguments)
    known: list[Sequence[Cell]] = []

    def sweep() -> Sequence[Cell]:
        if not known:
            known.append(swept(options.cells, options.quick))
        return known[0]

    found: list[Verdict] = []
    for name in options.only:
        found += PARTS[name](Work(sweep, options.quick, options.seed))
    print()
    for verdict in found:
        print(f"{'pass' if verdict.kept else 'MISS'}  {verdict.promise}: {verdict.figure}")
    return 0 if options.quick or all(verdict.kept for verdict in found) else 1


if __name__ == "__main__":
    sys.exit(main())
