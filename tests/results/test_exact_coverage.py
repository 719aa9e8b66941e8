"""Intervals hold the truth as often as they say, summed exactly over every count.

No draws and no luck: the coverage at a share is the probability of the counts whose interval
holds it. Of alpha, a tenth is allowed for what the normal distribution loses above the limit of
`rumor.results.counts`; exact intervals lose nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.core.types import Target, Vector
from rumor.kinds.keyvalue.intervals import KeyIntervals
from rumor.mechanisms import FrequencyOracle, HadamardResponse, RandomizedResponse
from rumor.mechanisms.keyvalue import KeyCounts
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts, Score
from rumor.results.counts import CountIntervals, ExactIntervals
from rumor.results.intervals import ScoreIntervals, Tails, critical_value
from rumor.results.view import View

LEVELS = (0.5, 0.8, 0.95, 0.99)
NEAR = np.geomspace(1e-4, 0.5, 30)
SHARES = np.unique(np.concatenate([[0.0], NEAR, 1 - NEAR, [1.0]]))
ROUNDING = 1e-9


def least(level: float) -> float:
    """The least coverage that is allowed: misses are at most a tenth more frequent than said."""
    return level - (1 - level) / 10


def oracles(domains: tuple[int, ...], epsilons: tuple[float, ...]) -> Iterator[FrequencyOracle]:
    """Every registered oracle whose count of one value is binomial, once for each pair of rates."""
    seen = set()
    for domain, epsilon in itertools.product(domains, epsilons):
        for kind in mechanisms_of_kind("choice"):
            if not issubclass(kind, FrequencyOracle) or not kind.FROM_EPSILON:
                continue
            if not kind.MIN_DOMAIN <= domain <= kind.MAX_DOMAIN:
                continue
            make: Any = kind
            oracle: FrequencyOracle = make(domain=domain, epsilon=epsilon)
            items = oracle.item_channel(np.zeros(oracle.tally_size, dtype=np.int64), 1)
            rates = (round(float(np.max(items.hit)), 12), round(float(np.max(items.miss)), 12))
            if items.reports is None and rates not in seen:
                seen.add(rates)
                yield oracle


def of_every_count(oracle: FrequencyOracle, n: int) -> CountIntervals:
    """The intervals that an estimate from n reports has of a value, for each of its counts."""
    counts, nothing = np.arange(n + 1), np.zeros(oracle.tally_size, dtype=np.int64)
    items, score = oracle.item_channel(nothing, n), oracle.score(nothing, n)
    made = ItemCounts(counts, items.trials, items.hit, items.miss, items.dispersion)
    # A mean over reports is a line in the count: its height at no count, and its slope.
    slope = score.gain / float(items.gain)
    mean = Score(slope * (counts / n - float(items.miss)), score.gain, plain(score))
    return CountIntervals(ScoreIntervals(mean, n), ExactIntervals(made))


def plain(score: Score) -> dict[Target, tuple[float | Vector, float | Vector, float]]:
    """Spreads as one number each, where an oracle has one for every value."""
    return {of: (float(np.max(v0)), v1, v2) for of, (v0, v1, v2) in score.spread.items()}


def law(oracle: FrequencyOracle, n: int, shares: Vector, of: Target) -> Vector:
    """The probability of every count (columns) at every share (rows)."""
    items = oracle.item_channel(np.zeros(oracle.tally_size, dtype=np.int64), n)
    hit, miss, counts = float(np.max(items.hit)), float(np.max(items.miss)), np.arange(n + 1)
    if of == "population":
        return np.asarray(stats.binom.pmf(counts, n, miss + (hit - miss) * shares[:, None]))
    rows = []
    for holders in np.rint(n * shares).astype(int):
        own = stats.binom.pmf(np.arange(holders + 1), holders, hit)
        rows.append(
            np.convolve(own, stats.binom.pmf(np.arange(n - holders + 1), n - holders, miss))
        )
    return np.array(rows)


def held(ends: tuple[Vector, Vector], truth: Vector) -> Vector:
    """Which ends (columns) hold which truth (rows), as far as doubles tell."""
    low, high = np.clip(ends[0], 0, 1), np.clip(ends[1], 0, 1)
    return np.asarray((low <= truth[:, None] + ROUNDING) & (truth[:, None] <= high + ROUNDING))


def check(oracle: FrequencyOracle, n: int, of: Target) -> None:
    shares = SHARES if of == "population" else np.unique(np.rint(n * SHARES)) / n
    intervals, chances = of_every_count(oracle, n), law(oracle, n, shares, of)
    for level in LEVELS:
        ends = intervals.bounds(critical_value(level, 1), of)
        covered = (chances * held(ends, shares)).sum(axis=1)
        worst = int(covered.argmin())
        assert covered[worst] >= least(level), (oracle, n, level, of, shares[worst], covered[worst])


@pytest.mark.parametrize("of", ["population", "people"])
@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_a_value_named_in_advance_is_covered(n: int, of: Target) -> None:
    for oracle in oracles((2, 50), (0.2, 1.0, 6.0)):
        check(oracle, n, of)


def test_many_reports_are_covered_too() -> None:
    for oracle in oracles((2, 50), (0.2, 1.0, 6.0)):
        check(oracle, 300, "population")


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000])
def test_a_value_named_in_advance_is_covered_everywhere(n: int) -> None:
    for oracle in oracles((2, 3, 5, 12, 50, 200, 1000), (0.2, 0.5, 1.0, 2.0, 4.0, 6.0)):
        check(oracle, n, "population")
        if n <= 50:
            check(oracle, n, "people")


@pytest.mark.parametrize(
    ("domain", "epsilon", "n", "share"),
    [(50, 6.0, 20, 0.01), (2, 1.0, 1, 0.0), (2, 1.0, 3, 0.3), (300, 5.0, 40, 0.004)],
)
def test_what_an_estimate_shows_is_covered(
    domain: int, epsilon: float, n: int, share: float
) -> None:
    """By way of `estimate`: the first is the cell that was found at 0.80, the second at 0.73."""
    oracle = RandomizedResponse(domain=domain, epsilon=epsilon)
    covered = 0.0
    for count, chance in enumerate(law(oracle, n, np.array([share]), "population")[0]):
        tally = np.zeros(domain, dtype=np.int64)
        tally[:2] = count, n - count
        result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
        low, high = (float(ends[0]) for ends in result.interval(0.95))
        covered += chance * (low - ROUNDING <= share <= high + ROUNDING)
    assert covered >= 0.95


def test_many_reports_keep_their_score_intervals() -> None:
    """A variance of 400 and more: the score test's, to the last digit."""
    oracle, n = rumor.UnaryEncoding(domain=40, epsilon=1.0), 20_000
    tally = np.linspace(5500, 10_000, 40).astype(np.int64)
    result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
    score = ScoreIntervals(oracle.score(tally, n), n)
    for of in ("population", "people"):
        found, plainly = result.interval(0.9, of=of), score.bounds(critical_value(0.9, 1), of)
        assert found[0].tolist() == plainly[0].tolist()
        assert found[1].tolist() == plainly[1].tolist()


