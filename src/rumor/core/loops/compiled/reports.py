"""The heavy loops over reports, compiled by numba; their plain twins are in ../plain/reports.py.

Integers stay unsigned and 64 bits wide throughout: numba would turn a mix of signed and
unsigned into floats. All loops release the interpreter's lock.
"""

from __future__ import annotations

import numba
import numpy as np

from rumor.core.loops.compiled.mixing import mix64

_jit = numba.njit(cache=True, nogil=True)
_inline = numba.njit(cache=True, nogil=True, inline="always")

_ONE = np.uint64(1)
_BYTES = np.uint64(0x0101010101010101)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)

# The eight planes of counters of a block of columns take 64 kB: second-level cache, long loops.
_BLOCK_WORDS = 1024
# Counters of eight bits hold 31 groups of 8 rows.
_ROWS_PER_FLUSH = 248
# Rows are made as long as leaves this many of them: the counters must pay for themselves.
_ENOUGH_ROWS = 496
# Up to this many codes, four tables of counters stay in the first-level cache.
_FOUR_TABLES = 1024


def compare_planes(planes, threshold, bits, ties):
    """Compare lanes of random bits with the top bits of a threshold, 64 lanes to a word.

    planes[k] holds bit k (from the top) of every lane. `bits` receives the lanes that are
    below the threshold, `ties` those still equal; returns the number of equal lanes.
    """
    # Python chooses, so that only what is used gets compiled.
    compare = _compare_eight if len(planes) == 8 else _compare_any
    return compare(planes, threshold, bits, ties)


@_jit
def _compare_any(planes, threshold, bits, ties):
    for i in range(bits.size):
        bits[i] = np.uint64(0)
        ties[i] = _FULL
    for k in range(planes.shape[0]):
        plane = planes[k]
        if (threshold >> np.uint64(63 - k)) & _ONE:
            for i in range(bits.size):
                bits[i] |= ties[i] & ~plane[i]
                ties[i] &= plane[i]
        else:
            for i in range(bits.size):
                ties[i] &= ~plane[i]
    return _total_bits(ties)


@_jit
def _compare_eight(planes, threshold, bits, ties):
    """Compare eight planes in one pass, from the lowest bit up, the lanes held in registers."""
    t0, t1, t2, t3 = (
        _spread(threshold, 63),
        _spread(threshold, 62),
        _spread(threshold, 61),
        _spread(threshold, 60),
    )
    t4, t5, t6, t7 = (
        _spread(threshold, 59),
        _spread(threshold, 58),
        _spread(threshold, 57),
        _spread(threshold, 56),
    )
    p0, p1, p2, p3 = planes[0], planes[1], planes[2], planes[3]
    p4, p5, p6, p7 = planes[4], planes[5], planes[6], planes[7]
    for i in range(bits.size):
        below, equal = np.uint64(0), _FULL
        below, equal = _compare_bit(p7[i], t7, below, equal)
        below, equal = _compare_bit(p6[i], t6, below, equal)
        below, equal = _compare_bit(p5[i], t5, below, equal)
        below, equal = _compare_bit(p4[i], t4, below, equal)
        below, equal = _compare_bit(p3[i], t3, below, equal)
        below, equal = _compare_bit(p2[i], t2, below, equal)
        below, equal = _compare_bit(p1[i], t1, below, equal)
        below, equal = _compare_bit(p0[i], t0, below, equal)
        bits[i], ties[i] = below, equal
    return _total_bits(ties)


@_inline
def _total_bits(words):
    total = 0
    for i in range(words.size):
        total += _popcount(words[i])
    return total


@_inline
def _spread(threshold, bit):
    """Return bit `bit` of `threshold` in all 64 lanes."""
    return np.uint64(0) - ((threshold >> np.uint64(bit)) & _ONE)


@_inline
def _compare_bit(lanes, bit, below, equal):
    """Put a more significant bit in front of a comparison of the bits under it."""
    same = ~(lanes ^ bit)
    return (bit & ~lanes) | (same & below), equal & same


@_inline
def _popcount(x):
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * _BYTES) >> np.uint64(56))


