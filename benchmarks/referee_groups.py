"""What is made of several groups, against the truth: weighed, combined, compared, followed."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

import rumor
from benchmarks.referee_kinds import Outcomes, covered, false, inside, masses, smooth_law
from benchmarks.referee_worlds import (
    Generator,
    Vector,
    counted,
    epsilon,
    law,
    oracle,
    reported,
    whole_between,
)
from rumor.kinds import KINDS

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_FIRST_DAY = datetime.date(2026, 1, 1)


def weighed_choice(rng: Generator, number: int) -> Outcomes:
    """Weigh groups of three people or more, and combine sources of another epsilon."""
    domain, eps = whole_between(rng, 2, 200), epsilon(rng)
    least = 3 if number % 2 else 100
    sizes = [whole_between(rng, least, 20 * least) for _ in range(int(rng.integers(2, 7)))]
    laws = [law(rng, domain) for _ in sizes]
    mechanism = oracle(rng, domain, eps, sum(sizes))
    weights = rng.uniform(0.1, 1.0, len(sizes))
    groups = {
        f"group {i}": counted(mechanism, shares, size, rng)
        for i, (shares, size) in enumerate(zip(laws, sizes, strict=True))
    }
    found = rumor.weigh(mechanism, groups, dict(zip(groups, weights.tolist(), strict=True)))
    truth = weights @ np.array(laws) / weights.sum()
    where = f"groups of {least:,} people or more"
    yield covered(f"weigh, choice, {where}", any_row(found, truth, rng))
    sources = [(oracle(rng, domain, epsilon(rng), size), size) for size in sizes]
    both = rumor.combine([(one, counted(one, laws[0], size, rng)) for one, size in sources])
    yield covered("combine, choice", any_row(both, laws[0], rng))


def weighed_ordered(rng: Generator, number: int) -> Outcomes:
    """Weigh groups whose answers have an order: the mean, quantiles, shares up to a label."""
    labelled = number // 2 % 2 == 0
    domain = whole_between(rng, 5, 40 if labelled else 100)
    sizes = [whole_between(rng, 200, 20_000) for _ in range(int(rng.integers(2, 4)))]
    draw = smooth_law if number % 2 else masses
    laws = [draw(rng, domain) for _ in sizes]
    mechanism, answers = on_a_scale(domain, epsilon(rng, 0.5), labelled=labelled)
    weights = rng.uniform(0.1, 1.0, len(sizes))
    groups = {
        f"group {i}": reported(mechanism, answers[rng.choice(domain, size, p=shares)], rng)
        for i, (shares, size) in enumerate(zip(laws, sizes, strict=True))
    }
    found = rumor.weigh(mechanism, groups, dict(zip(groups, weights.tolist(), strict=True)))
    truth = weights @ np.array(laws) / weights.sum()
    where = "smooth" if number % 2 else "point masses"
    for quantity in dict.fromkeys(found.quantities):
        held = ordered_row(found, truth, answers, quantity, rng)
        yield covered(f"weigh, ordered, {quantity}, {where}", held)


def on_a_scale(domain: int, eps: float, labelled: bool) -> tuple[Any, Any]:
    """Make a mechanism for labels in their order or whole numbers, and what each position says."""
    if labelled:
        names = [f"step {i}" for i in range(domain)]
        return rumor.Wave(labels=names, epsilon=eps), np.array(names)
    return rumor.Wave(low=0, high=domain - 1, epsilon=eps), np.arange(domain)


def compared_choice(rng: Generator, number: int) -> Outcomes:
    """Compare two groups: a difference, and tests of groups that do not differ."""
    domain, eps = whole_between(rng, 2, 300), epsilon(rng)
    sizes = whole_between(rng, 30, 30_000), whole_between(rng, 30, 30_000)
    mechanism = oracle(rng, domain, eps, sum(sizes))
    laws = law(rng, domain), law(rng, domain)
    first, second = (counted(mechanism, f, n, rng) for f, n in zip(laws, sizes, strict=True))
    found = rumor.compare(mechanism, first, second)
    row = int(rng.integers(domain))
    low, high = found.interval(0.95)
    true = float(laws[1][row] - laws[0][row])
    yield covered("compare, choice, difference", inside(low[row], true, high[row]))
    alike = rumor.compare(mechanism, first, counted(mechanism, laws[0], sizes[1], rng))
    yield false("compare, choice, any value (Holm) differs", float(alike.adjusted.min() < 0.05))
    test = alike.pairs[0].overall
    if test is not None:
        yield false("compare, choice, the groups differ (overall)", float(test.p_value < 0.05))


def compared_ordered(rng: Generator, number: int) -> Outcomes:
    """Compare groups whose answers have an order, and which do not differ."""
    labelled = number // 2 % 2 == 0
    domain = whole_between(rng, 5, 40 if labelled else 100)
    size = whole_between(rng, 200, 10_000)
    shares = smooth_law(rng, domain) if number % 2 else masses(rng, domain)
    mechanism, answers = on_a_scale(domain, epsilon(rng, 0.5), labelled=labelled)
    groups = [
        reported(mechanism, answers[rng.choice(domain, size, p=shares)], rng) for _ in range(2)
    ]
    found = rumor.compare(mechanism, *groups)
    names = list(found.quantities)
    for quantity in dict.fromkeys(names):
        row = int(rng.choice([i for i, name in enumerate(names) if name == quantity]))
        yield false(f"compare, ordered, {quantity} differs", float(found.p_value[row] < 0.05))
    yield false("compare, ordered, anything (Holm) differs", float(found.adjusted.min() < 0.05))


def compared_numbers(rng: Generator, number: int) -> Outcomes:
    """Compare means of two groups."""
    support = rng.uniform(0, 10, whole_between(rng, 1, 20))
    sizes = whole_between(rng, 30, 30_000), whole_between(rng, 30, 30_000)
    mechanism = KINDS["number"].resolve({"low": 0, "high": 10, "epsilon": epsilon(rng)}, None)
    laws = law(rng, support.size), law(rng, support.size)
    groups = [
        reported(mechanism, support[rng.choice(support.size, n, p=f)], rng)
        for f, n in zip(laws, sizes, strict=True)
    ]
    low, high = rumor.compare(mechanism, *groups).interval(0.95)
    true = float((laws[1] - laws[0]) @ support)
    yield covered("compare, number, difference", inside(low[0], true, high[0]))


def followed(rng: Generator, number: int) -> Outcomes:
    """Follow a question whose answers do not change."""
    domain, eps = whole_between(rng, 2, 100), epsilon(rng)
    size, days = whole_between(rng, 50, 5_000), int(rng.integers(3, 30))
    mechanism, shares = oracle(rng, domain, eps, size), law(rng, domain)
    found = rumor.trend(
        mechanism,
        {
            _FIRST_DAY + datetime.timedelta(day): counted(mechanism, shares, size, rng)
            for day in range(days)
        },
    )
    yield false("trend, any value (Holm) changes", float(found.adjusted.min() < 0.05))


def any_row(found: Any, truth: Vector, rng: Generator) -> float:
    """Take any row of a combined estimate."""
    low, high = found.interval(0.95)
    row = int(rng.integers(truth.size))
    return inside(low[row], float(truth[row]), high[row])


def ordered_row(found: Any, shares: Vector, answers: Any, quantity: str, rng: Generator) -> float:
    """Take a row of a combined ordered estimate that is of this quantity."""
    low, high = found.interval(0.95)
    rows = [i for i, name in enumerate(found.quantities) if name == quantity]
    row = int(rng.choice(rows))
    total = np.cumsum(shares)
    if quantity == "mean":
        # Labels are worth their places, from 1 on.
        start = 0 if answers.dtype.kind == "i" else 1
        true = float(shares @ np.arange(start, shares.size + start))
    elif quantity == "up to":
        true = float(total[answers.tolist().index(found.values[row])])
    else:
        wanted = QUANTILES[rows.index(row)]
        true = min(float(np.searchsorted(total, wanted - 1e-12)), shares.size - 1.0)
    return inside(low[row], true, high[row])
