"""Intervals are what inverting the test gives: against brute force, Wilson's formula, nesting."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumor
from rumor.errors import InputError
from rumor.intervals import NormalIntervals, ScoreIntervals, critical_value
from rumor.mechanisms import FrequencyOracle, HadamardResponse, RandomizedResponse, UnaryEncoding
from rumor.mechanisms.oracle import Score, Target, Vector
from rumor.summary import Summary

TARGETS: tuple[Target, Target] = ("population", "people")
GRID = np.linspace(0.0, 1.0, 20_001)


def variance_at(oracle: FrequencyOracle, f: Vector, of: Target) -> Vector:
    """The variance that one report brings to the support count, from first principles."""
    hit, miss = oracle.hit, oracle.miss
    if of == "people":
        return np.asarray(f * hit * (1 - hit) + (1 - f) * miss * (1 - miss))
    support = f * hit + (1 - f) * miss
    return np.asarray(support * (1 - support))


def accepted(oracle: FrequencyOracle, count: int, n: int, z: float, of: Target) -> Vector:
    """Every candidate frequency that the score test does not reject."""
    deviation = count / n - (oracle.miss + (oracle.hit - oracle.miss) * GRID)
    return GRID[deviation**2 <= z * z * variance_at(oracle, GRID, of) / n]


oracles = st.sampled_from(
    [
        RandomizedResponse(domain=2, epsilon=1.0),
        RandomizedResponse(domain=50, epsilon=0.3),
        RandomizedResponse(domain=5, epsilon=8.0),
        UnaryEncoding(domain=20, epsilon=1.0),
        UnaryEncoding(domain=20, epsilon=5.0, variant="symmetric"),
        UnaryEncoding(domain=20, p=0.9, q=0.6),
    ]
)


@settings(max_examples=150)
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
    z = critical_value(level, 1)
    for of in TARGETS:
        low, high = (float(ends[0]) for ends in result.interval(level, of=of))
        found = accepted(oracle, count, n, z, of)
        if found.size:
            assert low == pytest.approx(found.min(), abs=1.1e-4)
            assert high == pytest.approx(found.max(), abs=1.1e-4)
        else:
            # Every frequency is rejected (or an interval thinner than the grid): the
            # interval is short, and next to the estimate.
            assert high - low < 1e-3
            estimate = np.clip(result.unbiased[0], 0, 1)
            assert low - 1e-12 <= estimate <= high + 1e-12


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_without_noise_the_interval_is_wilsons(n: int, share: float, level: float) -> None:
    k, z = round(share * n), critical_value(level, 1)
    plain = Score(
        excess=np.array([k / n]),
        gain=1.0,
        spread={"population": (0.0, 1.0, -1.0), "people": (0.0, 0.0, 0.0)},
    )
    p, shrink = k / n, 1 + z * z / n
    center = (p + z * z / (2 * n)) / shrink
    half = z / shrink * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ScoreIntervals(plain, n).bounds(z, "population")
    np.testing.assert_allclose([low[0], high[0]], [center - half, center + half], atol=1e-12)
    # And these people are known exactly.
    low, high = ScoreIntervals(plain, n).bounds(z, "people")
    np.testing.assert_allclose([low[0], high[0]], [p, p], atol=1e-12)


def blocked() -> tuple[HadamardResponse, Summary]:
    oracle = HadamardResponse(domain=24, epsilon=3.0)
    assert oracle.blocks > 1
    people = np.random.default_rng(1).integers(0, 24, 3000) ** 2 // 24
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
        for value in (0, 5, 23):
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
