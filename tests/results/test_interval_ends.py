"""The ends of every family of intervals satisfy the equations that define them.

Tails differ from each other throughout, so that an end with the other's tail is seen. Chances of
counts are sums of fractions or of products of numpy, without a function of the package.
"""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.core.binomial import FEW
from rumor.core.types import Target, Vector
from rumor.mechanisms import FrequencyOracle, HadamardResponse
from rumor.mechanisms.cap_sampling import Kept
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import ItemCounts, Score
from rumor.results import counts as module
from rumor.results.counts import (
    BoundedIntervals,
    CountIntervals,
    ExactIntervals,
    FixedPeople,
    binomial_ends,
    bounded_ends,
    counts_again,
)
from rumor.results.intervals import (
    EqualTails,
    FoundIntervals,
    NormalIntervals,
    ScoreIntervals,
    Tails,
    p_value,
    share_ends,
    simultaneous_tails,
    stderr_of_test,
    upper_tail,
)
from rumor.results.kept import FullSlots, TrueShareIntervals, true_share_intervals
from rumor.results.selection import (
    both_sided_tails,
    first_tail,
    prefix_tails,
    rank_tails,
    ranked,
    ranks,
    split_tails,
)
from rumor.results.smallest_share import RareCount
from rumor.results.view import View

NORMAL = NormalDist()
LOWER, UPPER = 0.01, 0.08
Z = (-NORMAL.inv_cdf(LOWER), -NORMAL.inv_cdf(UPPER))


def at_least(count: int, trials: int, chance: float) -> float:
    """The probability of `count` successes or more, summed in fractions."""
    p = Fraction(chance)
    terms = (
        math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(count, trials + 1)
    )
    return float(sum(terms, Fraction(0)))


def tails_of(rows: int) -> Tails:
    return Tails(np.full(rows, LOWER), np.full(rows, UPPER))


def small_oracles() -> list[FrequencyOracle]:
    """Every registered oracle of six values; of Hadamard's also one in blocks."""
    found: list[FrequencyOracle] = []
    for kind in mechanisms_of_kind("choice"):
        if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON and kind.MAX_DOMAIN >= 6:
            make: Any = kind
            found.append(make(domain=6, epsilon=1.5))
    return [*found, HadamardResponse(domain=6, epsilon=3.0)]


@functools.cache
def summary_of(oracle: FrequencyOracle, people: int) -> Summary:
    held = np.random.default_rng(1).choice(6, people, p=[0.5, 0.25, 0.15, 0.06, 0.04, 0.0])
    return Summary.empty(oracle).update(oracle.privatize(held, random=rumor.Seeded(2)))


# Binomial counts


@pytest.mark.parametrize("trials", [1, 2, 5, 6, 30])
def test_binomial_ends_are_where_the_count_is_that_rare(trials: int) -> None:
    counts = np.arange(trials + 1)
    low, high = binomial_ends(
        counts.astype(np.float64), np.full(counts.size, float(trials)), tails_of(counts.size)
    )
    assert (low[0], high[-1]) == (0.0, 1.0)
    for count in range(1, trials + 1):
        assert at_least(count, trials, low[count]) == pytest.approx(LOWER, rel=1e-8)
        below = 1 - at_least(count, trials, high[count - 1])
        assert below == pytest.approx(UPPER, rel=1e-8), "at most count - 1"


def test_ends_of_bounded_numbers_are_those_of_coins_at_the_bounds() -> None:
    within = np.array([-2.0, -2.0, 1.0]), np.array([3.0, 3.0, 2.0])
    counts, trials = np.array([0.0, 4.0, 7.0]), np.full(3, 7.0)
    mean = within[0] + (within[1] - within[0]) * counts / trials
    low, high = bounded_ends(mean, trials, within, tails_of(3))
    assert (low[0], high[2]) == (-2.0, 2.0)
    chance = (low - within[0]) / (within[1] - within[0])
    assert at_least(4, 7, chance[1]) == pytest.approx(LOWER, rel=1e-8)
    assert at_least(7, 7, chance[2]) == pytest.approx(LOWER, rel=1e-8)
    chance = (high - within[0]) / (within[1] - within[0])
    assert 1 - at_least(1, 7, chance[0]) == pytest.approx(UPPER, rel=1e-8)
    assert 1 - at_least(5, 7, chance[1]) == pytest.approx(UPPER, rel=1e-8)
    # A mean beyond a bound is one at the bound.
    beyond = bounded_ends(mean + np.array([-1.0, 0.0, 1.0]), trials, within, tails_of(3))
    np.testing.assert_allclose(beyond, [low, high])