@_jit
def settle_ties(bits, ties, words, rest):
    """Decide the lanes that were still equal, one word each, in order of word and bit."""
    # About one word in five has a tie: list those without branching, then visit them.
    listed = np.empty(ties.size + 1, dtype=np.int64)
    found = 0
    for i in range(ties.size):
        listed[found] = i
        found += np.int64(ties[i] != 0)
    taken = 0
    for k in range(found):
        i = listed[k]
        left, below = ties[i], np.uint64(0)
        while left:
            lowest = left & (~left + _ONE)
            below |= lowest if words[taken] < rest else np.uint64(0)
            taken += 1
            left ^= lowest
        bits[i] |= below


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
        out[i] = value if keep else pick
        found += np.int64((top == high) | ((not keep) & ((product & _LOW) < reject)))
    return _list_rare(words, values.size, high, others, reject, flagged) if found else 0


@_jit
def _list_rare(words, count, high, others, reject, flagged):
    """List the rows whose coin ties or, where it failed, whose pick must be rejected."""
    found = 0
    for i in range(count):
        top, low = words[i] >> _HALF, ((words[i] & _LOW) * others) & _LOW
        if top == high or (top > high and low < reject):
            flagged[found] = i
            found += 1
    return found


@_jit
def count_codes(codes, counts):
    """Add the occurrences of each code to `counts`.

    Four tables in turn where they are small: equal neighbours would
    otherwise wait for each other's store.
    """
    if counts.size > _FOUR_TABLES:
        for i in range(codes.size):
            counts[np.uint64(codes[i])] += 1
        return
    tables = np.zeros((4, counts.size), dtype=np.int64)
    t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
    whole = codes.size // 4 * 4
    for i in range(0, whole, 4):
        t0[np.uint64(codes[i])] += 1
        t1[np.uint64(codes[i + 1])] += 1
        t2[np.uint64(codes[i + 2])] += 1
        t3[np.uint64(codes[i + 3])] += 1
    for i in range(whole, codes.size):
        t0[np.uint64(codes[i])] += 1
    for j in range(counts.size):
        counts[j] += t0[j] + t1[j] + t2[j] + t3[j]


@_inline
def _full_add(a, b, c):
    either = a ^ b
    return either ^ c, (a & b) | (either & c)


