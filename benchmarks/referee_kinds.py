"""What each kind of question shows, against the truth: does the interval hold it?

A trial draws a world, asks its people through the mechanism that the kind resolves to, estimates
as `rumor estimate` does, and takes one row of what is shown, so that trials are independent.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import rumor
from benchmarks.referee_worlds import (
    BANDS,
    Generator,
    Vector,
    band_name,
    between,
    counted,
    epsilon,
    law,
    oracle,
    people_in,
    reported,
    whole_between,
)
from rumor.kinds import KINDS
from rumor.kinds.joint.linked import estimate_linked
from rumor.mechanisms.rappor.simulation import simulate_counts


class Outcome(NamedTuple):
    """One figure of a trial, and the block of trials that it is judged with."""

    sort: str
    block: str
    figure: float


Outcomes = Iterator[Outcome]


def covered(block: str, held: float) -> Outcome:
    """Tell whether an interval at 95 % holds the truth, 1 or 0."""
    return Outcome("covered", block, held)


def false(block: str, share: float) -> Outcome:
    """Tell whether something was found that is not there, or which share of what was found."""
    return Outcome("false", block, share)


SHOWN = rumor.View(order="estimate", rows=20)
"""The rows that a table on the screen shows."""
_MOST_CELLS = 2_000_000
_ROUNDING = 1e-9
_Z = 1.959963984540054


def choice(rng: Generator, number: int) -> Outcomes:
    """Take a row of a ranked table, a value that was named in advance, and several together."""
    band = BANDS[number % len(BANDS)]
    people, domain, eps = people_in(rng, band), whole_between(rng, 2, 30_000), epsilon(rng)
    if number % 3 == 0:
        domain = whole_between(rng, 2, 12)
    shares = law(rng, domain)
    mechanism = oracle(rng, domain, eps, people)
    found = rumor.estimate(mechanism, counted(mechanism, shares, people, rng))
    where = band_name(band)
    yield covered(f"choice, row shown, {where}", row_holds(found, shares, rng))
    low, high = found.interval(0.95)
    yield covered(
        f"choice, named in advance, {where}", holds(low, high, shares, named(rng, shares))
    )
    some = rng.choice(domain, whole_between(rng, 1, domain), replace=False)
    together = found.share([found.values[i] for i in some])
    true = float(shares[some].sum())
    yield covered("choice, several values together", inside(together.low, true, together.high))


def sets(rng: Generator, number: int) -> Outcomes:
    """Take a row of a table of options, of which people chose several."""
    band = BANDS[number % len(BANDS)]
    people = min(people_in(rng, band), 200_000)
    domain = whole_between(rng, 2, max(2, min(200, _MOST_CELLS // people)))
    cap = whole_between(rng, 1, domain)
    profiles, weights = chosen(rng, domain, cap)
    wish = {"domain": domain, "cap": cap, "epsilon": epsilon(rng)}
    mechanism = KINDS["set"].resolve(wish, people)
    answers = profiles[rng.choice(weights.size, people, p=weights)]
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng))
    shares = weights @ profiles
    yield covered(f"set, row shown, {band_name(band)}", row_holds(found, shares, rng))
    low, high = found.interval(0.95)
    yield covered("set, named in advance", holds(low, high, shares, named(rng, shares)))


def chosen(rng: Generator, domain: int, cap: int) -> tuple[Vector, Vector]:
    """Draw profiles, each a set of at most `cap` options, and the share of people with each."""
    count = whole_between(rng, 2, 60)
    sizes = rng.integers(0, cap + 1, count)
    favourites = law(rng, domain) + 1e-9
    place = (rng.exponential(size=(count, domain)) / favourites).argsort(axis=1).argsort(axis=1)
    return np.asarray(place < sizes[:, None], np.bool_), law(rng, count)


def keys(rng: Generator, number: int) -> Outcomes:
    """Take a key of a table of shares and means; half of the worlds have a cap, which all keep."""
    band = BANDS[number % len(BANDS)]
    people = min(people_in(rng, band), 200_000)
    count = whole_between(rng, 2, max(2, min(100, _MOST_CELLS // people)))
    cap = whole_between(rng, 1, count)
    profiles, weights = chosen(rng, count, cap)
    values = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=profiles.shape)
    table = np.where(profiles, values, np.nan)
    wish = {"keys": count, "low": -1, "high": 1, "epsilon": epsilon(rng)}
    mechanism = KINDS["keyvalue"].resolve(wish if number % 2 else {**wish, "cap": cap}, people)
    answers = table[rng.choice(weights.size, people, p=weights)]
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng))
    shares = weights @ profiles
    sums = weights @ np.where(profiles, values, 0.0)
    row = int(rng.choice(found.row_indices(SHOWN)))
    where = "with a cap" if number % 2 == 0 else "without a cap"
    for quantity, true in (("frequency", shares), ("mean", sums / np.where(shares > 0, shares, 1))):
        if quantity == "mean" and shares[row] == 0:
            continue
        low, high = found.bounds([row], SHOWN, quantity)
        yield covered(
            f"key-value, {quantity} shown, {where}", inside(low[0], float(true[row]), high[0])
        )


def over_cap(rng: Generator, number: int) -> Outcomes:
    """Let people hold more keys or options than the cap, of which the device keeps some."""
    people, count = whole_between(rng, 100, 30_000), int(rng.integers(3, 40))
    cap = int(rng.integers(1, count))
    profiles, weights = chosen(rng, count, count)
    answers = rng.choice(weights.size, people, p=weights)
    shares, eps = weights @ profiles, epsilon(rng)
    if number % 2:
        wish = {"domain": count, "cap": cap, "over_cap": "sample", "epsilon": eps}
        mechanism = KINDS["set"].resolve(wish, people)
        found = rumor.estimate(mechanism, reported(mechanism, profiles[answers], rng))
        yield covered("set, row shown, people above the cap", row_holds(found, shares, rng))
        return
    keyed = rumor.KeySet(keys=count, low=-1, high=1, epsilon=eps, cap=cap, over_cap="sample")
    values = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=profiles.shape)
    table = np.where(profiles, values, np.nan)
    result = rumor.estimate(keyed, reported(keyed, table[answers], rng))
    yield covered("key-value, row shown, people above the cap", row_holds(result, shares, rng))


def numbers(rng: Generator, number: int) -> Outcomes:
    """Take the mean of numbers."""
    band = BANDS[number % len(BANDS)]
    people = people_in(rng, band)
    low, high = sorted(rng.normal(0, between(rng, 1, 1000), 2).tolist())
    support = rng.uniform(low, high, whole_between(rng, 1, 50))
    weights = law(rng, support.size)
    wish = {"low": low, "high": high, "epsilon": epsilon(rng)}
    mechanism = KINDS["number"].resolve(wish, people)
    answers = support[rng.choice(support.size, people, p=weights)]
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng))
    ends = found.interval(0.95)
    yield covered(
        f"number, mean, {band_name(band)}", inside(ends[0], float(weights @ support), ends[1])
    )


def ordered(rng: Generator, number: int) -> Outcomes:
    """Take a share up to a value, a quantile and the mean, of smooth laws and of point masses."""
    people = people_in(rng, BANDS[number % len(BANDS)])
    smooth = number % 2 == 0
    domain = whole_between(rng, 5, 200)
    shares = smooth_law(rng, domain) if smooth else masses(rng, domain)
    mechanism = KINDS["ordered"].resolve(
        {"low": 0, "high": domain - 1, "epsilon": epsilon(rng)}, people
    )
    answers = rng.choice(domain, people, p=shares)
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng))
    where = "smooth" if smooth else "point masses"
    at, total = int(rng.integers(domain - 1)), np.cumsum(shares)
    cdf = found.cdf(at)
    yield covered(f"ordered, share up to, {where}", inside(cdf.low, float(total[at]), cdf.high))
    wanted = float(rng.choice([0.1, 0.25, 0.5, 0.75, 0.9]))
    quantile = found.quantile(wanted)
    true = float(found.scale.middles[min(int(np.searchsorted(total, wanted)), domain - 1)])
    yield covered(f"ordered, quantile, {where}", inside(quantile.low, true, quantile.high))
    mean = found.mean_interval()
    yield covered("ordered, mean", inside(mean.low, float(shares @ found.scale.middles), mean.high))


def labels(count: int) -> list[str]:
    """Name so many positions."""
    return [f"position {i}" for i in range(count)]


def smooth_law(rng: Generator, domain: int) -> Vector:
    """Draw a mixture of up to three wide hills."""
    middle = (np.arange(domain) + 0.5) / domain
    hills = [
        rng.uniform(0.1, 1)
        * np.exp(-0.5 * ((middle - rng.uniform(-0.2, 1.2)) / rng.uniform(0.12, 0.6)) ** 2)
        for _ in range(int(rng.integers(1, 4)))
    ]
    total = np.sum(hills, axis=0) + 1e-6
    return np.asarray(total / total.sum())


def masses(rng: Generator, domain: int) -> Vector:
    """Draw some points that have all people, or a smooth law with many at the first position."""
    if rng.random() < 0.5:
        shares = smooth_law(rng, domain) * rng.uniform(0.3, 0.9)
        shares[0] += 1 - shares.sum()
        return shares
    points = rng.choice(domain, whole_between(rng, 2, max(2, domain // 5)), replace=False)
    shares = np.zeros(domain)
    shares[points] = law(rng, points.size)
    return shares


def joint(rng: Generator, number: int) -> Outcomes:
    """Take a cell of a table of two answers, its ratio to independence, and Cramer's V."""
    band = BANDS[number % len(BANDS)]
    people = people_in(rng, band)
    sizes = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    table = crossed(rng, sizes)
    ids = ("rows", "columns")
    parts = [{"id": id, "labels": labels(size)} for id, size in zip(ids, sizes, strict=True)]
    mechanism = KINDS["joint"].resolve({"parts": parts, "epsilon": epsilon(rng)}, people)
    answers = rng.choice(table.size, people, p=table.ravel())
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng)).pair()
    cell = int(rng.integers(table.size))
    low, high = found.interval(_Z)
    yield covered(
        f"joint, cell, {band_name(band)}", inside(low[cell], float(table.flat[cell]), high[cell])
    )
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    if expected.flat[cell] > 0:
        low, high = found.ratio_interval(_Z)
        true = float(table.flat[cell] / expected.flat[cell])
        yield covered("joint, ratio to independence", inside(low[cell], true, high[cell]))
    association = found.cramers_v()
    true = true_cramers_v(table, expected)
    yield covered(
        f"joint, Cramer's V, {band_name(band)}", inside(association.low, true, association.high)
    )


