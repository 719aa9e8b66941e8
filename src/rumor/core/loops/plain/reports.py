"""The heavy loops over reports in plain numpy: the functions and results of ../compiled/reports.py.

They serve small work and installations without numba, and the tests hold the compiled
loops to them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rumor.core.reports import Reports, slices

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
    out: NDArray[np.unsignedinteger],
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
    """Return how many rows have each bit set; bit i of a row is bit i % 8 of its byte i // 8."""
    counts = np.zeros(reports.shape[1] * 8, dtype=np.int64)
    for block in _row_blocks(reports):
        counts += np.unpackbits(block, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return counts


def bits_forward(reports: Reports, h: F64) -> F64:
    """Return, for each row, the total of `h` over its 1-bits."""
    blocks = [
        np.unpackbits(block, axis=1, count=h.size, bitorder="little") @ h
        for block in _row_blocks(reports)
    ]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def bits_adjoint(reports: Reports, w: F64) -> F64:
    """Return, for each bit, the total weight of the rows in which it is set."""
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


def complete_subsets(
    bitmaps: U64,
    codes: I64,
    included: NDArray[np.uint8],
    size: int,
    domain: int,
    halves: NDArray[np.uint32],
    row: int,
) -> int:
    """Give each bitmap its size by uniformly drawn positions, and return the first row not done."""
    products = halves.astype(np.uint64) * np.uint64(domain)
    kept = (products & np.uint64(0xFFFFFFFF)) >= np.uint64((1 << 32) % domain)
    positions = (products >> np.uint64(32))[kept].tolist()
    taken = 0
    for i in range(row, len(bitmaps)):
        raw = int.from_bytes(bitmaps[i].astype("<u8").tobytes(), "little")
        own = 1 << int(codes[i])
        raw &= ~own
        have, want = raw.bit_count(), size - int(included[i])
        adding = have < want
        while have != want and taken < len(positions):
            one = 1 << positions[taken]
            taken += 1
            if one != own and bool(raw & one) != adding:
                raw ^= one
                have += 1 if adding else -1
        done = have == want
        if done and included[i]:
            raw |= own
        row_bytes = raw.to_bytes(bitmaps.shape[1] * 8, "little")
        bitmaps[i] = np.frombuffer(row_bytes, dtype="<u8")
        if not done:
            return i
    return len(bitmaps)


def list_bits(bitmaps: U64, lists: NDArray[np.uint32]) -> None:
    """Write the positions of the 1-bits of each bitmap to `lists`, in ascending order."""
    lanes = np.unpackbits(bitmaps.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    lists[:] = np.nonzero(lanes)[1].reshape(lists.shape)


def hadamard_outputs(
    words: U64,
    codes: I64,
    threshold: np.uint64,
    block: int,
    outcomes: int,
    out: NDArray[np.uint32],
    flagged: I64,
) -> int:
    """Draw the Hadamard response of each code, and return how many rare rows are flagged."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    near, far = np.uint64(block // 2), np.uint64(outcomes - block // 2)
    top, even = words >> half, words >> half < threshold >> half
    product = (words & low) * np.where(even, near, far)
    pick = (product >> half).astype(np.int64)
    start, row = codes // (block - 1) * block, 1 + codes % (block - 1)
    lowest = row & -row
    spread = (pick & ~(lowest - 1)) << 1 | pick & (lowest - 1)
    odd = np.bitwise_count(row & spread).astype(np.int64) & 1 == 1
    inside = start + (spread | np.where(odd == even, lowest, 0))
    beyond = pick - block // 2
    outside = beyond + np.where(beyond >= start, block, 0)
    out[:] = np.where(pick < block // 2, inside, outside)
    reject = np.uint64((1 << 32) % int(far))
    rare = np.flatnonzero((top == threshold >> half) | (~even & ((product & low) < reject)))
    flagged[: rare.size] = rare
    return int(rare.size)


def count_hashes(a: U64, c: U64, span: U64, mask: np.uint64, counts: I64) -> None:
    """Add to counts[v] how many reports have (a v + c) & mask <= span."""
    for _, inside in _hash_blocks(a, c, span, mask, counts.size):
        counts += inside.sum(axis=0)


def hash_forward(a: U64, c: U64, span: U64, mask: np.uint64, h: F64) -> F64:
    """Return, for each report, the total of `h` over the values v with (a v + c) & mask <= span."""
    out = np.empty(a.size)
    for start, inside in _hash_blocks(a, c, span, mask, h.size):
        out[start : start + len(inside)] = inside @ h
    return out


def hash_adjoint(a: U64, c: U64, span: U64, mask: np.uint64, w: F64, domain: int) -> F64:
    """Return, for each value v, the total weight of the reports with (a v + c) & mask <= span."""
    out = np.zeros(domain)
    for start, inside in _hash_blocks(a, c, span, mask, domain):
        out += w[start : start + len(inside)] @ inside
    return out


def _hash_blocks(
    a: U64, c: U64, span: U64, mask: np.uint64, domain: int
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the support matrix of hashed reports, some rows at a time."""
    values = np.arange(domain, dtype=np.uint64)
    rows = max(1, _UNPACKED // (8 * domain))
    for part in slices(a.size, rows):
        hashed = (a[part, None] * values + c[part, None]) & mask
        yield part.start, hashed <= span[part, None]


def mix_indices(seeds: U64, bits: np.uint64, out: NDArray[np.uint16]) -> None:
    """Set out[i, j] = mix64(s0 xor mix64(s1 + j)) mod bits, for the seed (s0, s1) of row i."""
    from rumor.core.mixing import mix64_array

    steps: U64 = np.arange(out.shape[1], dtype=np.uint64)
    inner = mix64_array(seeds[:, 1:] + steps)
    out[:] = mix64_array(seeds[:, :1] ^ inner) % bits


def pick_cells(
    cells: NDArray[np.floating],
    keys: I64,
    low: np.floating,
    high: np.floating,
    start: float,
    stop: float,
    scale: float,
    steps: int,
    refuse: bool,
    out: NDArray[np.int32],
) -> bool:
    """Write the grid steps of the cells at `keys` (-1 for NaN); return if any cell is outside."""
    picked = np.take_along_axis(cells, keys, axis=1).astype(np.float64)
    missing = np.isnan(picked)
    inside = np.clip(np.where(missing, start, picked), start, stop)
    found = np.minimum(np.floor((inside - start) * scale + 0.5), steps)
    out[:] = np.where(missing, -1, found)
    return bool(refuse and ((cells < low) | (cells > high)).any())


def pick_signs(
    words: U64,
    cells: NDArray[np.floating],
    steps: int,
    low: np.floating,
    high: np.floating,
    start: float,
    stop: float,
    scale: float,
    refuse: bool,
    keys: I64,
    signs: I64,
    flagged: I64,
) -> tuple[int, bool]:
    """Draw, for each row, one key and its sign: 0 not held, 1 rounded up, 2 rounded down."""
    half, rest = np.uint64(32), np.uint64(0xFFFFFFFF)
    bound, grid = np.uint64(cells.shape[1]), np.uint64(steps)
    product, draw = (words >> half) * bound, (words & rest) * grid
    keys[:] = product >> half
    found = np.empty((words.size, 1), dtype=np.int32)
    bad = pick_cells(cells, keys[:, None], low, high, start, stop, scale, steps, refuse, found)
    up = (draw >> half).astype(np.int64) < found[:, 0]
    signs[:] = np.where(found[:, 0] < 0, 0, np.where(up, 1, 2))
    whole = np.uint64(1 << 32)
    rare = np.flatnonzero(((product & rest) < whole % bound) | ((draw & rest) < whole % grid))
    flagged[: rare.size] = rare
    return int(rare.size), bad


def pick_steps(
    words: U64,
    cells: NDArray[np.unsignedinteger],
    steps: int,
    absent: int,
    keys: I64,
    signs: I64,
    flagged: I64,
) -> int:
    """Do `pick_signs` on a table of steps that was checked before."""
    half, rest, whole = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1 << 32)
    bound, grid = np.uint64(cells.shape[1]), np.uint64(steps)
    product, draw = (words >> half) * bound, (words & rest) * grid
    keys[:] = product >> half
    found = cells[np.arange(words.size), keys].astype(np.int64)
    up = (draw >> half).astype(np.int64) < found
    signs[:] = np.where(found == absent, 0, np.where(up, 1, 2))
    rare = np.flatnonzero(((product & rest) < whole % bound) | ((draw & rest) < whole % grid))
    flagged[: rare.size] = rare
    return int(rare.size)
