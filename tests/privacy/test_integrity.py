"""Liars: what they can add, and that crafted batches are seen where they can be."""

from __future__ import annotations

import datetime
import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import rumor
from benchmarks.liars_table import ORACLES, run
from rumor.cli import main
from rumor.contract.report_file import write_reports
from rumor.mechanisms import FrequencyOracle, Mechanism
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.privacy.integrity import _lower_end, _upper_end, bit_counts, co_support, craft

DOMAIN, PEOPLE = 100, 50_000
DAY = datetime.date(2026, 1, 1)
POPULATION = 1 / np.arange(1, DOMAIN + 1)
POPULATION /= POPULATION.sum()

SEVERAL: list[FrequencyOracle] = [
    rumor.UnaryEncoding(domain=DOMAIN, epsilon=1.0),
    rumor.SubsetSelection(domain=DOMAIN, epsilon=1.0),
    rumor.HadamardResponse(domain=DOMAIN, epsilon=1.0),
    rumor.LocalHashing(domain=DOMAIN, epsilon=1.0),
]


def honest(oracle: FrequencyOracle, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).choice(DOMAIN, size=PEOPLE, p=POPULATION)
    return oracle.privatize(values, random=rumor.Seeded(seed))


@pytest.mark.parametrize("oracle", SEVERAL, ids=lambda oracle: oracle.name)
def test_honest_batches_pass_and_crafted_ones_are_flagged(oracle: FrequencyOracle) -> None:
    for seed in range(2):
        batch = honest(oracle, seed)
        assert not co_support(oracle, batch, random=rumor.Seeded(seed)).alarm
        # Five in a hundred clients lie, so as to promote ten values as far as they can.
        targets = np.random.default_rng(seed).choice(DOMAIN, 10, replace=False)
        fakes = craft(oracle, targets, PEOPLE // 20, random=rumor.Seeded(seed))
        assert oracle.validate(fakes).all
        mixed = np.concatenate([batch[len(fakes) :], fakes])
        np.random.default_rng(seed).shuffle(mixed)
        found = co_support(oracle, mixed, random=rumor.Seeded(seed))
        assert found.alarm
        assert "crafted reports are likely" in found.explanation


@pytest.mark.parametrize("domain", [3, 5, 11])
def test_crafted_reports_are_seen_among_few_values_too(domain: int) -> None:
    oracle = rumor.UnaryEncoding(domain=domain, epsilon=1.0)
    targets = np.arange(domain // 2 + 1)
    alarms = 0
    for seed in range(3):
        values = np.random.default_rng(seed).choice(domain, 10_000)
        batch = oracle.privatize(values, random=rumor.Seeded(seed))
        alarms += co_support(oracle, batch, random=rumor.Seeded(seed)).alarm
        fakes = craft(oracle, targets, 2_000, random=rumor.Seeded(seed))
        mixed = np.concatenate([batch[2_000:], fakes])
        np.random.default_rng(seed).shuffle(mixed)
        assert co_support(oracle, mixed, random=rumor.Seeded(seed)).alarm
    assert alarms == 0


@pytest.mark.parametrize("oracle", SEVERAL, ids=lambda oracle: oracle.name)
def test_fakes_cannot_add_more_than_the_bound(oracle: FrequencyOracle) -> None:
    target = np.array([50])
    fakes = craft(oracle, target, 2500, random=rumor.Seeded(1))
    batch = np.concatenate([honest(oracle, 1)[2500:], fakes])
    added = oracle.unbiased(oracle.tally(batch), PEOPLE)[50] - POPULATION[50]
    noise = float(np.sqrt(oracle.variance(POPULATION, PEOPLE)[50]))
    assert added < oracle.poisoning.gain(PEOPLE, 2500) + 5 * noise
    assert added > 0.5 * oracle.poisoning.gain(PEOPLE, 2500)


def test_the_bound_grows_as_epsilon_falls() -> None:
    bounds = [
        rumor.UnaryEncoding(domain=DOMAIN, epsilon=e).poisoning.gain(PEOPLE, 100)
        for e in (4, 1, 0.25)
    ]
    assert bounds == sorted(bounds)


def test_single_values_cannot_be_told_apart_and_it_says_so() -> None:
    oracle = rumor.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    found = co_support(oracle, honest(oracle, 1))
    assert not found.testable
    assert not found.alarm
    assert "cannot be told from an honest one" in found.explanation


def test_fakes_cannot_move_a_mean_further_than_the_bound() -> None:
    """The furthest report, sent by a twentieth, among people who all hold the low end."""
    for mechanism in (
        rumor.Harmony(low=10.0, high=20.0, epsilon=1.0),
        rumor.Piecewise(low=10.0, high=20.0, epsilon=1.0, steps=1000),
    ):
        people, fakes = 20_000, 1000
        batch = mechanism.privatize([10.0] * (people - fakes), random=rumor.Seeded(1))
        furthest = mechanism.outputs()[-1:]
        mixed = np.concatenate([batch, np.repeat(furthest, fakes, axis=0)])
        mean = rumor.estimate(mechanism, mixed, method="inversion").mean
        noise = float(np.sqrt(mechanism.variance(10.0, people)))
        bound = mechanism.poisoning.gain(people, fakes)
        assert mean - 10.0 == pytest.approx(bound, abs=5 * noise)
        assert all(
            mechanism.moments(mechanism.tally(mechanism.outputs()[i : i + 1]), 1)[0] - 10.0
            <= people / fakes * bound * (1 + 1e-9)
            for i in range(0, mechanism.alphabet, 50)
        )


def test_fakes_cannot_raise_a_key_further_than_the_bound() -> None:
    people, fakes, keys = 40_000, 1000, 10
    for mechanism in (
        rumor.KeyValueBlock(keys=keys, epsilon=1.0, block=1),
        rumor.PrivKV(keys=keys, epsilon=1.0),
        rumor.ItemSampling(keys=keys, epsilon=1.0, cap=2),
    ):
        nothing = np.full((people - fakes, keys), np.nan)
        honest = mechanism.privatize(nothing, random=rumor.Seeded(2))
        # Every valid report that says plus about key 0, and nothing else.
        plus = [
            row
            for row in mechanism.outputs()
            if mechanism.counts(Summary.empty(mechanism).update(row[None, :]).tally, 1).plus[0]
        ]
        fake = np.repeat(plus[0][None, :], fakes, axis=0)
        found = rumor.estimate(mechanism, np.concatenate([honest, fake]), method="inversion")
        about = float(people * mechanism.share)
        noise = float(np.sqrt(mechanism.variances(0.1, 0.0, people)[0])) + 1 / np.sqrt(about)
        assert found.unbiased[0] == pytest.approx(
            mechanism.poisoning.gain(people, fakes), abs=5 * noise
        )
        assert 0 < mechanism.fake_mean_gain(people, fakes, 0.1) <= 2.0


def test_fakes_cannot_raise_a_word_further_than_the_bound() -> None:
    rappor = rumor.Rappor(bits=64, hashes=2, cohorts=4, f=0.0, p=0.25, q=0.75, key=b"key")
    words, people, fakes = [f"word {i}" for i in range(20)], 40_000, 2000
    honest = rappor.privatize(["word 1"] * (people - fakes), random=rumor.Seeded(3))
    crafted = [
        np.frombuffer(bytes([cohort]) + rappor.bloom.filter("word 2", cohort), dtype=np.uint8)
        for cohort in range(4)
    ]
    batch = np.concatenate([honest, np.resize(np.array(crafted), (fakes, rappor.width))])
    found = rumor.estimate(rappor, batch, candidates=words)
    bound = rappor.poisoning.gain(people, fakes)
    assert bound == pytest.approx(0.1)
    assert found.unbiased[2] < bound + 5 * found.stderr[2]
    assert found.unbiased[2] > 0.8 * bound
    assert found.diagnostics["fake_clients"]["to"] == "a word"  # type: ignore[index]


@pytest.mark.parametrize("example", ["browser", "survey", "commute", "app-usage", "words"])
def test_every_estimate_says_what_fake_clients_could_add(example: str) -> None:
    collection = rumor.Collection.load(f"examples/{example}.toml")
    for question in collection.questions:
        bound = bound_poisoning(question.mechanism, 10_000)
        assert bound.clients == 100
        assert bound.gain > 0
        most = "about" if question.kind == "text" and bound.target.what == "a word" else "at most"
        assert bound.sentence().startswith("poisoning bound: 100 fake reports can raise ")
        assert f" by {most} " in bound.sentence()
    oracle = rumor.UnaryEncoding(domain=9, epsilon=1.0)
    result = rumor.estimate(oracle, oracle.privatize([1] * 300, random=rumor.Seeded(1)))
    noise = float(result.stderr.max())
    sentence = bound_poisoning(oracle, 300).with_share_shift(noise).sentence()
    assert sentence in " ".join(result.explain().split())
    assert ", and move the share shown by " in sentence
    linear = rumor.estimate(
        oracle, oracle.privatize([1] * 300, random=rumor.Seeded(1)), method="inversion"
    )
    assert bound_poisoning(oracle, 300).sentence() in " ".join(linear.explain().split())
    assert result.to_dict()["diagnostics"]["fake_clients"]["sentence"] == sentence  # type: ignore[index]


def test_the_table_of_liars_in_short() -> None:
    """A few runs of benchmarks/liars_table.py: all attacks flagged, no false alarm."""
    for oracle in ORACLES[:2]:
        found = [run(oracle, 40_000, seed) for seed in range(101, 104)]
        assert [false for false, _, _ in found] == [False] * 3
        assert [flagged for _, flagged, _ in found] == [True] * 3
        for _, _, added in found:
            assert added < oracle.poisoning.gain(40_000, 2000)


BITS = [
    rumor.UnaryEncoding(domain=DOMAIN, epsilon=1.0),
    rumor.Rappor.basic(labels=40, f=0.5, p=0.25, q=0.75),
    rumor.Rappor(bits=128, hashes=2, cohorts=8, f=0.0, p=0.25, q=0.5, key=b"key"),
]


@pytest.mark.parametrize("mechanism", BITS, ids=lambda mechanism: mechanism.name)
def test_reports_with_too_few_or_too_many_bits_are_seen(mechanism: Mechanism) -> None:
    people, liars = 20_000, 400
    values = ["word"] * people if isinstance(mechanism, rumor.Rappor) else [3] * people
    batch = mechanism.privatize(values, random=rumor.Seeded(5))
    found = bit_counts(mechanism, batch)
    assert not found.alarm
    assert "which chance explains" in found.explanation
    for filled in (0, 255):
        crafted = batch.copy()
        crafted[:liars, 1:] = filled
        keep = mechanism.validate(crafted).valid
        assert bit_counts(mechanism, crafted[keep]).alarm == bool(keep[:liars].any())


def test_the_tails_of_bit_counts_are_bounds() -> None:
    """Among many honest reports of any word, the tails hold no more than they may."""
    rappor = BITS[2]
    words = np.array([f"word {i % 50}" for i in range(200_000)])
    batch = rappor.privatize(words, random=rumor.Seeded(6))
    low, few = _lower_end(128, 0.25)
    high, many = _upper_end(128, 2, 0.25, 0.5)
    ones = np.unpackbits(batch[:, 1:], axis=1).sum(axis=1)
    for share, bound in (((ones <= low).mean(), few), ((ones >= high).mean(), many)):
        assert 0 < bound <= 1e-3
        assert share < bound + 5 * np.sqrt(bound / 200_000)


def _exact_law(coins: list[Fraction]) -> list[Fraction]:
    """Return the chances of 0, 1, 2, ... ones among independent coins."""
    law = [Fraction(1)]
    for chance in coins:
        none, one = [*law, Fraction(0)], [Fraction(0), *law]
        law = [(1 - chance) * a + chance * b for a, b in zip(none, one, strict=True)]
    return law


@pytest.mark.parametrize(("bits", "own"), [(5, 1), (12, 2), (31, 4), (40, 1)])
@pytest.mark.parametrize(("zero", "one"), [(0.25, 0.5), (0.125, 0.875), (0.4375, 0.5)])
def test_the_tails_of_bit_counts_are_those_of_exact_coins(
    bits: int, own: int, zero: float, one: float
) -> None:
    """The largest count that is rare from below, the smallest from above, and how rare."""
    few = list(itertools.accumulate(_exact_law([Fraction(zero)] * bits)))
    low = max((count for count, chance in enumerate(few) if chance <= 1e-3), default=-1)
    found, chance = _lower_end(bits, zero)
    assert found == low
    assert chance == pytest.approx(float(few[low]) if low >= 0 else 0.0, rel=1e-9)
    law = _exact_law([Fraction(zero)] * (bits - own) + [Fraction(one)] * own)
    many = [sum(law[count:], Fraction(0)) for count in range(bits + 2)]
    high = min(count for count, chance in enumerate(many) if chance <= 1e-3)
    found, chance = _upper_end(bits, own, zero, one)
    assert found == high
    assert chance == pytest.approx(float(many[high]), rel=1e-9, abs=1e-15)


def test_the_command_looks_for_liars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collection = rumor.Collection.load("examples/survey.toml")
    question = collection.question("medicine")
    oracle = question.mechanism
    assert isinstance(oracle, FrequencyOracle)
    batch = oracle.privatize(np.arange(6000) % 500, random=rumor.Seeded(1))
    fakes = craft(oracle, np.arange(10), 600, random=rumor.Seeded(2))
    for name, rows in (("honest", batch), ("mixed", np.concatenate([batch, fakes]))):
        rows = rows[np.random.default_rng(1).permutation(len(rows))]
        with write_reports(tmp_path / f"{name}.parquet", collection, question) as writer:
            writer.write(rows, DAY)
    command = ["poisoning", "examples/survey.toml", "--seed", "1"]
    assert main([*command, str(tmp_path / "honest.parquet"), "--fakes", "60"]) == 0
    text = capsys.readouterr().out
    assert "medicine: 6,000 reports; poisoning bound: 60 fake reports can raise the" in text
    assert "likely" not in text
    assert main([*command, str(tmp_path / "mixed.parquet"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["alarm"] is True
    assert data["findings"]["co-support"]["alarm"] is True
    single = collection.question("smoking")
    with write_reports(tmp_path / "single.parquet", collection, single) as writer:
        writer.write(single.mechanism.privatize(["never"] * 2000, random=rumor.Seeded(1)), DAY)
    assert main([*command, str(tmp_path / "single.parquet")]) == 0
    assert "cannot be told from an honest one" in capsys.readouterr().out


def test_bad_input() -> None:
    oracle = SEVERAL[0]
    with pytest.raises(rumor.InputError, match="at least 1,000 reports; got 10"):
        co_support(oracle, honest(oracle, 1)[:10])
    with pytest.raises(rumor.InputError, match="fakes must be an integer from 0 to 10; got 11"):
        oracle.poisoning.gain(10, 11)


@pytest.mark.parametrize("oracle", [*SEVERAL, rumor.UnaryEncoding(domain=5, epsilon=1.0)])
def test_the_same_reports_give_the_same_figure(oracle: FrequencyOracle) -> None:
    """In any order, at every call: an alarm cannot be reloaded away."""
    values = np.random.default_rng(1).integers(oracle.domain, size=3_000)
    batch = oracle.privatize(values, random=rumor.Seeded(1))
    first = co_support(oracle, batch)
    assert co_support(oracle, batch) == first
    assert co_support(oracle, np.random.default_rng(2).permutation(batch)) == first
    other = oracle.privatize(values, random=rumor.Seeded(2))
    assert co_support(oracle, other).deviations != first.deviations


def test_figures_of_honest_batches_are_as_chance_has_them() -> None:
    """200 batches: their mean is within 4.5 standard errors of 0, their variance of 1."""
    oracle = rumor.UnaryEncoding(domain=8, epsilon=1.0)
    values = np.random.default_rng(1).integers(8, size=1_000)
    batches = [oracle.privatize(values, random=rumor.Seeded(seed)) for seed in range(200)]
    found = np.array([co_support(oracle, batch).deviations for batch in batches])
    assert abs(found.mean()) < 4.5 / np.sqrt(200)
    assert abs(found.var() - 1) < 4.5 * np.sqrt(2 / 200)
