"""Intervals that are read 200 times while reports arrive: how often one is ever wrong, how wide.

A history is one collection, read at 200 numbers of reports from a hundredth to four times the
planned number. It misses where the interval of a share (or a mean) that was named in advance does
not hold the truth at some look. Of rows that are shown, a history misses where the first row does
at some look; the share of the ten rows that miss, at the worst look, must be 5% on average at most.
Truths fall like 1/rank. Widths are compared with the intervals for one look, at the planned number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import rumor
from benchmarks.looks_alarms import asked
from rumor.core.types import Tally, Vector
from rumor.kinds.number.estimate import estimate_mean
from rumor.mechanisms import Mechanism
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.piecewise import Piecewise
from rumor.mechanisms.set_block import SetBlock
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts
from rumor.results.counts import ExactIntervals
from rumor.results.intervals import EqualTails, Tails
from rumor.results.selection import rank_tails, ranked
from rumor.results.sequences import ONE_LOOK, AnyLook, OneLook

LEVEL, ALPHA = 0.95, 0.05
HISTORIES, PLANNED, EPSILON = 400, 10_000, 2.0
LOOKS = np.unique(np.rint(np.geomspace(PLANNED / 100, 4 * PLANNED, 200)).astype(int))
SHOWN = 10
WIDEST = 1.7


@dataclass(frozen=True)
class Missed:
    """How many histories missed at some look, the worst share of rows, and the width."""

    ever: int
    one_look: int
    """The histories in which intervals for one look miss, read as often."""
    worst_share: float
    width: float
    """The length at the planned number over that of intervals for one look."""


def shares(domain: int) -> Vector:
    """Shares that fall like 1/rank."""
    falling = 1 / np.arange(1, domain + 1)
    return np.asarray(falling / falling.sum())


def _counts(domain: int, histories: int, rng: np.random.Generator) -> Iterator[tuple[int, Tally]]:
    """Yield each look with the supports of every value: a row for each history."""
    oracle = rumor.SubsetSelection(domain=domain, epsilon=EPSILON)
    chance = oracle.miss + oracle.gain * shares(domain)
    counts, before = np.zeros((histories, domain), dtype=np.int64), 0
    for n in LOOKS.tolist():
        counts += rng.binomial(n - before, chance, size=counts.shape)
        before = n
        yield n, counts


def _intervals(oracle: rumor.SubsetSelection, counts: Tally, n: int) -> ExactIntervals:
    return ExactIntervals(ItemCounts(counts, float(n), oracle.hit, oracle.miss, oracle.dispersion))


def _summed(missed: Mapping[str, Vector], width: float, worst: float = 0.0) -> Missed:
    return Missed(int(missed["any"].sum()), int(missed["one"].sum()), worst, width)


def named_share(domain: int, histories: int, rng: np.random.Generator) -> Missed:
    """Read the share of the second most frequent value, chosen before seeing the data."""
    oracle, truth = rumor.SubsetSelection(domain=domain, epsilon=EPSILON), shares(domain)[1]
    missed = {looks: np.zeros(histories, dtype=bool) for looks in ("any", "one")}
    rows, width = np.arange(histories), np.nan
    for n, counts in _counts(domain, histories, rng):
        exact = _intervals(oracle, counts[:, 1], n)
        lengths = {}
        for look in (AnyLook(n, PLANNED), ONE_LOOK):
            tails = EqualTails.of(LEVEL, look=look).rows(histories)
            low, high = exact.tails(rows, tails, "population")
            missed[look.name] |= (low > truth) | (high < truth)
            lengths[look.name] = high - low
        if n >= PLANNED and np.isnan(width):
            width = float((lengths["any"] / lengths["one"]).mean())
    return _summed(missed, width)


def shown_rows(domain: int, histories: int, rng: np.random.Generator) -> Missed:
    """Read the first ten rows of a table, each time those that come out first."""
    oracle, truth = rumor.SubsetSelection(domain=domain, epsilon=EPSILON), shares(domain)
    shown = min(SHOWN, domain)
    missed = {looks: np.zeros(histories, dtype=bool) for looks in ("any", "one")}
    worst, width = np.zeros(histories), np.nan
    for n, counts in _counts(domain, histories, rng):
        first = np.empty((histories, shown), dtype=np.intp)
        tails: dict[str, list[Tails]] = {"any": [], "one": []}
        looks: tuple[OneLook, OneLook] = (AnyLook(n, PLANNED), ONE_LOOK)
        for history in range(histories):
            exact = _intervals(oracle, counts[history], n)
            unbiased = exact.items.unbiased
            stderr = np.sqrt(oracle.variance(np.clip(unbiased, 0, 1), n))
            order = ranked(unbiased, unbiased)
            first[history] = order[:shown]
            for look in looks:
                found = rank_tails(LEVEL, order, unbiased, stderr, exact.redrawn, look)
                tails[look.name].append(found.at(np.arange(shown)))
        seen = np.take_along_axis(counts, first, axis=1).ravel()
        lengths = {}
        for look in looks:
            made = tails[look.name]
            together = Tails(
                np.concatenate([each.lower for each in made]),
                np.concatenate([each.upper for each in made]),
                look,
            )
            exact = _intervals(oracle, seen, n)
            low, high = exact.tails(np.arange(seen.size), together, "population")
            out = (low > truth[first].ravel()) | (high < truth[first].ravel())
            out = out.reshape(histories, shown)
            missed[look.name] |= out[:, 0]
            if look.name == "any":
                worst = np.maximum(worst, out.mean(axis=1))
            lengths[look.name] = high - low
        if n >= PLANNED and np.isnan(width):
            width = float((lengths["any"] / lengths["one"]).mean())
    return _summed(missed, width, float(worst.mean()))


def named_option(options: int, histories: int, rng: np.random.Generator) -> Missed:
    """Read the share of one option of a set, which a part of the reports are about."""
    mechanism = SetBlock(domain=options, epsilon=EPSILON, block=1)
    truth, part = float(shares(options)[1]), 1 / options
    missed = {looks: np.zeros(histories, dtype=bool) for looks in ("any", "one")}
    rows, width, before = np.arange(histories), np.nan, 0
    trials, counts = np.zeros(histories), np.zeros(histories)
    for n in LOOKS.tolist():
        more = rng.binomial(n - before, part, size=histories)
        trials = trials + more
        counts = counts + rng.binomial(more, mechanism.miss + mechanism.gain * truth)
        before = n
        known = np.maximum(trials, 1.0)
        exact = ExactIntervals(ItemCounts(counts, known, mechanism.hit, mechanism.miss, 1.0))
        lengths = {}
        for look in (AnyLook(n, PLANNED), ONE_LOOK):
            tails = EqualTails.of(LEVEL, look=look).rows(histories)
            low, high = exact.tails(rows, tails, "population")
            missed[look.name] |= (low > truth) | (high < truth)
            lengths[look.name] = high - low
        if n >= PLANNED and np.isnan(width):
            width = float((lengths["any"] / lengths["one"]).mean())
    return _summed(missed, width)


def named_mean(histories: int, rng: np.random.Generator) -> Missed:
    """Read the mean of a number, whose reports vary with the answers."""
    mechanism = Piecewise(low=0, high=1, epsilon=EPSILON)
    missed = {looks: np.zeros(histories, dtype=bool) for looks in ("any", "one")}
    widths: list[float] = []
    for history in range(histories):
        answers = rng.beta(2, 5, size=int(LOOKS[-1]))
        reports = mechanism.privatize(answers, random=rumor.Seeded(int(rng.integers(1 << 30))))
        tally, before = None, 0
        for n in LOOKS.tolist():
            more = mechanism.tally(reports[before:n])
            tally, before = more if tally is None else tally + more, n
            found = estimate_mean(mechanism, Summary(mechanism, n, tally), "inversion")
            lengths = {}
            for looks in ("any", "one"):
                low, high = found.interval(LEVEL, looks=looks, users=PLANNED)
                missed[looks][history] |= not low <= 2 / 7 <= high
                lengths[looks] = high - low
            if n >= PLANNED and len(widths) == history:
                widths.append(lengths["any"] / lengths["one"])
    return _summed(missed, float(np.mean(widths)))


@dataclass(frozen=True)
class Followed:
    """A quantity that is read at a tenth of the looks, named in advance."""

    mechanism: Mechanism
    answers: Callable[[int, np.random.Generator], Any]
    """Draws the answers of some people."""
    truth: float
    ends: Callable[[Any, str], tuple[float, float]]
    """Returns the ends of the quantity's interval in an estimate, for one look or any."""

    def __call__(self, histories: int, rng: np.random.Generator) -> Missed:
        """Read the quantity of some histories."""
        missed = {looks: np.zeros(histories, dtype=bool) for looks in ("any", "one")}
        widths: list[float] = []
        for history in range(histories):
            reports = self.mechanism.privatize(
                self.answers(int(LOOKS[-1]), rng),
                random=rumor.Seeded(int(rng.integers(1 << 30))),
            )
            summary, before = Summary.empty(self.mechanism), 0
            for n in LOOKS[::10].tolist():
                summary, before = summary.update(reports[before:n]), n
                found = rumor.estimate(self.mechanism, summary)
                lengths = {}
                for looks in missed:
                    low, high = self.ends(found, looks)
                    missed[looks][history] |= not low <= self.truth <= high
                    lengths[looks] = high - low
                if n >= PLANNED and len(widths) == history:
                    widths.append(lengths["any"] / lengths["one"])
        return _summed(missed, float(np.mean(widths)))