def test_counts_again_are_quantiles_at_the_ends_of_the_chance() -> None:
    tail, trials = 0.03, 9
    counts = np.array([0.0, 2.0, 5.0, 9.0, 2.0])
    least, most = counts_again(counts, np.full(5, trials * 1.0), tail)
    alike = Tails.alike(tail, tail, 5)
    for k, (low, high) in enumerate(
        zip(*binomial_ends(counts, np.full(5, 9.0), alike), strict=True)
    ):
        chances = stats.binom.pmf(np.arange(trials + 1), trials, high)
        assert chances[int(most[k]) + 1 :].sum() <= tail + 1e-12
        assert most[k] == 0 or chances[int(most[k]) :].sum() > tail
        chances = stats.binom.pmf(np.arange(trials + 1), trials, low)
        assert chances[: int(least[k])].sum() <= tail + 1e-12
        assert least[k] == trials or chances[: int(least[k]) + 1].sum() > tail


def test_counts_of_fixed_people_are_sums_of_two_binomials() -> None:
    people = FixedPeople(6, hit=0.8, miss=0.3)
    laws = []
    for holders in range(7):
        own = stats.binom.pmf(np.arange(holders + 1), holders, 0.8)
        laws.append(np.convolve(own, stats.binom.pmf(np.arange(7 - holders), 6 - holders, 0.3)))
    for holders, count in itertools.product(range(7), range(-1, 7)):
        found = people.cdf(np.array([float(count)]), np.array([float(holders)]))
        assert found[0] == pytest.approx(laws[holders][: count + 1].sum(), abs=1e-12)
    for holders in range(7):
        expected = laws[holders] @ (np.arange(7) - laws[holders] @ np.arange(7)) ** 2
        assert people.variance(np.array([holders / 6]))[0] == pytest.approx(expected)
    # The ends are the first and the last number of holders that neither tail rejects.
    seen, whole = np.arange(7.0), (np.zeros(7), np.ones(7))
    low, high = people.ends(seen, tails_of(7), whole)
    for count in range(7):
        best = round(6 * min(max((count / 6 - 0.3) / 0.5, 0.0), 1.0))
        first = [k for k in range(7) if laws[k][count:].sum() > LOWER or k == best]
        last = [k for k in range(7) if laws[k][: count + 1].sum() > UPPER or k == best]
        assert (low[count], high[count]) == pytest.approx((first[0] / 6, last[-1] / 6))


def test_a_part_of_the_reports_is_bounded_too() -> None:
    """Blocks: half of each tail for the count, half for the reports that the block has."""
    items = ItemCounts(
        np.array([9.0, 2.0]), np.array([12.0, 10.0]), np.array([0.75, 0.7]), np.full(2, 0.5), 1.0,
        reports=30.0,
    )  # fmt: skip
    low, high = ExactIntervals(items).tails(np.arange(2), tails_of(2), "population")
    half = Tails.alike(LOWER / 2, UPPER / 2, 2)
    chance = binomial_ends(np.array([9.0, 2.0]), np.array([12.0, 10.0]), half)
    part = binomial_ends(np.array([12.0, 10.0]), np.full(2, 30.0), half)
    for row, (gain, seen) in enumerate(zip((0.25, 0.2), (12 / 30, 10 / 30), strict=True)):
        shares = [(end[row] - 0.5) / gain for end in chance]
        corners = [share * end[row] / seen for share in shares for end in part]
        assert low[row] == pytest.approx(min(corners[:2]))
        assert high[row] == pytest.approx(max(corners[2:]))


@pytest.mark.parametrize("oracle", small_oracles(), ids=repr)
def test_exact_intervals_of_an_estimate_are_clopper_and_pearsons(oracle: FrequencyOracle) -> None:
    people = 40
    summary = summary_of(oracle, people)
    items = oracle.item_channel(summary.tally, people)
    if items.reports is not None:
        return  # blocks, above
    found = ExactIntervals(items).tails(np.array([3, 0]), tails_of(2), "population")
    for row, value in enumerate((3, 0)):
        count = round(float(items.counts[value]))
        ends = [float(items.miss) + float(items.gain) * float(end[row]) for end in found]
        if count:
            assert at_least(count, people, ends[0]) == pytest.approx(LOWER, rel=1e-6)
        assert 1 - at_least(count + 1, people, ends[1]) == pytest.approx(UPPER, rel=1e-6)


# Means whose variance is known at every candidate


