"""The decode table: what each method finds, how much of it is false, and what an oracle would.

    python -m benchmarks.decode_table [--quick] [--out decode-table.json]

First the simulation of Seike, "Evaluating the decoding of RAPPOR", 2025 (128 bits, 8 cohorts,
20,000 people, 200 candidates of which 100 are held, Zipf 0.7, 16 runs), beside reference values
measured apart from this code. Then five situations with a tenth of the candidates held: a
complete dictionary, words that no list has, and no true candidate at all (there the false
discovery rate is the chance of any false word). The oracle knows which candidates are held: least
squares on these alone, z-tests, Benjamini-Hochberg over all candidates.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import rumor
from benchmarks import decode_peers
from rumor.estimators.multiple_testing import benjamini_hochberg
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.lasso import bit_shares
from rumor.kinds.text.fit.refit import refit
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.papers.decoding import zipf

Vector = NDArray[np.float64]
LEVEL = 0.05

# Precision (sd) and recall (sd) over 16 runs for each number of hashes.
SEIKE = {
    1: ((0.813, 0.085), (0.133, 0.025)),
    2: ((0.909, 0.050), (0.171, 0.030)),
    4: ((0.903, 0.058), (0.237, 0.029)),
    8: ((0.919, 0.049), (0.338, 0.041)),
    16: ((0.955, 0.022), (0.460, 0.037)),
    32: ((0.948, 0.028), (0.572, 0.035)),
}
# Unlisted mass and the number of words that share it; None: nobody holds a candidate.
SITUATIONS: dict[str, tuple[float, int] | None] = {
    "complete dictionary": (0.0, 0),
    "30 % on one unlisted word": (0.3, 1),
    "10 % on one unlisted word": (0.1, 1),
    "30 % on 200 unlisted words": (0.3, 200),
    "no true candidate": None,
}


@dataclass(frozen=True)
class Found:
    """One method's answer: which candidates, and the share of each."""

    detected: NDArray[np.bool_]
    frequency: Vector


@dataclass
class Rates:
    """What a method achieved, run by run."""

    precision: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    false: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)

    def add(self, found: Found, held: NDArray[np.bool_], truth: Vector) -> None:
        """Add a run."""
        all_, true = int(found.detected.sum()), int((found.detected & held).sum())
        self.precision.append(true / max(all_, 1))
        self.recall.append(true / max(int(held.sum()), 1))
        self.false.append((all_ - true) / max(all_, 1))
        self.error.append(float(np.abs(found.frequency - truth).sum()))

    def above_level(self) -> float:
        """How many standard errors the false discovery rate lies above the level."""
        spread = float(np.std(self.false, ddof=1)) / math.sqrt(len(self.false))
        excess = float(np.mean(self.false)) - LEVEL
        return excess / spread if spread > 0 else math.copysign(math.inf, excess)


def oracle(summary: rumor.Summary, made: Candidates, held: NDArray[np.bool_]) -> Found:
    """Least squares on the words held, tested as if there were all the candidates."""
    shares = bit_shares(summary)
    rows = made.rows[held[made.order]]
    found = refit(rows, made.bloom.hashes, shares.share, shares.weight)
    p_value, frequency = np.ones(len(made)), np.zeros(len(made))
    normal = NormalDist()
    there = np.flatnonzero(held[made.order])
    z = found.unbiased / found.stderr
    p_value[there] = [normal.cdf(-value) for value in z.tolist()]
    detected = benjamini_hochberg(p_value, LEVEL)
    chosen = refit(made.rows[detected], made.bloom.hashes, shares.share, shares.weight)
    frequency[detected] = chosen.coefficients
    return Found(made.restore(detected), made.restore(frequency))


def ours(method: str) -> Callable[[rumor.Rappor, rumor.Summary, Candidates], Found]:
    def run(rappor: rumor.Rappor, summary: rumor.Summary, made: Candidates) -> Found:
        result = rumor.estimate(rappor, summary, candidates=made, method=method, level=LEVEL)
        return Found(result.detected, result.frequency)

    return run


def seike(runs: int, console: Console) -> Iterator[dict[str, object]]:
    """The published simulation, for each number of hashes, beside the reference values."""
    words, shares = [f"{i:03d}" for i in range(1, 201)], zipf(100)
    held = np.arange(200) < 100
    truth = np.where(held, np.pad(shares, (0, 100)), 0.0)
    methods = {"lasso-ols": ours("lasso-ols"), **decode_peers.methods(Found)}
    for hashes, (precision, recall) in SEIKE.items():
        rates = {name: Rates() for name in methods}
        for run in track(range(runs), f"{hashes} hashes", console=console, transient=True):
            rappor = rumor.Rappor(
                bits=128, hashes=hashes, cohorts=8, f=0, p=0.5, q=0.75, key=b"seike %d" % run
            )
            rng = np.random.default_rng([run, hashes])
            # As published: 2,500 people in each cohort.
            counts = np.stack([rng.multinomial(2_500, shares) for _ in range(8)], axis=1)
            summary = simulate_counts(rappor, words[:100], counts, random=rumor.Seeded(run))
            made = candidate_map(rappor.bloom, words)
            for name, method in methods.items():
                rates[name].add(method(rappor, summary, made), held, truth)
        for name, found in rates.items():
            yield {
                "hashes": hashes,
                "method": name,
                "precision": _mean(found.precision),
                "recall": _mean(found.recall),
                "false": _mean(found.false),
                "error": _mean(found.error),
                "reference": [precision, recall],
                "distance": [
                    _distance(found.precision, *precision),
                    _distance(found.recall, *recall),
                ],
            }


