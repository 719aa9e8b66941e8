"""What the plan of ordered answers says beside what comes, on laws that judge nothing else.

    python -m benchmarks.ordered_forecast            two minutes of one core

The factor `FOUND` of rumor.kinds.ordered.fit.forecast is what this prints last: the distances
that came, root mean square over the laws, beside those that the two priors alone foretell. Laws
and settings are others than those of benchmarks.ordered_table, which judges the plan. Law k of
twelve is drawn from default_rng([2026, k]), by k mod 4: a mixture of one to three beta laws whose
a and b are log-even on [.4, 30]; the same with a fifth of the people at one value; two to four
steps at random places; a log-normal law cut at the range's end, of which a third is rounded to a
tenth of the range in every other one.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, ndtr

from benchmarks.ordered_cells import distance
from benchmarks.ordered_peers import rule_width, wave
from benchmarks.ordered_truths import heaped, spacing
from rumor.core.types import Vector
from rumor.kinds.ordered.fit.average import fit_ordered
from rumor.kinds.ordered.fit.forecast import FOUND, forecast

LAWS = 12
TRIALS = 2
SETTINGS = [
    (domain, epsilon, people)
    for domain in (32, 128)
    for epsilon in (0.7, 1.5, 3.0)
    for people in (3_000, 30_000, 300_000)
]


def drawn_law(number: int, domain: int) -> Vector:
    """A law by its number."""
    rng = np.random.default_rng([2026, number])
    edges = np.arange(domain + 1) / domain
    family = number % 4
    if family < 2:
        count = int(rng.integers(1, 4))
        weights = rng.dirichlet(np.ones(count))
        shapes = np.exp(rng.uniform(math.log(0.4), math.log(30), (count, 2)))
        law = sum(
            w * np.diff(betainc(a, b, edges)) for w, (a, b) in zip(weights, shapes, strict=True)
        )
        if family == 1:
            law = 0.8 * np.asarray(law)
            law[int(rng.uniform() * domain)] += 0.2
    elif family == 2:
        count = int(rng.integers(2, 5))
        places = np.sort(rng.uniform(0, 1, count - 1))
        heights = rng.dirichlet(np.ones(count))
        law = heights[np.searchsorted(places, (edges[1:] + edges[:-1]) / 2)]
    else:
        middle, spread = rng.uniform(0.1, 0.5), rng.uniform(0.3, 1.0)
        law = np.diff(ndtr(np.log(np.maximum(edges, 1e-300) / middle) / spread))
        if number % 8 == 7:
            law = heaped(law, spacing(domain), 1 / 3)
    law = np.asarray(law, dtype=np.float64)
    return np.asarray(law / law.sum())


def main() -> None:
    """Measured over foretold, without the factor, by setting and over all."""
    print("Distance that came over what the priors foretell, root mean square over twelve laws")
    found = []
    for domain, epsilon, people in SETTINGS:
        band = wave(domain, epsilon, rule_width(domain, epsilon))
        rng = np.random.default_rng([20, domain, round(10 * epsilon), people])
        squares = []
        for number in range(LAWS):
            law = drawn_law(number, domain)
            for _ in range(TRIALS):
                counts = rng.multinomial(people, band.forward(law)).astype(np.float64)
                squares.append(distance(fit_ordered(band, counts, ()).frequency, law) ** 2)
        foretold = forecast(band, people).w1 / FOUND
        found.append(math.sqrt(float(np.mean(squares))) / foretold)
        print(f"   D {domain:4}, epsilon {epsilon}, {people:7,}: {found[-1]:.2f}", flush=True)
    print(f"all, geometric mean: {math.exp(float(np.mean(np.log(found)))):.2f}; FOUND is {FOUND}")


if __name__ == "__main__":
    main()