def below() -> Followed:
    """Follow the share of ordered answers up to a place."""

    def ends(found: Any, looks: str) -> tuple[float, float]:
        seen = found.cdf(25.0, LEVEL, looks=looks, users=PLANNED)
        return seen.low, seen.high

    mechanism = rumor.Wave(low=0, high=100, bins=16, epsilon=EPSILON)
    truth = float(stats.beta(2, 5).cdf(0.25))
    return Followed(mechanism, lambda n, rng: 100 * rng.beta(2, 5, n), truth, ends)


def of_key(quantity: str, truth: float) -> Followed:
    """Follow the share or the mean of one of four keys that people have or have not."""
    names = [str(key) for key in range(4)]
    mechanism = asked("keyvalue", keys=names, low=-1, high=1, cap=2, epsilon=EPSILON)

    def answers(n: int, rng: np.random.Generator) -> list[dict[str, float]]:
        held, values = rng.random((n, 2)) < [0.5, 0.3], rng.beta(2, 5, (n, 2)) * 2 - 1
        return [
            {names[key]: values[person, key] for key in np.flatnonzero(held[person])}
            for person in range(n)
        ]

    def ends(found: Any, looks: str) -> tuple[float, float]:
        low, high = found.interval(LEVEL, quantity=quantity, looks=looks, users=PLANNED)
        return low[0], high[0]

    return Followed(mechanism, answers, truth, ends)


