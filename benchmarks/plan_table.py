"""How well `rumor plan` foretells errors: predicted beside simulated, over forty settings.

    python -m benchmarks.plan_table [--quick] [--only N ...]

Every row makes real reports of simulated people, estimates them, and compares root mean
squared errors over all values with what the plan says: of the linear estimate (within 5 %)
and of the default (within 15 %). Settings go round mechanisms, sizes 2 to 10,000, epsilon
0.25 to 8 and numbers of people; they were fixed before any of them was run. For words, the
linear error is that of words that are all but certain to be found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rumor
from rumor.kinds import KINDS
from rumor.kinds.planning.planned import (
    BudgetSpec,
    PlanCheck,
    PlannedQuestion,
    Size,
    permanent_noise,
)
from rumor.mechanisms import FrequencyOracle, Mechanism

LINEAR, DEFAULT = 0.05, 0.15
_WIDTHS = (3, 14, 6, 7, 7, 6, 8, 9, 6, 8, 9, 6, 7)

ORACLES: Mapping[str, Callable[[int, float], FrequencyOracle]] = {
    "response": lambda d, e: rumor.RandomizedResponse(domain=d, epsilon=e),
    "unary": lambda d, e: rumor.UnaryEncoding(domain=d, epsilon=e),
    "symmetric": lambda d, e: rumor.UnaryEncoding(domain=d, epsilon=e, variant="symmetric"),
    "subset": lambda d, e: rumor.SubsetSelection(domain=d, epsilon=e),
    "hadamard": lambda d, e: rumor.HadamardResponse(domain=d, epsilon=e),
    "hashing": lambda d, e: rumor.LocalHashing(domain=d, epsilon=e),
    "basic rappor": lambda d, e: rumor.Rappor.basic(labels=d, **vars(permanent_noise(e, 2 * e))),
}

# Mechanism, values (words, keys), epsilon, people, trials.
SETTINGS: tuple[tuple[str, int, float, int, int], ...] = (
    ("response", 2, 0.25, 2_000, 2500),
    ("unary", 2, 1, 1_000, 2500),
    ("subset", 3, 0.5, 5_000, 2000),
    ("hadamard", 2, 8, 1_000, 2500),
    ("hashing", 4, 2, 2_000, 1500),
    ("response", 5, 1, 10_000, 600),
    ("subset", 5, 4, 1_000, 600),
    ("unary", 10, 0.25, 100_000, 150),
    ("symmetric", 10, 2, 10_000, 300),
    ("subset", 10, 1, 10_000, 300),
    ("hashing", 20, 0.5, 20_000, 120),
    ("hadamard", 20, 1, 10_000, 150),
    ("basic rappor", 20, 1, 20_000, 150),
    ("response", 50, 2, 10_000, 80),
    ("unary", 50, 4, 1_000, 100),
    ("subset", 100, 1, 100_000, 40),
    ("hashing", 100, 8, 10_000, 60),
    ("hadamard", 100, 0.25, 100_000, 40),
    ("symmetric", 100, 0.5, 10_000, 50),
    ("response", 300, 8, 10_000, 40),
    ("unary", 300, 1, 100_000, 20),
    ("basic rappor", 300, 2, 20_000, 30),
    ("subset", 1_000, 2, 10_000, 20),
    ("hashing", 1_000, 1, 10_000, 20),
    ("hadamard", 1_000, 4, 100_000, 20),
    ("unary", 3_000, 8, 10_000, 15),
    ("subset", 3_000, 0.25, 20_000, 12),
    ("subset", 10_000, 4, 10_000, 10),
    ("hadamard", 10_000, 1, 100_000, 10),
    ("response", 10_000, 8, 100_000, 10),
    ("words", 2, 1, 20_000, 250),
    ("words", 50, 2, 50_000, 60),
    ("words", 1_000, 4, 200_000, 24),
    ("words", 10_000, 8, 100_000, 40),
    ("harmony", 0, 0.25, 10_000, 1500),
    ("piecewise", 0, 4, 1_000, 1500),
    ("window", 0, 2, 2_000, 1500),
    ("keyvalue-block", 20, 1, 20_000, 120),
    ("privkv", 5, 0.5, 20_000, 250),
    ("item-sampling", 100, 2, 20_000, 16),
    ("key-set", 100, 1, 20_000, 16),
    ("pckv-grr", 50, 4, 10_000, 40),
)


def topic_and_mechanism(
    name: str, size: int, epsilon: float, people: int
) -> tuple[PlannedQuestion[Any], Mechanism]:
    """What a row is about."""
    budget = BudgetSpec(float(epsilon))
    if name in ORACLES:
        return KINDS["choice"].plan_question(Size(size)), ORACLES[name](size, epsilon)
    topic: PlannedQuestion[Any]
    if name == "words":
        topic = KINDS["text"].plan_question(Size(size, people))
        return topic, topic.candidates(budget)[0].mechanism
    if name in ("harmony", "piecewise", "window"):
        topic = KINDS["number"].plan_question(Size(low=0.0, high=10.0))
    else:
        most = max(1, size // 10)
        topic = KINDS["keyvalue"].plan_question(Size(size, low=0.0, high=5.0, cap=most))
    chosen = [c for c in topic.candidates(budget) if c.name.split(",")[0] == name]
    return topic, chosen[-1].mechanism


def measured(row: tuple[str, int, float, int, int], *, quick: bool = False) -> PlanCheck:
    """One row: predictions beside what real reports gave."""
    name, size, epsilon, people, trials = row
    topic, mechanism = topic_and_mechanism(name, size, epsilon, people)
    return topic.simulate(mechanism, people, max(4, trials // 10) if quick else trials, 11, None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials: no verdicts")
    parser.add_argument("--only", nargs="*", type=int, help="only these rows, counted from 1")
    options = parser.parse_args(arguments)
    chosen = options.only or range(1, len(SETTINGS) + 1)
    heads = ("row", "mechanism", "size", "epsilon", "people", "trials")
    errors = ("linear", "simulated", "ratio", "default", "simulated", "ratio", "verdict")
    print(_line(*heads, *errors))
    misses = 0
    for number in chosen:
        name, size, epsilon, people, _ = SETTINGS[number - 1]
        found = measured(SETTINGS[number - 1], quick=options.quick)
        assert found.default is not None
        linear = found.linear[1] / found.linear[0]
        default = found.default[1] / found.default[0]
        good = abs(linear - 1) <= LINEAR and abs(default - 1) <= DEFAULT
        misses += not good
        cells = [str(number), name, f"{size:,}", f"{epsilon:g}", f"{people:,}", f"{found.trials}"]
        cells += [f"{found.linear[0]:.5f}", f"{found.linear[1]:.5f}", f"{linear:.3f}"]
        cells += [f"{found.default[0]:.5f}", f"{found.default[1]:.5f}", f"{default:.3f}"]
        print(_line(*cells, "" if options.quick else "pass" if good else "miss"), flush=True)
    if not options.quick:
        print(
            f"{len(list(chosen)) - misses} of {len(list(chosen))} settings within "
            f"{LINEAR:.0%} (linear) and {DEFAULT:.0%} (default)"
        )
    return 0 if options.quick or not misses else 1


def _line(*cells: str) -> str:
    """A line of the table, printed as soon as it is known: the whole takes minutes."""
    return " ".join(cell.rjust(width) for cell, width in zip(cells, _WIDTHS, strict=True))


if __name__ == "__main__":
    sys.exit(main())
