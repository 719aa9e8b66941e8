"""Intervals are what inverting the test gives: against brute force, Wilson's formula, nesting."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumor
from rumor.core.errors import InputError
from rumor.core.types import Target, Vector
from rumor.mechanisms import (
    FrequencyOracle,
    HadamardResponse,
    Mixed,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.support import Score
from rumor.results.counts import CountIntervals
from rumor.results.intervals import NormalIntervals, ScoreIntervals, critical_value

TARGETS: tuple[Target, Target] = ("population", "people")
GRID = np.linspace(0.0, 1.0, 20_001)


def variance_at(oracle: FrequencyOracle, f: Vector, of: Target) -> Vector:
    """The variance that one report brings to the support count, from first principles."""
    hit, miss = oracle.hit, oracle.miss
    if of == "people":
        return np.asarray(f * hit * (1 - hit) + (1 - f) * miss * (1 - miss))
    support = f * hit + (1 - f) * miss
    return np.asarray(support * (1 - support))


def surprise(oracle: FrequencyOracle, count: int, n: int, f: float, of: Target) -> float:
    """The probability of a count that ranks no higher than this one at a candidate frequency.

    By numerical integration of the definition: an estimate ranks by its likelihood at f over
    that at the nearest frequency there is.
    """
    gain = oracle.hit - oracle.miss
    sd = float(np.sqrt(variance_at(oracle, np.array(f), of) / n)) / gain
    estimate = (count / n - oracle.miss) / gain
    if sd < 1e-9:
        return float(abs(estimate - f) < 1e-9)

    def rank(x: Vector) -> Vector:
        best = np.clip(x, 0.0, 1.0)
        return np.asarray(((x - best) ** 2 - (x - f) ** 2) / (2 * sd * sd))

    x = f + sd * np.linspace(-9, 9, 60_001)
    density = np.exp(-0.5 * np.linspace(-9, 9, 60_001) ** 2)
    density /= density.sum()
    return float(density[rank(x) <= rank(np.array([estimate]))].sum())


oracles = st.sampled_from(
    [
        RandomizedResponse(domain=2, epsilon=1.0),
        RandomizedResponse(domain=12, epsilon=0.3),
        RandomizedResponse(domain=5, epsilon=8.0),
        UnaryEncoding(domain=20, epsilon=1.0),
        UnaryEncoding(domain=20, epsilon=5.0, variant="symmetric"),
        UnaryEncoding(domain=20, p=0.9, q=0.6),
    ]
)


@pytest.mark.slow
@settings(max_examples=60)
@given(oracles, st.integers(1, 3000), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_bounds_are_the_ends_of_what_the_test_accepts(
    oracle: FrequencyOracle, n: int, share: float, level: float
) -> None:
    count = round(share * n)
    if isinstance(oracle, RandomizedResponse):
        tally = np.zeros(oracle.domain, dtype=np.int64)
        tally[:2] = count, n - count
    else:
        tally = np.full(oracle.domain, count)
    result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
    for of in TARGETS:
        assert isinstance(result.intervals, CountIntervals)
        score = result.intervals.score.bounds(critical_value(level, 1), of)
        low, high = (float(ends[0]) for ends in score)
        assert 0 <= low <= np.clip(result.unbiased[0], 0, 1) <= high <= 1
        # What is shown of a small count is stretched, and of a large one is this.
        least, most = (float(ends[0]) for ends in result.interval(level, of=of))
        assert least <= low <= high <= most
        for end, outwards in ((low, -1), (high, 1)):
            step = 1e-3 * max(high - low, 1e-3)
            if 0 < end < 1 and 0 < end + outwards * step < 1:
                inside = surprise(oracle, count, n, end - outwards * step, of)
                outside = surprise(oracle, count, n, end + outwards * step, of)
                assert outside <= 1 - level + 1e-3
                assert inside >= 1 - level - 1e-3 or high - low < 1e-3


def test_next_to_an_end_they_are_those_of_feldman_and_cousins() -> None:
    """Table X of their paper: a normal observation with unit noise, bounded below, 95 per cent."""
    published = {
        -3.0: (0.0, 0.42),
        -2.0: (0.0, 0.62),
        -1.0: (0.0, 1.10),
        0.0: (0.0, 1.96),
        1.0: (0.0, 2.96),
        1.7: (0.06, 3.66),
        2.0: (0.35, 3.96),
        3.0: (1.14, 4.96),
    }
    seen = np.array(list(published))
    unit = Score(seen / 1000, 1.0, {"population": (1.0, 0.0, 0.0), "people": (1.0, 0.0, 0.0)})
    low, high = ScoreIntervals(unit, 10**6).bounds(critical_value(0.95, 1), "population")
    np.testing.assert_allclose(1000 * low, [ends[0] for ends in published.values()], atol=0.006)
    np.testing.assert_allclose(1000 * high, [ends[1] for ends in published.values()], atol=0.006)


@pytest.mark.parametrize("frequency", [0.0, 0.001, 0.01, 0.05, 0.3, 1.0])
def test_they_cover_as_often_as_they_say(frequency: float) -> None:
    """Exactly, by summing the binomial law: at the end of the scale, next to it and within."""
    oracle, n = UnaryEncoding(domain=1000, epsilon=2.0), 5000
    support = oracle.miss + frequency * (oracle.hit - oracle.miss)
    counts = np.arange(n + 1)
    log_binomial = np.concatenate([[0.0], np.cumsum(np.log((n + 1 - counts[1:]) / counts[1:]))])
    law = np.exp(log_binomial + counts * np.log(support) + (n - counts) * np.log1p(-support))
    likely = np.flatnonzero(law > 1e-9)
    score = Score(
        excess=likely / n - oracle.miss,
        gain=oracle.hit - oracle.miss,
        spread=oracle.score(np.zeros(1000, dtype=np.int64), n).spread,
    )
    low, high = ScoreIntervals(score, n).bounds(critical_value(0.95, 1), "population")
    covered = float(law[likely][(low <= frequency) & (frequency <= high)].sum())
    assert 0.94 <= covered <= 0.96, "the count is discrete, so not exactly 0.95"


def test_exact_intervals_never_cover_less() -> None:
    oracle, n = RandomizedResponse(domain=300, epsilon=5.0), 200
    for frequency in (0.0, 0.002, 0.01, 0.5):
        support = oracle.miss + frequency * (oracle.hit - oracle.miss)
        covered = 0.0
        for count in range(n + 1):
            law = math.comb(n, count) * support**count * (1 - support) ** (n - count)
            if law > 1e-12:
                tally = np.zeros(300, dtype=np.int64)
                tally[:2] = count, n - count
                result = rumor.estimate(oracle, Summary(oracle, n, tally), method="inversion")
                low, high = (ends[0] for ends in result.interval(exact=True))
                covered += law * (low <= frequency <= high)
        assert covered >= 0.95 - 1e-9
    with pytest.raises(InputError, match='exact intervals are of the "population" only'):
        result.interval(exact=True, of="people")
    with pytest.raises(InputError, match="exact intervals need binomial counts"):
        rumor.estimate([[0.8, 0.2], [0.2, 0.8]], [5, 5], method="inversion").interval(exact=True)


@settings(max_examples=50)
@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_without_noise_and_ends_the_interval_is_wilsons(n: int, share: float, level: float) -> None:
    k, z = round(share * n), critical_value(level, 1)
    inner = 5 < k < n - 5 and min(k, n - k) > 9 * z * z
    plain = Score(
        excess=np.array([k / n]),
        gain=1.0,
        spread={"population": (0.0, 1.0, -1.0), "people": (0.0, 0.0, 0.0)},
    )
    p, shrink = k / n, 1 + z * z / n
    center = (p + z * z / (2 * n)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ScoreIntervals(plain, n).bounds(z, "population")
    if inner:  # next to an end the test becomes one-sided
        np.testing.assert_allclose([low[0], high[0]], [center - half, center + half], rtol=1e-5)
    # And these people are known exactly.
    low, high = ScoreIntervals(plain, n).bounds(z, "people")
    np.testing.assert_allclose([low[0], high[0]], [p, p], atol=1e-12)


def blocked() -> tuple[HadamardResponse, Summary]:
    oracle = HadamardResponse(domain=24, epsilon=3.0)
    assert oracle.blocks > 1
    people = np.random.default_rng(1).integers(0, 24, 60_000) ** 2 // 24
    reports = oracle.privatize(people, random=rumor.Seeded(1))
    return oracle, Summary.empty(oracle).update(reports)


def test_a_blocked_hadamard_response_uses_its_own_statistic() -> None:
    """Supporting minus other reports of the block, with the second moment that the block shows."""
    oracle, summary = blocked()
    result = rumor.estimate(oracle, summary, method="inversion")
    gain, n, z = float(oracle.exact_gain), summary.reports, critical_value(0.95, 1)
    second = summary.tally.reshape(oracle.blocks, -1).sum(axis=1) / n
    for of in TARGETS:
        low, high = result.interval(0.95, of=of)
        for value in (0, 5, 20):
            moment = second[value // (oracle.block - 1)]
            first = GRID**2 if of == "population" else GRID
            spread = moment - gain**2 * first
            found = GRID[(result.unbiased[value] - GRID) ** 2 * gain**2 <= z * z * spread / n]
            assert low[value] == pytest.approx(found.min(), abs=1e-4)
            assert high[value] == pytest.approx(found.max(), abs=1e-4)


def some_estimates() -> list[rumor.Estimate]:
    found = [rumor.estimate(*blocked(), method="inversion")]
    for oracle in (
        RandomizedResponse(domain=12, epsilon=1.0),
        UnaryEncoding(domain=12, epsilon=2.0),
    ):
        people = np.arange(400) % 7
        reports = oracle.privatize(people, random=rumor.Seeded(2))
        found += [rumor.estimate(oracle, reports, method=m) for m in ("inversion", "projection")]
    return found


@pytest.mark.parametrize("of", TARGETS)
def test_intervals_are_nested_in_their_level(of: Target) -> None:
    for result in some_estimates():
        lows, highs = zip(
            *(result.interval(q, of=of) for q in (0.5, 0.8, 0.95, 0.999)), strict=True
        )
        assert (np.diff(lows, axis=0) <= 1e-12).all()
        assert (np.diff(highs, axis=0) >= -1e-12).all()
        assert (lows[0] >= 0).all()
        assert (highs[-1] <= 1).all()


@pytest.mark.parametrize("of", TARGETS)
def test_simultaneous_intervals_are_wider(of: Target) -> None:
    for result in some_estimates():
        one, all_at_once = result.interval(of=of), result.interval(of=of, simultaneous=True)
        assert (all_at_once[0] <= one[0]).all()
        assert (all_at_once[1] >= one[1]).all()
        assert (all_at_once[1] - all_at_once[0]).sum() > (one[1] - one[0]).sum()


def test_these_people_are_known_better_than_the_population() -> None:
    for result in some_estimates():
        people, population = result.interval(of="people"), result.interval(of="population")
        assert (people[1] - people[0]).sum() < (population[1] - population[0]).sum()


def test_intervals_hold_the_methods_answer() -> None:
    for result in some_estimates():
        for of in TARGETS:
            low, high = result.interval(0.01, of=of)
            assert (low <= np.clip(result.frequency, 0, 1)).all()
            assert (np.clip(result.frequency, 0, 1) <= high).all()


def test_critical_values_are_quantiles() -> None:
    normal = NormalDist()
    assert critical_value(0.95, 1) == pytest.approx(1.959963984540054, abs=1e-12)
    assert critical_value(0.5, 1) == pytest.approx(0.6744897501960817, abs=1e-12)
    for items in (1, 2, 24, 1000):
        each = 2 * normal.cdf(critical_value(0.95, items)) - 1
        assert each**items == pytest.approx(0.95, abs=1e-9), "independent items cover jointly"
    # Where no word was found there are none.
    assert critical_value(0.95, 0) == critical_value(0.95, 1)
    # A million items: the tail of each is 5e-8, of which a plain 1 - x would keep few digits.
    assert normal.cdf(-critical_value(0.95, 10**6)) == pytest.approx(2.5646647e-8, rel=1e-6)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, 95, float("nan"), "0.95", None, True])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(InputError, match="a level must be a number above 0 and below 1; got"):
        some_estimates()[0].interval(level)


def test_an_interval_is_of_something() -> None:
    with pytest.raises(InputError, match='is of "population" or "people"; got \'everyone\''):
        some_estimates()[0].interval(of="everyone")
    plain = NormalIntervals(np.array([0.5]), np.array([0.1]))
    low, high = plain.bounds(2.0, "population")
    assert (low[0], high[0]) == (pytest.approx(0.3), pytest.approx(0.7))
    with pytest.raises(InputError, match='of the "population" only'):
        plain.bounds(2.0, "people")


def test_no_interval_of_a_share_that_nobody_has_is_without_width() -> None:
    """Noise brings 1 of 40 such estimates two standard errors below zero; all levels are nested."""
    oracle = SubsetSelection(domain=20, epsilon=1.0)
    parts = [{"id": "a", "labels": list("abcde")}, {"id": "b", "labels": list("vwxyz")}]
    mixed = Mixed(parts=parts, epsilon=1.0)
    for seed in range(10):
        pair = [oracle.privatize([0] * 4000, random=rumor.Seeded(2 * seed + i)) for i in (0, 1)]
        together = mixed.privatize([["a", "v"]] * 4000, random=rumor.Seeded(seed))
        for found in (
            rumor.combine([(oracle, reports) for reports in pair]),
            rumor.weigh(oracle, dict(zip("xy", pair, strict=True)), {"x": 0.5, "y": 0.5}),
            rumor.estimate(mixed, together),
            rumor.estimate(mixed, together, method="linear"),
        ):
            low, high = found.interval()
            inner = found.interval(0.5)
            assert (low < high).all()
            assert (inner[0] < inner[1]).all()
            assert ((low <= inner[0]) & (inner[1] <= high)).all()


@pytest.mark.parametrize("method", ["auto", "projection", "clip"])
def test_rows_that_nobody_holds_are_shown_with_intervals_that_have_a_width(method: str) -> None:
    oracle = SubsetSelection(domain=20, epsilon=1.0)
    for seed in range(10):
        reports = oracle.privatize(np.zeros(3000, dtype=np.int64), random=rumor.Seeded(seed))
        found = rumor.estimate(oracle, reports, method=method)
        for order, level in (("estimate", 0.95), ("given", 0.95), ("estimate", 0.5)):
            shown = found.columns(order=order, level=level)
            low, high = np.array(shown["low"]), np.array(shown["high"])
            assert (low < high).all(), (seed, order, level)
            assert (low >= 0).all()
            assert (high <= 1).all()