@pytest.mark.parametrize("oracle", small_oracles(), ids=repr)
@pytest.mark.parametrize("of", ["population", "people"])
def test_score_ends_are_as_far_as_their_tails_say(oracle: FrequencyOracle, of: Target) -> None:
    """At each end the mean lies as many standard deviations away as its own tail takes."""
    n = 4_000
    score = oracle.score(summary_of(oracle, n).tally, n)
    rows = np.array([2, 0, 1])
    low, high = ScoreIntervals(score, n).tails(rows, tails_of(3), of)
    v0, v1, v2 = (np.broadcast_to(v, (6,))[rows] for v in score.spread[of])
    mean = score.excess[rows]
    for ends, z, side in ((low, Z[0], 1), (high, Z[1], -1)):
        deviation = np.sqrt((v0 + v1 * ends + v2 * ends**2) / n)
        np.testing.assert_allclose(side * (mean - score.gain * ends), z * deviation, rtol=1e-6)


def surprise(estimate: float, f: float, sd: float) -> float:
    """The chance of an observation that ranks no higher, summed over a fine grid."""
    steps = np.linspace(-8, 8, 100_001)
    x = f + sd * steps

    def rank(seen: Any) -> Any:
        return (seen - np.clip(seen, 0, 1)) ** 2 - (seen - f) ** 2

    density = np.exp(-(steps**2) / 2)
    return float(density[rank(x) <= rank(estimate)].sum() / density.sum())


@pytest.mark.parametrize("estimate", [0.3, 0.03, -0.02, 0.99, 1.02])
def test_two_sided_ends_are_where_the_surprise_is_the_level(estimate: float) -> None:
    """Next to 0 and to 1 too, where observations rank by the nearest share that there is."""
    spread: dict[Target, tuple[float | Vector, float, float]]
    spread = {"population": (0.2, 0.3, -0.25), "people": (0.2, 0.05, 0.0)}
    score, n = Score(np.array([0.5 * estimate]), 0.5, spread), 400
    for of, z in itertools.product(("population", "people"), (1.2, 1.96)):
        target: Any = of
        ends = [float(end[0]) for end in ScoreIntervals(score, n).bounds(z, target)]
        v0, v1, v2 = spread[target]
        for end in ends:
            sd = math.sqrt((float(v0) + v1 * end + v2 * end**2) / n) / 0.5
            found = surprise(estimate, end, sd)
            if 0 < end < 1:
                assert found == pytest.approx(2 * NORMAL.cdf(-z), abs=5e-4)
            else:
                assert found >= 2 * NORMAL.cdf(-z)
        assert ends[0] < ends[1]


def test_normal_tails_are_those_of_the_normal_law() -> None:
    x = np.array([0.0, 0.3, 1.0, 1.96, 4.0, 8.0, 30.0, 1e200])
    np.testing.assert_allclose(upper_tail(x), stats.norm.sf(x), rtol=2e-7, atol=0)
    # Far from both ends a surprise is that of a two-sided test.
    far = np.full(3, 50.0)
    np.testing.assert_allclose(
        p_value(np.array([-1.0, 0.5, 2.0]), far, far), 2 * stats.norm.sf([1.0, 0.5, 2.0]), rtol=1e-6
    )


# Few counts, and many


def test_small_counts_stretch_and_large_ones_do_not() -> None:
    """Ends of a count with a variance below the limit hold both families' ends, no others' do."""
    oracle, n = rumor.UnaryEncoding(domain=20, epsilon=1.0), 5000
    edge = next(k for k in range(n) if k * (n - k) / n >= FEW)
    rows, tally = np.arange(4), np.full(20, 1500)
    tally[rows] = 3, edge - 1, edge, 2500
    made = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion").intervals
    assert isinstance(made, CountIntervals)
    exact = ExactIntervals(ItemCounts(tally[rows], n, oracle.hit, oracle.miss, 1.0))
    assert exact.is_few(rows).tolist() == [True, True, False, False]
    z, tail = 1.5, NORMAL.cdf(-1.5)
    score = [end[rows] for end in made.score.bounds(z, "population")]
    alike = Tails.alike(tail, tail, 4)
    exactly = [np.clip(end, 0, 1) for end in exact.tails(rows, alike, "population")]
    low, high = (end[rows] for end in made.bounds(z, "population"))
    few = np.array([True, True, False, False])
    np.testing.assert_allclose(low, np.where(few, np.minimum(score[0], exactly[0]), score[0]))
    np.testing.assert_allclose(high, np.where(few, np.maximum(score[1], exactly[1]), score[1]))
    # What is shown is the binomial's own, whatever the count; of these people, the score's.
    found = made.tails(rows, tails_of(4), "population")
    np.testing.assert_allclose(found, exact.tails(rows, tails_of(4), "population"))
    low, high = made.tails(np.array([3]), tails_of(1), "people")
    np.testing.assert_allclose([low, high], made.score.tails(np.array([3]), tails_of(1), "people"))
    missing = exact.few_bounds(EqualTails(tail))
    assert np.isposinf(missing[0][2:]).all()
    assert np.isneginf(missing[1][2:]).all()
    np.testing.assert_allclose(
        [end[:2] for end in missing],
        [end[:2] for end in exact.tails(rows, alike, "population")],
    )


