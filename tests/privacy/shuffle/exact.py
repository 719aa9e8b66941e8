"""What a crowd hides, written out: by every batch there is, or by sums of positive terms.

Nothing here is shared with the accountant but the mechanisms: these are what it is held to.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Law = Sequence[float]
Counted = dict[tuple[int, ...], float]


def alone(laws: NDArray[np.float64], factor: float) -> float:
    """The exact delta of one report, over all pairs of values."""
    return max(float(np.maximum(row - factor * laws, 0).sum(axis=1).max()) for row in laws)


def shuffled(laws: Sequence[Law], people: int, factor: float) -> float:
    """The exact delta of a batch: all pairs of values, whatever the others hold."""
    outputs = len(laws[0])
    worst = 0.0
    for others in itertools.combinations_with_replacement(laws, people - 1):
        seen: Counted = {(0,) * outputs: 1.0}
        for law in others:
            seen = with_one(seen, law)
        after = [with_one(seen, law) for law in laws]
        pairs = itertools.permutations(after, 2)
        worst = max([worst, *(_above(one, two, factor) for one, two in pairs)])
    return worst


def with_one(seen: Counted, law: Law) -> Counted:
    """The law of the counts of a batch with one more report in it."""
    more: Counted = {}
    for counts, chance in seen.items():
        for place, own in enumerate(law):
            key = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
            more[key] = more.get(key, 0.0) + chance * own
    return more


def _above(one: Counted, two: Counted, factor: float) -> float:
    return sum(max(chance - factor * two[counts], 0.0) for counts, chance in one.items())


def blanket_sum(atoms: Sequence[tuple[float, float]], people: int) -> float:
    """E[(V_1 + ... + V_n)_+] / n, by every number of times that each of two or three values comes.

    What the masses leave over is at 0. All terms are positive, so nothing cancels.
    """
    (one, first), *rest = atoms
    (two, second), *third = rest
    last, mass = third[0] if third else (0.0, 0.0)
    nothing = 1 - first - second - mass
    total = 0.0
    grid = np.arange(people + 1)
    for times in range(people + 1 if third else 1):
        a, b = np.meshgrid(grid[: people + 1 - times], grid[: people + 1 - times])
        left = people - times - a - b
        fits = left >= 0
        a, b, left = a[fits], b[fits], left[fits]
        value = a * one + b * two + times * last
        kept = value > 0
        a, b, left, value = a[kept], b[kept], left[kept], value[kept]
        logs = gammaln(people + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(left + 1)
        logs = logs - gammaln(times + 1) + a * math.log(first) + b * math.log(second)
        logs = logs + _times(times, mass) + np.array([_times(each, nothing) for each in left])
        total += float((np.exp(logs) * value).sum())
    return total / people


def _times(times: int, chance: float) -> float:
    """The logarithm of a power, with 0^0 = 1."""
    if not times:
        return 0.0
    return times * math.log(chance) if chance > 0 else -math.inf


def response_below(truth: float, lie: float, people: int, factor: float) -> float:
    """At most the delta of randomised response on three values or more.

    One dataset, in which everybody else holds a third value, and of the batches some: all terms
    are positive, so that leaving some out is safe. Others make a and b reports of the two values
    that the person may hold, each with the chance of a lie.
    """
    terms = (
        chance * _given(total, truth, lie, people, factor)
        for total, chance in _likely(people - 1, 2 * lie)
    )
    return math.fsum(terms)


def _likely(trials: int, chance: float) -> Iterator[tuple[int, float]]:
    """The likely values of a binomial number, with their chances."""
    middle, spread = trials * chance, math.sqrt(trials * chance * (1 - chance))
    low, high = int(max(0, middle - 7 * spread)), int(min(trials, middle + 7 * spread))
    counts = np.arange(low, high + 1)
    logs = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    logs += counts * math.log(chance) + (trials - counts) * math.log1p(-chance)
    return zip(counts.tolist(), np.exp(logs).tolist(), strict=True)


def _given(total: int, truth: float, lie: float, people: int, factor: float) -> float:
    """The part of the batches with a + b = total, by what n - 1 others make of a and b.

    With the person's own report the chance of (a, b) is truth Q(a - 1, b) + lie Q(a, b - 1) +
    (1 - truth - lie) Q(a, b), or the same with a and b changed over; Q is multinomial, and
    Q(a - 1, b) = Q(a, b) a (1 - 2 lie) / (lie (n - a - b)).
    """
    half, spread = total // 2, math.sqrt(total) / 2
    a = np.arange(half, min(total, int(half + 9 * spread)) + 1)
    b = total - a
    logs = gammaln(total + 1) - gammaln(a + 1) - gammaln(b + 1) - total * math.log(2)
    scale, rest = (1 - 2 * lie) / lie / (people - total), 1 - truth - lie
    one = (truth * a + lie * b) * scale + rest
    two = (lie * a + truth * b) * scale + rest
    return float((np.exp(logs) * np.maximum(one - factor * two, 0)).sum())


Pairing = tuple[Counted, Counted]
"""The counts of a batch under two lists of values of one person."""


def pairings(laws: Sequence[Law], people: int, own: int) -> Iterator[Pairing]:
    """Every batch of `people` reports, `own` of one person: all values of others, all two lists."""
    empty: Counted = {(0,) * len(laws[0]): 1.0}
    lists = list(itertools.combinations_with_replacement(laws, own))
    for others in itertools.combinations_with_replacement(laws, people - own):
        seen = empty
        for law in others:
            seen = with_one(seen, law)
        after = []
        for mine in lists:
            batch = seen
            for law in mine:
                batch = with_one(batch, law)
            after.append(batch)
        yield from itertools.permutations(after, 2)


def batch_delta(pairing: Pairing, factor: float) -> float:
    """The exact delta of one batch."""
    return _above(*pairing, factor)


def batch_epsilon(pairs: Sequence[tuple[float, float]], delta: float) -> float:
    """The least epsilon of outcomes with these two chances at this delta, by bisection."""
    # What underflows has no part in a delta.
    p, q = np.array([pair for pair in pairs if min(pair) > 0]).T

    def found(epsilon: float) -> float:
        return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())

    if found(0.0) <= delta:
        return 0.0
    low, high = 0.0, float(np.log(p / q).max())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) <= delta else (middle, high)
    return low


def several(pairing: Pairing, batches: int) -> list[tuple[float, float]]:
    """The chances of all outcomes of so many independent batches; equal ratios are joined."""
    one = [(chance, pairing[1][counts]) for counts, chance in pairing[0].items()]
    found = [(1.0, 1.0)]
    for _ in range(batches):
        joined: dict[float, tuple[float, float]] = {}
        for (a, b), (p, q) in itertools.product(found, one):
            ratio = round(math.log(a * p) - math.log(b * q), 9)
            x, y = joined.get(ratio, (0.0, 0.0))
            joined[ratio] = (x + a * p, y + b * q)
        found = list(joined.values())
    return found


def binomial_pairing(truth: float, people: int, own: int, ones: int) -> list[tuple[float, float]]:
    """Two-valued response: the chances of every count where `ones` of the others hold a one.

    One person has `own` reports in the batch, all of ones or all of zeros.
    """
    zeros = people - own - ones
    others = np.convolve(_binomial(ones, truth), _binomial(zeros, 1 - truth))
    first = np.convolve(others, _binomial(own, truth))
    second = np.convolve(others, _binomial(own, 1 - truth))
    return list(zip(first.tolist(), second.tolist(), strict=True))


def _binomial(trials: int, chance: float) -> NDArray[np.float64]:
    counts = np.arange(trials + 1)
    logs = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    return np.asarray(
        np.exp(logs + counts * math.log(chance) + (trials - counts) * math.log1p(-chance))
    )
