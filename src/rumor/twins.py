"""The heavy loops in plain numpy: the same functions and results as kernels.py.

They serve small work and installations without numba, and the tests hold the compiled
loops to them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.report import Reports

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

# Rows are unpacked to a byte per bit in blocks of about this many bytes.
_UNPACKED = 1 << 22


def compare_planes(planes: U64, threshold: np.uint64, bits: U64, ties: U64) -> int:
    """Compare lanes of random bits with the top bits of a threshold, 64 lanes to a word."""
    bits[:] = 0
    ties[:] = ~np.uint64(0)
    for k, plane in enumerate(planes):
        if int(threshold) >> (63 - k) & 1:
            bits |= ties & ~plane
            ties &= plane
        else:
            ties &= ~plane
    return int(np.bitwise_count(ties).sum())


def settle_ties(bits: U64, ties: U64, words: U64, rest: np.uint64) -> None:
    """Decide the lanes that were still equal, one word each, in order of word and bit."""
    lanes = np.unpackbits(ties.astype("<u8").view(np.uint8), bitorder="little")
    lanes[np.flatnonzero(lanes)] = words < rest
    bits |= np.packbits(lanes, bitorder="little").view("<u8").astype(np.uint64)


def write_true_bits(reports: Reports, values: I64, hits: U64) -> None:
    """Overwrite each row's own bit with the next bit of the packed `hits`."""
    lanes = np.unpackbits(hits.astype("<u8").view(np.uint8), bitorder="little")[: values.size]
    rows, byte, bit = np.arange(values.size), values >> 3, (values & 7).astype(np.uint8)
    mask = np.left_shift(np.uint8(1), bit)
    reports[rows, byte] = (reports[rows, byte] & ~mask) | np.left_shift(lanes, bit)


def keep_or_replace(
    words: U64,
    values: I64,
    threshold: np.uint64,
    others: np.uint64,
    out: NDArray[np.uint32],
    flagged: I64,
) -> int:
    """Keep each value or replace it by one of the others, deciding all but rare rows."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    high, reject = threshold >> half, np.uint64((1 << 32) % int(others))
    own = values.astype(np.uint64)
    top, product = words >> half, (words & low) * others
    pick = product >> half
    pick += pick >= own
    keep = top < high
    out[: values.size] = np.where(keep, own, pick)
    rare = np.flatnonzero((top == high) | (~keep & ((product & low) < reject)))
    flagged[: rare.size] = rare
    return int(rare.size)


def count_codes(codes: NDArray[np.integer], counts: I64) -> None:
    """Add the occurrences of each code to `counts`."""
    counts += np.bincount(codes, minlength=counts.size)


def count_columns(reports: Reports) -> I64:
    """How many rows have each bit set; bit i of a row is bit i % 8 of its byte i // 8."""
    counts = np.zeros(reports.shape[1] * 8, dtype=np.int64)
    for block in _row_blocks(reports):
        counts += np.unpackbits(block, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return counts


def bits_forward(reports: Reports, h: F64) -> F64:
    """For each row the total of h over its 1-bits."""
    blocks = [
        np.unpackbits(block, axis=1, count=h.size, bitorder="little") @ h
        for block in _row_blocks(reports)
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def bits_adjoint(reports: Reports, w: F64) -> F64:
    """For each bit the total weight of the rows in which it is set."""
    out, start = np.zeros(reports.shape[1] * 8), 0
    for block in _row_blocks(reports):
        lanes = np.unpackbits(block, axis=1, bitorder="little")
        out += w[start : start + len(block)] @ lanes
        start += len(block)
    return out


def _row_blocks(reports: Reports) -> list[Reports]:
    count, width = reports.shape
    rows = max(1, _UNPACKED // (8 * width))
    return [reports[start : start + rows] for start in range(0, count, rows)]
