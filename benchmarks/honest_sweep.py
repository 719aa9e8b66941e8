"""One sweep over truths, sizes, crowds and epsilons: rows covered, leaders made up, errors.

Counts of subset selection are drawn directly, without reports
(rumor.kinds.planning.forecast).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

import rumor
from benchmarks.honest_truths import FEW, truths
from rumor.estimators.frequency.linear import project
from rumor.kinds.planning.forecast import drawn_tally
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import Score
from rumor.results.counts import CountIntervals
from rumor.results.estimate import Estimate
from rumor.results.intervals import ScoreIntervals
from rumor.results.view import View

Vector = NDArray[np.float64]

DOMAINS = (32, 300, 2000, 20_000)
PEOPLE = (300, 10_000, 1_000_000)
EPSILONS = (0.3, 1.0, 3.0)
RUNS = 400
ROWS = 10
LEADER = 3.0
NO_SIGNAL = 1.5
_Z = 1.959963984540054
# Plain intervals take as long as the rest: those of every so many runs stand for all.
_EVERY = 4
_LEAST = 1e-12


@dataclass(frozen=True)
class Cell:
    """One truth in one setting: so many runs of it."""

    domain: int
    people: int
    epsilon: float
    truth: str
    runs: int
    covered: float
    """The share of the rows shown whose interval holds the truth."""
    first: float
    """The same of the first rows."""
    plain: float
    """The same of the rows shown, with intervals of values named in advance."""
    width: float
    """The geometric mean of widths over those of the plain intervals."""
    leaders: float
    """The share of runs whose largest answer is above three times the largest truth."""
    error: float
    projection: float
    even: float
    """Sums of squared errors: of the default, of the projection, of 1/D for all."""

    @property
    def ratio(self) -> float:
        """The default over the projection, both with 0.05/N added."""
        floor = 0.05 / self.people
        return (self.error + floor) / (self.projection + floor)

    @property
    def silent(self) -> bool:
        """Whether the reports tell next to nothing: 1/D for all is nearly as good."""
        return self.even < NO_SIGNAL * self.error

    @property
    def few(self) -> bool:
        """Whether one or a few values have most."""
        return self.truth in FEW


def plain_ends(result: Estimate, rows: list[int]) -> tuple[Vector, Vector]:
    """Ends of some rows' intervals, as of values named in advance."""
    assert isinstance(result.intervals, CountIntervals)
    whole = result.intervals.score
    some = Score(whole.score.excess[rows], whole.score.gain, whole.score.spread)
    low, high = ScoreIntervals(some, whole.trials).bounds(_Z, "population")
    answer = result.frequency[rows]
    return np.minimum(low, answer), np.maximum(high, answer)


def cells(domains: tuple[int, ...] = DOMAINS, runs: int = RUNS, seed: int = 18) -> Iterator[Cell]:
    """Every cell, in order; `runs` are those of a block, over all truths."""
    view = View(order="estimate", rows=ROWS)
    for domain, people, epsilon in product(domains, PEOPLE, EPSILONS):
        oracle, laws = rumor.SubsetSelection(domain=domain, epsilon=epsilon), truths(domain)
        each = math.ceil(runs / len(laws))
        for place, (name, law) in enumerate(laws.items()):
            rng = np.random.default_rng([seed, domain, people, int(10 * epsilon), place])
            yield _cell(oracle, name, law, people, each, view, rng)


def again(cell: Cell, runs: int, seed: int = 180) -> Cell:
    """The same cell with fresh seeds and more runs."""
    oracle = rumor.SubsetSelection(domain=cell.domain, epsilon=cell.epsilon)
    names = list(truths(cell.domain))
    place = names.index(cell.truth)
    rng = np.random.default_rng([seed, cell.domain, cell.people, int(10 * cell.epsilon), place])
    law, view = truths(cell.domain)[cell.truth], View(order="estimate", rows=ROWS)
    return _cell(oracle, cell.truth, law, cell.people, runs, view, rng)


def _cell(
    oracle: rumor.SubsetSelection,
    name: str,
    law: Vector,
    people: int,
    runs: int,
    view: View,
    rng: np.random.Generator,
) -> Cell:
    sums, alone = np.zeros(5), np.zeros(2)
    for run in range(runs):
        summary = Summary(oracle, people, drawn_tally(oracle, law, people, rng))
        result = rumor.estimate(oracle, summary)
        rows = result.ranking(ROWS)
        low, high = result.bounds(rows, view)
        held = (low <= law[rows]) & (law[rows] <= high)
        if run % _EVERY == 0:
            bottom, top = plain_ends(result, rows)
            plain = (bottom <= law[rows]) & (law[rows] <= top)
            width = np.log((high - low + _LEAST) / (top - bottom + _LEAST))
            alone += [plain.mean(), width.mean()]
        sums += [
            held.mean(),
            held[0],
            result.frequency.max() > LEADER * law.max(),
            ((result.frequency - law) ** 2).sum(),
            ((project(result.unbiased) - law) ** 2).sum(),
        ]
    covered, first, leaders, error, projection = (sums / runs).tolist()
    share, wider = (alone / math.ceil(runs / _EVERY)).tolist()
    return Cell(
        domain=oracle.domain,
        people=people,
        epsilon=round(oracle.epsilon, 6),
        truth=name,
        runs=runs,
        covered=covered,
        first=first,
        plain=share,
        width=math.exp(wider),
        leaders=leaders,
        error=error,
        projection=projection,
        even=float(((1 / law.size - law) ** 2).sum()),
    )


def few_values(
    law: Vector, people: int, epsilon: float, runs: int, rng: np.random.Generator
) -> Iterator[float]:
    """The default's squared error over the projection's on one of the everyday truths.

    One ratio for randomised response and one for subset selection; reports are drawn exactly, from
    all outputs there are.
    """
    for mechanism in (rumor.RandomizedResponse, rumor.SubsetSelection):
        oracle = mechanism(domain=law.size, epsilon=epsilon)
        outputs = oracle.outputs()
        chances = 1 + (oracle.odds - 1) * oracle.forward(outputs, law)
        supports = np.rint([oracle.forward(outputs, one) for one in np.eye(law.size)])
        squares = np.zeros(2)
        for drawn in rng.multinomial(people, chances / chances.sum(), size=runs):
            tally = np.rint(supports @ drawn).astype(np.int64)
            found = rumor.estimate(oracle, Summary(oracle, people, tally))
            for place, answer in enumerate((found.frequency, project(found.unbiased))):
                squares[place] += ((answer - law) ** 2).sum()
        yield float(squares[0] / squares[1])


def largest_step(
    oracle: FrequencyOracle, values: NDArray[np.int64], start: int, seed: int
) -> float:
    """The largest move of a share by one more report, over what is allowed, from `start` on.

    Allowed are one standard error and twice the largest move of an unbiased share.
    """
    reports = oracle.privatize(values, random=rumor.Seeded(seed))
    summary = Summary.empty(oracle).update(reports[:start])
    before, largest = rumor.estimate(oracle, summary), 0.0
    for place in range(start, len(reports)):
        summary = summary.update(reports[place : place + 1])
        after = rumor.estimate(oracle, summary)
        allowed = np.maximum(before.stderr, 2 * np.abs(after.unbiased - before.unbiased).max())
        moved = np.abs(after.frequency - before.frequency)
        largest = max(largest, float((moved / allowed).max()))
        before = after
    return largest
