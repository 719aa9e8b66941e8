"""A primer of RAPPOR, after Erlingsson, Pihur and Korolova (2014).

Two numbers can be held to: the example's 145 set bits and its 2 surviving ones, each a single
draw, so their spread is that of one report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import rumor
from rumor.core.randomness import StreamDraws
from rumor.mechanisms.summary import Summary
from rumor.papers.model import (
    Cell,
    Claim,
    Figure,
    Numbers,
    PaperTable,
    Parameters,
    Point,
    Results,
    paper_of,
)

SIZES = (1_000, 10_000, 100_000)
BINS: Mapping[str, int] = {"50 bins": 50, "integers": 101}
DRAWS = 200
TRIALS = 20


def stages(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the set bits of each stage, for one draw with fixed seeds."""
    rappor = _example()
    bits = int.from_bytes(rappor.bloom.filter("68", cohort=0), "little")
    first, second = parameters["seeds"]
    permanent = rappor.noise.draw_permanent(bits, 256, StreamDraws(rumor.Seeded(first).stream()))
    report = rappor.noise.report(permanent, 256, StreamDraws(rumor.Seeded(second).stream()))
    found: dict[str, list[float]] = {
        "bits in the report": [float(report.bit_count())],
        "bits that survive": [float((bits & permanent).bit_count())],
    }
    for name, row in (("filter", bits), ("permanent", permanent), ("report", report)):
        found |= {f"{name}/{i}": [1.0] for i in range(256) if row >> i & 1}
    return found


