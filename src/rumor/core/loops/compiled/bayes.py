"""The loops of the Bayesian update, compiled by numba; plain twins are in twins_bayes.py.

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

# Columns are taken in stretches of this many bytes: their tables (of 128 kB each)
# stay in the second-level cache whatever the domain.
_BYTES = 64
# Rows are taken in chunks of this many, so that a table that was fetched is used often.
_ROWS = 4096
_BYTE, _ONE, _S63 = np.uint64(255), np.uint64(1), np.uint64(63)
_S1, _S2, _S3 = np.uint64(8), np.uint64(16), np.uint64(24)
_S4, _S5, _S6, _S7 = np.uint64(32), np.uint64(40), np.uint64(48), np.uint64(56)


@_jit
def byte_table(h, words):
    """For each byte position and byte value, the total of h over its 1-bits."""
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
    """For each bit the total over the byte values in which it is set."""
    out = np.zeros(size, dtype=np.float64)
    for index in range(size):
        base, bit = index // 8 * 256, index % 8
        total = 0.0
        for byte in range(256):
            if byte >> bit & 1:
                total += collected[base + byte]
        out[index] = total
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
    """Gathering one chunk of rows and scattering the one before it go in one loop, so that the
    processor always has independent work.
    """
    sums, shares = np.zeros(_ROWS), np.zeros(_ROWS)
    logs, total, previous = 0.0, 0.0, 0
    for start in range(0, count + _ROWS, _ROWS):
        here = max(0, min(_ROWS, count - start))
        sums[:] = 0.0
        for first in range(0, width, _BYTES):
            size = min(_BYTES, width - first)
            stop = first + (size + 7) // 8 * 8
            some, sink = table[first * 256 : stop * 256], collected[first * 256 : stop * 256]
            both = min(here, previous)
            _both(words, start, width, first, size, both, some, sink, sums, shares)
            for i in range(both, here):
                sums[i] += _gather(words, (start + i) * width + first, size, some)
            for i in range(both, previous):
                spot = (start - _ROWS + i) * width + first
                _scatter(words, spot, size, sink, shares[i])
        product = 1.0
        for i in range(here):
            d = 1.0 + c * sums[i]
            shares[i], logs, product = _weighed(d, weights, start + i, power, logs, product, i)
            total += shares[i]
        logs += np.log(product)
        previous = here
    return logs, total


@_inline
def _weighed(d, weights, row, power, logs, product, turn):
    """What a row shares out; the sum of logarithms with it, and what is still to be in that."""
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
    """The eight bytes from this byte on."""
    at, shift = spot >> 3, np.uint64((spot & 7) * 8)
    return (words[at] >> shift) | ((words[at + 1] << _ONE) << (_S63 - shift))


@_inline
def _mask(size):
    """What belongs to a row of the last of the words that hold `size` bytes."""
    return ~np.uint64(0) >> np.uint64((-size % 8) * 8)


@_jit
def _both(words, start, width, first, size, rows, table, collected, sums, shares):
    """Gather rows from the table, and scatter the shares of the rows one chunk before."""
    count, mask = table.size // 2048, _mask(size)
    for i in range(rows):
        a, b, e, f, share = 0.0, 0.0, 0.0, 0.0, shares[i]
        spot = (start + i) * width + first
        back = spot - _ROWS * width
        # As `_word` does, but with the word that was read last carried over.
        here, there = spot >> 3, back >> 3
        right, left = np.uint64((spot & 7) * 8), _S63 - np.uint64((spot & 7) * 8)
        deep, shallow = np.uint64((back & 7) * 8), _S63 - np.uint64((back & 7) * 8)
        u, v = words[here], words[there]
        for k in range(count):
            p, q, o = words[here + k + 1], words[there + k + 1], k * 2048
            x = (u >> right) | ((p << _ONE) << left)
            y = (v >> deep) | ((q << _ONE) << shallow)
            u, v = p, q
            if k == count - 1:
                x, y = x & mask, y & mask
            a += table[o + np.int64(x & _BYTE)]
            collected[o + np.int64(y & _BYTE)] += share
            b += table[o + 256 + np.int64((x >> _S1) & _BYTE)]
            collected[o + 256 + np.int64((y >> _S1) & _BYTE)] += share
            e += table[o + 512 + np.int64((x >> _S2) & _BYTE)]
            collected[o + 512 + np.int64((y >> _S2) & _BYTE)] += share
            f += table[o + 768 + np.int64((x >> _S3) & _BYTE)]
            collected[o + 768 + np.int64((y >> _S3) & _BYTE)] += share
            a += table[o + 1024 + np.int64((x >> _S4) & _BYTE)]
            collected[o + 1024 + np.int64((y >> _S4) & _BYTE)] += share
            b += table[o + 1280 + np.int64((x >> _S5) & _BYTE)]
            collected[o + 1280 + np.int64((y >> _S5) & _BYTE)] += share
            e += table[o + 1536 + np.int64((x >> _S6) & _BYTE)]
            collected[o + 1536 + np.int64((y >> _S6) & _BYTE)] += share
            f += table[o + 1792 + np.int64(x >> _S7)]
            collected[o + 1792 + np.int64(y >> _S7)] += share
        sums[i] += (a + b) + (e + f)


@_jit
def _gather(words, spot, size, table):
    count, mask, total = table.size // 2048, _mask(size), 0.0
    for k in range(count):
        x = _word(words, spot + k * 8)
        if k == count - 1:
            x &= mask
        for byte in range(8):
            o = k * 2048 + byte * 256
            total += table[o + np.int64((x >> np.uint64(8 * byte)) & _BYTE)]
    return total


@_jit
def _scatter(words, spot, size, collected, share):
    count, mask = collected.size // 2048, _mask(size)
    for k in range(count):
        x = _word(words, spot + k * 8)
        if k == count - 1:
            x &= mask
        for byte in range(8):
            o = k * 2048 + byte * 256
            collected[o + np.int64((x >> np.uint64(8 * byte)) & _BYTE)] += share


@_jit
def lists_update(starts, values, h, c, weights, power, collected):
    """The same for reports as lists: those of row i are values[starts[i] : starts[i + 1]]."""
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
    """The positions of the 1-bits of each row, in ascending order."""
    for i in range(bitmaps.shape[0]):
        spot = starts[i]
        for j in range(bitmaps.shape[1]):
            byte = bitmaps[i, j]
            for bit in range(8):
                if byte >> bit & 1:
                    values[spot] = j * 8 + bit
                    spot += 1
