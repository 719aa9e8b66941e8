"""The differential privacy of RAPPOR (H. Seike, 2025).

The document prints formulas, not numbers: what is "published" here is the value of its formula,
what is "reproduced" the largest log-ratio found by going through every pair of filters and every
output, "ours" what Rumor's accounting says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.mechanisms.rappor.two_stage import TwoStageNoise
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

# Bits, hashes, and the noise.
NOISE: Mapping[str, tuple[float, float, float]] = {
    "f .5, p .5, q .75": (0.5, 0.5, 0.75),
    "f .25, p .35, q .65": (0.25, 0.35, 0.65),
}
SHAPES = ((2, 1), (4, 1), (4, 2), (6, 2), (6, 3), (3, 2), (4, 3))
AFTER = ((2, 1, 2), (2, 1, 3), (4, 2, 2))
CURVES: Mapping[str, tuple[int, float, float, float]] = {
    "h 2, f .5, p .5, q .75": (2, 0.5, 0.5, 0.75),
    "h 2, f .75, p .5, q .75": (2, 0.75, 0.5, 0.75),
    "h 4, f .5, p .5, q .75": (4, 0.5, 0.5, 0.75),
    "h 2, f .5, p .25, q .75": (2, 0.5, 0.25, 0.75),
}
REPORTS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
Matrix = NDArray[np.float64]


def formula_infinity(h: int, f: float) -> float:
    """Return the document's epsilon_infinity."""
    return 2 * h * math.log((1 - f / 2) / (f / 2))


def formula_one(h: int, f: float, p: float, q: float) -> float:
    """Return the document's epsilon_1."""
    q_star = f * (p + q) / 2 + (1 - f) * q
    p_star = f * (p + q) / 2 + (1 - f) * p
    return h * math.log(q_star * (1 - p_star) / (p_star * (1 - q_star)))


def permanent(f: float) -> Matrix:
    """Return P(B' | B) of one bit (equations 6 and 7)."""
    return np.array([[1 - f / 2, f / 2], [f / 2, 1 - f / 2]])


def channel(bit: Matrix, bits: int) -> Matrix:
    """Return the channel of all bits, each through the same channel on its own."""
    out: Matrix = np.ones((1, 1))
    for _ in range(bits):
        out = np.asarray(np.kron(out, bit))
    return out


def filters(bits: int, h: int) -> list[int]:
    """Return every filter with exactly h bits set."""
    return [sum(1 << i for i in chosen) for chosen in itertools.combinations(range(bits), h)]


def largest_ratio(rows: Matrix) -> float:
    """Return the largest log-ratio of two rows at any output (equation 4)."""
    logs = np.log(rows)
    return float(max((one - other).max() for one in logs for other in logs))


