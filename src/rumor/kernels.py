"""The heavy loops, compiled by numba. Each has a plain twin of the same name in twins.py.

Integers stay unsigned and 64 bits wide throughout: numba would turn a mix of signed and
unsigned into floats. All loops release the interpreter's lock.
"""

from __future__ import annotations

import numba
import numpy as np

_jit = numba.njit(cache=True, nogil=True)
_inline = numba.njit(cache=True, nogil=True, inline="always")

_ONE = np.uint64(1)
_BYTES = np.uint64(0x0101010101010101)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)

# Planes of 512 words keep the eight counters of a column block in the first-level cache.
_BLOCK_WORDS = 512
# 31 groups of 8 rows fill counters of 8 bits: 248 <= 255.
_GROUPS_PER_FLUSH = 31


@_jit
def compare_planes(planes, threshold, bits, ties):
    """Compare lanes of random bits with the top bits of a threshold, 64 lanes to a word.

    planes[k] holds bit k (from the top) of every lane. `bits` receives the lanes that are
    below the threshold, `ties` those still equal; returns the number of equal lanes.
    """
    count, depth = bits.size, planes.shape[0]
    for i in range(count):
        bits[i] = np.uint64(0)
        ties[i] = _FULL
    for k in range(depth):
        plane = planes[k]
        if (threshold >> np.uint64(63 - k)) & _ONE:
            for i in range(count):
                bits[i] |= ties[i] & ~plane[i]
                ties[i] &= plane[i]
        else:
            for i in range(count):
                ties[i] &= ~plane[i]
    total = 0
    for i in range(count):
        total += _popcount(ties[i])
    return total


@_inline
def _popcount(x):
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * _BYTES) >> np.uint64(56))


@_jit
def settle_ties(bits, ties, words, rest):
    """Decide the lanes that were still equal, one word each, in order of word and bit."""
    taken = 0
    for i in range(ties.size):
        left = ties[i]
        while left:
            lowest = left & (~left + _ONE)
            if words[taken] < rest:
                bits[i] |= lowest
            taken += 1
            left ^= lowest


@_jit
def write_true_bits(reports, values, hits):
    """Overwrite each row's own bit with the next bit of the packed `hits`."""
    one = np.uint8(1)
    for i in range(values.size):
        value = values[i]
        byte, mask = value >> 3, np.uint8(one << np.uint8(value & 7))
        if (hits[i >> 6] >> np.uint64(i & 63)) & _ONE:
            reports[i, byte] |= mask
        else:
            reports[i, byte] &= ~mask


@_jit
def keep_or_replace(words, values, threshold, others, out, flagged):
    """Keep each value or replace it by one of the others, deciding all but rare rows.

    The high half of a word is compared with the high half of the threshold, the low half
    picks the replacement. Rows whose comparison ties, or whose pick must be rejected, are
    listed in `flagged`; returns how many there are.
    """
    high = threshold >> _HALF
    reject = np.uint64(4294967296) % others
    found = 0
    for i in range(values.size):
        word, value = words[i], np.uint64(values[i])
        top, product = word >> _HALF, (word & _LOW) * others
        pick = product >> _HALF
        pick += np.uint64(pick >= value)
        keep = top < high
        out[i] = np.uint32(value if keep else pick)
        flagged[found] = i
        found += np.int64((top == high) | ((not keep) & ((product & _LOW) < reject)))
    return found


@_jit
def count_codes(codes, counts):
    """Add the occurrences of each code to `counts`, by four tables in turn."""
    size = counts.size
    tables = np.zeros((4, size), dtype=np.int64)
    whole = codes.size // 4 * 4
    for i in range(0, whole, 4):
        tables[0, codes[i]] += 1
        tables[1, codes[i + 1]] += 1
        tables[2, codes[i + 2]] += 1
        tables[3, codes[i + 3]] += 1
    for i in range(whole, codes.size):
        tables[0, codes[i]] += 1
    for j in range(size):
        counts[j] += tables[0, j] + tables[1, j] + tables[2, j] + tables[3, j]


