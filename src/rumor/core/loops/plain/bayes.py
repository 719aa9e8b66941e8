"""The loops of the Bayesian update in plain numpy: the same functions as in ../compiled/bayes.py.

They serve small work and installations without numba, and the tests hold the compiled
loops to them, up to the rounding of sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumor.core.reports import Reports

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

# Rows are unpacked to a byte per bit in blocks of about this many bytes.
_UNPACKED = 1 << 20


def byte_table(h: F64, words: int) -> F64:
    """Return, for each byte position and byte value, the total of `h` over its 1-bits."""
    padded = np.zeros(words * 64)
    padded[: h.size] = h
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    return np.asarray((padded.reshape(-1, 8) @ bits.T).reshape(-1))


def fold_bytes(collected: F64, size: int) -> F64:
    """Return, for each of `size` bits, the total over the byte values in which it is set."""
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    return np.asarray((collected.reshape(-1, 256) @ bits).reshape(-1)[:size])


def bits_update(
    reports: Reports, table: F64, c: float, weights: F64, power: int, collected: F64
) -> tuple[float, float]:
    """Add w = weight / d**power of each row to the bytes it has; d = 1 + c (total of the table)."""
    count, width = reports.shape
    tables, sink = table.reshape(-1, 256)[:width], collected.reshape(-1, 256)
    logs = total = 0.0
    columns = np.arange(width)
    for start in range(0, count, max(1, _UNPACKED // (8 * width))):
        block = reports[start : start + max(1, _UNPACKED // (8 * width))]
        d = 1.0 + c * tables[columns, block].sum(axis=1)
        weight = weights[start : start + len(block)] if weights.size else np.ones(len(block))
        share = weight / d**power
        logs, total = logs + float(weight @ np.log(d)), total + float(share.sum())
        spots = (columns * 256 + block).reshape(-1)
        each = np.repeat(share, width)
        sink[:width] += np.bincount(spots, each, minlength=width * 256).reshape(width, 256)
    return logs, total


def lists_update(
    starts: I64,
    values: NDArray[np.integer],
    h: F64,
    c: float,
    weights: F64,
    power: int,
    collected: F64,
) -> tuple[float, float]:
    """Do `bits_update` for reports as lists: row i is values[starts[i] : starts[i + 1]]."""
    lengths = np.diff(starts)
    rows = np.repeat(np.arange(lengths.size), lengths)
    d = 1.0 + c * np.bincount(rows, h[values], minlength=lengths.size)
    weight = weights if weights.size else np.ones(lengths.size)
    share = weight / d**power
    collected += np.bincount(values, share[rows], minlength=collected.size)
    return float(weight @ np.log(d)), float(share.sum())


def fill_lists(bitmaps: Reports, starts: I64, values: NDArray[np.integer]) -> None:
    """Write the positions of the 1-bits of each row to `values`, in ascending order."""
    count, width = bitmaps.shape
    step = max(1, _UNPACKED // (8 * width))
    for start in range(0, count, step):
        lanes = np.unpackbits(bitmaps[start : start + step], axis=1, bitorder="little")
        stop = starts[min(start + step, count)]
        values[starts[start] : stop] = np.nonzero(lanes)[1]