def test_small_counts_of_these_people_stretch_to_their_own_law() -> None:
    oracle, n = rumor.RandomizedResponse(domain=3, epsilon=2.0), 6
    for tally in ([6, 0, 0], [3, 2, 1], [0, 5, 1]):
        found = rumor.estimate(oracle, Summary(oracle, n, np.array(tally)), method="inversion")
        low, high = found.intervals.tails(np.arange(3), tails_of(3), "people")
        score = ScoreIntervals(oracle.score(np.array(tally), n), n)
        plain = score.tails(np.arange(3), tails_of(3), "people")
        people = FixedPeople(n, oracle.hit, oracle.miss)
        own = people.ends(np.array(tally, float), tails_of(3), (np.zeros(3), np.ones(3)))
        np.testing.assert_allclose(low, np.minimum(plain[0], own[0]), atol=1e-12)
        np.testing.assert_allclose(high, np.maximum(plain[1], own[1]), atol=1e-12)


def test_redrawn_counts_of_values_and_blocks() -> None:
    items = ItemCounts(np.array([2.0, 900.0]), 2000.0, 0.75, 0.25, 1.0)
    low, high = ExactIntervals(items).redrawn(0.01)
    assert (low[1], high[1]) == (math.inf, -math.inf), "many counts are normal"
    least, most = counts_again(np.array([2.0]), np.array([2000.0]), 0.01)
    assert low[0] == pytest.approx((least[0] / 2000 - 0.25) / 0.5)
    assert high[0] == pytest.approx((most[0] / 2000 - 0.25) / 0.5)
    blocks = ItemCounts(np.array([9.0]), np.array([12.0]), 0.75, 0.5, 1.0, reports=30.0)
    low, high = ExactIntervals(blocks).redrawn(0.02)
    plus = counts_again(np.array([9.0]), np.array([30.0]), 0.01)
    minus = counts_again(np.array([3.0]), np.array([30.0]), 0.01)
    # Supporting less other reports, over twice the gain of the reports seen.
    assert low[0] == pytest.approx((plus[0][0] - minus[1][0]) / (2 * 12 * 0.25))
    assert high[0] == pytest.approx((plus[1][0] - minus[0][0]) / (2 * 12 * 0.25))


# Where only errors are known


def test_normal_ends_are_their_quantiles_away() -> None:
    center, stderr = np.array([0.2, 0.5, 0.1]), np.array([0.1, 0.02, math.inf])
    people = np.array([0.05, 0.01, 0.3])
    plain = NormalIntervals(center, stderr, people)
    rows = np.array([1, 0])
    low, high = plain.tails(rows, tails_of(2), "population")
    np.testing.assert_allclose(low, [0.5 - Z[0] * 0.02, 0.2 - Z[0] * 0.1])
    np.testing.assert_allclose(high, [0.5 + Z[1] * 0.02, 0.2 + Z[1] * 0.1])
    low, high = plain.bounds(1.7, "people")
    np.testing.assert_allclose([low, high], [center - 1.7 * people, center + 1.7 * people])
    assert plain.redrawn(0.1)[0].tolist() == [math.inf] * 3
    assert plain.redrawn(0.1)[1].tolist() == [-math.inf] * 3
    # What a test found keeps the test's own error below, where it is the larger one.
    tested = np.array([0.3, 0.001, 0.0])
    found = FoundIntervals(center, stderr, people, tested=tested)
    low, high = found.tails(rows, tails_of(2), "population")
    np.testing.assert_allclose(low, [0.5 - Z[0] * 0.02, 0.2 - Z[0] * 0.3])
    np.testing.assert_allclose(high, [0.5 + Z[1] * 0.02, 0.2 + Z[1] * 0.1])