@_jit
def _add_rows(words, base, stride, count, planes):
    """Add rows of words to bit-sliced counters of eight bits, 64 to a word.

    The rows begin at `base` and every `stride` words from there; at most 255 fit.
    """
    p0, p1, p2, p3 = planes[0], planes[1], planes[2], planes[3]
    p4, p5, p6, p7 = planes[4], planes[5], planes[6], planes[7]
    size = p0.size
    for _ in range(count // 8):
        # Plain slices: with two indices the loop would not vectorise.
        r0 = words[base : base + size]
        r1 = words[base + stride : base + stride + size]
        r2 = words[base + 2 * stride : base + 2 * stride + size]
        r3 = words[base + 3 * stride : base + 3 * stride + size]
        r4 = words[base + 4 * stride : base + 4 * stride + size]
        r5 = words[base + 5 * stride : base + 5 * stride + size]
        r6 = words[base + 6 * stride : base + 6 * stride + size]
        r7 = words[base + 7 * stride : base + 7 * stride + size]
        base += 8 * stride
        for j in range(size):
            ones, a = _full_add(p0[j], r0[j], r1[j])
            ones, b = _full_add(ones, r2[j], r3[j])
            twos, x = _full_add(p1[j], a, b)
            ones, a = _full_add(ones, r4[j], r5[j])
            ones, b = _full_add(ones, r6[j], r7[j])
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
    for _ in range(count % 8):
        row = words[base : base + size]
        base += stride
        for j in range(size):
            carry = row[j]
            for p in range(8):
                x = planes[p, j]
                planes[p, j] = x ^ carry
                carry &= x


@_jit
def _flush(planes, counts, start):
    """Move the bit-sliced counters to counts[bit, (start + word) * 8 + byte], eight at a time."""
    p0, p1, p2, p3 = planes[0], planes[1], planes[2], planes[3]
    p4, p5, p6, p7 = planes[4], planes[5], planes[6], planes[7]
    for bit in range(8):
        line, shift = counts[bit, start * 8 : (start + p0.size) * 8], np.uint64(bit)
        for j in range(p0.size):
            eight = (p0[j] >> shift) & _BYTES
            eight += ((p1[j] >> shift) & _BYTES) << np.uint64(1)
            eight += ((p2[j] >> shift) & _BYTES) << np.uint64(2)
            eight += ((p3[j] >> shift) & _BYTES) << np.uint64(3)
            eight += ((p4[j] >> shift) & _BYTES) << np.uint64(4)
            eight += ((p5[j] >> shift) & _BYTES) << np.uint64(5)
            eight += ((p6[j] >> shift) & _BYTES) << np.uint64(6)
            eight += ((p7[j] >> shift) & _BYTES) << np.uint64(7)
            for byte in range(8):
                line[j * 8 + byte] += np.uint32((eight >> np.uint64(8 * byte)) & np.uint64(255))
    planes[:] = np.uint64(0)


def count_columns(reports):
    """Return how many rows have each bit set; bit i of a row is bit i % 8 of its byte i // 8.

    Rows are laid end to end, eight or a multiple of eight at a time, so that they make a
    long row of 64-bit words whatever their width; those are added by carry-save adders
    (Harley-Seal), and the counts folded back at the end.
    """
    count, width = reports.shape
    group = 8 * max(1, min(_BLOCK_WORDS // width, count // (8 * _ENOUGH_ROWS)))
    rows, stride = count // group, group * width // 8
    # Rows may come spread out, every second of a batch say; as words they must lie end to end.
    words = np.ascontiguousarray(reports[: rows * group]).reshape(-1).view(np.uint64)
    counts = np.zeros((8, stride * 8), dtype=np.uint32)
    for start in range(0, stride, _BLOCK_WORDS):
        planes = np.zeros((8, min(_BLOCK_WORDS, stride - start)), dtype=np.uint64)
        for first in range(0, rows, _ROWS_PER_FLUSH):
            some = min(_ROWS_PER_FLUSH, rows - first)
            _add_rows(words, first * stride + start, stride, some, planes)
            _flush(planes, counts, start)
    folded = counts.reshape(8, group, width).sum(axis=1, dtype=np.int64).T.reshape(-1)
    if rows * group < count:
        tail = np.unpackbits(reports[rows * group :], axis=1, bitorder="little")
        folded += tail.sum(axis=0, dtype=np.int64)
    return folded


@_jit
def _byte_table(h, width):
    """Return, for each byte position and byte value, the total of `h` over its 1-bits."""
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
    """Return, for each row, the total of `h` over its 1-bits."""
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
    """Return, for each bit, the total weight of the rows in which it is set."""
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


@_jit
def complete_subsets(bitmaps, codes, included, size, domain, halves, row):
    """Give each bitmap its size by uniformly drawn positions, and return the first row not done.

    A row's own code is set exactly when it is included. Positions are drawn from 32-bit
    words (multiply, keep the high half, reject what would bias it); one that changes
    nothing, or is the row's own, is passed over. When the words run out, the row begun is
    left as it is and can be taken up again.
    """
    reach = np.uint64(domain)
    reject = np.uint64(4294967296) % reach
    taken = 0
    for i in range(row, bitmaps.shape[0]):
        bits = bitmaps[i]
        code = codes[i]
        own, mask = code >> 6, _ONE << np.uint64(code & 63)
        bits[own] &= ~mask
        have = 0
        for j in range(bits.size):
            have += _popcount(bits[j])
        want = size - np.int64(included[i])
        adding = have < want
        while have != want:
            if taken == halves.size:
                return i
            product = np.uint64(halves[taken]) * reach
            taken += 1
            if (product & _LOW) < reject:
                continue
            position = np.int64(product >> _HALF)
            word, one = position >> 6, _ONE << np.uint64(position & 63)
            if position == code or ((bits[word] & one) != 0) == adding:
                continue
            bits[word] ^= one
            have += 1 if adding else -1
        if included[i]:
            bits[own] |= mask
    return bitmaps.shape[0]


@_jit
def list_bits(bitmaps, lists):
    """Write the positions of the 1-bits of each bitmap to `lists`, in ascending order."""
    for i in range(bitmaps.shape[0]):
        found = 0
        for j in range(bitmaps.shape[1]):
            left = bitmaps[i, j]
            while left:
                lowest = left & (~left + _ONE)
                lists[i, found] = np.uint32(j * 64 + _popcount(lowest - _ONE))
                found += 1
                left ^= lowest


@_jit
def hadamard_outputs(words, codes, threshold, block, outcomes, out, flagged):
    """Draw the Hadamard response of each code, and return how many rare rows are flagged.

    The high half of a word is the coin, its low half the pick (see HadamardResponse.draw).
    """
    high = threshold >> _HALF
    half = np.uint64(block // 2)
    far = np.uint64(outcomes) - half
    reject = np.uint64(4294967296) % far
    size, zero = np.uint64(block), np.uint64(0)
    # Codes and blocks are below 2^20, so multiplying by this and shifting divides exactly.
    rows = size - _ONE
    inverse = np.uint64(1 << 40) // rows + _ONE
    found = 0
    for i in range(codes.size):
        word = words[i]
        code = np.uint64(codes[i])
        top, low = word >> _HALF, word & _LOW
        start = code * inverse >> np.uint64(40)
        row = _ONE + code - start * rows
        start *= size
        even = top < high
        product = low * (half if even else far)
        pick = product >> _HALF
        lowest = row & (~row + _ONE)
        below = lowest - _ONE
        spread = ((pick & ~below) << _ONE) | (pick & below)
        inside = start + (spread | (lowest if _parity(row & spread) == even else zero))
        beyond = pick - half
        outside = beyond + (size if beyond >= start else zero)
        out[i] = inside if pick < half else outside
        found += np.int64((top == high) | ((not even) & ((product & _LOW) < reject)))
    return _list_rare(words, codes.size, high, far, reject, flagged) if found else 0


@_inline
def _parity(x):
    """Return the exclusive or of the low 32 bits of `x`."""
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    x ^= x >> np.uint64(2)
    x ^= x >> np.uint64(1)
    return x & _ONE


# Values whose counters stay in the first-level cache while the reports pass by.
_HASH_BLOCK = 2048


@_jit
def _count_hashes_narrow(a, c, span, counts):
    """Add the counts of 32-bit hashes, four reports to a pass over the values.

    Each hash is the one before it plus a: the compiler makes that a vector addition, at
    half the cost of a multiplication.
    """
    total = a.size // 4 * 4
    block = np.zeros(_HASH_BLOCK, dtype=np.uint32)
    for start in range(0, counts.size, _HASH_BLOCK):
        size = min(_HASH_BLOCK, counts.size - start)
        block[:] = np.uint32(0)
        first = np.uint32(start)
        for i in range(0, total, 4):
            a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
            h0 = np.uint32(np.uint32(a0 * first) + c[i])
            h1 = np.uint32(np.uint32(a1 * first) + c[i + 1])
            h2 = np.uint32(np.uint32(a2 * first) + c[i + 2])
            h3 = np.uint32(np.uint32(a3 * first) + c[i + 3])
            s0, s1, s2, s3 = span[i], span[i + 1], span[i + 2], span[i + 3]
            for j in range(size):
                hits = np.uint32(np.uint32(h0 <= s0) + np.uint32(h1 <= s1))
                hits = np.uint32(hits + np.uint32(h2 <= s2))
                hits = np.uint32(hits + np.uint32(h3 <= s3))
                block[j] = np.uint32(block[j] + hits)
                h0, h1 = np.uint32(h0 + a0), np.uint32(h1 + a1)
                h2, h3 = np.uint32(h2 + a2), np.uint32(h3 + a3)
        for i in range(total, a.size):
            for j in range(size):
                v = np.uint32(start + j)
                block[j] += np.uint32(np.uint32(np.uint32(a[i] * v) + c[i]) <= span[i])
        for j in range(size):
            counts[start + j] += np.int64(block[j])


@_jit
def _count_hashes_wide(a, c, span, counts):
    """Add the counts of 64-bit hashes."""
    block = np.zeros(_HASH_BLOCK, dtype=np.uint64)
    for start in range(0, counts.size, _HASH_BLOCK):
        size = min(_HASH_BLOCK, counts.size - start)
        block[:] = np.uint64(0)
        for i in range(a.size):
            factor, within = a[i], span[i]
            hashed = factor * np.uint64(start) + c[i]
            for j in range(size):
                block[j] += np.uint64(hashed <= within)
                hashed += factor
        for j in range(size):
            counts[start + j] += np.int64(block[j])


def count_hashes(a, c, span, mask, counts):
    """Add to counts[v] how many reports have (a v + c) & mask <= span; mask is 32 or 64 bits."""
    if mask == _FULL:
        _count_hashes_wide(a, c, span, counts)
    else:
        narrow = [array.astype(np.uint32) for array in (a, c, span)]
        # 32-bit counters hold this many reports.
        for start in range(0, a.size, 1 << 31):
            _count_hashes_narrow(*(array[start : start + (1 << 31)] for array in narrow), counts)


@_jit
def hash_forward(a, c, span, mask, h):
    """Return, for each report, the total of `h` over the values v with (a v + c) & mask <= span."""
    out = np.empty(a.size, dtype=np.float64)
    for i in range(a.size):
        factor, shift, within = a[i], c[i], span[i]
        total = 0.0
        for v in range(h.size):
            inside = ((factor * np.uint64(v) + shift) & mask) <= within
            total += h[v] if inside else 0.0
        out[i] = total
    return out


@_jit
def hash_adjoint(a, c, span, mask, w, domain):
    """Return, for each value v, the total weight of the reports with (a v + c) & mask <= span."""
    out = np.zeros(domain, dtype=np.float64)
    for start in range(0, domain, _HASH_BLOCK):
        size = min(_HASH_BLOCK, domain - start)
        block = out[start : start + size]
        for i in range(a.size):
            factor, within, weight = a[i], span[i], w[i]
            shift = factor * np.uint64(start) + c[i]
            for j in range(size):
                inside = ((factor * np.uint64(j) + shift) & mask) <= within
                block[j] += weight if inside else 0.0
    return out


@_jit
def mix_indices(seeds, bits, out):
    """Set out[i, j] = mix64(s0 xor mix64(s1 + j)) mod bits, for the seed (s0, s1) of row i."""
    for i in range(seeds.shape[0]):
        s0, s1 = seeds[i, 0], seeds[i, 1]
        row = out[i]
        for j in range(row.size):
            row[j] = np.uint16(mix64(s0 ^ mix64(s1 + np.uint64(j))) % bits)


@_jit
def pick_cells(cells, keys, low, high, start, stop, scale, steps, refuse, out):
    """Write the grid steps of the cells at `keys` (-1 for NaN); return if any cell is outside.

    Every cell of a row is checked if `refuse` is set, in one pass.
    """
    bad = False
    for i in range(keys.shape[0]):
        row = cells[i]
        if refuse:
            for j in range(row.size):
                bad |= (row[j] < low) | (row[j] > high)
        for c in range(keys.shape[1]):
            value = np.float64(row[keys[i, c]])
            inside = min(max(value, start), stop)
            step = np.int64(np.floor((inside - start) * scale + 0.5)) if value == value else -1
            out[i, c] = min(step, steps)
    return bad


@_jit
def pick_signs(words, cells, steps, low, high, start, stop, scale, refuse, keys, signs, flagged):
    """Draw, for each row, one key and its sign: 0 not held, 1 rounded up, 2 rounded down.

    The high half of a word picks the key, the low half rounds the value. Rows whose pick
    must be rejected are listed in `flagged`; returns how many there are, and whether a cell
    lies outside (looked for only when `refuse`).
    """
    bound, grid = np.uint64(cells.shape[1]), np.uint64(steps)
    reject_key, reject_step = np.uint64(4294967296) % bound, np.uint64(4294967296) % grid
    found, bad = 0, False
    for i in range(words.size):
        row, product = cells[i], (words[i] >> _HALF) * bound
        draw = (words[i] & _LOW) * grid
        key = product >> _HALF
        if refuse:
            for j in range(row.size):
                bad |= (row[j] < low) | (row[j] > high)
        value = np.float64(row[key])
        step = np.floor((min(max(value, start), stop) - start) * scale + 0.5)
        up = np.float64(draw >> _HALF) < step
        keys[i] = key
        signs[i] = (1 if up else 2) if value == value else 0
        flagged[found] = i
        found += np.int64(((product & _LOW) < reject_key) | ((draw & _LOW) < reject_step))
    return found, bad


@_jit
def pick_steps(words, cells, steps, absent, keys, signs, flagged):
    """Do `pick_signs` on a table of steps that was checked before."""
    bound, grid = np.uint64(cells.shape[1]), np.uint64(steps)
    reject_key, reject_step = np.uint64(4294967296) % bound, np.uint64(4294967296) % grid
    found = 0
    for i in range(words.size):
        product, draw = (words[i] >> _HALF) * bound, (words[i] & _LOW) * grid
        key = product >> _HALF
        step = np.int64(cells[i, key])
        keys[i] = key
        signs[i] = 0 if step == absent else (1 if np.int64(draw >> _HALF) < step else 2)
        flagged[found] = i
        found += np.int64(((product & _LOW) < reject_key) | ((draw & _LOW) < reject_step))
    return found
