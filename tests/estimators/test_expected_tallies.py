"""Estimates of a known population's *expected* tally: the truth, with the exact variance.

Coverage in seeded runs cannot see a variance that is 5 per cent off. Here nothing is drawn.
A small population and the exact channel give the distribution of one report; a huge number
of reports, in exactly those proportions, is tallied. The estimate must then be the
population's own numbers, and the standard error that of the channel, by brute force over
its outputs. A million million reports leave rounding at 1e-6 at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

import rumor
from rumor.core.binomial import FEW
from rumor.core.types import Tally
from rumor.estimators.frequency.linear import invert
from rumor.kinds.keyvalue.fit.linear import LinearKeys
from rumor.kinds.keyvalue.fit.published import calibrate
from rumor.kinds.keyvalue.intervals import KeyIntervals
from rumor.kinds.number.estimate import ShareIntervals
from rumor.mechanisms import REGISTRY, FrequencyOracle, KeyValueMechanism, MeanMechanism, Mechanism
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.mechanisms.summary import Summary
from rumor.results.counts import CountIntervals
from rumor.results.intervals import Tails, critical_value

REPORTS = 10**12
RELATIVE = 1e-6


def population(mechanism: Mechanism, seed: int = 5) -> np.ndarray:
    """Uneven shares of all possible people."""
    return np.random.default_rng(seed).dirichlet(np.full(len(mechanism.inputs()), 0.7))


def expected(mechanism: Mechanism, shares: np.ndarray) -> tuple[np.ndarray, Summary]:
    """The distribution of one report, and the summary of very many in these proportions."""
    channel = mechanism.channel()
    chances = shares @ channel.matrix()
    tally = np.zeros(mechanism.tally_size)
    for report, chance in zip(channel.outputs, chances.tolist(), strict=True):
        tally += chance * mechanism.tally(report[None, :])
    rounded: Tally = np.rint(tally * REPORTS).astype(np.int64)
    return chances, Summary(mechanism, REPORTS, rounded)


# --- Frequencies ------------------------------------------------------------------------------

ORACLES = [
    pytest.param(example, id=f"{kind.name}-{index}")
    for kind in REGISTRY
    if issubclass(kind, FrequencyOracle)
    for index, example in enumerate(kind.examples())
    if list(example.publics()) == [b""] and example.domain <= 12
]


@pytest.mark.parametrize("oracle", ORACLES)
def test_frequencies(oracle: FrequencyOracle) -> None:
    shares = population(oracle)
    chances, summary = expected(oracle, shares)
    found = rumor.estimate(oracle, summary, method="inversion")
    assert found.frequency == pytest.approx(shares, abs=RELATIVE)
    singles = np.array([oracle.unbiased(oracle.tally(row[None]), 1) for row in oracle.outputs()])
    variance = chances @ singles**2 - (chances @ singles) ** 2
    assert found.stderr**2 * REPORTS == pytest.approx(variance, rel=1e-4)


def test_frequencies_of_a_channel() -> None:
    """Two inputs, three outputs that say as much as two: the inverse is known in closed form."""
    channel = np.array([[0.6, 0.2, 0.2], [0.3, 0.35, 0.35]])
    share = 0.25
    seen = np.array([share, 1 - share]) @ channel * 1e9
    frequency, stderr = invert(channel, seen)
    assert frequency == pytest.approx([share, 1 - share])
    # Unequal columns would make the least squares inverse unlike this one; these are equal.
    first = 0.6 * share + 0.3 * (1 - share)
    inverse = np.linalg.pinv(channel)
    spread = [
        sum(p * inverse[y, x] ** 2 for y, p in enumerate((first, (1 - first) / 2, (1 - first) / 2)))
        - frequency[x] ** 2
        for x in (0, 1)
    ]
    assert stderr**2 * 1e9 == pytest.approx(spread, rel=1e-6)
    assert spread[0] == pytest.approx(first * (1 - first) / 0.3**2, rel=1e-6)


# --- Means ------------------------------------------------------------------------------------

MEANS: list[MeanMechanism] = [
    kind(low=low, high=high, epsilon=epsilon, steps=steps)
    for kind in (rumor.Harmony, rumor.Piecewise, rumor.Window)
    for low, high, epsilon, steps in ((-1.0, 1.0, 1.0, 4), (0.0, 24.0, 3.0, 9))
]


@pytest.mark.parametrize("mechanism", MEANS, ids=repr)
def test_means(mechanism: MeanMechanism) -> None:
    shares = population(mechanism)
    chances, summary = expected(mechanism, shares)
    found = rumor.estimate(mechanism, summary, method="inversion")
    truth = float(shares @ np.array(mechanism.inputs(), dtype=np.float64))
    assert found.mean == pytest.approx(truth, abs=RELATIVE * mechanism.grid.span)
    outputs = mechanism.outputs()
    singles = [mechanism.moments(mechanism.tally(row[None, :]), 1)[0] for row in outputs]
    spread = float(chances @ (np.array(singles) - truth) ** 2)
    assert found.stderr**2 * REPORTS == pytest.approx(spread, rel=1e-4)
    # Far from the ends the interval is the estimate and 1.96 standard errors.
    low, high = found.interval(0.95)
    assert (high - low) / 2 == pytest.approx(1.959964 * found.stderr, rel=1e-4)
    assert (high + low) / 2 == pytest.approx(truth, abs=RELATIVE * mechanism.grid.span)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("reports", [1, 7, 400, 40_000])
@pytest.mark.parametrize("z", [0.5, 1.96, 4.0])
def test_ends_of_a_score_interval_are_z_away_by_their_own_variance(
    share: float, reports: int, z: float
) -> None:
    """(share - pi)^2 = z^2 pi (1 - pi) / n at both ends, of which one lies on either side."""
    low, high = ShareIntervals(share, reports, zero=0.0, one=1.0).bounds(z, "population")
    assert -1e-12 <= low[0] <= share + 1e-12
    assert share - 1e-12 <= high[0] <= 1 + 1e-12
    assert low[0] < high[0]
    few = reports * share * (1 - share) < FEW
    for end in (low[0], high[0]):
        away = z * z * end * (1 - end) / reports
        if few:  # stretched to Clopper and Pearson's
            assert (share - end) ** 2 >= away - 1e-12
        else:
            assert (share - end) ** 2 == pytest.approx(away, abs=1e-12)
    moved, _ = ShareIntervals(share, reports, zero=-3.0, one=5.0).bounds(z, "population")
    assert moved[0] == pytest.approx(-3.0 + 8.0 * low[0])


# --- Keys and values --------------------------------------------------------------------------

KEYVALUES: list[KeyValueMechanism] = [
    rumor.KeyValueBlock(keys=2, epsilon=1.0, steps=2, block=1, low=0.0, high=5.0),
    rumor.KeyValueBlock(keys=3, epsilon=3.0, steps=1, block=2),
    rumor.PrivKV(keys=2, epsilon=2.0, steps=3),
    rumor.PrivKV(keys=2, epsilon=1.0, steps=2, split="exact"),
    rumor.PrivKVM(keys=2, epsilon=2.0, rounds=3, steps=2),
    rumor.ItemSampling(keys=2, epsilon=1.0, cap=2, steps=2, low=-3.0, high=7.0),
    rumor.PckvGrr(keys=2, epsilon=2.0, cap=2, steps=2),
]


def held(mechanism: KeyValueMechanism, shares: np.ndarray, key: int) -> tuple[float, float]:
    """The share of holders of a key, and their mean on the scale [-1, 1]."""
    cells = [person[key] for person in mechanism.inputs()]  # type: ignore[index]
    own = np.array([cell is not None for cell in cells])
    values = np.array([0.0 if cell is None else cell for cell in cells])
    f = float(shares[own].sum())
    mean = float(shares[own] @ values[own]) / f
    return f, (mean - mechanism.grid.middle) / (mechanism.grid.span / 2)


@pytest.mark.parametrize("mechanism", KEYVALUES, ids=repr)
def test_keys_and_values(mechanism: KeyValueMechanism) -> None:
    shares = population(mechanism)
    _, summary = expected(mechanism, shares)
    found = rumor.estimate(mechanism, summary, method="inversion")
    counts = mechanism.counts(summary.tally, REPORTS)
    linear = LinearKeys.of(counts, mechanism.rates)
    half = mechanism.grid.span / 2
    for key in range(mechanism.keys):
        f, m = held(mechanism, shares, key)
        assert found.frequency[key] == pytest.approx(f, abs=1e-5)
        assert found.mean[key] == pytest.approx(mechanism.grid.middle + half * m, abs=1e-4 * half)
        # One report about the key says +, - or nothing; what each adds to f and to s.
        about = float(counts.trials[key])
        assert about == pytest.approx(REPORTS * mechanism.share)
        plus, minus = counts.plus[key] / about, counts.minus[key] / about
        said = np.array([plus, minus, 1 - plus - minus])
        to_f = (np.array([1.0, 1.0, 0.0]) - mechanism.rates.miss) / mechanism.rates.gain
        to_s = np.array([1.0, -1.0, 0.0]) / mechanism.rates.sign_gain
        assert (said @ to_f, said @ to_s) == pytest.approx((f, f * m), abs=1e-5)

        def spread(one: np.ndarray, other: np.ndarray, said: np.ndarray = said) -> float:
            return float(said @ (one * other) - (said @ one) * (said @ other))

        exact = {
            "f": spread(to_f, to_f),
            "s": spread(to_s, to_s),
            "both": spread(to_f, to_s),
            "mean": spread(to_s - m * to_f, to_s - m * to_f) / f**2,
        }
        assert linear.var_f[key] * about == pytest.approx(exact["f"], rel=1e-4)
        assert linear.var_s[key] * about == pytest.approx(exact["s"], rel=1e-4)
        assert linear.covariance[key] * about == pytest.approx(exact["both"], rel=1e-3, abs=1e-5)
        assert found.stderr[key] ** 2 * about == pytest.approx(exact["f"], rel=1e-4)
        assert found.mean_stderr[key] ** 2 * about == pytest.approx(
            half**2 * exact["mean"], rel=1e-3
        )
        assert abs(exact["both"]) > 1e-3, "a covariance of nothing would not be missed"
        closed = mechanism.variances(f, m, REPORTS)
        assert closed[0] * about == pytest.approx(exact["f"], rel=1e-4)
        assert closed[1] * about == pytest.approx(exact["s"], rel=1e-4)


@pytest.mark.parametrize("mechanism", KEYVALUES[2:5], ids=repr)
def test_the_published_calibration_inverts_the_channel(mechanism: KeyValueMechanism) -> None:
    """Frequencies are the truth; the mean is that of all who said something, holders or not."""
    shares = population(mechanism)
    _, summary = expected(mechanism, shares)
    assert isinstance(mechanism, (rumor.PrivKV, rumor.PrivKVM))
    frequency, mean = calibrate(mechanism, mechanism.counts(summary.tally, REPORTS))
    p1 = mechanism.key_truth / 2**64
    for key in range(mechanism.keys):
        f, m = held(mechanism, shares, key)
        assert frequency[key] == pytest.approx(f, abs=1e-5)
        shown = p1 * f + (1 - p1) * (1 - f)  # a made-up value is 0 on average
        assert mean[key] == pytest.approx(p1 * f * m / shown, abs=1e-5)


def test_means_of_later_rounds() -> None:
    """Rounds from the second on: the variance of a share of signs, stretched by 1/(2 p2 - 1)."""
    first = rumor.PrivKVM(keys=2, epsilon=2.0, rounds=3, steps=2, low=0.0, high=4.0)
    second = first.next([1.0, 3.5])
    shares = population(second)
    _, summary = expected(second, shares)
    found = rumor.estimate(second, summary)
    counts = second.counts(summary.tally, REPORTS)
    p2, half = second.value_truth / 2**64, second.grid.span / 2
    assert second.fakes == (1, 4)  # in half steps of which 4 make the range: 1.0 and 4.0
    for key, fake in enumerate((1.0, 4.0)):
        f, m = held(second, shares, key)
        mean = f * m + (1 - f) * (fake - 2.0) / half
        assert found.mean[key] == pytest.approx(2.0 + half * mean, abs=1e-4)
        seen = float(counts.plus[key] + counts.minus[key])
        assert seen == pytest.approx(REPORTS / 4)  # one of two keys, and half of those speak
        tilt = (2 * p2 - 1) * mean
        exact = half**2 * (1 - tilt**2) / (2 * p2 - 1) ** 2
        assert found.mean_stderr[key] ** 2 * seen == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(
    "rates",
    [KeyRates(0.3, 0.4, 0.4), KeyRates(0.2, 0.6, 0.35)],
    ids=["equal gains", "another gain of signs"],
)
def test_ends_of_fieller_intervals_are_z_away(rates: KeyRates) -> None:
    """(s - m f)^2 = z^2 (Var s - 2 m Cov + m^2 Var f) at both ends, m on [-1, 1]."""
    counts = KeyCounts(np.array([420, 300]), np.array([300, 340]), np.array([1000, 1000]))
    keys, z = LinearKeys.of(counts, rates, prior=0.5), 1.3
    tail = NormalDist().cdf(-z)
    both = KeyIntervals(counts, rates, -1.0, 1.0)
    low, high = both.mean(np.arange(2), Tails.alike(tail, tail, 2))
    for ends in (low, high):
        assert (np.abs(ends) < 1).all()
        gap = (keys.s - ends * keys.f) ** 2
        noise = keys.var_s - 2 * ends * keys.covariance + ends**2 * keys.var_f
        assert gap == pytest.approx(z**2 * noise)
    assert (low < keys.s / keys.f).all()
    assert (keys.s / keys.f < high).all()


def test_few_reports_are_counted_with_half_a_report_each() -> None:
    """The variance of one report that said nothing is not 0: half a count is added to each."""
    rates = KeyRates(0.3, 0.4, 0.5)
    keys = LinearKeys.of(KeyCounts(*(np.array([x]) for x in (0, 0, 2))), rates, prior=0.5)
    seen = 2 * 0.5 / 3.5
    assert keys.var_f[0] == pytest.approx(seen * (1 - seen) / (2 * 0.4**2))
    assert keys.var_s[0] == pytest.approx(seen / (2 * 0.5**2))
    assert keys.covariance[0] == 0


def test_the_mean_of_a_key_that_nobody_holds_is_unknown() -> None:
    block = rumor.KeyValueBlock(keys=2, epsilon=1.0, block=1)
    # Key 0: as many signs as nobody's would be, less one; key 1: plenty.
    few = math.floor(1000 * block.rates.miss / 2) - 1
    tally = np.array([1000 - 2 * few, few, few, 100, 800, 100])
    found = rumor.estimate(block, Summary(block, 2000, tally), method="inversion")
    assert np.isnan(found.mean[0])
    assert np.isnan(found.mean_stderr[0])
    assert found.mean[1] > 0


# --- Coverage, summed and not sampled ---------------------------------------------------------

PEOPLE, LEVEL = 2000, 0.95
COUNTING: list[Callable[[int], FrequencyOracle]] = [
    lambda d: rumor.RandomizedResponse(domain=d, epsilon=6.0),
    lambda d: rumor.UnaryEncoding(domain=d, epsilon=1.0),
    lambda d: rumor.UnaryEncoding(domain=d, epsilon=3.0, variant="symmetric"),
    lambda d: rumor.SubsetSelection(domain=d, epsilon=2.0),
    lambda d: rumor.LocalHashing(domain=d, epsilon=1.0),
]
FREQUENCIES = np.linspace(0.02, 0.9, 45)


def binomial(trials: int, chance: float) -> np.ndarray:
    """All probabilities of a binomial count."""
    ks = np.arange(trials + 1)
    logs = np.array([math.lgamma(k + 1) + math.lgamma(trials - k + 1) for k in ks.tolist()])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (
            math.lgamma(trials + 1) - logs + ks * np.log(chance) + (trials - ks) * np.log1p(-chance)
        )
    return np.asarray(np.exp(logs))


@pytest.mark.parametrize("make", COUNTING)
def test_intervals_cover_by_every_count_that_can_be(
    make: Callable[[int], FrequencyOracle],
) -> None:
    """An interval follows from one value's count, so all counts are tried at once, a value each.

    The probability of each count is known, hence the coverage: no sampling error. Counts are
    whole numbers, so single frequencies cover a little more or less than 95 %; on average over
    45 of them they must do so to 0.15 %, and each to 2 %. A variance 5 % off costs 0.6 %.
    """
    oracle = make(PEOPLE + 1)
    counts = Summary(oracle, PEOPLE, np.arange(PEOPLE + 1))
    found = rumor.estimate(oracle, counts, method="inversion")
    assert isinstance(found.intervals, CountIntervals)
    # What is shown of small counts is wider: tests/results/test_exact_coverage.py.
    score, z = found.intervals.score, critical_value(LEVEL, 1)
    covered: dict[str, list[float]] = {"population": [], "people": []}
    low, high = score.bounds(z, "population")
    of_people = score.bounds(z, "people")
    for f in FREQUENCIES.tolist():
        chances = binomial(PEOPLE, oracle.miss + (oracle.hit - oracle.miss) * f)
        covered["population"].append(float(chances[(low <= f) & (f <= high)].sum()))
        holders = round(f * PEOPLE)
        both = np.convolve(binomial(holders, oracle.hit), binomial(PEOPLE - holders, oracle.miss))
        inside = (of_people[0] <= holders / PEOPLE) & (holders / PEOPLE <= of_people[1])
        covered["people"].append(float(both[inside].sum()))
    for of, shares in covered.items():
        assert np.mean(shares) == pytest.approx(LEVEL, abs=0.0015), of
        assert np.abs(np.array(shares) - LEVEL).max() < 0.02, of