def test_the_error_of_a_test_has_its_p_value() -> None:
    center = np.array([0.2, 0.3, 0.3, -0.1, 0.3])
    p_values = np.array([0.01, 0.2, 1e-6, 0.1, 0.6])
    found = stderr_of_test(center, p_values, least=1e-6)
    np.testing.assert_allclose(stats.norm.sf(center[:2] / found[:2]), p_values[:2])
    assert found[2:].tolist() == [0.0, 0.0, 0.0]


def test_shares_keep_a_width_next_to_the_ends() -> None:
    low, high = np.array([-0.3, 0.2, 0.95, -0.5]), np.array([0.1, 0.4, 1.2, -0.2])
    reach = np.array([0.2, 0.1, 0.1, 0.15])
    found = share_ends(low, high, reach)
    np.testing.assert_allclose(found[0], [0.0, 0.2, 0.95, 0.0])
    np.testing.assert_allclose(found[1], [0.1, 0.4, 1.0, 0.2 * 0.15])
    above = share_ends(np.array([1.2]), np.array([1.5]), np.array([0.15]))
    assert (above[0][0], above[1][0]) == pytest.approx((1 - 0.2 * 0.15, 1.0))


def test_few_bounded_numbers_stretch_and_many_do_not() -> None:
    trials = np.array([20.0, 90_000.0, 20.0])
    within = np.array([-1.0, -1.0, 0.5]), np.array([2.0, 2.0, 0.5])
    center = np.array([-0.4, -0.4, 0.5])
    stderr = np.array([0.05, 0.005, 0.0])
    made = BoundedIntervals(NormalIntervals(center, stderr), trials, within)
    rows = np.array([1, 0, 2])
    low, high = made.tails(rows, tails_of(3), "population")
    coins = bounded_ends(center[:1], trials[:1], (within[0][:1], within[1][:1]), tails_of(1))
    np.testing.assert_allclose(low, [-0.4 - Z[0] * 0.005, coins[0][0], 0.5])
    np.testing.assert_allclose(high, [-0.4 + Z[1] * 0.005, coins[1][0], 0.5])
    alike = Tails.alike(NORMAL.cdf(-1.3), NORMAL.cdf(-1.3), 3)
    np.testing.assert_allclose(
        made.bounds(1.3, "population"), made.tails(np.arange(3), alike, "population")
    )
    again = counts_again(np.array([20 * 0.2]), np.array([20.0]), 0.02)
    low, high = made.redrawn(0.02)
    assert (low[0], high[0]) == pytest.approx(
        (-1 + 3 * again[0][0] / 20, -1 + 3 * again[1][0] / 20)
    )
    assert (low[1], high[2]) == (math.inf, -math.inf)
    # The limit, in squares of what a report can change.
    for factor, stretched in ((0.999, True), (1.001, False)):
        error = factor * math.sqrt(FEW) * 3.0 / 2000.0
        one = BoundedIntervals(
            NormalIntervals(np.array([-0.9]), np.array([error])),
            np.array([2000.0]),
            (np.array([-1.0]), np.array([2.0])),
        )
        plain = one.normal.tails(np.arange(1), tails_of(1), "population")
        found = one.tails(np.arange(1), Tails.alike(0.4, 0.4, 1), "population")
        exact = bounded_ends(
            np.array([-0.9]), np.array([2000.0]), one.within, Tails.alike(0.4, 0.4, 1)
        )
        plain = one.normal.tails(np.arange(1), Tails.alike(0.4, 0.4, 1), "population")
        low = min(plain[0][0], exact[0][0]) if stretched else plain[0][0]
        high = max(plain[1][0], exact[1][0]) if stretched else plain[1][0]
        assert (found[0][0], found[1][0]) == pytest.approx((low, high), rel=1e-12)


# Caps that may be exceeded


