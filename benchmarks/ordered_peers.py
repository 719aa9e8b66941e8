"""The other ways to a distribution of ordered answers, each from its own reports.

The square wave with EM and with EMS at the paper's width; a tree of fan-out four whose levels
share the people, each level by randomised response or unary encoding, whichever is better, made
consistent by weighted least squares (Hay et al. 2010; Cormode, Kulkarni and Srivastava 2019), as
it is or projected, whichever is better on average; and what Rumor does with a choice, which takes
all values alike.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

import rumor
from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.kinds.choice.question import choose_oracle
from rumor.kinds.ordered.fit.em import LinearChannel, WrittenOut, em, ems
from rumor.kinds.planning.forecast import drawn_tally
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave.band import Band

_FAN = 4
# Up to so many values times people, reports are drawn one by one.
_DRAWN = 2_000_000
_WRITTEN_OUT = 128


def rule_width(domain: int, epsilon: float, spacing: int = 0) -> int:
    """The width of the wave; with declared heaps the nearest at which they do not cancel."""
    width = max(1, round(domain / 2 * math.exp(-epsilon / 2)))
    if spacing < 2:
        return width
    fitting = range(max(1, round(spacing / 2)), domain + spacing, spacing)
    return min(fitting, key=lambda each: (abs(each - width), each))


def paper_width(domain: int, epsilon: float) -> int:
    """The square wave's width of largest mutual information (Li et al. 2020)."""
    e = math.exp(epsilon)
    return max(1, round(domain * (epsilon * e - e + 1) / (e * (e - 1 - epsilon))))


def wave(domain: int, epsilon: float, width: int) -> Band:
    """The channel of a width."""
    hit = width * math.exp(epsilon) / (width * math.exp(epsilon) + domain - 1)
    return Band(domain, width, hit / width, (1 - hit) / (domain - 1))


def by_em(band: Band, counts: Vector, epsilon: float) -> Vector:
    """EM with the paper's tolerance."""
    tolerance = math.exp(epsilon) / 1000
    return em(_channel(band), counts, tolerance=tolerance)


def by_ems(band: Band, counts: Vector) -> Vector:
    """EMS with the paper's tolerance."""
    return ems(_channel(band), counts)


@lru_cache(maxsize=4)
def _channel(band: Band) -> LinearChannel:
    """Of a small channel the matrix is quicker: EM takes up to ten thousand iterations."""
    if band.domain > _WRITTEN_OUT:
        return band
    return WrittenOut(np.ascontiguousarray(band.matrix().T))


def by_tree(law: Vector, epsilon: float, people: int, rng: np.random.Generator) -> Vector:
    """The leaves of the consistent tree, which may be negative."""
    sizes = [law.size]
    while sizes[0] > _FAN:
        sizes.insert(0, -(-sizes[0] // _FAN))
    shares = [law]
    for _ in sizes[1:]:
        shares.insert(0, _gathered(shares[0]))
    each = rng.multinomial(people, np.full(len(sizes), 1 / len(sizes)))
    found, spreads = [], []
    for share, count in zip(shares, each.tolist(), strict=True):
        estimate, spread = _level(share, epsilon, max(count, 1), rng)
        found.append(estimate)
        spreads.append(np.full(share.size, spread))
    return _consistent(found, spreads)


def _level(
    share: Vector, epsilon: float, people: int, rng: np.random.Generator
) -> tuple[Vector, float]:
    """Unbiased frequencies of one level, and their variance."""
    e, size = math.exp(epsilon), share.size
    if size - 2 < 3 * e:
        hit, miss = e / (e + size - 1), 1 / (e + size - 1)
        counts = rng.multinomial(people, miss + (hit - miss) * share)
    else:
        hit, miss = 0.5, 1 / (e + 1)
        held = rng.multinomial(people, share)
        counts = rng.binomial(held, hit) + rng.binomial(people - held, miss)
    gain = hit - miss
    return (counts / people - miss) / gain, miss * (1 - miss) / (people * gain**2)


def _gathered(share: Vector) -> Vector:
    return np.add.reduceat(share, np.arange(0, share.size, _FAN))


def _consistent(found: list[Vector], spreads: list[Vector]) -> Vector:
    """Weighted least squares: from the leaves up, then from the root, which is 1, down."""
    best, left = [found[-1]], [spreads[-1]]
    for estimate, spread in zip(found[-2::-1], spreads[-2::-1], strict=True):
        below, theirs = _gathered(best[0]), _gathered(left[0])
        best.insert(0, (estimate / spread + below / theirs) / (1 / spread + 1 / theirs))
        left.insert(0, 1 / (1 / spread + 1 / theirs))
    top = best[0] + (1 - best[0].sum()) * left[0] / left[0].sum()
    for estimate, spread in zip(best[1:], left[1:], strict=True):
        parent = np.arange(estimate.size) // _FAN
        missing = (top - _gathered(estimate)) / _gathered(spread)
        top = estimate + missing[parent] * spread
    return np.asarray(top)


def projected(leaves: Vector) -> Vector:
    """The tree's leaves on the simplex."""
    return project(leaves)


def by_choice(law: Vector, epsilon: float, people: int, rng: np.random.Generator) -> Vector:
    """A choice's default: the mechanism that "auto" takes, and its estimate."""
    oracle = choose_oracle(law.size, epsilon, users=people)
    if law.size * people <= _DRAWN:
        values = rng.choice(law.size, people, p=law)
        reports = oracle.privatize(values, random=rumor.Seeded(int(rng.integers(1 << 60))))
        return np.asarray(rumor.estimate(oracle, reports).frequency)
    tally = drawn_tally(oracle, law, people, rng)
    return np.asarray(rumor.estimate(oracle, Summary(oracle, people, tally)).frequency)
