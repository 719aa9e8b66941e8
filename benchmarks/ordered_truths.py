"""Distributions of ordered answers: ten that the estimator was made with, five that were not.

The ten are named for what they are. The five are held back: rule and seeds were fixed before any
estimate of them was looked at, and nothing is tuned on them. Number k of 1 to 5 is a mixture of
1 + (k mod 3) beta laws, their means even on [.1, .9], their concentrations (a + b) log-even on
[2, 100], their weights Dirichlet(1); to number 2 a fifth of the people is added at one random
value, and number 4 is cut off below a random place on [.1, .3]. All from default_rng([2020, k]),
drawn in that order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, ndtr

from rumor.core.types import Vector

SHAPED = ("beta", "bimodal", "income", "U", "heap", "tail", "gap")
"""Those of the ten that are neither flat nor a single value."""
HELD_BACK = 5


def truths(domain: int) -> dict[str, Vector]:
    """The ten."""
    edges = np.arange(domain + 1) / domain
    middle = (edges[1:] + edges[:-1]) / 2
    found = {
        "uniform": np.ones(domain),
        "beta": _between(lambda x: betainc(5, 2, x), edges),
        "bimodal": _between(
            lambda x: 0.6 * ndtr((x - 0.3) / 0.07) + 0.4 * ndtr((x - 0.7) / 0.1), edges
        ),
        "income": _between(lambda x: ndtr(np.log(np.maximum(x, 1e-300) / 0.15) / 0.7), edges),
        "spike": np.full(domain, 0.7 / domain),
        "U": _between(lambda x: betainc(0.4, 0.5, x), edges),
        "point": np.zeros(domain),
        "heap": heaped(_between(lambda x: betainc(2, 3, x), edges), spacing(domain), 0.35),
        "tail": _between(lambda x: 1 - (10 * x + 1) ** -1.2, edges),
        "gap": ((middle > 0.1) & (middle < 0.35) | (middle > 0.6) & (middle < 0.9)).astype(float),
    }
    found["spike"][int(0.37 * domain)] += 0.3
    found["point"][int(0.62 * domain)] = 1.0
    found["tail"][-1] += 11**-1.2  # whoever is above the range is put into its last bin
    return {name: np.asarray(law / law.sum()) for name, law in found.items()}


def held_back(domain: int) -> dict[str, Vector]:
    """The five."""
    edges = np.arange(domain + 1) / domain
    found = {}
    for number in range(1, HELD_BACK + 1):
        rng = np.random.default_rng([2020, number])
        count = 1 + number % 3
        means = rng.uniform(0.1, 0.9, count)
        sizes = np.exp(rng.uniform(np.log(2), np.log(100), count))
        weights = rng.dirichlet(np.ones(count))
        law = np.zeros(domain)
        for mean, size, weight in zip(means, sizes, weights, strict=True):
            law += weight * np.diff(betainc(size * mean, size * (1 - mean), edges))
        if number == 2:
            law *= 0.8
            law[int(rng.uniform() * domain)] += 0.2
        if number == 4:
            law[: round(rng.uniform(0.1, 0.3) * domain)] = 0.0
        found[f"held {number}"] = np.asarray(law / law.sum())
    return found


def spacing(domain: int) -> int:
    """Of the heaps: a tenth of the range."""
    return max(2, round(domain / 10))


def heaped(law: Vector, every: int, part: float) -> Vector:
    """A law of which this part is rounded to the nearest mark."""
    marks = np.arange(0, law.size, every)
    nearest = marks[np.abs(np.arange(law.size)[:, None] - marks).argmin(axis=1)]
    found = (1 - part) * law
    np.add.at(found, nearest, part * law)
    return np.asarray(found)


def _between(cumulative: Callable[[Vector], Vector], edges: Vector) -> Vector:
    return np.asarray(np.diff(cumulative(edges)))
