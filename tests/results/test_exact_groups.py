"""Groups of few reports: tests, weighted means and sources, summed exactly over all their counts.

Every combination of counts of one value in two or three groups is a row, with its probability at
every combination of shares. No draws and no luck.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.analysis.combine.result import Combined
from rumor.analysis.compare.quantities import Combination, Differences, WeightedMean
from rumor.analysis.trend import line
from rumor.core.types import Rows, Vector
from rumor.estimators.groups import PooledSamples, Sample
from rumor.mechanisms import FrequencyOracle, RandomizedResponse
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import Bounds, critical_value
from tests.results.test_exact_coverage import ROUNDING, law, least, of_every_count, oracles

SHARES = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.9, 1.0])
LEVELS = (0.1, 0.05, 0.01, 0.001, 0.0001)


@dataclass(frozen=True)
class Counts:
    """All combinations of the counts of one value in groups of these sizes."""

    oracles: Sequence[FrequencyOracle]
    sizes: Sequence[int]

    def samples(self) -> list[Sample]:
        """What each group says, a row for each combination."""
        grids = np.meshgrid(*(np.arange(n + 1) for n in self.sizes), indexing="ij")
        return [
            _sample(oracle, n, grid.reshape(-1))
            for oracle, n, grid in zip(self.oracles, self.sizes, grids, strict=True)
        ]

    def expected(self, rows: Vector, shares: Sequence[int]) -> float:
        """The expectation of a number for each combination, by places in `SHARES`."""
        found = rows.astype(np.float64).reshape([n + 1 for n in self.sizes])
        for chances, place in zip(self.laws, shares, strict=True):
            found = np.tensordot(chances[place], found, axes=(0, 0))
        return float(found)

    @functools.cached_property
    def laws(self) -> list[Vector]:
        """The probability of every count (columns) at every share (rows), for each group."""
        groups = zip(self.oracles, self.sizes, strict=True)
        return [law(oracle, n, SHARES, "population") for oracle, n in groups]


def _sample(oracle: FrequencyOracle, n: int, counts: Rows) -> Sample:
    every = of_every_count(oracle, n)
    return Sample.of_score(every.score.score, n, "population", every.exact).at(counts)


def shown(made: Combination) -> Bounds:
    """The intervals of a combined estimate at a level of 0.95, as it is shown."""
    return Combined(
        values=range(made.mean.size),
        quantities=["share"] * made.mean.size,
        unbiased=made.mean,
        stderr=made.stderr,
        intervals=made,
        parts={},
        reports=1,
        epsilon=1.0,
        method="",
    ).interval(0.95)


def held(ends: Bounds, truth: float) -> Vector:
    """Which intervals hold the truth, as far as doubles tell."""
    return np.asarray((ends[0] <= truth + ROUNDING) & (truth <= ends[1] + ROUNDING))


# Differences: the test errs as seldom as it says, whatever share both groups have.


def sizes_of_test(counts: Counts) -> Vector:
    """The largest chance of a false alarm at any share, over each level."""
    p_values = Differences.between(*counts.samples()).p_value
    return np.array(
        [
            max(
                counts.expected(np.where(p_values <= level, 1.0, 0.0), (i, i))
                for i in range(SHARES.size)
            )
            / level
            for level in LEVELS
        ]
    )


@pytest.mark.parametrize("sizes", [(5, 5), (20, 20), (5, 60)])
def test_differences_of_few_reports_are_found_by_chance_as_seldom_as_said(
    sizes: tuple[int, int],
) -> None:
    """By the normal distribution, 5 and 60 reports gave 48 false alarms for each that is due."""
    for oracle in oracles((2, 50), (1.0, 6.0)):
        found = sizes_of_test(Counts([oracle, oracle], sizes))
        assert (found <= 1).all(), (oracle, found)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (20, 60), (60, 60), (5, 300), (20, 300)])
def test_differences_are_found_as_seldom_as_said_everywhere(sizes: tuple[int, int]) -> None:
    made = list(oracles((2, 10, 50), (1.0, 4.0, 6.0)))
    for one, other in [*zip(made, made, strict=True), *itertools.pairwise(made)]:
        found = sizes_of_test(Counts([one, other], sizes))
        assert (found <= 1).all(), (one, other, found)


def test_a_p_value_says_what_the_interval_says() -> None:
    """Of few reports: an interval of level 1 - p ends at no difference."""
    oracle = RandomizedResponse(domain=50, epsilon=6.0)
    found = Differences.between(*Counts([oracle, oracle], (6, 30)).samples())
    p_values = found.p_value
    assert p_values.max() == 1.0
    for row in np.flatnonzero((p_values < 0.9) & (p_values > 1e-9))[::7]:
        low, high = found.bounds(critical_value(1 - p_values[row], 1))
        assert min(abs(low[row]), abs(high[row])) < 1e-5


def test_many_reports_keep_their_normal_p_values() -> None:
    """A variance of 400 on both sides; just below, p-values of 0.001 to 1 are a sixth larger."""
    oracle = RandomizedResponse(domain=2, epsilon=6.0)
    for more in (20, 60, 90):
        found = {}
        for n in (1580, 1620):  # 395 and 405
            half = n // 2
            tallies = [np.array([half + up, n - half - up]) for up in (0, more)]
            pair = rumor.compare(oracle, *(Summary(oracle, n, tally) for tally in tallies))
            first, second = (tally[0] / n for tally in tallies)
            middle = (first + second) / 2
            z = (second - first) / np.sqrt(2 * middle * (1 - middle) / n)
            found[n] = pair.p_value[0] / (2 * stats.norm.sf(z))
        assert found[1620] == pytest.approx(1.0, rel=1e-6)
        assert 1.0 < found[1580] < 1.17


# Weighted means: whatever each group's share is.


def check_weighted(oracle: FrequencyOracle, sizes: Sequence[int], weights: Sequence[float]) -> None:
    counts = Counts([oracle] * len(sizes), sizes)
    ends = shown(WeightedMean(counts.samples(), weights))
    for places in itertools.product(range(SHARES.size), repeat=len(sizes)):
        truth = float(np.array(weights) @ SHARES[list(places)])
        found = counts.expected(held(ends, truth), places)
        assert found >= least(0.95), (oracle, sizes, weights, SHARES[list(places)], found)


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ((5, 5), (0.5, 0.5)),
        ((5, 40), (0.5, 0.5)),
        ((20, 30), (0.9, 0.1)),
        ((1, 1, 1), (1 / 3,) * 3),
    ],
)
def test_weighted_means_of_few_reports_are_covered(
    sizes: Sequence[int], weights: Sequence[float]
) -> None:
    """The score interval of the mean alone held the truth in 0.83 to 0.9 of all samples."""
    for oracle in oracles((2, 50), (6.0,)):
        check_weighted(oracle, sizes, weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ((1, 60), (0.5, 0.5)),
        ((5, 60), (0.05, 0.95)),
        ((60, 60), (0.3, 0.7)),
        ((5, 10, 20), (0.5, 0.3, 0.2)),
        ((1, 5, 40), (0.01, 0.29, 0.7)),
        ((1, 1, 1, 1), (0.1, 0.2, 0.3, 0.4)),
    ],
)
def test_weighted_means_are_covered_everywhere(
    sizes: Sequence[int], weights: Sequence[float]
) -> None:
    for oracle in oracles((2, 10, 50), (1.0, 4.0, 6.0)):
        check_weighted(oracle, sizes, weights)


def test_a_lone_person_leaves_a_precise_mean_precise() -> None:
    """One report with a weight of 1 in 1,000, beside 100,000: ends move by a tenth of a percent."""
    oracle = RandomizedResponse(domain=4, epsilon=3.0)
    many = Summary(oracle, 100_000, np.array([40_000, 30_000, 20_000, 10_000]))
    lone = Summary(oracle, 1, np.array([0, 0, 0, 1]))
    low, high = rumor.weigh(oracle, {"many": many}, {"many": 1.0}).interval(0.95)
    found = rumor.weigh(oracle, {"many": many, "lone": lone}, {"many": 999.0, "lone": 1.0})
    beside = found.interval(0.95)
    np.testing.assert_allclose(beside, (low, high), atol=0.0025)
    assert (beside[1] - beside[0] < 1.3 * (high - low)).all()


# Sources of one population


def check_sources(first: FrequencyOracle, second: FrequencyOracle, sizes: tuple[int, int]) -> None:
    counts = Counts([first, second], sizes)
    ends = shown(PooledSamples(counts.samples()))
    for place, share in enumerate(SHARES):
        found = counts.expected(held(ends, float(share)), (place, place))
        assert found >= least(0.95), (first, second, sizes, share, found)


@pytest.mark.parametrize("sizes", [(5, 5), (20, 20), (5, 60), (60, 5)])
def test_sources_of_few_reports_are_covered(sizes: tuple[int, int]) -> None:
    """The score interval of both sources held the truth in 0.85 to 0.9 of all samples."""
    for domain, epsilons in itertools.product((2, 50), ((6.0, 6.0), (6.0, 1.0), (4.0, 3.0))):
        first, second = (RandomizedResponse(domain=domain, epsilon=each) for each in epsilons)
        check_sources(first, second, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (5, 60), (20, 300), (300, 5)])
def test_sources_are_covered_everywhere(sizes: tuple[int, int]) -> None:
    for domain in (2, 10, 50):
        made = list(oracles((domain,), (1.0, 4.0, 6.0)))
        for first, second in itertools.product(made, made):
            check_sources(first, second, sizes)


def test_shares_that_are_weighed_and_combined_hold_exact_ends() -> None:
    """By way of `weigh` and `combine`: two halves of 20 reports as all 20."""
    oracle = RandomizedResponse(domain=50, epsilon=6.0)
    tally = np.zeros(50, dtype=np.int64)
    tally[0] = 10
    half, all_of_them = Summary(oracle, 10, tally), Summary(oracle, 20, 2 * tally)
    low, high = rumor.estimate(oracle, all_of_them, method="inversion").interval(0.95, exact=True)
    for found in (
        rumor.weigh(oracle, {"a": half, "b": half}, {"a": 1.0, "b": 1.0}),
        rumor.combine([(oracle, half), (oracle, half)]),
    ):
        ends = found.interval(0.95)
        assert (ends[0] <= low + ROUNDING).all()
        assert (ends[1] >= high - ROUNDING).all()


# Lines over time


def test_lines_of_few_reports_are_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three days of five reports, all counts: bands by the normal distribution held 0.36."""
    monkeypatch.setattr(line, "_DRAWS", 10)  # of p-values, which are not looked at
    oracle, n, days = RandomizedResponse(domain=50, epsilon=6.0), 5, 3
    counts = Counts([oracle] * days, [n] * days)
    every = list(itertools.product(range(n + 1), repeat=days))
    ends = np.empty((2, len(every), days))
    for row, seen in enumerate(every):
        tallies = [np.array([count, n - count] + 48 * [0]) for count in seen]
        found = rumor.trend(
            oracle,
            {f"2026-03-0{day}": Summary(oracle, n, tally) for day, tally in enumerate(tallies, 1)},
        )
        ends[:, row] = [end[:, 0] for end in found.interval(0.95)]
    for place, day in itertools.product(range(SHARES.size), range(days)):
        hold = held((ends[0, :, day], ends[1, :, day]), float(SHARES[place]))
        covered = counts.expected(hold, [place] * days)
        assert covered >= least(0.95), (SHARES[place], day, covered)
