"""What `estimate` puts together for every kind, by hand: answers, errors, intervals and facts.

Each method's answer is that of its own definition, each standard error that of the counts, and the
facts beside them are those of the mechanism. Mechanisms come from the registry.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import rumor
from rumor.core.types import Vector
from rumor.estimators.frequency.empirical import default_frequency
from rumor.estimators.frequency.linear import project
from rumor.kinds.keyvalue.estimate import OPTIONS as KEY_METHODS
from rumor.kinds.keyvalue.fit.linear import LinearKeys
from rumor.kinds.number.estimate import FewNumbers, ShareIntervals
from rumor.kinds.ordered.estimate import least_variance
from rumor.kinds.ordered.result import OrderedEstimate
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.wave.wave import Wave
from rumor.results.counts import bounded_ends
from rumor.results.intervals import NormalIntervals, Tails
from rumor.results.smallest_share import RareCount
from rumor.results.view import View

NORMAL = NormalDist()
PEOPLE = 300


def examples(kind: str, family: type[Any]) -> list[Any]:
    """The largest example of each mechanism of a kind that has 40 inputs at most."""
    found = []
    for mechanism in mechanisms_of_kind(kind):
        if not issubclass(mechanism, family):
            continue
        small = [one for one in mechanism.examples() if list(one.publics()) == [b""]]
        small = [one for one in small if len(one.inputs()) <= 40]
        found += [max(small, key=lambda one: len(one.inputs()))] if small else []
    return found


def summary_of(mechanism: Mechanism, people: int = PEOPLE) -> Summary:
    """Reports of people who hold the first inputs more often than the last."""
    inputs = mechanism.inputs()
    rng = np.random.default_rng(5)
    places = np.minimum(rng.geometric(0.4, people) - 1, len(inputs) - 1)
    held = [inputs[i] for i in places]
    return Summary.empty(mechanism).update(mechanism.privatize(held, random=rumor.Seeded(1)))


def fakes_told(mechanism: Mechanism, found: Any, shown: bool) -> None:
    """The bound on fakes is that of one report in a hundred."""
    told = found.diagnostics["fake_clients"]
    bound = bound_poisoning(mechanism, found.reports)
    assert told["clients"] == bound.clients == math.ceil(found.reports / 100)
    assert told["adds"] == pytest.approx(mechanism.poisoning.gain(found.reports, bound.clients))
    assert told["takes"] == pytest.approx(mechanism.poisoning.loss(found.reports, bound.clients))
    if shown:
        noise = float(np.max(found.stderr))
        wanted = min(told["adds"] + told["takes"] + 4 * noise, 1.0)
        assert min(told["shown"], 1.0) == pytest.approx(wanted, rel=1e-6)


# Choices


@pytest.mark.parametrize("oracle", examples("choice", FrequencyOracle), ids=repr)
def test_frequencies_of_a_choice(oracle: FrequencyOracle) -> None:
    summary = summary_of(oracle)
    unbiased = oracle.unbiased(summary.tally, PEOPLE)
    items = oracle.item_channel(summary.tally, PEOPLE)
    kept = np.maximum(unbiased, 0.0)
    answers: dict[str, Vector] = {
        "inversion": unbiased,
        "clip": kept / kept.sum(),
        "projection": project(unbiased),
        "norm-sub": project(unbiased),
        "auto": default_frequency(items, unbiased)[0],
    }
    for method, answer in answers.items():
        found = rumor.estimate(oracle, summary, method=method)
        np.testing.assert_allclose(found.frequency, answer, atol=1e-9)
        np.testing.assert_allclose(found.unbiased, unbiased)
        spread = oracle.variance(np.clip(unbiased, 0, 1), PEOPLE)
        np.testing.assert_allclose(
            found.stderr, np.broadcast_to(np.sqrt(spread), found.stderr.shape)
        )
        assert (found.reports, found.method, found.epsilon) == (PEOPLE, method, oracle.epsilon)
        told = found.diagnostics
        assert told["noise"] == pytest.approx(math.sqrt(np.mean(oracle.variance(0.0, PEOPLE))))
        assert (told["test_level"], told["power"]) == (0.05, 0.9)
        assert ("warning" in told) == (float(str(told["even_p"])) > 0.05)
        assert found.rare == RareCount.noisiest(items)
        fakes_told(oracle, found, shown=method != "inversion")


@pytest.mark.parametrize("oracle", examples("choice", FrequencyOracle), ids=repr)
def test_the_largest_likelihood_is_that_of_another_optimiser(oracle: FrequencyOracle) -> None:
    """Over the exact channel, of every output as often as it was seen."""
    outputs = {row.tobytes(): i for i, row in enumerate(oracle.outputs())}
    if len(outputs) > 300 or oracle.domain > 8:
        return
    inputs = oracle.inputs()
    rng = np.random.default_rng(5)
    held = np.minimum(rng.geometric(0.4, PEOPLE) - 1, len(inputs) - 1)
    reports = oracle.privatize([inputs[i] for i in held], random=rumor.Seeded(6))
    channel = oracle.channel().matrix()
    seen = np.bincount([outputs[row.tobytes()] for row in reports], minlength=len(outputs))
    found = rumor.estimate(oracle, reports, method="bayes", gap=1e-9)

    def lost(h: Vector) -> float:
        return float(-(seen @ np.log(np.maximum(h @ channel, 1e-300))) / PEOPLE)

    best = optimize.minimize(
        lost,
        np.full(oracle.domain, 1 / oracle.domain),
        bounds=[(0, 1)] * oracle.domain,
        constraints={"type": "eq", "fun": lambda h: h.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert lost(found.frequency) <= best.fun + 1e-8
    by_matrix = rumor.estimate(channel, seen, method="bayes", gap=1e-9)
    assert lost(by_matrix.frequency) == pytest.approx(lost(found.frequency), abs=1e-8)
    # One update of "em" is Bayes' rule.
    start = np.arange(1.0, oracle.domain + 1)
    start /= start.sum()
    moved = rumor.estimate(oracle, reports, method="em", start=start, max_iterations=1, gap=1e-12)
    wanted = start * (channel @ (seen / PEOPLE / (start @ channel)))
    np.testing.assert_allclose(moved.frequency, wanted / wanted.sum(), rtol=1e-9)


# Sets


@pytest.mark.parametrize("mechanism", examples("set", SetMechanism), ids=repr)
def test_shares_of_options(mechanism: SetMechanism) -> None:
    summary = summary_of(mechanism)
    items = mechanism.items(summary.tally, PEOPLE)
    trials = np.broadcast_to(np.asarray(items.trials, float), items.counts.shape)
    known = trials > 0
    support = items.counts[known] / trials[known]
    unbiased = (support - mechanism.miss) / mechanism.gain
    for method in ("inversion", "clip"):
        found = rumor.estimate(mechanism, summary, method=method)
        np.testing.assert_allclose(found.unbiased[known], unbiased)
        answer = unbiased if method == "inversion" else np.clip(unbiased, 0, 1)
        np.testing.assert_allclose(found.frequency[known], answer)
        # A count out of the reports about an option is binomial.
        chance = mechanism.miss + mechanism.gain * np.clip(unbiased, 0, 1)
        spread = chance * (1 - chance) / trials[known] / mechanism.gain**2
        np.testing.assert_allclose(found.stderr[known], np.sqrt(spread), rtol=1e-6)
        assert (found.cap, found.reports) == (mechanism.cap, PEOPLE)
        told = found.diagnostics
        assert told["noise"] == pytest.approx(math.sqrt(mechanism.variance(0.0, PEOPLE)))
        share = float(str(told["detectable"]))
        if share < 1:
            first = NORMAL.inv_cdf(0.95) * math.sqrt(mechanism.variance(0.0, PEOPLE))
            second = NORMAL.inv_cdf(0.9) * math.sqrt(mechanism.variance(share, PEOPLE))
            assert share == pytest.approx(first + second)
    if found.pairs is not None:
        pairs = found.pairs
        names = [f"{a} + {b}" for a, b in pairs.members]
        assert list(pairs.values) == names
        held = np.clip(found.frequency, 0, 1)
        places = [(i, j) for i in range(mechanism.domain) for j in range(i + 1, mechanism.domain)]
        most = np.array([min(held[i], held[j]) for i, j in places])
        np.testing.assert_allclose(pairs.frequency, np.clip(pairs.unbiased, 0, most))


# Numbers


@pytest.mark.parametrize("mechanism", examples("number", MeanMechanism), ids=repr)
@pytest.mark.parametrize("people", [3, 2000])
def test_means(mechanism: MeanMechanism, people: int) -> None:
    summary = summary_of(mechanism, people)
    low, high = mechanism.grid.low, mechanism.grid.high
    mean, variance = mechanism.moments(summary.tally, people)
    ends = np.array([low, (low + high) / 2, high])
    least = float(mechanism.variance(ends).min())
    for method in ("inversion", "clip", "auto"):
        found = rumor.estimate(mechanism, summary, method=method)
        assert found.unbiased == pytest.approx(mean)
        assert found.stderr == pytest.approx(math.sqrt(max(variance, least) / people))
        assert found.mean == pytest.approx(
            mean if method == "inversion" else min(max(mean, low), high)
        )
        assert found.method == ("clip" if method == "auto" else method)
        assert found.range == (low, high)
        fakes_told(mechanism, found, shown=False)
    level, z = 0.8, -NORMAL.inv_cdf(0.1)
    bottom, top = found.interval(level)
    coins = mechanism.binomial(summary.tally, people)
    if coins is not None:
        assert isinstance(found.intervals, ShareIntervals)
        line = coins.one - coins.zero
        for end, side in zip(found.intervals.bounds(z, "population"), (0, 1), strict=True):
            share = (float(end[0]) - coins.zero) / line
            wilson = (coins.share - share) ** 2 - z**2 * share * (1 - share) / people
            count = round(coins.share * people)
            tail = (
                stats.binom.sf(count - 1, people, share)
                if side == 0
                else stats.binom.cdf(count, people, share)
            )
            if people * coins.share * (1 - coins.share) >= 400:
                assert wilson == pytest.approx(0.0, abs=1e-9)
            elif 0 < share < 1:  # Wilson's, or that at which the count is as rare as the tail
                assert abs(wilson) < 1e-9 or tail == pytest.approx(0.1, rel=1e-5)
    elif people * least < 5 * (high - low) ** 2:
        assert isinstance(found.intervals, FewNumbers)
        furthest = mechanism.furthest_estimate
        within = low + high - furthest, furthest
        student = float(stats.t.isf(0.1, people - 1)) * found.stderr
        coin = bounded_ends(
            np.array([mean]),
            np.array([float(people)]),
            (np.array([within[0]]), np.array([within[1]])),
            Tails.alike(0.1, 0.1, 1),
        )
        wanted = min(mean - student, coin[0][0]), max(mean + student, coin[1][0])
        clipped = [min(max(end, within[0]), within[1]) for end in wanted]
        ends_found = [float(end[0]) for end in found.intervals.bounds(z, "population")]
        assert ends_found == pytest.approx(clipped, rel=1e-6)
    else:
        assert isinstance(found.intervals, NormalIntervals)
        assert bottom == pytest.approx(max(mean - z * found.stderr, low))
        assert top == pytest.approx(min(mean + z * found.stderr, high))
    assert low <= bottom <= found.mean <= top <= high
    tails = Tails(np.array([0.02]), np.array([0.3]))
    below, above = found.intervals.tails(np.array([0]), tails, "population")
    for end, tail, side in ((below, 0.02, 0), (above, 0.3, 1)):
        alone = found.intervals.bounds(-NORMAL.inv_cdf(tail), "population")[side]
        assert float(end[0]) == pytest.approx(float(alone[0]))


# Keys


@pytest.mark.parametrize("mechanism", examples("keyvalue", KeyValueMechanism), ids=repr)
def test_shares_and_means_of_keys(mechanism: KeyValueMechanism) -> None:
    if mechanism.round > 1:
        return
    summary = summary_of(mechanism)
    counts, rates = mechanism.counts(summary.tally, PEOPLE), mechanism.rates
    linear = LinearKeys.of(counts, rates)
    careful = LinearKeys.of(counts, rates, prior=0.5)
    low, high = mechanism.grid.low, mechanism.grid.high
    for method in KEY_METHODS:
        published = method == "calibration" and not mechanism.name.startswith("privkv")
        if published:
            with pytest.raises(rumor.InputError, match="was published for PrivKV"):
                rumor.estimate(mechanism, summary, method=method)
            continue
        found = rumor.estimate(mechanism, summary, method=method)
        np.testing.assert_allclose(found.unbiased, linear.f)
        np.testing.assert_allclose(found.product, linear.s)
        noise = min(p * (1 - p) for p in (rates.miss, rates.miss + rates.gain))
        floor = noise / np.maximum(counts.trials, 1) / rates.gain**2
        np.testing.assert_allclose(found.stderr**2, np.maximum(careful.var_f, floor))
        half = (high - low) / 2
        np.testing.assert_allclose(found.mean_stderr, half * np.sqrt(careful.mean_variance()))
        assert found.range == (low, high)
        if method == "inversion":
            np.testing.assert_allclose(found.frequency, linear.f)
            ratio = np.where(linear.f > 0, linear.s / linear.f, np.nan)
            np.testing.assert_allclose(found.mean, (low + high) / 2 + half * ratio)
        if method == "mle":
            check_most_likely(found, counts, rates, (low, high))
        if method == "auto":
            assert found.method == "pooled"
            weights: Any = found.diagnostics["weights"]
            assert sum(weights.values()) == pytest.approx(1.0, abs=1e-5)


def check_most_likely(found: Any, counts: Any, rates: Any, ends: tuple[float, float]) -> None:
    """No f and s of the triangle has a larger likelihood of the three counts."""
    half, middle = (ends[1] - ends[0]) / 2, sum(ends) / 2
    for key in range(len(found.values)):
        if not counts.trials[key]:
            continue
        seen = [counts.plus[key], counts.minus[key]]
        seen.append(counts.trials[key] - sum(seen))

        def height(f: Any, m: Any, seen: list[int] = seen) -> Any:
            lam, tilt = rates.miss + rates.gain * f, rates.sign_gain * f * m
            parts = ((lam + tilt) / 2, (lam - tilt) / 2, 1 - lam)
            return sum(c * np.log(p) for c, p in zip(seen, parts, strict=True))

        f, m = np.meshgrid(np.linspace(0, 1, 201), np.linspace(-1, 1, 201))
        own = (found.mean[key] - middle) / half if found.frequency[key] > 0 else 0.0
        assert height(found.frequency[key], own) >= height(f, m).max() - 1e-9


# Ordered answers


@pytest.fixture(scope="module")
def ages() -> OrderedEstimate:
    wave = Wave(low=0.0, high=40.0, bins=8, epsilon=3.0)
    held = np.random.default_rng(1).gamma(4.0, 4.0, 800)
    return rumor.estimate(wave, wave.privatize(held, random=rumor.Seeded(2)))


@pytest.fixture(scope="module")
def steps() -> OrderedEstimate:
    wave = Wave(labels=list("abcde"), epsilon=2.0)
    held = np.random.default_rng(1).choice(list("abcde"), 500, p=[0.1, 0.3, 0.3, 0.2, 0.1])
    return rumor.estimate(wave, wave.privatize(held, random=rumor.Seeded(2)))


def test_a_range_is_asked_by_value(ages: OrderedEstimate) -> None:
    sums = np.concatenate([[0.0], np.cumsum(ages.frequency)])
    for value in (-3.0, 0.0, 5.0, 12.5, 40.0, 99.0):
        found = ages.cdf(value, 0.8)
        assert found.value == pytest.approx(np.interp(value / 5, np.arange(9), sums))
        assert found.low <= found.value <= found.high
    for low, high in ((0.0, 40.0), (5.0, 10.0), (7.5, 31.0)):
        share = ages.share(low, high, 0.8)
        assert share.value == pytest.approx(ages.cdf(high).value - ages.cdf(low).value)
        assert share.level == 0.8
        together = ages.together([f"{low}..{high}"], View(level=0.8))
        assert (together.unbiased, together.low, together.high) == pytest.approx(
            (share.value, share.low, share.high)
        )
    assert ages.share(10.0).value == pytest.approx(0.0, abs=1e-12), "a point of a range"
    for weights in (np.array([0.0, 1, 1, 0, 0, 0, 0, 0]), np.array([0.0, 0.5, 1, 0.2, 0, 0, 0, 0])):
        sides = ages.sides(weights[:, None])
        inner, outer = (
            ages.bounds.shares(part[:, None], part[:, None]) for part in (weights == 1, weights > 0)
        )
        assert sides.low[0] == pytest.approx(inner.low[0])
        assert sides.high[0] == pytest.approx(outer.high[0])
    smooth = ages.sides(weights[:, None], "smooth")
    centre, deviation = ages.fit.linear(weights[:, None])
    assert smooth.low[0] == pytest.approx(centre[0])
    assert smooth.high_deviation[0] == pytest.approx(deviation[0])
    with pytest.raises(rumor.InputError, match="from a lower value to a higher one"):
        ages.share(20.0, 10.0)


def test_the_mean_of_a_range_is_the_linear_one(ages: OrderedEstimate) -> None:
    z = -NORMAL.inv_cdf(0.1)
    assert ages.mean == pytest.approx(ages.frequency @ (2.5 + 5 * np.arange(8)))
    found = ages.mean_interval(0.8)
    assert (found.value, found.stderr) == (ages.mean, ages.stderr)
    low, high = ages.unbiased - z * ages.stderr, ages.unbiased + z * ages.stderr
    assert (found.low, found.high) == pytest.approx((min(low, ages.mean), max(high, ages.mean)))
    np.testing.assert_allclose(ages.density, ages.frequency / 5)
    # The noise of one report is there, however few agree.
    wave = Wave(low=0.0, high=40.0, bins=8, epsilon=3.0)
    matrix = wave.band.matrix()
    outputs = np.arange(wave.band.outcomes)
    spread = outputs**2 @ matrix - (outputs @ matrix) ** 2
    slope = (outputs @ matrix)[1] - (outputs @ matrix)[0]
    assert least_variance(wave) == pytest.approx(spread.min() / slope**2)
    one = rumor.estimate(wave, wave.privatize([20.0], random=rumor.Seeded(1)))
    assert one.stderr == pytest.approx(5 * math.sqrt(least_variance(wave)))


def test_labels_are_asked_by_name(steps: OrderedEstimate) -> None:
    sums = np.cumsum(steps.frequency)
    for place, label in enumerate("abcde"):
        assert steps.cdf(label).value == pytest.approx(sums[place])
        assert steps.share(label).value == pytest.approx(steps.frequency[place])
        assert steps.label(steps.scale.middles[place]) == label
    assert steps.share("b", "d").value == pytest.approx(steps.frequency[1:4].sum())
    both = steps.together(["a", "c..d"], View(level=0.5))
    assert both.unbiased == pytest.approx(steps.frequency[[0, 2, 3]].sum())
    weights = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    sides, z = steps.sides(weights[:, None]), -NORMAL.inv_cdf(0.25)
    low, high = (float(end[0]) for end in sides.ends(z))
    assert (both.low, both.high) == pytest.approx(
        (min(low, both.unbiased), max(high, both.unbiased))
    )
    assert both.stderr == pytest.approx(float(sides.stderr(z)[0]))
    with pytest.raises(rumor.InputError, match="values named once each"):
        steps.together(["a", "a..b"], View())
    # Bars of two labels each, and what is left over.
    bars = steps.histogram(3, 0.8)
    assert [bar["value"] for bar in bars] == ["a to b", "c to d", "e to e"]
    shares = [float(steps.frequency[i : i + 2].sum()) for i in (0, 2, 4)]
    assert [bar["frequency"] for bar in bars] == pytest.approx(shares)
    pair = steps.share("a", "b", 0.8)
    assert (bars[0]["low"], bars[0]["high"], bars[0]["stderr"]) == pytest.approx(
        (pair.low, pair.high, pair.stderr)
    )
    columns = steps.columns(0.8)
    for place, label in enumerate("abcde"):
        own, up_to = steps.share(label, level=0.8), steps.cdf(label, 0.8)
        assert (columns["low"][place], columns["high"][place]) == pytest.approx((own.low, own.high))
        assert columns["cdf_low"][place] == pytest.approx(up_to.low)
        assert columns["cdf_high"][place] == pytest.approx(up_to.high)


def test_quantiles_have_the_error_of_their_interval(ages: OrderedEstimate) -> None:
    for share in (0.0, 0.25, 0.5, 1.0):
        for assume in ("nothing", "smooth"):
            found = ages.quantile(share, 0.8, assume=assume)
            z = -NORMAL.inv_cdf(0.1)
            value, low, high = ages.curve(assume).quantile(share, z)
            assert (found.value, found.low, found.high) == (value, low, high)
            assert found.stderr == pytest.approx((high - low) / (2 * z))
            assert 0 <= low <= value <= high <= 40
    assert ages.quantile(0.0).low == 0.0
    assert ages.quantile(1.0).high == 40.0
    assert ages.quantile(0.5, assume="smooth").low >= ages.quantile(0.5).low


def test_what_differs_between_two_groups(ages: OrderedEstimate) -> None:
    wave = Wave(low=0.0, high=40.0, bins=8, epsilon=3.0)
    held = np.random.default_rng(7).gamma(6.0, 4.0, 500)
    other = rumor.estimate(wave, wave.privatize(held, random=rumor.Seeded(8)))
    found, z = other.minus(ages), -NORMAL.inv_cdf(0.1)
    mean = found.mean(0.8)
    error = math.hypot(ages.stderr, other.stderr)
    assert (mean.value, mean.stderr) == pytest.approx((other.unbiased - ages.unbiased, error))
    assert (mean.low, mean.high) == pytest.approx((mean.value - z * error, mean.value + z * error))
    one, two = other.sides(other.up_to(15.0)[:, None]), ages.sides(ages.up_to(15.0)[:, None])
    share = found.cdf(15.0, 0.8)
    assert share.value == pytest.approx(other.cdf(15.0).value - ages.cdf(15.0).value)
    low = one.low[0] - two.high[0] - z * math.hypot(one.low_deviation[0], two.high_deviation[0])
    high = one.high[0] - two.low[0] + z * math.hypot(one.high_deviation[0], two.low_deviation[0])
    assert share.low == pytest.approx(min(max(low, -1.0), share.value))
    assert share.high == pytest.approx(max(min(high, 1.0), share.value))
    between = found.share(5.0, 15.0, 0.8)
    assert between.value == pytest.approx(
        other.share(5.0, 15.0).value - ages.share(5.0, 15.0).value
    )
    quantile = found.quantile(0.5, 0.8)
    apart = other.quantile(0.5).value - ages.quantile(0.5).value
    assert quantile.value == pytest.approx(apart)
    assert quantile.low <= apart <= quantile.high
    assert quantile.stderr == pytest.approx((quantile.high - quantile.low) / (2 * z))
    back = ages.minus(other)
    assert back.p_value == pytest.approx(found.p_value)
    assert back.quantile(0.5, 0.8).low == pytest.approx(-quantile.high)