def brute(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return epsilon_1 and epsilon_infinity from every pair of filters and every output."""
    bits, h, (f, p, q) = parameters["bits"], parameters["hashes"], parameters["noise"]
    chosen = filters(bits, h)
    kept = channel(permanent(f), bits)[chosen]
    sent = kept @ channel(np.array([[1 - p, p], [1 - q, q]]), bits)
    noise, apart = TwoStageNoise.of(f, p, q), min(h, bits - h)
    return {
        "epsilon_1": [largest_ratio(sent)],
        "epsilon_infinity": [largest_ratio(kept)],
        "accounted epsilon_1": [noise.loss(apart, apart)],
        "accounted epsilon_infinity": [noise.permanent_loss(2 * apart)],
        "total probability": [float(sent.sum(axis=1).max())],
    }


def after(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return epsilon_n from every sequence of n outputs of one permanent answer."""
    bits, h, (f, p, q) = parameters["bits"], parameters["hashes"], parameters["noise"]
    kept = channel(permanent(f), bits)[filters(bits, h)]
    once = channel(np.array([[1 - p, p], [1 - q, q]]), bits)
    sequences = once
    for _ in range(parameters["reports"] - 1):
        # Reports are independent given the permanent bits: one more multiplies the outputs.
        sequences = (sequences[:, :, None] * once[:, None, :]).reshape(len(once), -1)
    noise = TwoStageNoise.of(f, p, q)
    worst = min(h, bits - h)
    return {
        "epsilon_n": [largest_ratio(kept @ sequences)],
        "accounted": [noise.loss_after(parameters["reports"], worst, worst)],
    }


def stars(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return q* and p* by equations 9 and 10, and by the product of the two channels."""
    f, p, q = parameters["noise"]
    both = permanent(f) @ np.array([[1 - p, p], [1 - q, q]])
    return {"p*": [float(both[0, 1])], "q*": [float(both[1, 1])]}


def curve(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return epsilon_n and the expected loss by n, and the reports after which 99 % is spent."""
    h, f, p, q = parameters["setting"]
    rappor = rumor.Rappor(bits=64, hashes=h, cohorts=1, f=f, p=p, q=q, key=b"curve")
    found = {f"worst/{n}": [rappor.epsilon_after(n)] for n in REPORTS}
    found |= {f"expected/{n}": [rappor.expected_loss(n)] for n in REPORTS}
    limit = rappor.epsilon_permanent
    found["infinity"] = [limit]
    for share in (0.9, 0.99):
        n = next(n for n in itertools.count(1) if rappor.epsilon_after(n) >= share * limit)
        found[f"reports for {share:g}"] = [float(n)]
    return found


def dominance(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Check equation 12 on random numbers: the ratio of sums less the largest ratio."""
    random = np.random.default_rng(seed)
    a, b = (random.exponential(size=(10_000, 8)) + 1e-9 for _ in range(2))
    return {"largest excess": [float((a.sum(axis=1) / b.sum(axis=1) - (a / b).max(axis=1)).max())]}


def cells() -> Sequence[Cell]:
    """Return every cell of the paper."""
    made = [Cell("dominance", dominance)]
    for name, noise in NOISE.items():
        made.append(Cell(f"stars/{name}", stars, {"noise": list(noise)}))
        for bits, h in SHAPES:
            settings = {"bits": bits, "hashes": h, "noise": list(noise)}
            made.append(Cell(f"brute/{bits} bits, h {h}/{name}", brute, settings))
        for bits, h, reports in AFTER:
            settings = {"bits": bits, "hashes": h, "noise": list(noise), "reports": reports}
            made.append(Cell(f"after/{bits} bits, h {h}/{reports}/{name}", after, settings))
    for name, setting in CURVES.items():
        made.append(Cell(f"curve/{name}", curve, {"setting": list(setting)}))
    return made


_OVERLAP = (
    "The document takes the filter as large. With h > k/2 two filters share bits, so they differ "
    "in 2(k - h) of them at most: the formula is a valid bound, and the exact loss is smaller."
)


def claims() -> Sequence[Claim]:
    """Return the formulas at small sizes, where every case can be gone through."""
    made = []
    for name, (f, p, q) in NOISE.items():
        q_star, p_star = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
        for quantity, value in (("q*", q_star), ("p*", p_star)):
            cell = f"stars/{name}"
            made.append(
                Claim(
                    "Equations (9), (10)",
                    quantity,
                    name,
                    value,
                    cell,
                    quantity,
                    rounding=1e-12,
                    formula=True,
                )
            )
        for bits, h in SHAPES:
            cell = f"brute/{bits} bits, h {h}/{name}"
            for part, quantity, value in (
                ("Equation (11)", "epsilon_1", formula_one(h, f, p, q)),
                ("Equation (8)", "epsilon_infinity", formula_infinity(h, f)),
            ):
                made.append(
                    Claim(
                        part,
                        f"{bits} bits, h {h}",
                        name,
                        value,
                        cell,
                        quantity,
                        rounding=1e-9,
                        ours=(cell, f"accounted {quantity}"),
                        formula=True,
                        explanation=_OVERLAP if 2 * h > bits else "",
                    )
                )
    return made


def tables(results: Results) -> Sequence[PaperTable]:
    """Return epsilon_n by brute force and by formula, and the curve."""
    return [_after(results), _curves(results)]


def _after(results: Results) -> PaperTable:
    rows = []
    for name in NOISE:
        for bits, h, reports in AFTER:
            found = results.numbers[f"after/{bits} bits, h {h}/{reports}/{name}"]
            shown = (f"{found[q].mean:.6f}" for q in ("epsilon_n", "accounted"))
            rows.append((name, f"{bits}", f"{h}", f"{reports}", *shown))
    head = ("noise", "bits", "h", "reports n", "brute force", "accounted")
    return PaperTable("after", "The loss of n reports of one permanent answer", head, rows)


def _curves(results: Results) -> PaperTable:
    rows, counts = [], (1, 2, 3, 5, 10, 20, 50)
    for name in CURVES:
        found = results.numbers[f"curve/{name}"]
        shown = [f"{found[f'worst/{n}'].mean:.3f}" for n in counts]
        shown.append(f"{found['infinity'].mean:.3f}")
        shown += [f"{found[f'reports for {share}'].mean:.0f}" for share in ("0.9", "0.99")]
        rows.append((name, *shown))
    head = ("setting", *(f"n = {n}" for n in counts), "infinity", "90 % after", "99 % after")
    return PaperTable("curve", "epsilon_n", head, rows)


def figures(results: Results) -> Sequence[Figure]:
    """Return the curve epsilon_n."""
    points = []
    for name in CURVES:
        found = results.numbers[f"curve/{name}"]
        for n in REPORTS:
            points.append(Point("worst case, epsilon_n", n, found[f"worst/{n}"].mean, name))
            points.append(Point("expected loss", n, found[f"expected/{n}"].mean, name))
            points.append(Point("epsilon_infinity", n, found["infinity"].mean, name))
    title = "What n reports of one unchanged value cost"
    return [
        Figure("curve", title, "reports n", "epsilon", points, log_x=True, columns=2, shared=False)
    ]


PAPER = paper_of("rappor-privacy", cells=cells(), claims=claims(), tables=tables, figures=figures)
