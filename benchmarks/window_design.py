"""Where the tables of the window mechanism come from: a small convex problem for each epsilon.

    python -m benchmarks.window_design [--epsilon 2 ...] [--quick] [--write FILE]

With as many cells as there are, a window of W of them and estimates scaled so that the high end of
the range comes out at 1, the variance at a node or half-way between two is a convex quadratic in
what the upper half of the cells are worth. The *least worst case* is the minimum of the largest of
these, over all ascending values and all W. A table has the least average variance (numbers spread
evenly) that is found among those whose worst case is at most 1.1 of it, in integers. The average is
not convex, and solvers differ in their last digits, so that tables are shipped and checked, and
never solved when they are needed. This program designs each one again (`--write` writes them down)
and says how the two compare. It fails where a shipped worst case exceeds 1.1 of the least, or where
the worst case or the average differs from that of the new design by more than TOLERANCE.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from rumor.core.types import Vector
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.window import LARGEST_VALUE, MOST_VALUES, Window, table_for, tables

CELLS = 2 * MOST_VALUES
# What a worst case may cost beyond the least, for the sake of the average.
PRICE = 1.1
# By how much a new design may differ from a shipped table, in its worst case and its average.
TOLERANCE = 0.005
# What integers up to 2,047 may cost of the price, and variances elsewhere than the solver looks.
ROUNDING = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016)
# Windows are looked for this far from that of a shipped table.
AROUND = 4
QUICK = (1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Shape:
    """The quadratics of one epsilon and one window, in what the upper half is worth."""

    window: int
    sums: Vector
    """Row k maps values to where node k stands, up to the scale."""
    seconds: Vector
    """Row k maps squares of values to the second moment at node k."""

    @classmethod
    def of(cls, epsilon: float, window: int) -> Shape:
        """Nodes from the middle to the high end: the others are their mirror images."""
        power, others = math.exp(epsilon), CELLS - window
        far = 1 / (window * power + others)
        half = np.eye(MOST_VALUES)
        signed, squared = np.vstack([-half[::-1], half]), np.vstack([half[::-1], half])
        nodes = range(others // 2, others + 1)
        near = np.array([[k <= i < k + window for i in range(CELLS)] for k in nodes], dtype=float)
        chances = far + (power - 1) * far * near
        return cls(window, (power - 1) * far * near @ signed, chances @ squared)

    def variances(self, values: Vector) -> tuple[Vector, Vector]:
        """At the nodes and half-way between them, and the gradient of each."""
        at, second = self.sums @ values, self.seconds @ values**2
        slopes = 2 * self.seconds * values
        mid, halves = (at[:-1] + at[1:]) / 2, (second[:-1] + second[1:]) / 2
        everywhere = np.append(second - at**2, halves - mid**2)
        middle = (slopes[:-1] + slopes[1:]) / 2 - (self.sums[:-1] + self.sums[1:]) * mid[:, None]
        return everywhere, np.vstack([slopes - 2 * self.sums * at[:, None], middle])

    def average(self, values: Vector) -> float:
        """Of numbers spread evenly: the second moment is linear between nodes."""
        at, second = self.sums @ values, self.seconds @ values**2
        gaps = np.diff(at) * (second[:-1] + second[1:]) / 2
        # Where the first node lies below the middle, as far as the next one lies above it, half of
        # the first gap belongs to the mirror image.
        return float(gaps.sum() + at[0] * second[0] - 1 / 3)


@dataclass(frozen=True)
class Design:
    """Values of one window, with their worst and average variance."""

    window: int
    values: Vector
    worst: float
    average: float


Goal = Callable[[Vector], float]


def _solve(shape: Shape, start: Vector, goal: Goal | None, limit: float) -> Vector | None:
    """Values with the least goal and no variance above a limit; without a goal, the least limit."""
    size = MOST_VALUES
    unit = np.append(shape.sums[-1], 0.0)
    rising = np.zeros((size, size + 1))
    rising[:, :size] = np.eye(size) - np.eye(size, k=-1)

    def room(x: Vector) -> Vector:
        ceiling = x[-1] if goal is None else limit
        return np.asarray(ceiling - shape.variances(x[:-1])[0])

    def room_slopes(x: Vector) -> Vector:
        ends = np.full((len(room(x)), 1), 1.0 if goal is None else 0.0)
        return np.hstack([-shape.variances(x[:-1])[1], ends])

    scaled = start / (shape.sums[-1] @ start)
    first = np.append(scaled, shape.variances(scaled)[0].max())
    options = {
        "constraints": [
            {"type": "eq", "fun": lambda x: unit @ x - 1, "jac": lambda x: unit},
            {"type": "ineq", "fun": lambda x: rising @ x, "jac": lambda x: rising},
            {"type": "ineq", "fun": room, "jac": room_slopes},
        ],
        "method": "SLSQP",
        "options": {"maxiter": 500, "ftol": 1e-12},
    }
    if goal is None:
        last = np.append(np.zeros(size), 1.0)
        found = minimize(lambda x: x[-1], first, jac=lambda x: last, **options)
    else:
        found = minimize(lambda x: goal(x[:-1]), first, **options)
    values = np.asarray(found.x[:-1])
    return values if np.isfinite(values).all() else None


def _designed(shape: Shape, values: Vector) -> Design:
    return Design(
        shape.window, values, float(shape.variances(values)[0].max()), shape.average(values)
    )


def least_worst(epsilon: float, windows: Iterable[int]) -> Design:
    """The least worst case over these windows."""
    found = []
    for window in windows:
        shape = Shape.of(epsilon, window)
        values = _solve(shape, np.arange(1.0, MOST_VALUES + 1), None, 0.0)
        if values is not None:
            found.append(_designed(shape, values))
    return min(found, key=lambda one: one.worst)


def least_average(epsilon: float, windows: Iterable[int], limit: float) -> Design | None:
    """The least average over these windows with no worst case above the limit."""
    found = []
    for window in windows:
        shape = Shape.of(epsilon, window)
        start = _solve(shape, np.arange(1.0, MOST_VALUES + 1), None, 0.0)
        if start is None or shape.variances(start)[0].max() > limit:
            continue
        values = _solve(shape, start, shape.average, limit)
        if values is not None:
            one = _designed(shape, values)
            if one.worst <= limit * (1 + 1e-6):
                found.append(one)
    return min(found, key=lambda one: one.average, default=None)


def average_variance(mechanism: MeanMechanism) -> float:
    """Of one report, numbers spread evenly from -1 to 1."""
    points = np.linspace(-1, 1, 20_001)
    return float(np.trapezoid(mechanism.variance(points), points) / 2)


def in_integers(epsilon: float, design: Design) -> Window:
    """The mechanism with the nearest ascending integers."""
    scaled = np.rint(design.values / design.values.max() * LARGEST_VALUE).astype(int)
    floor = np.arange(1, MOST_VALUES + 1)
    rising = np.maximum.accumulate(np.maximum(scaled, 1) - floor) + floor
    # What was pushed beyond the last is pulled back: the largest integers that still ascend.
    values = np.minimum(rising, LARGEST_VALUE - MOST_VALUES + floor)
    return Window.with_table(design.window, values.tolist(), epsilon=epsilon)


def designed(epsilon: float) -> tuple[Window, Design]:
    """A table for this epsilon, and the least worst case that it is held to."""
    window, _ = table_for(epsilon)
    near = range(max(1, window - AROUND), min(MOST_VALUES, window + AROUND) + 1)
    least = least_worst(epsilon, near)
    for margin in ROUNDING:
        found = least_average(epsilon, near, PRICE * (1 - margin) * least.worst)
        made = in_integers(epsilon, found or least)
        if made.worst_variance <= PRICE * least.worst:
            return made, least
    raise RuntimeError(f"no table in integers keeps the price at epsilon {epsilon}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Design the tables again; the exit status says whether they are what was shipped."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--quick", action="store_true", help=f"only epsilon {QUICK}")
    parser.add_argument("--write", type=Path, help="where to write what was designed")
    options = parser.parse_args(arguments)
    wanted = options.epsilon or (QUICK if options.quick else tuple(tables()))
    print("epsilon   worst: least  shipped   ratio  anew      average: shipped  anew     windows")
    failures, lines = 0, []
    for epsilon in wanted:
        anew, least = designed(epsilon)
        shipped = Window(epsilon=epsilon)
        worst = shipped.worst_variance, anew.worst_variance
        average = average_variance(shipped), average_variance(anew)
        ratio = worst[0] / least.worst
        apart = max(abs(a / b - 1) for a, b in (worst, average))
        bad = ratio > PRICE or apart > TOLERANCE
        failures += bad
        print(
            f"{epsilon:7g}  {least.worst:12.5f}  {worst[0]:8.5f}  {ratio:.4f}  {worst[1]:8.5f}"
            f"  {average[0]:16.5f}  {average[1]:.5f}  {shipped.window} {anew.window}"
            + ("  differs" if bad else ""),
            flush=True,
        )
        values = json.dumps(anew.values, separators=(",", ":"))
        lines.append(f'"{epsilon}": {{"window": {anew.window}, "values": {values}}}')
    if options.write is not None:
        options.write.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(wanted) - failures} of {len(wanted)} tables are those that are designed anew")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
