"""Liars: what they can add, and that crafted batches are seen where they can be."""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.mechanisms import FrequencyOracle
from rumor.privacy.integrity import co_support, craft, fake_gain

DOMAIN, PEOPLE = 100, 50_000
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


@pytest.mark.parametrize("oracle", SEVERAL, ids=lambda oracle: oracle.name)
def test_fakes_cannot_add_more_than_the_bound(oracle: FrequencyOracle) -> None:
    target = np.array([50])
    fakes = craft(oracle, target, 2500, random=rumor.Seeded(1))
    batch = np.concatenate([honest(oracle, 1)[2500:], fakes])
    added = oracle.unbiased(oracle.tally(batch), PEOPLE)[50] - POPULATION[50]
    noise = float(np.sqrt(oracle.variance(POPULATION, PEOPLE)[50]))
    assert added < fake_gain(oracle, PEOPLE, 2500) + 5 * noise
    assert added > 0.5 * fake_gain(oracle, PEOPLE, 2500)


def test_the_bound_grows_as_epsilon_falls() -> None:
    bounds = [
        fake_gain(rumor.UnaryEncoding(domain=DOMAIN, epsilon=e), PEOPLE, 100) for e in (4, 1, 0.25)
    ]
    assert bounds == sorted(bounds)


def test_single_values_cannot_be_told_apart_and_it_says_so() -> None:
    oracle = rumor.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
    found = co_support(oracle, honest(oracle, 1))
    assert not found.testable
    assert not found.alarm
    assert "cannot be told from an honest one" in found.explanation


def test_bad_input() -> None:
    oracle = SEVERAL[0]
    with pytest.raises(rumor.InputError, match="at least 1,000 reports; got 10"):
        co_support(oracle, honest(oracle, 1)[:10])
    with pytest.raises(rumor.InputError, match="fakes must be an integer from 0 to 10; got 11"):
        fake_gain(oracle, 10, 11)
