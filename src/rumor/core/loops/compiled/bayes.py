"""The loops of the Bayesian update, compiled by numba; plain twins are in ../plain/bayes.py.

One update of a two-valued likelihood 1 + c Z, with Z the support matrix: for each report
d = 1 + c (Zh), then w = weight / d is added to every value that the report supports.
Packed bits are handled a byte at a time: a table holds the total of h for every byte value
at every position, and another collects w, so a report of D bits costs D/8 look-ups each
way. All loops release the interpreter's lock.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True)
_inline = numba.njit(cache=True, nogil=True, inline="always")

# Columns are taken eight bytes at a time: the tables of eight bytes are 16 kB, half of the
# first-level cache. Rows are taken in chunks, so that a table that was fetched is used often
# and what the rows hold stays in the second-level cache until they are scattered.
_CHUNK_BYTES, _FEWEST_ROWS, _MOST_ROWS = 1 << 17, 256, 4096
_BYTE, _ONE, _S63 = np.uint64(255), np.uint64(1), np.uint64(63)
_S1, _S2, _S3 = np.uint64(8), np.uint64(16), np.uint64(24)
_S4, _S5, _S6, _S7 = np.uint64(32), np.uint64(40), np.uint64(48), np.uint64(56)


@_jit
def byte_table(h, words):
    """Return, for each byte position and byte value, the total of `h` over its 1-bits."""
    table = np.zeros(words * 2048, dtype=np.float64)
    for index in range(h.size):
        base, size = index // 8 * 256, 1 << (index % 8)
        for low in range(size):
            table[base + size + low] = table[base + low] + h[index]
    # The bits after the last value add nothing.
    for index in range(h.size, words * 64):
        base, size = index // 8 * 256, 1 << (index % 8)
        for low in range(size):
            table[base + size + low] = table[base + low]
    return table


@_jit
def fold_bytes(collected, size):
    """Return, for each of `size` bits, the total over the byte values in which it is set."""
    out = np.zeros(size, dtype=np.float64)
    held = np.empty(256, dtype=np.float64)
    for base in range(0, size, 8):
        held[:] = collected[base * 32 : base * 32 + 256]
        # The highest bit is set in the upper half; the halves together are what the rest sees.
        for bit in range(7, -1, -1):
            half, total = 1 << bit, 0.0
            for low in range(half):
                total += held[half + low]
                held[low] += held[half + low]
            if base + bit < size:
                out[base + bit] = total
    return out


def bits_update(reports, table, c, weights, power, collected):
    """Add w = weight / d**power of each row to the bytes it has; d = 1 + c (total of the table).

    Returns the sum of weight log d, and that of w. Without `weights` every row has weight 1.
    """
    count, width = reports.shape
    # Rows are read by words from wherever they begin, which may reach beyond their end: the
    # last few are copied to where there is room.
    tail = max(0, count - (24 + width) // width)
    flat = np.ascontiguousarray(reports).reshape(-1)
    words = flat[: flat.size // 8 * 8].view(np.uint64)
    last = np.zeros(((count - tail) * width + 31) // 8, dtype=np.uint64)
    last.view(np.uint8)[: (count - tail) * width] = flat[tail * width :]
    logs, total = _update(words, tail, width, table, c, weights[:tail], power, collected)
    more = _update(last, count - tail, width, table, c, weights[tail:], power, collected)
    return logs + more[0], total + more[1]


@_jit
def _update(words, count, width, table, c, weights, power, collected):
    """Update chunk by chunk: gather each row's total, turn it into a share, scatter the share."""
    rows = min(_MOST_ROWS, max(_FEWEST_ROWS, _CHUNK_BYTES // width))
    sums, shares = np.zeros(rows), np.zeros(rows)
    logs, total = 0.0, 0.0
    for start in range(0, count, rows):
        here = min(rows, count - start)
        sums[:] = 0.0
        for first in range(0, width, 8):
            some = table[first * 256 : first * 256 + 2048]
            _gather(words, start * width + first, width, _mask(width - first), some, sums[:here])
        product = 1.0
        for i in range(here):
            d = 1.0 + c * sums[i]
            shares[i], logs, product = _weighed(d, weights, start + i, power, logs, product, i)
            total += shares[i]
        logs += np.log(product)
        for first in range(0, width, 8):
            sink = collected[first * 256 : first * 256 + 2048]
            _scatter(words, start * width + first, width, _mask(width - first), sink, shares[:here])
    return logs, total


@_inline
def _weighed(d, weights, row, power, logs, product, turn):
    """Return a row's share, the sum of logarithms, and the product not yet added to that sum."""
    weight = 1.0
    if weights.size:
        weight = weights[row]
        logs += weight * np.log(d)
    else:
        # One logarithm for eight rows: odds of e^32 leave room enough.
        product *= d
        if turn & 7 == 7:
            logs += np.log(product)
            product = 1.0
    share = weight / d if power == 1 else weight / (d * d)
    return share, logs, product


@_inline
def _word(words, spot):
    """Return the eight bytes that begin at byte `spot`."""
    at, shift = spot >> 3, np.uint64((spot & 7) * 8)
    return (words[at] >> shift) | ((words[at + 1] << _ONE) << (_S63 - shift))


@_inline
def _mask(size):
    """Return a mask of the bytes of a word that belong to a row with `size` bytes left."""
    return ~np.uint64(0) >> np.uint64(8 * max(0, 8 - size))


@_jit
def _gather(words, spot, width, mask, table, sums):
    """Add to each row's sum the `table` entries of eight of its bytes."""
    for i in range(sums.size):
        x = _word(words, spot + i * width) & mask
        a = table[np.int64(x & _BYTE)] + table[256 + np.int64((x >> _S1) & _BYTE)]
        b = table[512 + np.int64((x >> _S2) & _BYTE)] + table[768 + np.int64((x >> _S3) & _BYTE)]
        c = table[1024 + np.int64((x >> _S4) & _BYTE)] + table[1280 + np.int64((x >> _S5) & _BYTE)]
        d = table[1536 + np.int64((x >> _S6) & _BYTE)] + table[1792 + np.int64(x >> _S7)]
        sums[i] += (a + b) + (c + d)


@_jit
def _scatter(words, spot, width, mask, collected, shares):
    """Add each row's share to the entries of its eight bytes."""
    for i in range(shares.size):
        x, share = _word(words, spot + i * width) & mask, shares[i]
        collected[np.int64(x & _BYTE)] += share
        collected[256 + np.int64((x >> _S1) & _BYTE)] += share
        collected[512 + np.int64((x >> _S2) & _BYTE)] += share
        collected[768 + np.int64((x >> _S3) & _BYTE)] += share
        collected[1024 + np.int64((x >> _S4) & _BYTE)] += share
        collected[1280 + np.int64((x >> _S5) & _BYTE)] += share
        collected[1536 + np.int64((x >> _S6) & _BYTE)] += share
        collected[1792 + np.int64(x >> _S7)] += share


@_jit
def lists_update(starts, values, h, c, weights, power, collected):
    """Do `bits_update` for reports as lists: row i is values[starts[i] : starts[i + 1]]."""
    logs, total, product = 0.0, 0.0, 1.0
    for i in range(starts.size - 1):
        a, b = 0.0, 0.0
        begin, end = starts[i], starts[i + 1]
        for k in range(begin, end - 1, 2):
            a += h[values[k]]
            b += h[values[k + 1]]
        if (end - begin) & 1:
            a += h[values[end - 1]]
        d = 1.0 + c * (a + b)
        share, logs, product = _weighed(d, weights, i, power, logs, product, i)
        total += share
        for k in range(begin, end):
            collected[values[k]] += share
    return logs + np.log(product), total


@_jit
def fill_lists(bitmaps, starts, values):
    """Write the positions of the 1-bits of each row to `values`, in ascending order."""
    for i in range(bitmaps.shape[0]):
        spot = starts[i]
        for j in range(bitmaps.shape[1]):
            byte = bitmaps[i, j]
            for bit in range(8):
                if byte >> bit & 1:
                    values[spot] = j * 8 + bit
                    spot += 1
