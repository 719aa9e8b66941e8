"""What a crowd hides: the accountant beside the published bounds, its targets, time and memory.

    python -m benchmarks.shuffle_table [--quick]

Epsilon of a report among n at delta 1e-8. Beside the accountant stand, for the same report alone:
the blanket with Hoeffding's inequality in place of an exact sum (Balle, Bell, Gascon and Nissim
2019, with the same table of subset selection), and for any mechanism the clones of Feldman,
McMillan and Talwar 2021, in their closed form and worked out: the last by the accountant's own sum,
since a clone is a blanket too. Limits: three figures of subset selection, one second of processor
time for 10^6 people, 150 MB in all, five seconds for several reports in
several batches. The quick form measures once.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from benchmarks.memory import peak_bytes
from rumor.core.exact import exp
from rumor.core.plain_text import aligned
from rumor.mechanisms.blanket import Blanket, BlanketRow, worst_case_blanket
from rumor.mechanisms.randomized_response import RandomizedResponse
from rumor.mechanisms.subset_selection import SubsetSelection
from rumor.mechanisms.unary import UnaryEncoding
from rumor.privacy.shuffle.account import MOST_USEFUL, certified_epsilon, format_up
from rumor.privacy.shuffle.crowd import blanket_epsilon, crowd_epsilon
from rumor.privacy.shuffle.curve import PrivacyCurve
from rumor.privacy.shuffle.losses import composed_epsilon

DELTA = 1e-8
BATCHES = (1, 12, 52)
SEVERAL = ((10**3, 30, 1), (10**4, 1, 52), (10**5, 5, 12), (10**6, 2, 365))
SEVERAL_SECONDS = 5.0
# People, the epsilon of a report, and what subset selection on 1000 values is to have, at most.
POINTS = ((10**4, 4.0, 0.349), (10**5, 1.0, 0.0117), (10**6, 4.0, 0.0314))
SECONDS, MEGABYTES = 1.0, 150.0
# Where time is measured.
CROWDS = ((10**4, 1e-8), (10**6, 1e-8), (10**6, 1e-20), (10**8, 1e-8))

_SCRIPT = """
    from rumor.mechanisms.subset_selection import SubsetSelection
    from rumor.privacy.shuffle.crowd import crowd_epsilon
    crowd_epsilon(SubsetSelection(domain=1000, epsilon=4.0), {people}, {delta})
"""


def accounted() -> str:
    """The accountant's epsilons, then the published ones."""
    head = ["people", "alone", "subset", "unary", "k-RR 1000", "k-RR 7", "any"]
    head += ["clones", "clones, closed", "blanket, Hoeffding"]
    return aligned(head, [_line(people, epsilon) for people, epsilon, _ in POINTS])


def _line(people: int, epsilon: float) -> list[str]:
    subset = SubsetSelection(domain=1000, epsilon=epsilon)
    mechanisms = (
        subset,
        UnaryEncoding(domain=1000, epsilon=epsilon),
        RandomizedResponse(domain=1000, epsilon=epsilon),
        RandomizedResponse(domain=7, epsilon=epsilon),
    )
    found = [crowd_epsilon(mechanism, people, DELTA) for mechanism in mechanisms]
    tables = (worst_case_blanket(exp(epsilon)), clones(exp(epsilon)))
    found += [blanket_epsilon(table, people, DELTA, epsilon) for table in tables]
    found += [clones_closed(epsilon, people, DELTA), hoeffding(subset, people, DELTA)]
    shown = (format_up(one) if one < epsilon else "nothing" for one in found)
    return [f"{people:,}", f"{epsilon:g}", *shown]


def several() -> str:
    """Epsilons of several reports of one person, in one batch and in many, for any mechanism."""
    head = ["n", "alone", "k", *(f"B = {batches}" for batches in BATCHES)]
    lines = []
    for people, epsilon in itertools.product((10**3, 10**4, 10**5), (1.0, 2.0, 4.0)):
        one = PrivacyCurve.of_one_report(worst_case_blanket(exp(epsilon)), people, epsilon, 1e-40)
        for reports in (1, 2, 5, 30):
            own = one.compose_times(reports)
            found = (composed_epsilon([(own, batches)], DELTA) for batches in BATCHES)
            shown = (format_up(each) if each <= MOST_USEFUL else "-" for each in found)
            lines.append([f"{people:,}", f"{epsilon:g}", f"{reports}", *shown])
    return aligned(head, lines)


