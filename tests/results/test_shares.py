"""Shares of several values together, and standard errors that never fall below the noise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.mechanisms.summary import Summary

DOMAIN, PEOPLE = 24, 600
TRUTH = np.arange(DOMAIN, 0, -1.0) / (DOMAIN * (DOMAIN + 1) / 2)
GROUPS = {"one": [3], "quiet half": list(range(12, 24)), "all but two": list(range(2, 24))}
ORACLES: list[FrequencyOracle] = [
    rumor.RandomizedResponse(domain=DOMAIN, epsilon=2.0),
    rumor.UnaryEncoding(domain=DOMAIN, epsilon=1.0),
    rumor.SubsetSelection(domain=DOMAIN, epsilon=1.0),
    rumor.HadamardResponse(domain=DOMAIN, epsilon=1.0),
    rumor.HadamardResponse(domain=DOMAIN, epsilon=3.0),
    rumor.LocalHashing(domain=DOMAIN, epsilon=1.5),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "oracle", ORACLES, ids=lambda oracle: f"{oracle.name}-{oracle.epsilon:.2g}"
)
def test_shares_are_unbiased_and_their_errors_are_known(oracle: FrequencyOracle) -> None:
    """300 crowds: means within 4.5 of their standard errors, variances within 40 %.

    A variance of 300 draws is known to sqrt(2 / 300) = 8 %, of which five are allowed.
    Intervals, which take longer, are those of the first 20 crowds: at most five of 20 may miss,
    which happens to one honest interval in 3,000.
    """
    runs, rng, source = 300, np.random.default_rng(501), rumor.Seeded(501)
    errors: dict[tuple[str, str], list[float]] = {}
    shares: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for run in range(runs):
        people = rng.choice(DOMAIN, PEOPLE, p=TRUTH)
        summary = Summary.empty(oracle).update(oracle.privatize(people, random=source))
        held = np.bincount(people, minlength=DOMAIN) / PEOPLE
        for name, members in GROUPS.items():
            score = oracle.group_score(summary.tally, PEOPLE, np.array(members))
            unbiased = float(score.excess[0] / score.gain)
            for of, truth in (("population", TRUTH), ("people", held)):
                target = float(truth[members].sum())
                errors.setdefault((name, of), []).append(unbiased - target)
                if run < 20:
                    share = rumor.estimate(oracle, summary, method="clip").share(members, of=of)
                    covered = share.low <= target + 1e-12 and target - 1e-12 <= share.high
                    shares.setdefault((name, of), []).append((share.stderr, covered))
                    assert share.unbiased == unbiased
    for key, found in errors.items():
        error, stderr = np.array(found), np.array([s for s, _ in shares[key]])
        expected = math.sqrt(float(np.mean(stderr**2)))
        assert abs(error.mean()) < 4.5 * expected / math.sqrt(runs), key
        assert error.var() / expected**2 == pytest.approx(1, abs=0.4), key
        assert sum(covered for _, covered in shares[key]) >= 15, key


def test_one_value_alone_is_that_value() -> None:
    oracle = rumor.SubsetSelection(domain=DOMAIN, epsilon=1.0)
    people = np.random.default_rng(1).choice(DOMAIN, PEOPLE, p=TRUTH)
    result = rumor.estimate(oracle, oracle.privatize(people, random=rumor.Seeded(1)))
    alone = result.share([5])
    assert alone.unbiased == pytest.approx(result.unbiased[5])
    assert alone.stderr == pytest.approx(result.stderr[5])
    low, high = result.interval(0.95)
    assert alone.low == pytest.approx(low[5], abs=1e-9) or result.frequency[5] < alone.low
    assert alone.high == pytest.approx(high[5], abs=1e-9) or result.frequency[5] > alone.high
    everyone = result.share(range(DOMAIN))
    assert (everyone.unbiased, everyone.stderr) == pytest.approx((1.0, 0.0), abs=1e-6)


def test_rows_overstate_the_quiet_half_and_shares_do_not() -> None:
    """Zipf's law over 300 values: shrinkage gives the rare half two times what it has."""
    law = 1 / np.arange(1, 301)
    law /= law.sum()
    oracle, quiet = rumor.SubsetSelection(domain=300, epsilon=1.0), range(150, 300)
    rng, rows, shares = np.random.default_rng(7), [], []
    for trial in range(12):
        people = rng.choice(300, 3000, p=law)
        result = rumor.estimate(oracle, oracle.privatize(people, random=rumor.Seeded(trial)))
        rows.append(float(result.frequency[150:].sum()))
        share = result.share(quiet)
        shares.append((share.unbiased - law[150:].sum()) / share.stderr)
    assert np.mean(rows) > 2 * law[150:].sum()
    # The mean of twelve standardised errors has a standard error of 0.29: four are allowed.
    assert abs(np.mean(shares)) < 4 / math.sqrt(12)
    assert "do not add up rows" in result.explain()
    assert (
        "do not add up rows"
        not in rumor.estimate(
            oracle, oracle.privatize(people, random=rumor.Seeded(1)), method="inversion"
        ).explain()
    )


