"""Compiled loops against their plain twins, and both against what they are supposed to be.

Every function of kernels.py has a twin of the same name; integers must agree bit for bit,
sums of floats up to rounding. Shapes are chosen around the blocks and groups in which the
compiled loops work: one row, one more than a group, odd widths, columns beyond a block.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumor.core import loops
from rumor.core.exact import WORD
from rumor.core.loops.compiled import reports as kernels
from rumor.core.loops.plain import reports as twins

BOTH = [kernels, twins]
SHAPES = [(1, 1), (7, 3), (8, 1), (9, 2), (64, 5), (250, 9), (2048, 2), (2500, 3), (100, 1100)]


def words(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).integers(0, WORD, shape, dtype=np.uint64)


def rows(seed: int, count: int, width: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (count, width), dtype=np.uint8)


def bits_of(reports: Any) -> Any:
    return np.unpackbits(reports, axis=1, bitorder="little")


def public_functions(module: ModuleType) -> dict[str, list[str]]:
    """Names and parameters of what a module offers."""
    found = {}
    for name, item in vars(module).items():
        function = getattr(item, "py_func", item)
        own = inspect.isfunction(function) and function.__module__ == module.__name__
        if own and not name.startswith("_"):
            found[name] = list(inspect.signature(function).parameters)
    return found


def test_every_loop_has_a_twin() -> None:
    """Same names, same parameters in the same order: one can stand in for the other."""
    assert public_functions(kernels) == public_functions(twins)


@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("size", [1, 63, 64, 1000])
def test_compare_planes(depth: int, size: int) -> None:
    # Neighbouring bits that differ, either way round: no plane may stand for another.
    apart = (0xAAAAAAAAAAAAAAAA, 0x5555555555555555)
    for threshold in (*(int(w) for w in words(depth, 3)), 1, WORD - 1, 1 << 63, *apart):
        planes = words(size, depth, size)
        top = threshold >> (64 - depth)
        integers = np.zeros(64 * size, dtype=np.int64)
        for plane in planes:
            integers = 2 * integers + bits_of(plane.astype("<u8").view(np.uint8)[None])[0]
        results = []
        for module in BOTH:
            bits, ties = np.empty(size, np.uint64), np.empty(size, np.uint64)
            left = module.compare_planes(planes, np.uint64(threshold), bits, ties)
            lanes, equal = (bits_of(w.astype("<u8").view(np.uint8)[None])[0] for w in (bits, ties))
            assert (lanes == (integers < top)).all()
            assert (equal == (integers == top)).all()
            results.append((bits.tobytes(), ties.tobytes(), int(left)))
        assert results[0] == results[1]
        assert results[0][2] == int((integers == top).sum())


@pytest.mark.parametrize("size", [1, 64, 700])
def test_settle_ties(size: int) -> None:
    ties = words(1, size) & words(2, size) & words(3, size)
    ties[0] = WORD - 1  # a whole word of ties
    ties[-1] |= np.uint64(1) << np.uint64(63)
    left = int(np.bitwise_count(ties).sum())
    settled, rest = words(4, left), np.uint64(WORD // 3)
    start = words(5, size) & ~ties
    results = []
    for module in BOTH:
        bits = start.copy()
        module.settle_ties(bits, ties, settled, rest)
        results.append(bits.tolist())
    assert results[0] == results[1]
    # In order of word and bit: the k-th tie belongs to the k-th settling word.
    lanes = bits_of(ties.astype("<u8").view(np.uint8)[None])[0]
    lanes[np.flatnonzero(lanes)] = settled < rest
    expected = start | np.packbits(lanes, bitorder="little").view("<u8")
    assert results[0] == expected.tolist()


@pytest.mark.parametrize(("count", "width"), SHAPES)
def test_write_true_bits(count: int, width: int) -> None:
    start, hits = rows(1, count, width), words(2, (count + 63) // 64)
    values = np.random.default_rng(3).integers(0, width * 8, count)
    coins = bits_of(hits.astype("<u8").view(np.uint8)[None])[0][:count]
    expected = bits_of(start)
    expected[np.arange(count), values] = coins
    for module in BOTH:
        reports = start.copy()
        module.write_true_bits(reports, values, hits)
        assert (bits_of(reports) == expected).all()


@pytest.mark.parametrize("others", [1, 2, 6, 999, 65_535, 999_999])
@pytest.mark.parametrize("out", [np.uint8, np.uint16, np.uint32])
def test_keep_or_replace(others: int, out: type) -> None:
    if others > np.iinfo(out).max:
        return
    count = 3000
    values = np.random.default_rng(1).integers(0, others + 1, count)
    drawn = words(2, count)
    threshold = int(words(3, 1)[0])
    high = threshold >> 32
    drawn[::97] = (np.uint64(high) << np.uint64(32)) | (drawn[::97] & np.uint64(0xFFFFFFFF))
    drawn[::101] = (drawn[::101] >> np.uint64(32)) << np.uint64(32)  # low halves that are biased
    results = []
    for module in BOTH:
        picked: Any = np.zeros(count, out)
        flagged = np.zeros(count + 1, np.int64)
        rare = int(
            module.keep_or_replace(
                drawn, values, np.uint64(threshold), np.uint64(others), picked, flagged
            )
        )
        results.append((picked.tolist(), flagged[:rare].tolist()))
    assert results[0] == results[1]
    expected, rare_rows = [], []
    for i, (word, value) in enumerate(zip(drawn.tolist(), values.tolist(), strict=True)):
        top = word >> 32
        pick, rest = divmod((word & 0xFFFFFFFF) * others, 1 << 32)
        expected.append(value if top < high else pick + (pick >= value))
        if top == high or (top > high and rest < (1 << 32) % others):
            rare_rows.append(i)
    assert results[0][1] == rare_rows
    sure = np.setdiff1d(np.arange(count), rare_rows)
    assert np.array(results[0][0])[sure].tolist() == np.array(expected)[sure].tolist()


@pytest.mark.parametrize("size", [2, 256, 4096, 5000])
@pytest.mark.parametrize("dtype", ["<u1", "<u2", "<u4", "<i8"])
def test_count_codes(size: int, dtype: str) -> None:
    if size > np.iinfo(dtype).max:
        return
    for count in (0, 1, 3, 4, 1001):
        codes = np.random.default_rng(count).integers(0, size, count).astype(dtype)
        for module in BOTH:
            counts = np.arange(size)
            module.count_codes(codes, counts)
            expected = np.arange(size) + np.bincount(codes.astype(np.int64), minlength=size)
            assert counts.tolist() == expected.tolist(), "counts are added to what is there"


@pytest.mark.parametrize(("count", "width"), SHAPES)
def test_bit_sums(count: int, width: int) -> None:
    reports = rows(count, count, width)
    lanes = bits_of(reports).astype(np.float64)
    draw = np.random.default_rng(width)
    h, w = draw.normal(size=width * 8 - 3), draw.normal(size=count)
    for module in BOTH:
        assert module.count_columns(reports).tolist() == lanes.sum(axis=0).tolist()
        np.testing.assert_allclose(
            module.bits_forward(reports, h), lanes[:, : h.size] @ h, atol=1e-9
        )
        np.testing.assert_allclose(module.bits_adjoint(reports, w), w @ lanes, atol=1e-9)


def test_column_counters_do_not_overflow() -> None:
    """All bits set: every bit-sliced counter reaches its most and must be emptied in time."""
    for count in (248, 249, 255, 256, 8 * 248, 8 * 248 + 1, 8 * 255 + 7, 10_000):
        full = np.full((count, 2), 255, dtype=np.uint8)
        for module in BOTH:
            assert module.count_columns(full).tolist() == [count] * 16


@settings(max_examples=30)
@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 2**32))
def test_column_counts_of_any_shape(count: int, width: int, seed: int) -> None:
    reports = rows(seed, count, width)
    expected = bits_of(reports).sum(axis=0, dtype=np.int64).tolist() if count else [0] * width * 8
    for module in BOTH:
        assert module.count_columns(reports).tolist() == expected
        # A slice of a larger batch, and one that nobody may write to.
        assert module.count_columns(np.ascontiguousarray(reports[: count // 2])).sum() == (
            bits_of(reports[: count // 2]).sum() if count else 0
        )
        frozen = reports.copy()
        frozen.flags.writeable = False
        assert module.count_columns(frozen).tolist() == expected


def test_small_work_stays_plain_until_it_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "SMALL_BYTES", 100)
    monkeypatch.setattr(loops, "_plain_bytes", 0)
    assert loops.loops(60) is twins
    assert loops.loops(40) is twins
    assert loops.loops(1) is kernels, "a stream of small pieces has paid for the compiler"
    assert loops.loops(1) is kernels
    assert loops.loops(100, floats=True) is twins, "floats go by their own size alone"
    assert loops.loops(101, floats=True) is kernels


def test_without_numba_everything_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_has_numba", lambda: False)
    assert loops.loops(1 << 40) is twins
    assert loops.loops(1 << 40, floats=True) is twins