def test_full_slots_and_what_they_allow() -> None:
    kept = Kept("options", "chose", cap=2, total=5, shown=3, may_exceed=True)
    slots = FullSlots.of(kept, hits=460.0, reports=200, miss=0.3, gain=0.4)
    # A report shows 5 * miss + gain * cap * share things on average.
    assert 5 * 0.3 + 0.4 * 2 * slots.share == pytest.approx(460 / 200)
    # Its variance is at most (most - mean)(mean - least): shown things less 2 dummies at most.
    mean = (460 + 3 - 1) / 201
    assert slots.stderr == pytest.approx(math.sqrt((3 - mean) * (mean - 1) / 200) / (0.4 * 2))
    # A person above the cap keeps one of five with chance 2/5, two of them with chance 1/10.
    assert slots.chance() == pytest.approx(2 / 5)
    assert slots.chance(2) == pytest.approx(1 / 10)
    slots = FullSlots(kept, share=0.2, stderr=0.05)
    z, highs = np.array([1.0, 2.0, -9.0]), np.array([0.05, 0.4, 0.3])
    above = np.array([0.25, 0.3, 0.0])
    np.testing.assert_allclose(slots.most(z), above)
    np.testing.assert_allclose(
        slots.reach(highs, z), [min(0.05 / 0.4, 0.05 + 0.6 * 0.25), 0.4 + 0.6 * 0.3, 0.3]
    )
    np.testing.assert_allclose(slots.reach(highs, z, 2)[:2], [0.05 + 0.9 * 0.25, 0.4 + 0.9 * 0.3])
    assert slots.reach(np.array([0.95]), np.array([2.0]))[0] == 1.0
    assert slots.reach(np.array([-0.1]), np.array([2.0]))[0] == 0.0
    # Of holders, at most missing / (kept + missing) did not keep it, and never more than 1 - c/D.
    np.testing.assert_allclose(slots.unseen(np.array([0.3]), np.array([1.0])), 0.15 / 0.45)
    np.testing.assert_allclose(slots.unseen(np.array([0.01]), np.array([1.0])), 0.6)
    inner = NormalIntervals(np.array([0.1, 0.2]), np.array([0.02, 0.03]))
    made = true_share_intervals(inner, slots)
    assert isinstance(made, TrueShareIntervals)
    low, high = made.tails(np.array([1]), tails_of(1), "population")
    assert low[0] == pytest.approx(0.2 - Z[0] * 0.03)
    assert high[0] == pytest.approx(slots.reach(np.array([0.2 + Z[1] * 0.03]), np.array([Z[1]]))[0])
    low, high = made.bounds(1.1, "population")
    assert low[0] == pytest.approx(0.1 - 1.1 * 0.02)
    assert high[0] == pytest.approx(slots.reach(np.array([0.1 + 1.1 * 0.02]), np.array([1.1]))[0])
    never = Kept("options", "chose", cap=2, total=5, shown=3, may_exceed=False)
    assert true_share_intervals(inner, FullSlots(never, 0.2, 0.05)) is inner
    assert true_share_intervals(inner, None) is inner


# Shares of several values


@pytest.mark.parametrize("oracle", small_oracles(), ids=repr)
@pytest.mark.parametrize("people", [40, 4000])
def test_shares_of_groups_are_made_of_their_score(oracle: FrequencyOracle, people: int) -> None:
    """The score's mean; its ends are the score's, stretched where reports are few."""
    summary = summary_of(oracle, people)
    found = rumor.estimate(oracle, summary, method="inversion")
    members, level, z = np.array([1, 4, 3]), 0.8, -NORMAL.inv_cdf(0.1)
    score = oracle.group_score(summary.tally, people, members)
    for of in ("population", "people"):
        target: Any = of
        share = found.share([1, 4, 3], level, of=of)
        assert share.unbiased == pytest.approx(float(score.excess[0] / score.gain))
        assert (list(share.values), share.level, share.of) == ([1, 4, 3], level, of)
        f = min(max(share.unbiased, 0.0), 1.0)
        v0, v1, v2 = (float(np.asarray(v)) for v in score.spread[target])
        each = v0 + v1 * f + v2 * f**2
        assert share.stderr == pytest.approx(math.sqrt(each / people) / score.gain)
        ends = [float(end[0]) for end in ScoreIntervals(score, people).bounds(z, target)]
        assert score.ends is not None
        least, most = score.ends
        span = most - least
        if people * each < (400 * span**2 if span <= 1 + 1e-9 else 100):
            within = np.array([least]), np.array([most])
            alike = Tails.alike(0.1, 0.1, 1)
            few = bounded_ends(score.excess, np.array([float(people)]), within, alike)
            shares = [min(max(float(end[0]) / score.gain, 0.0), 1.0) for end in few]
            ends = [min(ends[0], shares[0]), max(ends[1], shares[1])]
        assert (share.low, share.high) == pytest.approx(tuple(ends), abs=1e-9)
        assert share.to_dict() == {
            "values": [1, 4, 3],
            "unbiased": share.unbiased,
            "stderr": share.stderr,
            "low": share.low,
            "high": share.high,
            "level": level,
            "of": of,
            "looks": "one",
        }
        # A group and the rest mirror each other.
        rest = found.share([0, 2, 5], level, of=of)
        assert rest.unbiased == pytest.approx(1 - share.unbiased)
        assert rest.stderr == pytest.approx(share.stderr)
        assert (rest.low, rest.high) == pytest.approx((1 - share.high, 1 - share.low), abs=1e-6)