def example(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return how many bits are set, and how many of the word's own survive, over many draws."""
    rappor = _example()
    bits = int.from_bytes(rappor.bloom.filter("68", cohort=0), "little")
    draws = StreamDraws(rumor.Seeded(seed).stream())
    found: dict[str, list[float]] = {}
    for _ in range(trials):
        permanent = rappor.noise.draw_permanent(bits, 256, draws)
        report = rappor.noise.report(permanent, 256, draws)
        found.setdefault("bits in the filter", []).append(bits.bit_count())
        found.setdefault("permanent bits", []).append(permanent.bit_count())
        found.setdefault("bits in the report", []).append(report.bit_count())
        found.setdefault("bits that survive", []).append((bits & permanent).bit_count())
    return found


def _example() -> rumor.Rappor:
    return rumor.Rappor(bits=256, hashes=4, cohorts=1, f=0.5, p=0.5, q=0.75, key=b"example")


def normal(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the normal distribution learned: counts by bin, and their error.

    "as printed" de-biases with all samples, dropped ones included; "rms error" uses the reports
    received. "expected" is the exact standard error, the people held fixed.
    """
    people, bins = parameters["people"], parameters["bins"]
    width = 2.0 if bins == 50 else 1.0
    edges = np.arange(bins + 1) * width - (0.0 if bins == 50 else 0.5)
    oracle = rumor.Rappor.basic(labels=bins, f=0, p=0.5, q=0.75)
    found: dict[str, list[float]] = {}
    for trial in range(seed, seed + trials):
        samples = np.random.default_rng(trial).normal(50, 10, people)
        truth = np.histogram(samples, edges)[0]
        codes = np.repeat(np.arange(bins), truth)
        reports = oracle.privatize(codes, random=rumor.Seeded(trial))
        tally = Summary.empty(oracle).update(reports).tally
        counts = oracle.unbiased(tally, codes.size) * codes.size
        raw = oracle.support_counts(tally)
        printed = (raw - 0.5 * people) / 0.25
        found.setdefault("rms error", []).append(float(np.sqrt(np.mean((counts - truth) ** 2))))
        found.setdefault("rms error as printed", []).append(
            float(np.sqrt(np.mean((printed - truth) ** 2)))
        )
        spread = oracle.variance(truth / codes.size, codes.size, "people")
        found.setdefault("expected", []).append(float(np.sqrt(spread.mean())) * codes.size)
        found.setdefault("largest bin", []).append(float(truth.max()))
        found.setdefault("dropped", []).append(float(people - codes.size))
        default = rumor.estimate(oracle, reports).frequency * codes.size
        found.setdefault("rms error of the default", []).append(
            float(np.sqrt(np.mean((default - truth) ** 2)))
        )
        if trial == seed:
            for name, values in (("true", truth), ("estimate", counts), ("default", default)):
                found |= {f"{name}/{i}": [float(values[i])] for i in range(bins)}
    return found


def variants(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the loss of both mechanisms that are called one-time RAPPOR, and of basic RAPPOR."""
    text = rumor.Rappor.one_time(key=b"variants", f=0.5, hashes=1)
    code = rumor.Rappor(bits=128, hashes=1, cohorts=64, f=0, p=0.5, q=0.75, key=b"variants")
    return {
        "permanent bits sent, f 0.5": [text.epsilon],
        "f = 0, p 0.5, q 0.75": [code.epsilon],
        "basic, f = 0, p 0.5, q 0.75": [rumor.Rappor.basic(labels=50, f=0, p=0.5, q=0.75).epsilon],
    }


def cells() -> Sequence[Cell]:
    """Return every cell of the primer."""
    made = [
        Cell("stages", stages, {"seeds": [36, 1]}),
        Cell("example", example, {}, DRAWS, 20),
        Cell("variants", variants),
    ]
    for people in SIZES:
        for name, bins in BINS.items():
            settings = {"people": people, "bins": bins}
            made.append(Cell(f"normal/{name}/{people}", normal, settings, TRIALS, 3))
    return made


def tables(results: Results) -> Sequence[PaperTable]:
    """Return the example, the figure's errors, and the variants."""
    return [_drawn(results), _learned(results), _variants(results)]


def _drawn(results: Results) -> PaperTable:
    found, rows = results.numbers["example"], []
    expected = {
        "bits in the filter": 4.0,
        "permanent bits": 252 * 0.25 + 4 * 0.75,
        "bits in the report": 66 * 0.75 + 190 * 0.5,
        "bits that survive": 4 * 0.75,
    }
    for name, mean in expected.items():
        rows.append((name, f"{mean:g}", f"{found[name].mean:.2f}", f"{found[name].spread:.2f}"))
    head = ("of 256 bits", "expected", "mean of the draws", "their spread")
    return PaperTable("example", "The example drawn again and again", head, rows)


def _learned(results: Results) -> PaperTable:
    rows = []
    for people in SIZES:
        for name in BINS:
            shown = results.numbers[f"normal/{name}/{people}"]
            error, largest = shown["rms error"], shown["largest bin"].mean
            rows.append(
                (
                    f"{people:,}",
                    name,
                    f"{largest:,.0f}",
                    f"{shown['expected'].mean:,.1f}",
                    f"{error.mean:,.1f} ± {error.stderr:,.1f}",
                    f"{shown['rms error as printed'].mean:,.1f}",
                    f"{shown['rms error of the default'].mean:,.1f}",
                    f"{error.mean / largest:.0%}",
                )
            )
    head = ("people", "values", "largest bin", "expected error", "error", "as printed")
    more = ("Rumor's default", "error / largest bin")
    return PaperTable(
        "normal", "The normal distribution: error of a bin's count", (*head, *more), rows
    )


def _variants(results: Results) -> PaperTable:
    shown = results.numbers["variants"]
    rows = [(name, f"{shown[name].mean:.4f}") for name in shown]
    return PaperTable(
        "variants", "Two things called one-time", ("variant (h = 1)", "epsilon"), rows
    )


def figures(results: Results) -> Sequence[Figure]:
    """Return the example's bits, and the normal distribution at three sizes."""
    points = []
    for name, label in (
        ("filter", "filter B"),
        ("permanent", "permanent B'"),
        ("report", "report S"),
    ):
        for quantity in results.numbers["stages"]:
            if quantity.startswith(f"{name}/"):
                points.append(Point(label, float(quantity.split("/")[1]), 1.0))
    title = "The example: bits set for the value 68"
    note = "A draw with the document's counts: 2 of 4 bits survive, 145 are set in the report."
    made = [Figure("example", title, "bit", "", points, "tick", note=note)]
    points = []
    for people in SIZES:
        shown = results.numbers[f"normal/50 bins/{people}"]
        for i in range(50):
            facet = f"{people:,} people"
            points.append(Point("true counts", 2 * i + 1.0, shown[f"true/{i}"].mean, facet))
            points.append(Point("estimate", 2 * i + 1.0, shown[f"estimate/{i}"].mean, facet))
            points.append(Point("Rumor's default", 2 * i + 1.0, shown[f"default/{i}"].mean, facet))
    title = "A normal distribution learned with Basic RAPPOR (q = 0.75, p = 0.5, f = 0)"
    made.append(Figure("normal", title, "value", "people in the bin", points, "bar", shared=False))
    return made


PAPER = paper_of(
    "rappor-primer",
    cells=cells(),
    claims=(
        Claim("Example", "bits in the report", "v = 68", 145, "example", "bits in the report", 1),
        Claim("Example", "bits that survive", "v = 68", 2, "example", "bits that survive", 1),
    ),
    tables=tables,
    figures=figures,
)
