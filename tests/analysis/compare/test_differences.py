"""Differences: known numbers of the literature, exact covariances, and how often they err."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rumor.analysis.compare.quantities import Differences, Sum, WeightedMean
from rumor.estimators.groups import PooledSamples, Sample, chi_squared, two_sided_p_value
from rumor.estimators.multiple_testing import holm
from rumor.mechanisms import BY_NAME, FrequencyOracle, RandomizedResponse, SubsetSelection
from rumor.mechanisms.hadamard import HadamardResponse

Z = 1.959963984540054
ORACLES = [
    example
    for mechanism in BY_NAME.values()
    if issubclass(mechanism, FrequencyOracle)
    for example in mechanism.examples()
    # Hashes of three values are taken for independent, which those of few seeds are not.
    if list(example.publics()) == [b""] and example.domain * example.alphabet <= 5_000
]


def share(successes: int, trials: int) -> Sample:
    return Sample.coins(successes / trials, (0.0, 1.0), trials)


def test_known_intervals() -> None:
    """Wilson's of 8 in 10, and Newcombe's (1998, table II, method 10) of 56/70 less 48/80."""
    low, high = share(8, 10).bounds(Z)
    assert (low[0], high[0]) == pytest.approx((0.4901625, 0.9433178), abs=1e-6)
    found = Differences.between(share(48, 80), share(56, 70))
    low, high = found.bounds(Z)
    assert found.mean[0] == pytest.approx(0.2)
    assert (low[0], high[0]) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    # The pooled z of a two-by-two table is the root of Pearson's statistic.
    table = [[56, 14], [48, 32]]
    pearson = stats.chi2_contingency(table, correction=False)
    assert found.p_value[0] == pytest.approx(pearson.pvalue, rel=1e-6)
    # The other way round the difference changes its sign and nothing else.
    back = Differences.between(share(56, 70), share(48, 80))
    np.testing.assert_allclose(back.bounds(Z), [-high, -low])
    np.testing.assert_allclose(back.p_value, found.p_value)


def test_where_only_errors_are_known_intervals_are_plain() -> None:
    first = Sample.known(np.array([1.0, 5.0]), np.array([0.3, 0.4]))
    second = Sample.known(np.array([2.0, 5.0]), np.array([0.4, 0.3]))
    found = Differences.between(first, second)
    np.testing.assert_allclose(found.stderr, 0.5)
    np.testing.assert_allclose(found.bounds(2.0), [[0.0, -1.0], [2.0, 1.0]])
    np.testing.assert_allclose(found.p_value, [math.erfc(2 / math.sqrt(2)), 1.0])
    np.testing.assert_allclose(two_sided_p_value(np.array([1.96, -1.96])), 0.05, atol=1e-4)
    picked = first.at(np.array([1]))
    assert (picked.mean[0], picked.stderr[0]) == (5.0, 0.4)


def test_holm() -> None:
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.9, 0.6])), [1.0, 1.0])


@pytest.mark.parametrize("oracle", ORACLES, ids=repr)
def test_the_covariance_is_that_of_all_outputs(oracle: FrequencyOracle) -> None:
    """Every output, with its probability, as one report: exactly what `covariance` says."""
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(oracle.domain))
    outputs = oracle.outputs()
    chance = law @ oracle.channel().matrix()
    each = np.array(
        [oracle.unbiased(oracle.tally(outputs[i : i + 1]), 1) for i in range(len(outputs))]
    )
    mean = chance @ each
    np.testing.assert_allclose(mean, law, atol=1e-9)
    exact = (each * chance[:, None]).T @ each - np.outer(mean, mean)
    scale = float(np.abs(exact).max())
    np.testing.assert_allclose(oracle.covariance(law, 1), exact, atol=1e-9 * scale)
    np.testing.assert_allclose(oracle.covariance(law, 7), exact / 7, atol=1e-9 * scale)


def test_all_at_once_is_pearsons_test_where_there_is_no_noise() -> None:
    """At epsilon 30 reports are answers."""
    oracle = RandomizedResponse(domain=4, epsilon=30.0)
    first, second = np.array([30, 50, 20, 100]), np.array([60, 40, 40, 160])
    people = first.sum(), second.sum()
    common = (first + second) / sum(people)
    covariance = sum(oracle.covariance(common, int(n)) for n in people)
    shares = [oracle.unbiased(tally, int(tally.sum())) for tally in (first, second)]
    found = chi_squared(shares[1] - shares[0], np.asarray(covariance))
    pearson = stats.chi2_contingency([first, second])
    assert (found.statistic, found.freedom) == pytest.approx((pearson.statistic, 3), rel=1e-6)
    assert found.p_value == pytest.approx(pearson.pvalue, rel=1e-5)


@pytest.mark.parametrize(
    ("oracle", "n"),
    [
        (RandomizedResponse(domain=4, epsilon=1.0), (300, 300)),
        (SubsetSelection(domain=8, epsilon=0.5), (300, 3000)),
        (HadamardResponse(domain=10, epsilon=3.0), (1000, 1000)),
    ],
    ids=["rr", "subset", "hadamard"],
)
def test_how_often_they_err(oracle: FrequencyOracle, n: tuple[int, int]) -> None:
    """Coverage, size of the test, family error and size of the global test over 600 pairs."""
    trials, rng = 600, np.random.default_rng(7)
    weights = 1.0 / np.arange(1, oracle.domain + 1)
    law = weights / weights.sum()
    outputs, reports = oracle.channel().matrix(), oracle.outputs()
    each = np.array([oracle.tally(reports[i : i + 1]) for i in range(len(reports))])
    families = overall = 0
    firsts: list[tuple[Sample, Sample]] = []
    for _ in range(trials):
        tallies = [rng.multinomial(size, law @ outputs) @ each for size in n]
        one, other = (
            Sample.of_score(oracle.score(tally, size), size, "population")
            for tally, size in zip(tallies, n, strict=True)
        )
        found = Differences.between(one, other)
        firsts.append((one, other))
        families += int(holm(found.p_value).min() < 0.05)
        common = np.clip(PooledSamples((one, other)).mean, 0, 1)
        common /= common.sum()
        covariance = np.asarray(sum(oracle.covariance(common, size) for size in n))
        overall += int(chi_squared(found.mean, covariance).p_value < 0.05)
    # The first value, all trials as rows of two samples.
    first = Differences.between(*(_rows([pair[i] for pair in firsts]) for i in (0, 1)))
    low, high = first.bounds(Z)
    covered, rejected = np.mean((low <= 0) & (high >= 0)), np.mean(first.p_value < 0.05)
    # 4.5 standard deviations of so many trials, beside what the targets allow.
    slack = 4.5 * math.sqrt(0.05 * 0.95 / trials)
    assert 0.93 - slack <= covered <= 0.97 + slack
    assert 0.03 - slack <= rejected <= 0.06 + slack
    assert families / trials <= 0.07 + slack
    assert 0.03 - slack <= overall / trials <= 0.06 + slack


def _rows(samples: list[Sample]) -> Sample:
    """The first value of many samples of one size."""
    spread = [np.array([s.spread[i][0] for s in samples]) for i in range(3)]
    mean = np.array([s.mean[0] for s in samples])
    return Sample(mean, (spread[0], spread[1], spread[2]), samples[0].reports, samples[0].limits)


def test_one_source_is_itself_and_equal_sources_are_their_sum() -> None:
    one = share(8, 10)
    np.testing.assert_allclose(PooledSamples([one]).bounds(Z), one.bounds(Z), atol=1e-9)
    both, whole = PooledSamples([share(30, 100), share(90, 200)]), share(120, 300)
    np.testing.assert_allclose(both.mean, whole.mean)
    np.testing.assert_allclose(both.bounds(Z), whole.bounds(Z), atol=1e-9)
    # A source with nothing but ends does not take over by dividing by nothing.
    assert 0.0 < PooledSamples([share(0, 100), share(30, 100)]).mean[0] < 0.3


def test_sources_of_different_noise_reach_the_bound() -> None:
    """Mean squared error over 1 / (sum of 1 / variance): 1, where weights by people give 4."""
    truth, rng, trials = 0.1, np.random.default_rng(3), 4000
    oracles = [RandomizedResponse(domain=2, epsilon=e) for e in (0.3, 3.0)]
    sizes = (20_000, 1_000)
    bound = 1 / sum(1 / float(o.variance(truth, n)) for o, n in zip(oracles, sizes, strict=True))
    samples = []
    for oracle, size in zip(oracles, sizes, strict=True):
        gain = oracle.hit - oracle.miss
        counts = rng.binomial(size, oracle.miss + gain * truth, trials)
        one = oracle.score(np.array([0, size]), size)
        score = replace(one, excess=counts / size - oracle.miss)
        samples.append(Sample.of_score(score, size, "population"))
    pooled = PooledSamples(samples)
    squares = np.mean((pooled.mean - truth) ** 2) / bound
    together = sum(s.mean * s.reports for s in samples) / sum(sizes)
    plain = np.mean((together - truth) ** 2) / bound
    low, high = pooled.bounds(Z)
    covered = np.mean((low <= truth) & (truth <= high))
    # A mean of squares of 4,000 normal errors has a standard deviation of 2.2 per cent.
    assert squares == pytest.approx(1.0, abs=0.1)
    assert plain > 2
    assert covered == pytest.approx(0.95, abs=0.016)


def test_a_weighted_sum_has_the_errors_of_its_parts() -> None:
    parts = [share(30, 100), share(60, 100)]
    found = Sum(parts, (0.25, 0.75))
    assert found.mean[0] == pytest.approx(0.525)
    assert found.stderr[0] == pytest.approx(math.sqrt(0.0625 * 0.0021 + 0.5625 * 0.0024))
    low, high = found.bounds(Z)
    assert low[0] < 0.525 < high[0]
    alone = Sum(parts[:1], (1.0,))
    np.testing.assert_allclose(alone.bounds(Z), parts[0].bounds(Z))


@pytest.mark.parametrize("strata", [1, 5, 20, 200])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_weighted_means_of_a_few_people_each_are_covered(
    strata: int, epsilon: float, share: float
) -> None:
    """Groups of 3 to 14 people that differ in their shares: 4,000 trials of two-sided 95%."""
    rng, trials = np.random.default_rng(11), 4000
    miss = 1 / (math.exp(epsilon) + 3)
    gain = math.exp(epsilon) * miss - miss
    people = rng.integers(3, 15, strata)
    weights = rng.dirichlet(np.full(strata, 5.0))
    shares = rng.beta(2, 2 * (1 - share) / share, strata)
    ones = np.ones(trials)
    spread = (ones * miss * (1 - miss) / gain**2, ones * (1 - 2 * miss) / gain, -ones)
    samples = [
        Sample((rng.binomial(n, miss + gain * f, trials) / n - miss) / gain, spread, int(n))
        for n, f in zip(people, shares, strict=True)
    ]
    truth = float(weights @ shares)
    low, high = WeightedMean(samples, weights.tolist()).bounds(1.959964)
    covered = float(np.mean((low <= truth) & (truth <= high)))
    room = 4 * math.sqrt(0.95 * 0.05 / trials)
    # One group of few people has a coarse count, whose coverage goes up and down around 95%.
    assert covered >= 0.95 - room - (0.02 if strata == 1 else 0)


def test_a_weighted_mean_of_one_sample_has_its_interval() -> None:
    sample = Sample(np.array([0.2]), (np.array([0.3]), np.array([0.5]), np.array([-1.0])), 40)
    np.testing.assert_allclose(WeightedMean([sample], [1.0]).bounds(2.0), sample.bounds(2.0))
    halves = WeightedMean([sample, sample], [0.5, 0.5])
    low, high = halves.bounds(2.0)
    np.testing.assert_allclose(
        high - low, np.diff(replace(sample, reports=80).bounds(2.0), axis=0)[0]
    )
    # A group that says nothing leaves no end.
    silent = Sample.known(np.array([0.0]), np.array([np.inf]))
    low, high = WeightedMean([sample, silent], [0.5, 0.5]).bounds(2.0)
    assert (low[0], high[0]) == (-np.inf, np.inf)