def clones(ratio: Fraction) -> Blanket:
    """Every other person is, with chance 1 / ratio, a clone of either value: evenly."""
    half, true = 1 / (2 * ratio), ratio / (1 + ratio)
    near, far = true / half, (1 - true) / half
    return Blanket.from_pairs([BlanketRow(half, near, far), BlanketRow(half, far, near)])


def clones_closed(epsilon: float, people: int, delta: float) -> float:
    """Their theorem, where it applies; else what a report costs alone."""
    if epsilon > math.log(people / (16 * math.log(2 / delta))):
        return epsilon
    power = math.exp(epsilon)
    spread = 8 * math.sqrt(power * math.log(4 / delta) / people) + 8 * power / people
    return min(epsilon, math.log1p((power - 1) / (power + 1) * spread))


def hoeffding(mechanism: SubsetSelection, people: int, delta: float) -> float:
    """The blanket of a mechanism, sums of gains bounded by their range alone."""
    gamma, odds = float(mechanism.blanket().gamma), mechanism.odds

    def bound(epsilon: float) -> float:
        above, width = math.expm1(epsilon), gamma * (odds - 1) * (1 + math.exp(epsilon))
        base = 1 - gamma + gamma * math.exp(-2 * (above / width) ** 2)
        return width**2 / (4 * above * gamma * people) * base**people

    low, high = 1e-9, mechanism.epsilon
    if bound(high) > delta:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if bound(middle) > delta else (low, middle)
    return high


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; the exit status says whether all limits hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure once")
    options = parser.parse_args(arguments)
    print(accounted())
    print(several())
    rows, misses = [], 0
    for people, epsilon, target in POINTS:
        found = crowd_epsilon(SubsetSelection(domain=1000, epsilon=epsilon), people, DELTA)
        # The targets have three digits.
        good = float(f"{found:.3g}") <= target
        misses += not good
        rows.append([f"subset of 1,000 among {people:,}", f"{found:.5f}", f"{target:g}"])
        rows[-1] += [f"{found / target:.3f}", "held" if good else "MISSED"]
    for people, delta in CROWDS:
        subset = SubsetSelection(domain=1000, epsilon=4.0)
        search = functools.partial(crowd_epsilon, subset, people, delta)
        taken = _seconds(search, 1 if options.quick else 3)
        memory = _megabytes(people, delta)
        limited = people <= 10**6
        good = not limited or (taken < SECONDS and memory < MEGABYTES)
        misses += not good
        what = f"search among {people:,}, delta {delta:g}"
        verdict = ("held" if good else "MISSED") if limited else ""
        rows.append([what, f"{taken:.2f} s", f"{SECONDS:g} s" if limited else ""])
        rows[-1] += [f"{taken / SECONDS:.3f}", verdict]
        rows.append(["  its peak memory", f"{memory:.0f} MB"])
        rows[-1] += [f"{MEGABYTES:g} MB" if limited else "", f"{memory / MEGABYTES:.3f}", verdict]
    for people, reports, batches in SEVERAL:
        mechanism = RandomizedResponse(domain=2, epsilon=1.0)
        search = functools.partial(certified_epsilon, mechanism, people, reports, batches, DELTA)
        taken = _seconds(search, 1)
        misses += taken >= SEVERAL_SECONDS
        rows.append([f"{reports} in each of {batches} batches of {people:,}", f"{taken:.2f} s"])
        rows[-1] += [f"{SEVERAL_SECONDS:g} s", f"{taken / SEVERAL_SECONDS:.3f}"]
        rows[-1].append("held" if taken < SEVERAL_SECONDS else "MISSED")
    print()
    print(aligned(["", "found", "limit", "ratio", ""], rows))
    return 1 if misses else 0


def _seconds(run: Callable[[], object], rounds: int) -> float:
    """The least processor time of some rounds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        taken.append(time.process_time() - start)
    return min(taken)


def _megabytes(people: int, delta: float) -> float:
    if not Path("/proc/self/status").exists():
        return 0.0
    return peak_bytes(_SCRIPT.format(people=people, delta=delta)) / 1e6


if __name__ == "__main__":
    sys.exit(main())
