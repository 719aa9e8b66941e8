"""Checksums of what a store keeps: a disk that changes bytes is noticed before they are used.

CRC-32, four bytes little-endian, over a few integers (little-endian, 64 bits each) and then
the bytes: of a report its question, day, id and report; of a summary its question, day,
number of reports and counters; of the mark its number. It tells accidents, not attackers:
whoever can write to the store can write a checksum.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from rumor.collector.store.base import StoreDamagedError
from rumor.core.reports import Reports

CHECKSUM_BYTES = 4

WAY_OUT = (
    "stop the collectors and restore it from an export (rumor import into a new store), or "
    'save what can be read (docs: Deploy a collector, "A damaged store")'
)


def checksum(*numbers: int, data: bytes = b"") -> bytes:
    """Return the checksum of one thing."""
    seed = zlib.crc32(struct.pack(f"<{len(numbers)}q", *numbers))
    return zlib.crc32(data, seed).to_bytes(CHECKSUM_BYTES, "little")


def checksums(question: int, day: int, rows: Reports) -> Reports:
    """Return the checksum of each row of id and report."""
    seed = zlib.crc32(struct.pack("<2q", question, day))
    flat, size, crc = rows.tobytes(), rows.shape[1], zlib.crc32
    sums = [crc(flat[at : at + size], seed) for at in range(0, len(flat), size)]
    return np.array(sums, dtype="<u4").view(np.uint8).reshape(-1, CHECKSUM_BYTES)


def seal_rows(question: int, day: int, rows: Reports) -> Reports:
    """Return rows of id and report, each followed by its checksum."""
    return np.concatenate([rows, checksums(question, day, rows)], axis=1)


def open_rows(question: int, day: int, flat: bytes, width: int) -> Reports:
    """Return rows of id and report out of sealed ones, every checksum compared."""
    size = width + CHECKSUM_BYTES
    if not isinstance(day, int) or len(flat) % size:
        raise damage_error("a report has another length or day than it was stored with")
    rows = np.frombuffer(flat, dtype=np.uint8).reshape(-1, size)
    plain = np.ascontiguousarray(rows[:, :width])
    wrong = (checksums(question, day, plain) != rows[:, width:]).any(axis=1)
    if wrong.any():
        raise damage_error(f"{int(wrong.sum())} of {len(rows)} reports do not fit their checksums")
    return plain


def joined_fields(rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Return the fields of rows, which must all be bytes, one after the other."""
    try:
        return b"".join(field for row in rows for field in row)
    except TypeError:
        raise damage_error("a report has fields that are no bytes") from None


def damage_error(what: str) -> StoreDamagedError:
    """Return the error that says what is damaged, and how to repair or restore it."""
    return StoreDamagedError(f"a store must be intact; in this one {what}: {WAY_OUT}")