def test_shares_by_a_channel_are_made_of_its_inverse() -> None:
    channel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    seen = np.array([350, 420, 230])
    found = rumor.estimate(channel, seen, method="inversion")
    share = found.share([0, 2], 0.9)
    added = np.linalg.inv(channel)[:, [0, 2]].sum(axis=1)
    shares = seen / 1000
    assert share.unbiased == pytest.approx(shares @ added)
    f = min(max(share.unbiased, 0), 1)
    assert share.stderr == pytest.approx(math.sqrt((shares @ added**2 - f**2) / 1000))
    # What one report adds varies as was observed, whatever the share.
    z = -NORMAL.inv_cdf(0.05)
    for end in (share.low, share.high):
        spread = shares @ added**2 - end**2
        assert abs(share.unbiased - end) == pytest.approx(z * math.sqrt(spread / 1000), rel=1e-4)


# How rows share the tails of a table


def test_tails_by_rank_are_those_of_the_rule() -> None:
    """The rule of `rumor.results.selection`, once more and value by value."""
    rng = np.random.default_rng(3)
    unbiased, stderr = rng.normal(0.05, 0.3, 12), rng.uniform(0.001, 0.05, 12)
    frequency = np.maximum(unbiased, 0.0)
    order = ranked(frequency, unbiased)
    keys = sorted(range(12), key=lambda i: (-frequency[i], -unbiased[i], i))
    assert order.tolist() == keys
    level = 0.8
    alpha, spent = 0.2, 0.2 * 0.05
    few_low, few_high = np.full(12, math.inf), np.full(12, -math.inf)
    few_low[4], few_high[4], few_high[7] = -0.9, 0.4, 1.5
    asked: list[float] = []

    def redrawn(tail: float) -> tuple[Vector, Vector]:
        asked.append(tail)
        return few_low, few_high

    for drawn in (None, redrawn):
        reach = 2 * -NORMAL.inv_cdf(spent / 12) * stderr
        lowest, highest = unbiased - reach, unbiased + reach
        if drawn is not None:
            lowest, highest = np.minimum(lowest, few_low), np.maximum(highest, few_high)
        wanted, rivals = [], 0
        for rank, row in enumerate(keys, 1):
            could = sum(highest[other] >= lowest[row] for other in range(12))
            rivals = max(rivals, rank, could)
            wanted.append((alpha / 2 - spent) * rank / rivals)
        tails = rank_tails(level, order, unbiased, stderr, drawn)
        np.testing.assert_allclose(tails.lower, wanted)
        np.testing.assert_allclose(tails.upper, alpha / 2)
    assert asked == [pytest.approx(spent / 12)]
    assert ranks(order, [keys[3], keys[0], keys[11]]).tolist() == [3, 0, 11]


def test_other_ways_to_share_the_tails() -> None:
    assert first_tail(0.9, 8) == pytest.approx((0.05 - 0.1 * 0.05) / 8)
    one = prefix_tails(0.9, 4, 3)
    np.testing.assert_allclose(one.lower, 0.05 * np.array([1 / 3, 2 / 3, 1, 1]))
    np.testing.assert_allclose(one.upper, 0.05)
    for chosen, values, part in ((2, 10, 0.2), (0, 10, 0.025), (7, 5, 1.0), (1, 0, 1.0)):
        split, both = split_tails(0.9, 3, chosen, values), both_sided_tails(0.9, 3, chosen, values)
        np.testing.assert_allclose(split.lower, np.full(3, 0.05 * part))
        np.testing.assert_allclose(split.upper, np.full(3, 0.05))
        np.testing.assert_allclose([both.lower, both.upper], np.full((2, 3), 0.05 * part))
    every = simultaneous_tails(0.9, 7)
    np.testing.assert_allclose((1 - every.lower - every.upper) ** 7, 0.9)
    np.testing.assert_allclose(every.lower, every.upper)