def linked(rng: Generator, number: int) -> Outcomes:
    """Take a cell and a margin of a table of two answers that were randomised apart."""
    band = BANDS[number % len(BANDS)]
    people = min(people_in(rng, band), 100_000)
    sizes = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    table = crossed(rng, sizes)
    answers = np.unravel_index(rng.choice(table.size, people, p=table.ravel()), sizes)
    asked = {}
    for id, size, own in zip(("rows", "columns"), sizes, answers, strict=True):
        mechanism = rumor.RandomizedResponse(domain=size, epsilon=epsilon(rng, 0.5))
        source = rumor.Seeded(int(rng.integers(1 << 60)))
        asked[id] = mechanism, mechanism.privatize(own, random=source)
    found = estimate_linked(asked)
    low, high = found.interval(0.95)  # of all cells, then of both margins
    cell, row = int(rng.integers(table.size)), int(rng.integers(sizes[0]))
    for what, place, true in (
        ("cell", cell, float(table.flat[cell])),
        ("margin", table.size + row, float(table[row].sum())),
    ):
        held = inside(low[place], true, high[place])
        yield covered(f"linked, {what}, {band_name(band)}", held)


def crossed(rng: Generator, sizes: tuple[int, int]) -> Vector:
    """Draw a table: independent, drawn towards its diagonal, perfectly associated, or any."""
    rows, columns = law(rng, sizes[0]), law(rng, sizes[1])
    sort = int(rng.integers(4))
    if sort == 0:
        return np.outer(rows, columns)
    diagonal = np.zeros(sizes)
    for i in range(sizes[0]):
        diagonal[i, i * sizes[1] // sizes[0]] = rows[i]
    if sort == 1:
        return diagonal
    if sort == 2:
        weight = rng.uniform(0.05, 0.9)
        return np.asarray((1 - weight) * np.outer(rows, columns) + weight * diagonal)
    return law(rng, sizes[0] * sizes[1]).reshape(sizes)


def true_cramers_v(table: Vector, expected: Vector) -> float:
    """Work out how strongly the two go together, from 0 to 1."""
    there = expected > 0
    chi = float(((table[there] - expected[there]) ** 2 / expected[there]).sum())
    least = min(int((table.sum(axis=i) > 0).sum()) for i in (0, 1))
    return float(np.sqrt(chi / (min(table.shape) - 1))) if least > 1 else 0.0


def listed_words(rng: Generator, number: int) -> Outcomes:
    """Take a word that RAPPOR found among candidates, and how many of those found are false."""
    count = whole_between(rng, 50, 3_000)
    listed = float(rng.choice([1.0, 0.5, 0.1]))
    held = whole_between(rng, 3, count)
    words = [f"word {i}" for i in range(count)]
    others = whole_between(rng, 1, 5_000)
    shares = np.concatenate([listed * law(rng, held), (1 - listed) * law(rng, others)])
    people = whole_between(rng, 10_000, 1_000_000)
    wish = {"id": "asked", "epsilon": epsilon(rng, 1.0), "key": f"key {rng.integers(1 << 60)}"}
    mechanism = KINDS["text"].resolve(wish, people)
    names = [*words[:held], *(f"unlisted {i}" for i in range(others))]
    source = rumor.Seeded(int(rng.integers(1 << 60)))
    summary = simulate_counts(
        mechanism, names, rng.multinomial(people, shares / shares.sum()), random=source
    )
    found = rumor.estimate(mechanism, summary, candidates=words)
    truth = np.zeros(count)
    truth[:held] = shares[:held]
    where = "most words listed" if listed > 0.2 else "most words not listed"
    yield from words_found(f"text, word found, {where}", found, truth, rng)


def open_words(rng: Generator, number: int) -> Outcomes:
    """Take a word that nobody listed and that was found, and how many of those found are false."""
    count = whole_between(rng, 5, 2_000)
    words = made_words(rng, count)
    shares = law(rng, count)
    people = whole_between(rng, 5_000, 60_000)
    wish = {"id": "asked", "epsilon": epsilon(rng, 1.0), "longest": 12}
    mechanism = KINDS["words"].resolve(wish, people)
    answers = [words[i] for i in rng.choice(count, people, p=shares)]
    found = rumor.estimate(mechanism, reported(mechanism, answers, rng))
    known = dict(zip(words, shares.tolist(), strict=True))
    truth = np.array([known.get(word, 0.0) for word in found.words])
    yield from words_found("words, word found", found, truth, rng)


def made_words(rng: Generator, count: int) -> list[str]:
    """Draw different words of three to ten letters."""
    letters = np.array(list(string.ascii_lowercase))
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(rng.choice(letters, int(rng.integers(3, 11))))] = None
    return list(made)


