"""Means: the noise of every mechanism at every epsilon that a table was made for.

    python -m benchmarks.mean_table [--quick]

Worst and average variance (numbers spread evenly) of one report on the range from -1 to 1, in a
closed form. The least worst case of any window mechanism is found anew by window_design.py. Two
limits: a worst case is at most 1.1 of the least, and it is the least of all registered mechanisms.
The quick form has only the epsilons at which earlier figures were written down.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.window_design import AROUND, PRICE, average_variance, least_worst
from rumor.mechanisms.mean import mean_mechanisms
from rumor.mechanisms.window import MOST_VALUES, Window, tables

# The least worst case, and worst and average of earlier tables, as another solver gave them (for
# the same rule, up to epsilon 6).
BEFORE = {
    0.5: (16.003, 16.00, 16.00),
    1.0: (3.992, 4.30, 3.89),
    2.0: (0.8660, 0.953, 0.786),
    3.0: (0.3044, 0.335, 0.270),
    4.0: (0.1275, 0.140, 0.111),
    6.0: (0.0273, 0.0301, 0.0248),
    8.0: (0.0067, 0.0067, 0.0066),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status says whether both limits hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only where figures were written down")
    options = parser.parse_args(arguments)
    kinds = mean_mechanisms()
    names = "".join(f"{kind.name:>22}" for kind in kinds)
    print(f"epsilon{names}    before: least, table     least  ratio  verdict")
    misses, largest = 0, 0.0
    for epsilon in BEFORE if options.quick else tables():
        made = {kind.name: kind(epsilon=epsilon) for kind in kinds}
        cells = [f"{m.worst_variance:.5g} / {average_variance(m):.5g}" for m in made.values()]
        window = tables()[epsilon][0]
        near = range(max(1, window - AROUND), min(MOST_VALUES, window + AROUND) + 1)
        least = least_worst(epsilon, near)
        worst = made[Window.name].worst_variance
        ratio = worst / least.worst
        largest = max(largest, ratio)
        best = worst == min(m.worst_variance for m in made.values())
        held = ratio <= PRICE and best
        misses += not held
        before = "{:g}: {:g} / {:g}".format(*BEFORE[epsilon]) if epsilon in BEFORE else ""
        row = "".join(f"{cell:>22}" for cell in cells)
        verdict = "held" if held else "missed"
        print(f"{epsilon:7g}{row}  {before:>23}  {least.worst:9.5g}  {ratio:.4f} {verdict}")
    print(f"{misses} missed; worst over least at most {largest:.4f} (limit {PRICE})")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
