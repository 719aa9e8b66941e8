"""Error of every frequency oracle against epsilon, with the minimax bound drawn in.

No paper's table: the question behind all of them. Ye and Barg (2018, 2019) show that no
epsilon-LDP mechanism and no estimator has, as people grow, a worst-case squared error below

    min over d of (k-1)^2 (d e^eps + k - d)^2 / (n k d (k-d) (e^eps - 1)^2),

where the d is that of subset selection, which attains it. The worst law is the uniform one. On
other laws an estimator that learns their shape may go below: the bound is on the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import rumor
from rumor.papers.frequency import ORACLES, draw, squared, truth
from rumor.papers.model import (
    Cell,
    Figure,
    Numbers,
    PaperTable,
    Parameters,
    Point,
    Results,
    paper_of,
)

DOMAIN, PEOPLE, TRIALS = 100, 10_000, 20
EPSILONS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)
NAMES = {
    "response": "randomised response",
    "symmetric": "unary, symmetric",
    "optimized": "unary, optimised",
    "hashing": "local hashing",
    "hadamard": "Hadamard response",
    "subset": "subset selection",
}


def bound(domain: int, people: int, epsilon: float) -> tuple[float, int]:
    """Return the asymptotic minimax squared error, and the subset size that attains it."""
    e, k = math.exp(epsilon), domain

    def error(d: int) -> float:
        return (k - 1) ** 2 * (d * e + k - d) ** 2 / (people * k * d * (k - d) * (e - 1) ** 2)

    return min((error(d), d) for d in range(1, domain))


def bounds(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the bound, and the noise-free limit: the error of a census of `people` people."""
    domain, people = parameters["domain"], parameters["people"]
    least, size = bound(domain, people, parameters["epsilon"])
    return {"bound": [least], "subset": [float(size)], "sampling": [(1 - 1 / domain) / people]}


def oracle_errors(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return squared error at the uniform law, in theory and measured, and on Zipf's law."""
    domain, people = parameters["domain"], parameters["people"]
    oracle = ORACLES[parameters["oracle"]](domain, parameters["epsilon"])
    even, zipf = truth("uniform", domain), truth("zipf 1", domain)
    found: dict[str, list[float]] = {"uniform": [], "zipf": [], "zipf, default": []}
    for trial in range(seed, seed + trials):
        reports = draw(oracle, even, people, trial)
        unbiased = rumor.estimate(oracle, reports, method="inversion").frequency
        found["uniform"].append(squared(unbiased, even))
        reports = draw(oracle, zipf, people, trial)
        for name, method in (("zipf", "inversion"), ("zipf, default", "auto")):
            frequency = rumor.estimate(oracle, reports, method=method).frequency
            found[name].append(squared(frequency, zipf))
    variance = oracle.variance(even, people)
    return {**found, "theory": [float(np.sum(variance))]}


def cells() -> Sequence[Cell]:
    """Return the bound and every oracle at every epsilon."""
    made = []
    for epsilon in EPSILONS:
        common = {"domain": DOMAIN, "people": PEOPLE, "epsilon": epsilon}
        made.append(Cell(f"bound/epsilon {epsilon:g}", bounds, common))
        for oracle in NAMES:
            settings = {**common, "oracle": oracle}
            made.append(
                Cell(f"error/{oracle}/epsilon {epsilon:g}", oracle_errors, settings, TRIALS, 3)
            )
    return made


def tables(results: Results) -> Sequence[PaperTable]:
    """Return tables of errors divided by the bound."""
    rows = []
    for epsilon in EPSILONS:
        least = results.mean(f"bound/epsilon {epsilon:g}", "bound")
        shown = [f"{epsilon:g}", f"{least:.4g}"]
        for oracle in NAMES:
            found = results.numbers[f"error/{oracle}/epsilon {epsilon:g}"]
            measured, theory = found["uniform"], found["theory"].mean
            seen = f"{measured.mean / least:.2f} ± {measured.stderr / least:.2f}"
            shown.append(f"{theory / least:.3f} ({seen})")
        rows.append(shown)
    head = ("epsilon", "bound", *NAMES.values())
    size = f"{DOMAIN} values, {PEOPLE:,} people"
    title = f"Error over the bound at the uniform law: theory (measured), {size}"
    made = [PaperTable("bound", title, head, rows)]
    rows = []
    for epsilon in EPSILONS:
        least = results.mean(f"bound/epsilon {epsilon:g}", "bound")
        shown = [f"{epsilon:g}"]
        for oracle in NAMES:
            found = results.numbers[f"error/{oracle}/epsilon {epsilon:g}"]
            shown.append(
                f"{found['zipf'].mean / least:.2f}, {found['zipf, default'].mean / least:.3f}"
            )
        rows.append(shown)
    head = ("epsilon", *NAMES.values())
    made.append(
        PaperTable("zipf", "On Zipf's law, over the same bound: unbiased, default", head, rows)
    )
    return made


def figures(results: Results) -> Sequence[Figure]:
    """Return charts of the error by epsilon, and over the bound, under two laws."""
    points = []
    panels = ("error, uniform law", "over the bound, uniform law", "default, Zipf, over the bound")
    for oracle, name in NAMES.items():
        for epsilon in EPSILONS:
            least = results.mean(f"bound/epsilon {epsilon:g}", "bound")
            found = results.numbers[f"error/{oracle}/epsilon {epsilon:g}"]
            points.append(Point(name, epsilon, found["uniform"].mean, panels[0]))
            points.append(Point(name, epsilon, found["theory"].mean / least, panels[1]))
            points.append(Point(name, epsilon, found["zipf, default"].mean / least, panels[2]))
    for epsilon in EPSILONS:
        least = results.mean(f"bound/epsilon {epsilon:g}", "bound")
        for panel, value in zip(panels, (least, 1.0, 1.0), strict=True):
            points.append(Point("minimax bound", epsilon, value, panel))
    title = f"Squared error of {DOMAIN} frequencies, {PEOPLE:,} people"
    note = "The bound is on the worst law; a default that learns the shape of another may go below."
    return [Figure("minimax", title, "epsilon", "", points, log_y=True, shared=False, note=note)]


PAPER = paper_of("minimax", cells=cells(), tables=tables, figures=figures)