def of_pair() -> Followed:
    """Follow the share of one cell of a table of two questions."""
    law = [0.1, 0.2, 0.3, 0.4]
    parts = [{"id": id, "labels": ["yes", "no"]} for id in ("smokes", "drinks")]

    def ends(found: Any, looks: str) -> tuple[float, float]:
        low, high = found.interval(LEVEL, looks=looks, users=PLANNED)
        return low[0], high[0]

    mechanism = Mixed(parts=parts, epsilon=EPSILON)
    return Followed(mechanism, lambda n, rng: rng.choice(4, n, p=law), law[0], ends)


Block = Callable[[int, np.random.Generator], Missed]


def blocks() -> dict[str, Block]:
    """Every block by name: what is read, of how many values."""
    named = {f"a named share of {d:,}": partial(named_share, d) for d in (2, 10, 400, 5_000)}
    shown = {f"the rows shown of {d:,}": partial(shown_rows, d) for d in (2, 10, 400, 5_000)}
    options = {f"a named option of {d}": partial(named_option, d) for d in (2, 10)}
    followed = {
        "ordered answers up to a place": below(),
        "the share of a key": of_key("frequency", 0.5),
        "the mean of a key": of_key("mean", 4 / 7 - 1),
        "a cell of two questions": of_pair(),
    }
    tenth = {f"{name}, every tenth look": block for name, block in followed.items()}
    return {**named, **shown, **options, "a mean": named_mean, **tenth}