# Tables


def falling(domain: int) -> list[Vector]:
    """An even law, Zipf's, one that halves, and one with a leader: fixed by rule."""
    ranks = np.arange(domain)
    raw = [np.ones(domain), 1 / (1 + ranks), 0.5**ranks, np.where(ranks, 0.1, 0.9 * (domain - 1))]
    return [each / each.sum() for each in raw]


@pytest.mark.parametrize(
    ("domain", "epsilon", "n"),
    [(2, 1.0, 1), (2, 6.0, 4), (3, 6.0, 3), (6, 3.0, 3), (12, 6.0, 3), (50, 10.0, 1), (60, 9.0, 1)],
)
def test_rows_that_came_out_on_top_are_covered(domain: int, epsilon: float, n: int) -> None:
    """Every table of one to four reports, weighed by its probability: wherever it is cut."""
    oracle, cuts = RandomizedResponse(domain=domain, epsilon=epsilon), (1, 3, domain)
    drawn = itertools.combinations_with_replacement(range(domain), n)
    tables = [np.bincount(values, minlength=domain) for values in drawn]
    truths = falling(domain)
    covered = np.zeros((len(truths), len(cuts)))
    for tally in tables:
        result = rumor.estimate(oracle, Summary(oracle, n, tally), method="projection")
        order = result.ranking(None)
        low, high = result.bounds(order, View(order="estimate"))
        for row, truth in enumerate(truths):
            chance = stats.multinomial.pmf(tally, n, oracle.miss + oracle.gain * truth)
            hold = (low <= truth[order] + ROUNDING) & (truth[order] <= high + ROUNDING)
            covered[row] += chance * np.array([hold[:cut].mean() for cut in cuts])
    assert (covered >= least(0.95)).all(), covered


# A blocked Hadamard matrix: supporting and other reports of a block, and those of all others


