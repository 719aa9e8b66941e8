"""The loops of the Bayesian update: compiled and plain agree, whatever the shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rumor.core.loops.plain import bayes as plain

compiled = pytest.importorskip("rumor.core.loops.compiled.bayes", reason="numba is not installed")

Vector = NDArray[np.float64]


def dense_update(
    bits: NDArray[np.uint8], h: Vector, c: float, weights: Vector, power: int
) -> tuple[Vector, float, float]:
    """The definition, with the support matrix written out."""
    d = 1 + c * (bits @ h)
    often = weights if weights.size else np.ones(len(bits))
    share = often / d**power
    return share @ bits, float(often @ np.log(d)), float(share.sum())


@settings(max_examples=40)
@given(
    st.integers(1, 70),
    st.integers(1, 1300),
    st.sampled_from([0.02, 0.3, 0.9]),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.integers(0, 2**32),
)
def test_packed_bits(
    rows: int, values: int, density: float, weighted: bool, power: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    bits = (rng.random((rows, values)) < density).astype(np.uint8)
    reports = np.packbits(bits, axis=1, bitorder="little")
    h = rng.random(values)
    weights = rng.integers(1, 9, rows).astype(np.float64) if weighted else np.zeros(0)
    expected = dense_update(bits, h, 1.7, weights, power)
    words = (reports.shape[1] + 7) // 8
    for loops in (compiled, plain):
        table, collected = loops.byte_table(h, words), np.zeros(words * 2048)
        logs, weight = loops.bits_update(reports, table, 1.7, weights, power, collected)
        np.testing.assert_allclose(loops.fold_bytes(collected, values), expected[0], rtol=1e-9)
        assert (logs, weight) == pytest.approx(expected[1:], rel=1e-9)


def test_many_rows_go_through_in_chunks() -> None:
    rng = np.random.default_rng(1)
    bits = (rng.random((9_001, 1_100)) < 0.4).astype(np.uint8)
    reports, h = np.packbits(bits, axis=1, bitorder="little"), rng.random(1_100)
    words = (reports.shape[1] + 7) // 8
    collected = np.zeros(words * 2048)
    table = compiled.byte_table(h, words)
    logs, weight = compiled.bits_update(reports, table, 0.5, np.zeros(0), 1, collected)
    totals, expected_logs, expected_weight = dense_update(bits, h, 0.5, np.zeros(0), 1)
    np.testing.assert_allclose(compiled.fold_bytes(collected, 1_100), totals, rtol=1e-9)
    assert (logs, weight) == pytest.approx((expected_logs, expected_weight), rel=1e-9)


@given(st.integers(0, 60), st.integers(1, 300), st.booleans(), st.integers(0, 2**32))
def test_lists(rows: int, values: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = (rng.random((rows, values)) < 0.1).astype(np.uint8)
    bitmaps = np.packbits(bits, axis=1, bitorder="little")
    starts = np.concatenate([[0], np.cumsum(bits.sum(axis=1, dtype=np.int64))])
    h = rng.random(values)
    weights = rng.random(rows) if weighted else np.zeros(0)
    expected = dense_update(bits, h, 3.0, weights, 1)
    for loops in (compiled, plain):
        flat = np.empty(int(starts[-1]), dtype=np.uint16)
        loops.fill_lists(bitmaps, starts, flat)
        np.testing.assert_array_equal(flat, np.nonzero(bits)[1])
        collected = np.zeros(values)
        logs, weight = loops.lists_update(starts, flat, h, 3.0, weights, 1, collected)
        np.testing.assert_allclose(collected, expected[0], rtol=1e-9)
        assert (logs, weight) == pytest.approx(expected[1:], rel=1e-9)