@pytest.mark.parametrize("method", ["inversion", "projection"])
def test_every_view_asks_for_its_own_tails(method: str) -> None:
    """What an estimate shows is its intervals at the tails of the view, cut to shares."""
    for oracle in (
        rumor.UnaryEncoding(domain=6, epsilon=2.0),
        HadamardResponse(domain=6, epsilon=3.0),
    ):
        found = rumor.estimate(oracle, summary_of(oracle, 3000), method=method)
        order, rows = found.ranking(None), [4, 0, 2]
        by_rank = rank_tails(
            0.8, np.array(order), found.unbiased, found.stderr, found.intervals.redrawn
        )
        at = [order.index(row) for row in rows]
        own = Tails(by_rank.lower[at], by_rank.upper[at])
        at_once = (1 - 0.8 ** (1 / 6)) / 2
        cases = {
            View(level=0.8, order="estimate"): own,
            View(level=0.8, order="estimate", of="people"): own,
            View(level=0.8, simultaneous=True): Tails.alike(at_once, at_once, 3),
        }
        for view, tails in cases.items():
            low, high = found.intervals.tails(np.array(rows), tails, view.target)
            check_shares(found, rows, (low, high), found.bounds(rows, view))
        low, high = found.intervals.tails(np.array(rows), prefix_tails(0.8, 3, 6), "population")
        view = View(level=0.8, order="estimate")
        check_shares(found, rows, (low, high), found.bounds(rows, view, chosen_by_others=True))
        plain = [end[rows] for end in found.intervals.bounds(-NORMAL.inv_cdf(0.1), "people")]
        named = found.bounds(rows, View(level=0.8, of="people"))
        check_shares(found, rows, (plain[0], plain[1]), named)


def check_shares(
    found: rumor.Estimate,
    rows: list[int],
    ends: tuple[Vector, Vector],
    shown: tuple[Vector, Vector],
) -> None:
    """Ends within 0 and 1, with a tenth of two standard errors of width left, and the answer."""
    least = 0.2 * 2 * found.stderr[rows]
    answer = np.clip(found.frequency[rows], 0, 1)
    low, high = (
        np.clip(np.minimum(ends[0], 1 - least), 0, 1),
        np.clip(np.maximum(ends[1], least), 0, 1),
    )
    np.testing.assert_allclose(shown[0], np.minimum(low, answer), atol=1e-12)
    np.testing.assert_allclose(shown[1], np.maximum(high, answer), atol=1e-12)


# The smallest share that is told from zero


def test_the_smallest_share_is_that_of_two_binomial_sums() -> None:
    rare = RareCount(trials=30.0, miss=0.2, gain=0.5)
    for tail, power in itertools.product((0.05, 0.002), (0.5, 0.9)):
        count = next(k for k in range(31) if at_least(k, 30, 0.2) < tail)
        share = rare.smallest_share(tail, power)
        assert share is not None
        assert at_least(count, 30, 0.2 + 0.5 * share) == pytest.approx(power, rel=1e-6)
    assert RareCount(3.0, 0.2, 0.5).smallest_share(0.001) is None
    assert RareCount(8.0, 0.2, 0.3).smallest_share(0.001) is None, "not even everybody"
    items = ItemCounts(
        np.zeros(3), np.array([10.0, 40.0, 10.0]), 0.6, np.array([0.1, 0.1, 0.2]), 1.0
    )
    noisiest = RareCount.noisiest(items)
    assert (noisiest.trials, noisiest.miss) == (10.0, 0.2)
    assert noisiest.gain == pytest.approx(0.4)
    part = RareCount.of_part(400, 0.25, 0.2, 0.5)
    assert part.trials == pytest.approx(100 - math.sqrt(75))
    assert (part.miss, part.gain) == (0.2, 0.5)
    assert RareCount.of_part(1, 0.01, 0.2, 0.5).trials == 0.0


def test_the_smallest_share_belongs_to_the_view() -> None:
    oracle = rumor.UnaryEncoding(domain=6, epsilon=2.0)
    found = rumor.estimate(oracle, summary_of(oracle, 300))
    rare = RareCount(300.0, oracle.miss, oracle.hit - oracle.miss)
    for view, tail in (
        (View(level=0.9), 0.1),
        (View(level=0.9, order="estimate"), (0.05 - 0.1 * 0.05) / 6),
        (View(level=0.9, simultaneous=True), (1 - 0.9 ** (1 / 6)) / 2),
    ):
        assert found.smallest_shown(view) == pytest.approx(rare.smallest_share(tail))


def test_quantiles_of_counts_are_looked_for_everywhere() -> None:
    """The first whole number that is accepted, from a start on, for every place of it."""
    start, end = np.array([2.0, 2.0, 2.0, 2.0]), np.array([9.0, 9.0, 9.0, 9.0])
    first = np.array([0.0, 2.0, 6.5, 20.0])
    found = module._first_whole(lambda k: k >= first, start, end)
    assert found.tolist() == [2.0, 2.0, 7.0, 9.0]
