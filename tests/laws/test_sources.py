"""The laws of randomness sources: coins and uniform integers have the law they state.

Three sources, two forms of each draw (scalar and bulk), thresholds and bounds where
mistakes would hide: near 0, near 1, one half, and bounds that do not divide 2**64.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from rumor.core.coins import bernoulli_words, keep_or_replace
from rumor.core.exact import WORD
from rumor.core.randomness import Keyed, RandomSource, Seeded, StreamDraws, System
from tests.laws.chance import NEVER, UNLIKELY, chi_squared, largest_autocorrelation, normal_tail
from tests.laws.laws import forced

SECRET = bytes(range(32))

# System differs at every run, so what counts as unlikely must never happen in practice.
SOURCES = [
    pytest.param(System, NEVER, id="system"),
    pytest.param(lambda: Keyed(SECRET, "laws", 1), UNLIKELY, id="keyed"),
    pytest.param(lambda: Seeded(301), UNLIKELY, id="seeded"),
]
PROBABILITIES = [
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(3, 4),
    Fraction(1, 1000),
    Fraction(999, 1000),
    Fraction(255, 256),
    Fraction(1, 256) + Fraction(1, WORD),
]
BOUNDS = [1, 2, 3, 7, 10, 255, 256, 1000]

Make = Callable[[], RandomSource]


@pytest.mark.parametrize(("make", "unlikely"), SOURCES)
@pytest.mark.parametrize("probability", PROBABILITIES, ids=str)
def test_coins(make: Make, unlikely: float, probability: Fraction) -> None:
    threshold, chance = int(probability * WORD), float(probability)
    draws = StreamDraws(make().stream())
    heads = sum(draws.coin(threshold) for _ in range(20_000))
    assert chi_squared([heads, 20_000 - heads], [chance, 1 - chance]) > unlikely
    for path in ("plain", "compiled"):
        with forced(path):
            words = bernoulli_words(make().stream(), 10_000, threshold)
        ones = int(np.bitwise_count(words).sum())
        assert chi_squared([ones, 640_000 - ones], [chance, 1 - chance]) > unlikely
        # No lane of a word is favoured, and lanes do not follow each other.
        lanes = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        by_lane = lanes.reshape(-1, 64).sum(axis=0).tolist()
        assert chi_squared(by_lane, [1 / 64] * 64) > unlikely
        deviation = largest_autocorrelation(lanes[:100_000].astype(np.float64))
        if 0.01 < chance < 0.99:  # rarer events are too few for a normal law
            assert normal_tail(deviation) * 100_000 > unlikely


@pytest.mark.parametrize(("make", "unlikely"), SOURCES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_uniform_integers(make: Make, unlikely: float, bound: int) -> None:
    draws = StreamDraws(make().stream())
    scalar = np.bincount([draws.below(bound) for _ in range(10_000)], minlength=bound)
    bulk = np.bincount(make().stream().below(bound, 100_000).astype(np.int64), minlength=bound)
    for counts in (scalar, bulk):
        assert counts.size == bound, "every answer is below the bound"
        assert chi_squared(counts.tolist(), [1 / bound] * bound) > unlikely


@pytest.mark.parametrize(("make", "unlikely"), SOURCES)
def test_kept_or_replaced_values(make: Make, unlikely: float) -> None:
    domain, threshold, people = 5, WORD // 3, 50_000
    codes = np.full(people, 2)
    for path in ("plain", "compiled"):
        with forced(path):
            kept = keep_or_replace(make().stream(), codes, domain, threshold)
        expected = [1 / 6, 1 / 6, 1 / 3, 1 / 6, 1 / 6]
        assert chi_squared(np.bincount(kept, minlength=5).tolist(), expected) > unlikely


@pytest.mark.parametrize(("make", "unlikely"), SOURCES)
def test_words_are_uniform_and_independent(make: Make, unlikely: float) -> None:
    words = make().stream().words(50_000)
    raw = words.astype("<u8").view(np.uint8)
    assert chi_squared(np.bincount(raw, minlength=256).tolist(), [1 / 256] * 256) > unlikely
    deviation = largest_autocorrelation(words.astype(np.float64))
    assert normal_tail(deviation) * 25_000 > unlikely
    assert np.unique(words).size == words.size, "64-bit words hardly ever meet"
