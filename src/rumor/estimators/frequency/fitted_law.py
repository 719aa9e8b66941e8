"""A law of frequencies that is fitted to the counts, and how far it is believed."""

from __future__ import annotations

import math
from collections.abc import Callable

from rumor.core.types import Vector
from rumor.estimators.frequency.posterior import CountTable

PSEUDO = 3.0
"""What the fit begins with counts as so many values."""
# The law is improved this often: more would fit the noise.
_STEPS = 100


def fitted_law(
    table: CountTable, start: Vector, weigh: Callable[[Vector], Vector]
) -> tuple[Vector, float]:
    """The law that the counts suggest, and its effective number of atoms.

    Expectation-maximisation for the weights of the grid points, with a few imaginary values
    distributed as `start`; `weigh` makes a law of how many values are expected at each.
    """
    law = (start + 1 / start.size) / 2
    expected = law
    for _ in range(_STEPS):
        expected = table.responsibilities(law) + PSEUDO * start
        law = weigh(expected)
    return law, table.concentration(law, expected)


def logistic(x: float) -> float:
    """The probability at these log odds."""
    return 0.0 if x < -700 else 1 / (1 + math.exp(-min(x, 700.0)))