def test_a_share_prints_and_serialises() -> None:
    oracle = rumor.RandomizedResponse(domain=["tea", "coffee", "water"], epsilon=3.0)
    people = ["tea"] * 600 + ["coffee"] * 300 + ["water"] * 100
    result = rumor.estimate(oracle, oracle.privatize(people, random=rumor.Seeded(2)))
    share = result.share(["tea", "coffee"], 0.9)
    assert str(share).startswith("tea, coffee together: ")
    assert "(90% interval " in str(share)
    assert json.loads(json.dumps(share.to_dict()))["values"] == ["tea", "coffee"]
    assert share.low < 0.9 < share.high


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ([], "named once each"),
        (["tea", "tea"], "named once each"),
        (["milk"], "values of this estimate; got 'milk'"),
        ("tea", "a list of values; got 'tea'"),
    ],
)
def test_a_wrong_group_is_one_sentence(values: list[str], rule: str) -> None:
    oracle = rumor.RandomizedResponse(domain=["tea", "coffee"], epsilon=3.0)
    result = rumor.estimate(oracle, oracle.privatize(["tea"] * 9, random=rumor.Seeded(2)))
    with pytest.raises(InputError, match=rule):
        result.share(values)


def test_channels_have_shares_too() -> None:
    channel = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    result = rumor.estimate(channel, [500, 300, 200], method="inversion")
    share = result.share([0, 1])
    assert share.unbiased == pytest.approx(result.unbiased[:2].sum())
    # Two of three are all but the third: the same error.
    assert share.stderr == pytest.approx(result.stderr[2])
    with pytest.raises(InputError, match='of the "population" only'):
        result.share([0, 1], of="people")


@pytest.mark.parametrize("kind", [rumor.Harmony, rumor.Piecewise])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_one_report_of_a_number_has_the_noise_of_one(
    kind: type[rumor.Harmony | rumor.Piecewise], epsilon: float
) -> None:
    mechanism = kind(low=0.0, high=10.0, epsilon=epsilon)
    grid = np.linspace(0.0, 10.0, 101)
    for seed in range(5):
        reports = mechanism.privatize([3.0], random=rumor.Seeded(seed))
        result = rumor.estimate(mechanism, reports)
        assert result.stderr >= math.sqrt(float(mechanism.variance(grid).min())) * (1 - 1e-9)
        low, high = result.interval(0.95)
        assert high - low > 0.1, "one report does not tell a number"
        assert "std. error" in result.table()


def test_no_word_found_still_has_the_noise_of_one() -> None:
    rappor = rumor.Rappor(bits=64, hashes=1, cohorts=16, f=0, p=0.2, q=0.5, key=b"words")
    for people in (1, 20):
        summary = simulate_counts(rappor, ["nobody's"], [people], random=rumor.Seeded(1))
        result = rumor.estimate(rappor, summary, candidates=["alpha", "beta"])
        floor = math.sqrt(0.2 * 0.8 / people) / 0.3
        assert result.other_stderr >= floor * (1 - 1e-6)
        assert (result.stderr >= floor * (1 - 1e-6)).all()


def test_a_key_nobody_reported_has_the_noise_of_its_reports() -> None:
    block = rumor.KeyValueBlock(keys=3, epsilon=1.0)
    rates = block.rates
    table = np.full((6, 3), np.nan)
    result = rumor.estimate(block, block.privatize(table, random=rumor.Seeded(3)))
    least = min(rate * (1 - rate) for rate in (rates.miss, rates.miss + rates.gain))
    assert (result.stderr >= math.sqrt(least / 6) / rates.gain * (1 - 1e-9)).all()


@pytest.mark.parametrize("oracle", [ORACLES[0], ORACLES[2]], ids=lambda oracle: oracle.name)
def test_beyond_0_and_1_a_share_has_the_error_of_0_and_of_1(oracle: FrequencyOracle) -> None:
    """Where all send one report, some values have more than all people, others less than none."""
    report = oracle.privatize([3], random=rumor.Seeded(2))
    result = rumor.estimate(oracle, np.repeat(report, 40, axis=0), method="clip")
    beyond = result.unbiased > 1
    assert beyond.any()
    assert (result.unbiased < 0).any()
    expected = np.sqrt(oracle.variance(np.clip(result.unbiased, 0, 1), 40))
    for value in range(DOMAIN):
        assert result.share([value]).stderr == pytest.approx(expected[value], rel=1e-9), value