def words_found(block: str, found: Any, truth: Vector, rng: Generator) -> Outcomes:
    """Take one of the words found, and the share of them that nobody holds."""
    there = found.ranking(None)
    if there:
        yield covered(block, row_holds(found, truth, rng))
    yield false(block, float(np.mean(truth[there] == 0)) if there else 0.0)


# What every trial ends with.


def row_holds(found: Any, truth: Vector, rng: Generator) -> float:
    """Take one of the rows shown."""
    rows = found.row_indices(SHOWN)
    place = int(rng.integers(len(rows)))
    ends = found.cells(rows, SHOWN)
    return inside(ends["low"][place], float(truth[rows[place]]), ends["high"][place])


def named(rng: Generator, shares: Vector) -> int:
    """Name a value in advance: any, or one as people hold it."""
    chances = shares / shares.sum() if rng.random() < 0.5 and shares.sum() > 0 else None
    return int(rng.choice(shares.size, p=chances))


def holds(low: Vector, high: Vector, truth: Vector, row: int) -> float:
    """Say whether the interval of a row holds its truth."""
    return inside(float(low[row]), float(truth[row]), float(high[row]))


def inside(low: float, true: float, high: float) -> float:
    """Say whether a truth lies between two ends, rounding aside."""
    slack = _ROUNDING * max(1.0, abs(true))
    return float(low - slack <= true <= high + slack)