@pytest.mark.parametrize(("domain", "epsilon"), [(5, 4.0), (40, 3.0), (40, 6.0)])
@pytest.mark.parametrize("n", [1, 3, 10, pytest.param(40, marks=pytest.mark.slow)])
def test_blocks_are_covered(n: int, domain: int, epsilon: float) -> None:
    """Whatever part of the people belongs to the block, summed over all pairs of counts."""
    oracle = HadamardResponse(domain=domain, epsilon=epsilon)
    assert oracle.blocks > 1
    gain, hit = float(oracle.exact_gain), float(oracle.exact_hit)
    beside, intervals = hit - gain, []
    pairs = [(plus, minus) for plus in range(n + 1) for minus in range(n + 1 - plus)]
    for plus, minus in pairs:
        # The block of value 0, whose row is 1: even outputs support it.
        tally = np.zeros(oracle.tally_size, dtype=np.int64)
        tally[0], tally[1], tally[oracle.block] = plus, minus, n - plus - minus
        result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
        shown = result.intervals.tails(np.array([0]), Tails.alike(0.025, 0.025, 1), "population")
        intervals.append([*(end[0] for end in result.interval(0.95)), *(end[0] for end in shown)])
    low, high, under, over = np.array(intervals).T
    counts = np.array([(plus, minus, n - plus - minus) for plus, minus in pairs])
    for share, more in itertools.product((0.0, 0.01, 0.1, 0.4, 0.9, 1.0), (0.0, 0.5, 1.0)):
        block = share + more * (1 - share)
        inside = 2 * beside + block * (hit - beside)
        chances = [(inside + gain * share) / 2, (inside - gain * share) / 2, 1 - inside]
        law_of_pairs = stats.multinomial.pmf(counts, n, np.maximum(chances, 0.0))
        for ends in ((low, high), (under, over)):
            hold = (ends[0] <= share + ROUNDING) & (share <= ends[1] + ROUNDING)
            assert law_of_pairs @ hold >= least(0.95), (share, block)


# Shares of groups, and means


@pytest.mark.parametrize("n", [1, 4, 20, 60])
def test_shares_of_a_group_are_covered(n: int) -> None:
    """A report of randomised response is of the group or not: binomial."""
    domain, members = 10, [0, 1, 2]
    oracle = RandomizedResponse(domain=domain, epsilon=5.0)
    outside, inside = 3 * oracle.miss, oracle.hit + 2 * oracle.miss
    ends = []
    for count in range(n + 1):
        tally = np.zeros(domain, dtype=np.int64)
        tally[[0, 9]] = count, n - count
        result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
        share = result.share(members)
        ends.append((share.low, share.high))
    low, high = np.array(ends).T
    chances = stats.binom.pmf(np.arange(n + 1), n, outside + (inside - outside) * SHARES[:, None])
    assert ((chances * held((low, high), SHARES)).sum(axis=1) >= least(0.95)).all()


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("n", [1, 3, 20, 100])
def test_means_of_coins_are_covered(n: int, epsilon: float) -> None:
    mechanism = rumor.Harmony(low=0.0, high=1.0, epsilon=epsilon)
    hit, miss = mechanism.rates
    found = [
        rumor.estimate(mechanism, Summary(mechanism, n, np.array([count]))).interval(0.95)
        for count in range(n + 1)
    ]
    low, high = np.array(found).T
    chances = stats.binom.pmf(np.arange(n + 1), n, miss + (hit - miss) * SHARES[:, None])
    assert ((chances * held((low, high), SHARES)).sum(axis=1) >= least(0.95)).all()


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 6.0])
@pytest.mark.parametrize("kind", [rumor.Piecewise, rumor.Window])
@pytest.mark.parametrize("n", [1, 2, 10, 40])
def test_means_of_numbers_are_covered(
    n: int, kind: type[rumor.Piecewise] | type[rumor.Window], epsilon: float
) -> None:
    """300 samples of each of four populations, people at one end alone and rare ones among them.

    Four standard errors of 300 draws are 0.050.
    """
    mechanism, rng, runs = kind(low=-1.0, high=1.0, epsilon=epsilon), np.random.default_rng(41), 300
    for rare in (0.0, 0.03, 0.1, 0.5):
        people = np.where(rng.random((runs, n)) < rare, 1.0, -1.0)
        reports = mechanism.privatize(people.reshape(-1), random=rumor.Seeded(41))
        truth, covered = 2 * rare - 1, 0
        for sample in reports.reshape(runs, n, -1):
            low, high = rumor.estimate(mechanism, sample).interval(0.95)
            covered += low - ROUNDING <= truth <= high + ROUNDING
        assert covered / runs >= 0.95 - 0.05, (rare, covered / runs)


