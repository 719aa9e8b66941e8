"""Reports of a source as rows of supported values: on the card, and what exceeds it in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rumor.analysis.engines.base import Part, Source, Stratum
from rumor.analysis.engines.gpu.card import Card, Rows, Words, words_of
from rumor.analysis.engines.local import LocalEngine
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.mechanisms import FrequencyOracle

# Rows of a buffer on the card: a pass over one takes long beside what it takes to begin it.
_BUFFER_BYTES = 1 << 30
# What is left for everything else.
_LEFT = 1 << 30

Pieces = list[tuple[Stratum, Words]]


def packed(oracle: FrequencyOracle, reports: Reports) -> Reports | None:
    """The supported values of each report as bits; None where an oracle has no such form."""
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
    """The rows of one stratum on the card, in a few large pieces."""

    card: Card
    words: int
    pieces: list[Rows] = field(default_factory=list)
    _open: Any = None
    _filled: int = 0

    def add(self, rows: Words) -> None:
        """Copy rows behind those that are there."""
        while len(rows):
            if self._open is None or self._filled == len(self._open):
                self.close()
                # Each as large as all before it, so that small groups take little.
                held = sum(piece.count for piece in self.pieces)
                most = max(1, _BUFFER_BYTES // (4 * self.words))
                room = min(most, max(held, len(rows)))
                self._open, self._filled = self.card.room(room, self.words), 0
            taken = min(len(rows), len(self._open) - self._filled)
            self._open[self._filled : self._filled + taken].set(rows[:taken])
            self._filled, rows = self._filled + taken, rows[taken:]

    def close(self) -> None:
        """Nothing follows for now."""
        if self._open is not None and self._filled:
            self.pieces.append(Rows(self._open, self._filled))
        self._open, self._filled = None, 0


class HeldSupports:
    """What the reports of a source support, by stratum."""

    def __init__(
        self, card: Card, local: LocalEngine, source: Source, oracle: FrequencyOracle
    ) -> None:
        self._card, self._local, self._oracle = card, local, oracle
        self._words = words_of(oracle.domain)
        self._buffers: dict[Stratum, _Buffers] = {}
        self._later: list[Part] = []
        parts = source.parts()
        room = card.free - _LEFT
        first: list[Part] = []
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
        """One pass over the reports of a stratum."""
        return self._card.pass_over(self._chunks(stratum), self._words, self._oracle.domain, state)

    def _chunks(self, stratum: Stratum) -> Iterator[Rows]:
        if stratum in self._buffers:
            yield from self._buffers[stratum].pieces
        if self._later:
            yield from streamed(
                self._card, self._local, self._later, self._rows_of, stratum, self._words
            )

    def _rows_of(self, part: Part) -> Pieces:
        """The rows of a part by stratum, in memory from which copies go by themselves."""
        found: dict[Stratum, list[Reports]] = {}
        for batch in part.batches():
            bits = packed(self._oracle, batch.reports)
            assert bits is not None  # asked before anything was held
            found.setdefault(batch.stratum, []).append(bits)
        return [(stratum, self._joined(some)) for stratum, some in found.items()]

    def _joined(self, some: list[Reports]) -> Words:
        out = self._card.pinned(sum(map(len, some)), self._words)
        bytes_of, start = out.view(np.uint8), 0
        for bits in some:
            bytes_of[start : start + len(bits), : bits.shape[1]] = bits
            start += len(bits)
        return out


def streamed(
    card: Card,
    local: LocalEngine,
    parts: Sequence[Part],
    rows_of: Callable[[Part], Pieces],
    stratum: Stratum,
    words: int,
) -> Iterator[Rows]:
    """Rows that come through two buffers in turn: one is filled while the other is worked on."""
    copying = card.cupy.cuda.Stream(non_blocking=True)
    working = card.cupy.cuda.Stream.null
    buffers: list[Any] = [None, None]
    done: list[Any] = [None, None]
    # What is copied from must stay as it is until it has been.
    holding: list[Any] = [None, None]
    turn = 0
    for _, pieces in local.each(parts, rows_of):
        for of, rows in pieces:
            if of != stratum or not len(rows):
                continue
            if done[turn] is not None:
                done[turn].synchronize()
            if buffers[turn] is None or len(buffers[turn]) < len(rows):
                buffers[turn] = card.room(len(rows), words)
            holding[turn] = rows
            buffers[turn][: len(rows)].set(rows, stream=copying)
            working.wait_event(copying.record())
            yield Rows(buffers[turn], len(rows))
            done[turn] = working.record()
            turn ^= 1
    working.synchronize()
