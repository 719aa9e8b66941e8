"""Losses in the browser are those of Python, to the last bit, and rounded up."""

from __future__ import annotations

import math
import random
from fractions import Fraction

from rumor.core.exact import log_up, round_up, sum_up
from rumor.mechanisms import Mechanism, from_description
from tests.javascript import node
from tests.needs import needs

needs("node")
WORD = 2**64
RANDOM = random.Random(20)  # fixed: the same numbers at every run


def ratios() -> list[tuple[int, int]]:
    """Integers above others: of every size, hardly above, powers, and as large as RAPPOR's."""
    found = []
    for _ in range(600):
        one, other = (RANDOM.randrange(1, 2 ** RANDOM.randrange(1, 200)) for _ in range(2))
        found.append((max(one, other), min(one, other)))
        below = RANDOM.randrange(1, 2 ** RANDOM.randrange(1, 140))
        found.append((below + RANDOM.randrange(4), below))
    for k in range(1, 130):
        # ln(1 + 2**-k) is just below the double 2**-k, and ln(2**k / (2**k - 1)) just above it.
        found += [(2**k + 1, 2**k), (2**k, 2**k - 1), (2**k, 1), (3**k, 2**k)]
    return [*found, (3**8000, 2**12000), ((2**64 - 1) ** 128, 1)]


def losses() -> list[list[float]]:
    """Sums that doubles get wrong: of many sizes, of equal ones, of the smallest."""
    sizes = [
        [RANDOM.random() * 2.0 ** RANDOM.randrange(-60, 20) for _ in range(RANDOM.randrange(25))]
        for _ in range(300)
    ]
    return [*sizes, [0.1] * 6, [0.1] * 10, [1.0, 5e-324], [5e-324] * 3]


def noises() -> list[list[tuple[Mechanism, int]]]:
    """Reports of one permanent answer with different fresh noise, extremes among them."""
    found = []
    for hashes, bits in ((1, 2), (2, 2), (3, 4), (2, 128), (64, 65536)):
        for _ in range(20):
            flip = RANDOM.choice([1, 2**63 - 1, RANDOM.randrange(1, 2**63)])
            made = []
            for _ in range(RANDOM.randrange(1, 4)):
                low, high = sorted(RANDOM.sample([0, 1, WORD - 1, WORD, *(
                    RANDOM.randrange(WORD) for _ in range(4))], 2))  # fmt: skip
                description: dict[str, object] = {
                    "name": "rappor", "bits": bits, "hashes": hashes, "cohorts": 1, "key": "00",
                    "flip": str(flip), "low": str(low), "high": str(high),
                }  # fmt: skip
                reports = RANDOM.choice([1, 1, 2, 30, 365, 10**6])
                made.append((from_description(description), reports))
            found.append(made)
    return found


def test_losses_are_the_smallest_doubles_that_are_not_below_the_truth() -> None:
    logs, sums, together = ratios(), losses(), noises()
    totals = [[(loss, RANDOM.randrange(1, 10**6)) for loss in row] for row in sums]
    ceilings = [(row, math.fsum(row)) for row in sums]
    ceilings += [(row, math.nextafter(math.fsum(row), 0)) for row in sums]
    # Taking back what a row cost before, as a ledger does.
    ceilings += [([*row, -row[0]], math.fsum(row[1:])) for row in sums if row]
    found = node(
        "exact.mjs",
        given={
            "logs": [[hex(above), hex(below)] for above, below in logs],
            "sums": sums,
            "totals": totals,
            "ceilings": ceilings,
            "together": [[(one.describe(), n) for one, n in made] for made in together],
        },
    )
    assert found["logs"] == [log_up(Fraction(*ratio)) for ratio in logs]
    assert found["sums"] == [sum_up(row) for row in sums]
    assert found["totals"] == [
        round_up(sum((n * Fraction(loss) for loss, n in row), Fraction(0))) for row in totals
    ]
    exceeded = [sum(map(Fraction, row)) > Fraction(ceiling) for row, ceiling in ceilings]
    assert found["ceilings"] == exceeded
    assert 0 < sum(exceeded) < len(exceeded)
    assert found["together"] == [made[0][0].permanence.epsilon_composed(made) for made in together]
