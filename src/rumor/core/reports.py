"""Reports: byte strings of one width, a batch of them a `uint8` array (n, width).

The bytes are equal in memory, on the wire, in SQL, Parquet and Spark. The width follows from the
mechanism alone, so a report carries no header; the contract says how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, type_in_words


def slices(rows: int, step: int) -> Iterator[slice]:
    """Yield slices of `step` rows that cover all rows in order; the last may reach beyond."""
    return (slice(start, start + step) for start in range(0, rows, step))


# A summary counts no more: a counter then stays within 63 bits, and so do their differences.
MAX_REPORTS = 1 << 62

Reports = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Validity:
    """The valid reports of a batch, and the reason for refusing the others."""

    valid: Mask
    reason: str

    @classmethod
    def of_all(cls, count: int, reason: str) -> Self:
        """Return the validity of `count` reports that are all valid (one True, broadcast)."""
        return cls(np.ndarray((count,), np.bool_, b"\1", strides=(0,)), reason)

    @classmethod
    def below(cls, numbers: NDArray[np.integer], bound: int, reason: str) -> Self:
        """Return the validity of reports that are valid if their number is below `bound`."""
        if numbers.size == 0 or int(numbers.max()) < bound:
            return cls.of_all(numbers.size, reason)
        return cls(numbers < bound, reason)

    @property
    def all(self) -> bool:
        """Whether every report is valid."""
        spread = self.valid.strides == (0,)  # the mask of `of_all`: its first says it all
        return bool((self.valid[:1] if spread else self.valid).all())

    def explain(self, index: int) -> str | None:
        """Return the reason for refusing the report at `index`, or None if it is valid."""
        return None if self.valid[index] else self.reason

    def require(self, what: str = "reports") -> None:
        """Raise an InputError unless every report is valid."""
        if not self.all:
            refused = np.flatnonzero(~self.valid)
            raise InputError(
                f"{what} must be valid: {self.reason}; "
                f"got {refused.size} that are not, the first at index {int(refused[0])}"
            )


def as_reports(reports: object, width: int) -> Reports:
    """Return a batch as a contiguous array (n, width), from an array or a sequence of bytes."""
    rule = f"reports must be {width} bytes each (a uint8 array (n, {width}), or bytes objects)"
    if isinstance(reports, np.ndarray):
        if reports.dtype != np.uint8:
            raise InputError(f"{rule}; got dtype {reports.dtype}")
        if reports.ndim != 2 or reports.shape[1] != width:
            raise InputError(f"{rule}; got shape {reports.shape}")
        return np.ascontiguousarray(reports)
    if isinstance(reports, (bytes, bytearray, str)) or not isinstance(reports, Sequence):
        raise InputError(f"{rule}; got {type_in_words(reports)}")
    for index, report in enumerate(reports):
        if not isinstance(report, bytes):
            # Whoever hands in answers by mistake does not want to read them in a log.
            raise InputError(f"{rule}; got {type_in_words(report)} at index {index}")
        if len(report) != width:
            raise InputError(f"{rule}; got {len(report)} bytes at index {index}")
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(len(reports), width)


def wrong_widths(reports: object, width: int) -> Validity | None:
    """Return the validity of a batch that has wrong widths, or None if all widths are right.

    Lets `validate` answer for truncated and extended reports instead of raising.
    """
    reason = f"a report has {width} bytes"
    if isinstance(reports, np.ndarray) and reports.ndim == 2 and reports.shape[1] != width:
        return Validity(np.zeros(len(reports), dtype=np.bool_), reason)
    if isinstance(reports, Sequence) and all(isinstance(r, bytes) for r in reports):
        right = np.fromiter((len(r) == width for r in reports), np.bool_, len(reports))
        return None if right.all() else Validity(right, reason)
    return None


def little_endian(numbers: NDArray[np.generic], width: int) -> Reports:
    """Encode unsigned integers as little-endian byte strings of `width` bytes."""
    size = next(size for size in (1, 2, 4, 8) if size >= width)
    wide = np.ascontiguousarray(numbers, dtype=f"<u{size}").view(np.uint8).reshape(-1, size)
    return wide if width == size else _columns(wide, np.empty((len(wide), width), np.uint8))


def narrow_integers(reports: Reports) -> NDArray[np.integer]:
    """Decode reports as `from_little_endian` does, without a copy if the width is a machine's."""
    count, width = reports.shape
    if width in (1, 2, 4):
        return np.ascontiguousarray(reports).view(f"<u{width}").reshape(count)
    return from_little_endian(reports)


def from_little_endian(reports: Reports) -> NDArray[np.int64]:
    """Decode little-endian byte strings of at most 7 bytes as unsigned integers."""
    count, width = reports.shape
    if width in (1, 2, 4):
        return narrow_integers(reports).astype(np.int64)
    wide = np.zeros((count, 8), dtype=np.uint8)
    _columns(reports, wide)
    return wide.view("<i8").reshape(count).astype(np.int64, copy=False)


def _columns(rows: Reports, out: Reports) -> Reports:
    """Copy the columns that both have, one by one: numpy copies short rows far slower."""
    for column in range(min(rows.shape[1], out.shape[1])):
        out[:, column] = rows[:, column]
    return out


def bytes_for(count: int) -> int:
    """Return the number of bytes that hold any number below `count`."""
    return max(1, ((count - 1).bit_length() + 7) // 8)
