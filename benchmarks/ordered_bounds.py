"""How often intervals of ordered answers hold, by what they assume: `--seed N --trials N`.

Truths are drawn by a rule. "brackets": everybody gives the middle of one of 5 to 20 brackets with
random edges, of a random beta law. "zeros": a part of .2 to .7 is at zero, the rest is smooth.
"smooth": a mixture of one to three beta laws, their means even on [.1, .9], their concentrations
log-even on [2, 100]. Of each truth: three quantiles, the share up to a random place, and the share
of a random range.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.special import betainc

import rumor
from rumor.core.types import Vector
from rumor.kinds.ordered.point_estimate import ASSUMPTIONS, PointEstimate

SETTINGS = ((250, 1.0, 2602), (100, 1.0, 10_000), (100, 2.0, 1000), (40, 4.0, 400), (7, 1.0, 300))
SHARES = (0.1, 0.5, 0.9)
_ROUNDING = 1e-9
Law = Callable[[int, np.random.Generator], Vector]


def brackets(domain: int, rng: np.random.Generator) -> Vector:
    """Draw a law of brackets."""
    smooth = np.diff(betainc(*rng.uniform(0.8, 5.0, 2), np.arange(domain + 1) / domain))
    count = int(rng.integers(min(domain, 5), min(domain, 20) + 1))
    edges = np.sort(rng.choice(np.arange(1, domain), count - 1, replace=False))
    law = np.zeros(domain)
    for part in np.split(np.arange(domain), edges):
        law[part[(len(part) - 1) // 2]] += smooth[part].sum()
    return law


def zeros(domain: int, rng: np.random.Generator) -> Vector:
    """Draw a law with many at zero."""
    nothing = rng.uniform(0.2, 0.7)
    law = (1 - nothing) * np.diff(
        betainc(rng.uniform(1, 3), rng.uniform(2, 7), np.arange(domain + 1) / domain)
    )
    law[0] += nothing
    return np.asarray(law)


def smooth(domain: int, rng: np.random.Generator) -> Vector:
    """Draw a smooth law."""
    law = np.zeros(domain)
    for weight in rng.dirichlet(np.ones(rng.integers(1, 4))):
        mean, size = rng.uniform(0.1, 0.9), np.exp(rng.uniform(np.log(2), np.log(100)))
        edges = np.arange(domain + 1) / domain
        law += weight * np.diff(betainc(size * mean, size * (1 - mean), edges))
    return law


LAWS: dict[str, Law] = {"brackets": brackets, "zeros": zeros, "smooth": smooth}


def trial(
    wave: rumor.Wave, law: Vector, people: int, rng: np.random.Generator
) -> list[tuple[bool, ...] | float]:
    """Return what held under each assumption, and the half length of the share up to a place."""
    counts = rng.multinomial(people, wave.band.forward(law))
    found = rumor.estimate(wave, rumor.Summary(wave, people, counts))
    sums = np.cumsum(law)
    place = int(rng.integers(wave.domain - 1))
    first, last = np.sort(rng.integers(wave.domain, size=2)).tolist()
    told: list[tuple[bool, ...] | float] = []
    for assume in ASSUMPTIONS:
        quantiles = [found.quantile(share, assume=assume) for share in SHARES]
        true = [int(np.searchsorted(sums - _ROUNDING, share)) for share in SHARES]
        below, between = found.cdf(place, assume=assume), found.share(first, last, assume=assume)
        told += [
            tuple(_holds(one, value) for one, value in zip(quantiles, true, strict=True)),
            (_holds(below, float(sums[place])),),
            (_holds(between, float(law[first : last + 1].sum())),),
            (below.high - below.low) / 2,
        ]
    return told


def _holds(found: PointEstimate, truth: float) -> bool:
    return found.low - _ROUNDING <= truth <= found.high + _ROUNDING


def main() -> None:
    """Print a line for each setting and kind of truth, and the pooled ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--trials", type=int, default=40)
    given = parser.parse_args()
    names = "quantiles  up to  ranges  half"
    print(f"values  epsilon  people  truth     nothing: {names}   smooth: {names}")
    pooled: dict[str, list[Vector]] = {}
    for domain, epsilon, people in SETTINGS:
        wave = rumor.Wave(low=0, high=domain - 1, epsilon=epsilon)
        for number, (name, draw) in enumerate(LAWS.items()):
            rng = np.random.default_rng([given.seed, domain, people, number])
            runs = [trial(wave, draw(domain, rng), people, rng) for _ in range(given.trials)]
            found = np.array([[np.mean(each) for each in run] for run in runs]).mean(axis=0)
            pooled.setdefault(name, []).append(found)
            print(f"{domain:6}  {epsilon:7}  {people:6}  {name:8}  {_row(found)}", flush=True)
    for name, rows in pooled.items():
        trials = given.trials * len(SETTINGS)
        print(f"pooled, {trials} trials each  {name:8}  {_row(np.mean(rows, axis=0))}")


def _row(found: Vector) -> str:
    return "   ".join(
        f"{quantiles:.3f} {below:.3f} {between:.3f} {half:.3f}"
        for quantiles, below, between, half in found.reshape(2, 4).tolist()
    )


if __name__ == "__main__":
    main()
