"""The loops of growing words: the compiled ones do what the plain ones say."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from rumor.core.loops.compiled import decode as compiled
from rumor.core.loops.plain import decode as plain
from rumor.mechanisms.open_words.open_words import OpenWords

BOTH = pytest.mark.parametrize("loops", [plain, compiled], ids=["plain", "compiled"])


def numbers(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.random.default_rng(seed).integers(0, 2**64, size=count, dtype=np.uint64)


@BOTH
@pytest.mark.parametrize("count", [0, 1, 1023, 2500, 9000])
def test_sums_are_those_of_the_buckets(loops: ModuleType, count: int) -> None:
    mechanism = OpenWords.examples()[3]
    stems = mechanism.stems
    fingerprints, (a, b) = numbers(count, 1), stems.hashes
    table = np.random.default_rng(2).integers(0, 9, (mechanism.cohorts, mechanism.buckets)) * 1.0
    out = np.full(count, np.nan)
    loops.sum_buckets(fingerprints, a[4], b[4], table, out)
    rows = stems.rows(fingerprints, 4)
    expected = table[np.arange(mechanism.cohorts), rows].sum(axis=1)
    np.testing.assert_array_equal(out, expected)


@BOTH
def test_words_that_are_there_are_fitted_and_taken_out(loops: ModuleType) -> None:
    rng = np.random.default_rng(3)
    places, people = rng.integers(0, 8, size=(3, 32)), rng.uniform(5, 15, size=32)
    true = np.array([0.3, 0.1, 0.0])
    table = np.zeros((32, 8))
    for share, row in zip(true, places, strict=True):
        table[np.arange(32), row] += share * people
        table -= (share * people / 8)[:, None]
    shares = np.zeros(3)
    loops.descend_buckets(places, people, table, shares, 60)
    np.testing.assert_allclose(shares, true, atol=1e-9)
    np.testing.assert_allclose(table, 0, atol=1e-7)


@BOTH
def test_no_share_is_below_zero_and_rows_keep_their_sums(loops: ModuleType) -> None:
    rng = np.random.default_rng(4)
    places, people = rng.integers(0, 4, size=(5, 16)), np.full(16, 10.0)
    table = rng.standard_normal((16, 4))
    sums, shares = table.sum(axis=1), np.zeros(5)
    loops.descend_buckets(places, people, table, shares, 4)
    assert (shares >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), sums, atol=1e-12)
    left = (people * table[np.arange(16), places[shares == 0]]).sum(axis=1)
    assert (left < 1e-6 + 40).all()


def test_an_empty_level_is_left_alone() -> None:
    for loops in (plain, compiled):
        table, shares = np.zeros((2, 3)), np.zeros(1)
        loops.descend_buckets(np.zeros((1, 2), dtype=np.int64), np.zeros(2), table, shares, 2)
        assert shares[0] == 0