# Differences of two groups


@pytest.mark.parametrize(
    ("n", "m"), [(1, 1), (5, 20), pytest.param(20, 20, marks=pytest.mark.slow)]
)
def test_differences_of_small_groups_are_covered(n: int, m: int) -> None:
    """Every pair of counts of one value in two groups, whose shares are equal or not."""
    oracle, truths = (
        RandomizedResponse(domain=50, epsilon=6.0),
        np.array([0.0, 0.01, 0.1, 0.6, 1.0]),
    )
    ends = np.empty((2, n + 1, m + 1))
    for one, other in np.ndindex(n + 1, m + 1):
        first, second = np.zeros((2, 50), dtype=np.int64)
        first[:2], second[:2] = (one, n - one), (other, m - other)
        found = rumor.compare(oracle, Summary(oracle, n, first), Summary(oracle, m, second))
        ends[:, one, other] = [end[0] for end in found.interval(0.95)]
    laws = [law(oracle, size, truths, "population") for size in (n, m)]
    for i, j in np.ndindex(truths.size, truths.size):
        difference = truths[j] - truths[i]
        hold = (ends[0] <= difference + ROUNDING) & (difference <= ends[1] + ROUNDING)
        assert laws[0][i] @ hold @ laws[1][j] >= least(0.95), (truths[i], truths[j])


# A channel of one's own


@pytest.mark.parametrize("n", [1, 5, 30])
def test_rows_of_a_channel_are_covered(n: int) -> None:
    """Randomised response as a matrix: what a report adds to a row takes two values."""
    oracle, domain = RandomizedResponse(domain=10, epsilon=4.0), 10
    channel = np.full((domain, domain), oracle.miss) + oracle.gain * np.eye(domain)
    ends = []
    for count in range(n + 1):
        seen = np.zeros(domain)
        seen[:2] = count, n - count
        found = rumor.estimate(channel, seen, method="inversion").interval(0.95)
        ends.append([end[0] for end in found])
    low, high = np.array(ends).T
    chances = law(oracle, n, SHARES, "population")
    assert ((chances * held((low, high), SHARES)).sum(axis=1) >= least(0.95)).all()


# Means of keys


@pytest.mark.parametrize("trials", [1, 6, 25])
def test_means_of_keys_are_covered(trials: int) -> None:
    """Every count of + and - of one key, out of the reports about it."""
    rates = rumor.KeyValueBlock(keys=6, epsilon=4.0).rates
    pairs = [(plus, minus) for plus in range(trials + 1) for minus in range(trials + 1 - plus)]
    plus, minus = np.array(pairs).T
    counts = KeyCounts(plus, minus, np.full(plus.size, trials))
    alike = Tails.alike(0.025, 0.025, plus.size)
    low, high = KeyIntervals(counts, rates, -1.0, 1.0).mean(np.arange(plus.size), alike)
    for share, mean in itertools.product((0.1, 0.5, 0.9, 1.0), (-1.0, -0.6, 0.0, 0.9)):
        seen, tilt = rates.miss + rates.gain * share, rates.sign_gain * share * mean
        chances = [(seen + tilt) / 2, (seen - tilt) / 2, 1 - seen]
        known = np.stack([plus, minus, trials - plus - minus], axis=1)
        hold = (low <= mean + ROUNDING) & (mean <= high + ROUNDING)
        covered = stats.multinomial.pmf(known, trials, chances) @ hold
        assert covered >= least(0.95), (share, mean, covered)


# Joint tables


@pytest.mark.parametrize("people", [3, 30])
def test_cells_and_margins_of_few_people_are_covered(people: int) -> None:
    """200 tables of two by three answers; four standard errors of 200 draws are 0.062."""
    runs, rng = 200, np.random.default_rng(43)
    mechanism = rumor.Mixed(parts=[2, 3], epsilon=5.0)
    shares = np.array([[0.5, 0.2, 0.05], [0.2, 0.04, 0.01]])
    truth = np.concatenate([shares.ravel(), shares.sum(axis=1), shares.sum(axis=0)])
    covered = np.zeros(truth.size)
    for run in range(runs):
        held = rng.choice(6, people, p=shares.ravel())
        table = np.column_stack([held // 3, held % 3])
        low, high = rumor.estimate(
            mechanism, mechanism.privatize(table, random=rumor.Seeded(run))
        ).interval(0.95)
        covered += (low <= truth + ROUNDING) & (truth <= high + ROUNDING)
    assert (covered / runs >= 0.95 - 0.062).all(), covered / runs