def situations(
    candidates: int, cohorts: int, people: int, runs: int, console: Console
) -> Iterator[dict[str, object]]:
    """The five situations at one size."""
    words, active = [f"word {i}" for i in range(candidates)], candidates // 10
    methods = {"auto": ours("auto"), "lasso-ols": ours("lasso-ols")}
    for name, unlisted in SITUATIONS.items():
        holders, shares, truth = _crowd(words, active, unlisted)
        held = truth > 0
        rates = {method: Rates() for method in (*methods, "oracle")}
        for run in track(range(runs), name, console=console, transient=True):
            rappor = rumor.Rappor(
                bits=128, hashes=2, cohorts=cohorts, f=0, p=0.5, q=0.75, key=b"table %d" % run
            )
            counts = np.random.default_rng(run).multinomial(people, shares)
            summary = simulate_counts(rappor, holders, counts, random=rumor.Seeded(run))
            made = candidate_map(rappor.bloom, words)
            for method, decode in methods.items():
                rates[method].add(decode(rappor, summary, made), held, truth)
            if held.any():
                rates["oracle"].add(oracle(summary, made, held), held, truth)
        best = _mean(rates["oracle"].recall) if held.any() else math.nan
        for method, found in rates.items():
            if found.false:
                yield {
                    "candidates": candidates,
                    "people": people,
                    "situation": name,
                    "method": method,
                    "runs": runs,
                    "precision": _mean(found.precision),
                    "recall": _mean(found.recall),
                    "oracle": best,
                    "false": _mean(found.false),
                    "above_level": found.above_level(),
                    "error": _mean(found.error),
                }


def _crowd(
    words: Sequence[str], active: int, unlisted: tuple[float, int] | None
) -> tuple[list[str], Vector, Vector]:
    """Words that people hold, their shares, and the shares of the candidates."""
    truth = np.zeros(len(words))
    if unlisted is None:
        return [f"unlisted {i}" for i in range(active)], zipf(active), truth
    mass, others = unlisted
    truth[:active] = zipf(active) * (1 - mass)
    names = [*words[:active], *(f"unlisted {i}" for i in range(others))]
    return names, np.concatenate([truth[:active], np.full(others, mass / max(others, 1))]), truth


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _distance(values: Sequence[float], reference: float, spread: float) -> float:
    """The difference from a reference of 16 runs, in standard errors of the difference."""
    own = float(np.var(values, ddof=1)) / len(values)
    return (_mean(values) - reference) / math.sqrt(own + spread**2 / 16)


def _print_seike(rows: Sequence[dict[str, object]], runs: int, console: Console) -> None:
    table = Table(title=f"Seike 2025: {runs} runs (the reference: 16)", title_justify="left")
    for heading in ("hashes", "method", "precision", "reference", "recall", "reference", "error"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    table.add_column("distance in s.e.", justify="right")
    for row in rows:
        far, hashes = row["distance"], row["hashes"]
        assert isinstance(far, list)
        assert isinstance(hashes, int)
        (precision, p_sd), (recall, r_sd) = SEIKE[hashes]
        table.add_row(
            str(row["hashes"]),
            str(row["method"]),
            f"{row['precision']:.3f}",
            f"{precision:.3f} ({p_sd:.3f})",
            f"{row['recall']:.3f}",
            f"{recall:.3f} ({r_sd:.3f})",
            f"{row['error']:.2f}",
            f"{far[0]:+.1f}, {far[1]:+.1f}",
        )
    console.print(table)


def _print_situations(rows: Sequence[dict[str, object]], console: Console) -> None:
    first = rows[0]
    table = Table(
        title=f"{first['candidates']:,} candidates, {first['people']:,} people, "
        f"{first['runs']} runs, nominal {LEVEL:.0%}",
        title_justify="left",
    )
    for heading in ("situation", "method"):
        table.add_column(heading)
    for heading in ("precision", "recall", "oracle", "false discoveries", "above 5 %", "error"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        above = row["above_level"]
        assert isinstance(above, float)
        # One-sided at 1 %.
        verdict = "" if row["method"] == "oracle" else "held" if above < 2.326 else "NOT held"
        table.add_row(
            str(row["situation"]),
            str(row["method"]),
            f"{row['precision']:.3f}",
            f"{row['recall']:.3f}",
            f"{row['oracle']:.3f}",
            f"{row['false']:.4f}",
            "" if row["method"] == "oracle" else "always" if above > 1e9 else f"{above:+.1f} s.e.",
            f"{row['error']:.3f}",
            verdict,
        )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode_table", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--out", type=Path, help="write the numbers as JSON")
    options = parser.parse_args()
    console = Console(width=140)
    part = 10 if options.quick else 1
    published = list(seike(max(4, 16 // part), console))
    _print_seike(published, max(4, 16 // part), console)
    everything: dict[str, object] = {"seike": published}
    for candidates, cohorts, people, runs in ((200, 8, 20_000, 300), (1_000, 16, 200_000, 60)):
        rows = list(situations(candidates, cohorts, people, runs // part, console))
        _print_situations(rows, console)
        everything[f"{candidates} candidates"] = rows
    if options.out is not None:
        options.out.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
