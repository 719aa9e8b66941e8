"""Intervals that are read 200 times while reports arrive: how often one is ever wrong, how wide.

A history is one collection, read at 200 numbers of reports from a hundredth to four times the
planned number. It misses where the interval of a share (or a mean) that was named in advance does
not hold the truth at some look. Of rows that are shown, a history misses where the first row does
at some look; the share of the ten rows that miss, at the worst look, must be 5% on average at most.
Truths fall like 1/rank. Widths are compared with the intervals for one look, at the planned number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

import rumor
from benchmarks.kept_parts import TrialRows
from benchmarks.looks_alarms import Block, as_rows, asked
from rumor.core.types import Rows as Places
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
PLANNED, EPSILON = 10_000, 2.0
LOOKS = np.unique(np.rint(np.geomspace(PLANNED / 100, 4 * PLANNED, 200)).astype(int))
SHOWN = 10
WIDEST = 1.7


class Missed:
    """The histories of a block that had a miss so far, and the lengths at the planned number."""

    def __init__(self, histories: int) -> None:
        self._ever = {name: np.zeros(histories, dtype=bool) for name in ("any", "one")}
        self._worst = np.zeros(histories)
        self._length = np.full(histories, np.nan)

    def look(
        self, n: int, exact: ExactIntervals, tails: Callable[[OneLook], Tails], truth: Vector
    ) -> None:
        """Add a look at `n` reports by the `exact` intervals of all rows, history after history."""
        rows = np.arange(truth.size)
        found: dict[str, Vector] = {}
        for look in (AnyLook(n, PLANNED), ONE_LOOK):
            ends = exact.tails(rows, tails(look), "population")
            found[look.name] = np.stack(ends, axis=1).reshape(*truth.shape, 2)
        self.ends(n, found, truth)

    def ends(self, n: int, found: Mapping[str, Vector], truth: Vector) -> None:
        """Add a look at `n` reports: the ends `found` of histories by rows, and their `truth`.

        The first row of a history counts for what is ever missed, all for the share that misses.
        """
        out = {
            name: (ends[..., 0] > truth) | (ends[..., 1] < truth) for name, ends in found.items()
        }
        for name, missed in out.items():
            self._ever[name] |= missed[:, 0]
        self._worst = np.maximum(self._worst, out["any"].mean(axis=1))
        if n >= PLANNED and np.isnan(self._length).any():
            lengths = {name: ends[..., 1] - ends[..., 0] for name, ends in found.items()}
            self._length = (lengths["any"] / lengths["one"]).mean(axis=1)

    def rows(self) -> TrialRows:
        """Return for each history whether an interval for any look ever missed, whether one for
        one look did, the largest share of rows that missed, and the length over that for one look.
        """
        return as_rows(self._ever["any"], self._ever["one"], self._worst, self._length)


def shares(domain: int) -> Vector:
    """Shares that fall like 1/rank."""
    falling = 1 / np.arange(1, domain + 1)
    return np.asarray(falling / falling.sum())


def _oracle(domain: int) -> rumor.SubsetSelection:
    return rumor.SubsetSelection(domain=domain, epsilon=EPSILON)


def _counts(
    oracle: rumor.SubsetSelection, truth: Vector, histories: int, rng: np.random.Generator
) -> Iterator[tuple[int, Tally]]:
    """Yield each look with the supports of values of these shares: a row for each history."""
    chance = oracle.miss + oracle.gain * truth
    counts, before = np.zeros((histories, truth.size), dtype=np.int64), 0
    for n in LOOKS.tolist():
        counts += rng.binomial(n - before, chance, size=counts.shape)
        before = n
        yield n, counts


def _intervals(oracle: rumor.SubsetSelection, counts: Tally, n: int) -> ExactIntervals:
    return ExactIntervals(ItemCounts(counts, float(n), oracle.hit, oracle.miss, oracle.dispersion))


def _named(rows: int) -> Callable[[OneLook], Tails]:
    """Return the tails of shares that were named in advance, by the look."""
    return lambda look: EqualTails.of(LEVEL, look=look).rows(rows)


def named_share(domain: int, histories: int, rng: np.random.Generator) -> TrialRows:
    """Read the share of the second most frequent value, chosen before seeing the data."""
    oracle, truth = _oracle(domain), shares(domain)[1:2]
    missed = Missed(histories)
    for n, counts in _counts(oracle, truth, histories, rng):
        exact = _intervals(oracle, counts[:, 0], n)
        missed.look(n, exact, _named(histories), np.broadcast_to(truth, (histories, 1)))
    return missed.rows()


def named_option(options: int, histories: int, rng: np.random.Generator) -> TrialRows:
    """Read the share of one option of a set, which a part of the reports are about."""
    mechanism = SetBlock(domain=options, epsilon=EPSILON, block=1)
    truth, part = float(shares(options)[1]), 1 / options
    missed, before = Missed(histories), 0
    trials, counts = np.zeros(histories), np.zeros(histories)
    for n in LOOKS.tolist():
        more = rng.binomial(n - before, part, size=histories)
        trials = trials + more
        counts = counts + rng.binomial(more, mechanism.miss + mechanism.gain * truth)
        before = n
        known = np.maximum(trials, 1.0)
        exact = ExactIntervals(ItemCounts(counts, known, mechanism.hit, mechanism.miss, 1.0))
        missed.look(n, exact, _named(histories), np.full((histories, 1), truth))
    return missed.rows()


def shown_rows(domain: int, histories: int, rng: np.random.Generator) -> TrialRows:
    """Read the first ten rows of a table, each time those that come out first."""
    oracle, truth = _oracle(domain), shares(domain)
    missed, places = Missed(histories), np.arange(min(SHOWN, domain))
    for n, counts in _counts(oracle, truth, histories, rng):
        table = _Tables(oracle, counts, n)
        first = np.array([order[places] for order in table.orders])
        seen = np.take_along_axis(counts, first, axis=1).ravel()
        missed.look(
            n, _intervals(oracle, seen, n), functools.partial(table.tails, places), truth[first]
        )
    return missed.rows()


class _Tables:
    """The ranked tables of some histories at one number of reports."""

    def __init__(self, oracle: rumor.SubsetSelection, counts: Tally, n: int) -> None:
        self._whole = _intervals(oracle, counts.ravel(), n)
        self._unbiased = self._whole.items.unbiased.reshape(counts.shape)
        self._stderr = np.sqrt(oracle.variance(np.clip(self._unbiased, 0, 1), n))
        self._redrawn: dict[float, tuple[Vector, Vector]] = {}
        self.orders = [ranked(row, row) for row in self._unbiased]

    def tails(self, places: Places, look: OneLook) -> Tails:
        """Return the tails of the rows at these `places` of each table, one after another."""
        made = [
            rank_tails(
                LEVEL,
                order,
                self._unbiased[row],
                self._stderr[row],
                functools.partial(self._again, row),
                look,
            ).at(places)
            for row, order in enumerate(self.orders)
        ]
        lower, upper = ([tails.lower for tails in made], [tails.upper for tails in made])
        return Tails(np.concatenate(lower), np.concatenate(upper), look)

    def _again(self, row: int, tail: float) -> tuple[Vector, Vector]:
        """Return where the counts of a `row` could come out; all rows are made at once."""
        if tail not in self._redrawn:
            low, high = self._whole.redrawn(tail)
            shape = self._unbiased.shape
            self._redrawn[tail] = low.reshape(shape), high.reshape(shape)
        low, high = self._redrawn[tail]
        return low[row], high[row]


def named_mean(histories: int, rng: np.random.Generator) -> TrialRows:
    """Read the mean of a number, whose reports vary with the answers."""
    mechanism = Piecewise(low=0, high=1, epsilon=EPSILON)
    rows: TrialRows = []
    for _ in range(histories):
        answers = rng.beta(2, 5, size=int(LOOKS[-1]))
        reports = mechanism.privatize(answers, random=rumor.Seeded(int(rng.integers(1 << 30))))
        tally, before, missed = None, 0, Missed(1)
        for n in LOOKS.tolist():
            more = mechanism.tally(reports[before:n])
            tally, before = more if tally is None else tally + more, n
            found = estimate_mean(mechanism, Summary(mechanism, n, tally), "inversion")
            missed.ends(
                n,
                {
                    looks: np.array([[found.interval(LEVEL, looks=looks, users=PLANNED)]])
                    for looks in ("any", "one")
                },
                np.array([[2 / 7]]),
            )
        rows += missed.rows()
    return rows


@dataclass(frozen=True)
class Followed:
    """A quantity that is read at a tenth of the looks, named in advance."""

    mechanism: Mechanism
    answers: Callable[[int, np.random.Generator], Any]
    """Draws the answers of some people."""
    truth: float
    ends: Callable[[Any, str], tuple[float, float]]
    """Returns the ends of the quantity's interval in an estimate, for one look or any."""

    def __call__(self, histories: int, rng: np.random.Generator) -> TrialRows:
        """Read the quantity of some histories."""
        rows: TrialRows = []
        for _ in range(histories):
            reports = self.mechanism.privatize(
                self.answers(int(LOOKS[-1]), rng),
                random=rumor.Seeded(int(rng.integers(1 << 30))),
            )
            summary, before, missed = Summary.empty(self.mechanism), 0, Missed(1)
            for n in LOOKS[::10].tolist():
                summary, before = summary.update(reports[before:n]), n
                found = rumor.estimate(self.mechanism, summary)
                both = {looks: np.array([[self.ends(found, looks)]]) for looks in ("any", "one")}
                missed.ends(n, both, np.array([[self.truth]]))
            rows += missed.rows()
        return rows


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


def blocks() -> dict[str, Block]:
    """Return every block by name: what is read, of how many values."""
    domains = (2, 10, 400, 5_000)
    followed = {
        "ordered answers up to a place": below(),
        "the share of a key": of_key("frequency", 0.5),
        "the mean of a key": of_key("mean", 4 / 7 - 1),
        "a cell of two questions": of_pair(),
    }
    return {
        **{f"a named share of {d:,}": functools.partial(named_share, d) for d in domains},
        **{f"the rows shown of {d:,}": functools.partial(shown_rows, d) for d in domains},
        **{f"a named option of {d}": functools.partial(named_option, d) for d in (2, 10)},
        "a mean": named_mean,
        **{f"{name}, every tenth look": block for name, block in followed.items()},
    }