@_inline
def _full_add(a, b, c):
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@_jit
def _count_block(rows, start, stop, totals):
    """Add the column counts of columns start..stop of 64-bit words to `totals`."""
    size = stop - start
    planes = np.zeros((8, size), dtype=np.uint64)
    p0, p1, p2, p3 = planes[0], planes[1], planes[2], planes[3]
    p4, p5, p6, p7 = planes[4], planes[5], planes[6], planes[7]
    row, total, groups = 0, rows.shape[0], 0
    while row + 8 <= total:
        for j in range(size):
            c = start + j
            ones, a = _full_add(p0[j], rows[row, c], rows[row + 1, c])
            ones, b = _full_add(ones, rows[row + 2, c], rows[row + 3, c])
            twos, x = _full_add(p1[j], a, b)
            ones, a = _full_add(ones, rows[row + 4, c], rows[row + 5, c])
            ones, b = _full_add(ones, rows[row + 6, c], rows[row + 7, c])
            twos, y = _full_add(twos, a, b)
            fours, carry = _full_add(p2[j], x, y)
            p0[j], p1[j], p2[j] = ones, twos, fours
            x = p3[j]
            p3[j] = x ^ carry
            carry &= x
            x = p4[j]
            p4[j] = x ^ carry
            carry &= x
            x = p5[j]
            p5[j] = x ^ carry
            carry &= x
            x = p6[j]
            p6[j] = x ^ carry
            p7[j] ^= carry & x
        row += 8
        groups += 1
        if groups == _GROUPS_PER_FLUSH:
            _flush(planes, start, totals)
            groups = 0
    if groups:
        _flush(planes, start, totals)
    while row < total:
        for j in range(size):
            word = rows[row, start + j]
            for bit in range(64):
                totals[(start + j) * 64 + bit] += np.int64((word >> np.uint64(bit)) & _ONE)
        row += 1


@_jit
def _flush(planes, start, totals):
    """Add the bit-sliced counters to `totals`, eight byte-wide counters at a time."""
    size = planes.shape[1]
    for j in range(size):
        base = (start + j) * 64
        for bit in range(8):
            shift = np.uint64(bit)
            eight = np.uint64(0)
            for p in range(8):
                eight += ((planes[p, j] >> shift) & _BYTES) << np.uint64(p)
            for byte in range(8):
                totals[base + byte * 8 + bit] += np.int64(
                    (eight >> np.uint64(8 * byte)) & np.uint64(255)
                )
    planes[:] = np.uint64(0)


@_jit
def _count_words(rows, totals):
    words = rows.shape[1]
    for start in range(0, words, _BLOCK_WORDS):
        _count_block(rows, start, min(start + _BLOCK_WORDS, words), totals)


def count_columns(reports):
    """How many rows have each bit set; bit i of a row is bit i % 8 of its byte i // 8.

    Eight rows of w bytes are read as one row of w 64-bit words, whatever w is, and added
    by carry-save adders (Harley-Seal).
    """
    count, width = reports.shape
    whole = count // 8 * 8
    totals = np.zeros(width * 64, dtype=np.int64)
    if whole:
        _count_words(reports[:whole].reshape(whole // 8, width * 8).view(np.uint64), totals)
    counts = totals.reshape(8, width * 8).sum(axis=0)
    if whole < count:
        tail = np.unpackbits(reports[whole:], axis=1, bitorder="little")
        counts += tail.sum(axis=0, dtype=np.int64)
    return counts


@_jit
def _byte_table(h, width):
    """For each byte position and byte value, the total of h over its 1-bits."""
    table = np.zeros((width, 256), dtype=np.float64)
    for j in range(width):
        for bit in range(8):
            index = j * 8 + bit
            weight = h[index] if index < h.size else 0.0
            size = 1 << bit
            for low in range(size):
                table[j, size + low] = table[j, low] + weight
    return table


@_jit
def bits_forward(reports, h):
    """For each row the total of h over its 1-bits."""
    count, width = reports.shape
    table = _byte_table(h, width)
    out = np.empty(count, dtype=np.float64)
    for i in range(count):
        total = 0.0
        for j in range(width):
            total += table[j, reports[i, j]]
        out[i] = total
    return out


@_jit
def bits_adjoint(reports, w):
    """For each bit the total weight of the rows in which it is set."""
    count, width = reports.shape
    table = np.zeros((width, 256), dtype=np.float64)
    for i in range(count):
        weight = w[i]
        for j in range(width):
            table[j, reports[i, j]] += weight
    out = np.zeros(width * 8, dtype=np.float64)
    for j in range(width):
        for byte in range(256):
            weight = table[j, byte]
            for bit in range(8):
                if byte >> bit & 1:
                    out[j * 8 + bit] += weight
    return out
