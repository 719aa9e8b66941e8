"""Reports as rows of supported values: on the GPU, or streamed to it if they exceed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rumor.analysis.engines.base import Partition, ReportSource, Stratum
from rumor.analysis.engines.gpu.device import GpuDevice, Rows, Words, words_of
from rumor.analysis.engines.local import LocalEngine
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.mechanisms import FrequencyOracle

# Bytes of a buffer on the GPU: so large that starting a pass costs little.
_BUFFER_BYTES = 1 << 30
# Bytes of GPU memory that are left for everything else.
_LEFT = 1 << 30

Pieces = list[tuple[Stratum, Words]]


def pack_supports(oracle: FrequencyOracle, reports: Reports) -> Reports | None:
    """Return each report's supported values as bits; None if `oracle` has no such form."""
    bitmaps = oracle.bitmaps(reports)
    if bitmaps is not None:
        return bitmaps
    lists = oracle.lists(reports)
    if lists is None:
        return None
    out = np.zeros((len(reports), (oracle.domain + 7) // 8), dtype=np.uint8)
    places = lists.astype(np.int64)
    rows = np.arange(len(reports))[:, None]
    np.bitwise_or.at(out, (rows, places >> 3), (1 << (places & 7)).astype(np.uint8))
    return out


@dataclass
class _Buffers:
    """The rows of one stratum on the GPU, in a few large pieces."""

    card: GpuDevice
    words: int
    pieces: list[Rows] = field(default_factory=list)
    _open: Any = None
    _filled: int = 0

    def add(self, rows: Words) -> None:
        """Copy rows behind the earlier ones."""
        while len(rows):
            if self._open is None or self._filled == len(self._open):
                self.close()
                # Each piece is as large as all before it, so that small groups take little memory.
                held = sum(piece.count for piece in self.pieces)
                most = max(1, _BUFFER_BYTES // (4 * self.words))
                room = min(most, max(held, len(rows)))
                self._open, self._filled = self.card.allocate_rows(room, self.words), 0
            taken = min(len(rows), len(self._open) - self._filled)
            self._open[self._filled : self._filled + taken].set(rows[:taken])
            self._filled, rows = self._filled + taken, rows[taken:]

    def close(self) -> None:
        """Close the piece that is being filled."""
        if self._open is not None and self._filled:
            self.pieces.append(Rows(self._open, self._filled))
        self._open, self._filled = None, 0


class DeviceSupports:
    """The supported values of the reports of a source, by stratum."""

    def __init__(
        self, card: GpuDevice, local: LocalEngine, source: ReportSource, oracle: FrequencyOracle
    ) -> None:
        self._card, self._local, self._oracle = card, local, oracle
        self._words = words_of(oracle.domain)
        self._buffers: dict[Stratum, _Buffers] = {}
        self._later: list[Partition] = []
        parts = source.parts()
        room = card.free_bytes - _LEFT
        first: list[Partition] = []
        for part in parts:
            room -= part.rows * self._words * 4
            (first if room > 0 else self._later).append(part)
        for _, pieces in local.each(first, self._rows_of):
            for stratum, rows in pieces:
                held = self._buffers.setdefault(stratum, _Buffers(card, self._words))
                held.add(rows)
        for held in self._buffers.values():
            held.close()

    def total(self, stratum: Stratum, state: tuple[Vector, float, int]) -> Vector:
        """Pass once over the reports of a stratum, and return the sums."""
        return self._card.sum_weights(
            self._chunks(stratum), self._words, self._oracle.domain, state
        )

    def _chunks(self, stratum: Stratum) -> Iterator[Rows]:
        if stratum in self._buffers:
            yield from self._buffers[stratum].pieces
        if self._later:
            yield from stream_rows(
                self._card, self._local, self._later, self._rows_of, stratum, self._words
            )

    def _rows_of(self, part: Partition) -> Pieces:
        """Return the rows of a partition by stratum, in memory that the GPU can copy from."""
        found: dict[Stratum, list[Reports]] = {}
        for batch in part.batches():
            bits = pack_supports(self._oracle, batch.reports)
            assert bits is not None  # checked in GpuSource.supports
            found.setdefault(batch.stratum, []).append(bits)
        return [(stratum, self._join_bits(some)) for stratum, some in found.items()]

    def _join_bits(self, some: list[Reports]) -> Words:
        out = self._card.allocate_pinned(sum(map(len, some)), self._words)
        bytes_of, start = out.view(np.uint8), 0
        for bits in some:
            bytes_of[start : start + len(bits), : bits.shape[1]] = bits
            start += len(bits)
        return out


def stream_rows(
    card: GpuDevice,
    local: LocalEngine,
    parts: Sequence[Partition],
    rows_of: Callable[[Partition], Pieces],
    stratum: Stratum,
    words: int,
) -> Iterator[Rows]:
    """Yield rows through two buffers in turn: one is filled while the other is worked on."""
    copying = card.cupy.cuda.Stream(non_blocking=True)
    working = card.cupy.cuda.Stream.null
    buffers: list[Any] = [None, None]
    done: list[Any] = [None, None]
    # The source of a copy must not change until the copy is done.
    holding: list[Any] = [None, None]
    turn = 0
    for _, pieces in local.each(parts, rows_of):
        for of, rows in pieces:
            if of != stratum or not len(rows):
                continue
            if done[turn] is not None:
                done[turn].synchronize()
            if buffers[turn] is None or len(buffers[turn]) < len(rows):
                buffers[turn] = card.allocate_rows(len(rows), words)
            holding[turn] = rows
            buffers[turn][: len(rows)].set(rows, stream=copying)
            working.wait_event(copying.record())
            yield Rows(buffers[turn], len(rows))
            done[turn] = working.record()
            turn ^= 1
    working.synchronize()
