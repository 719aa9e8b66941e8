"""A graphics card: the compiled loop, buffers of reports, and one pass over them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from rumor.core.errors import InputError
from rumor.core.parts_needed import needed
from rumor.core.types import Vector
from rumor.engines.gpu.fixed_point import (
    LOG_UNITS,
    PLANES,
    SLAB,
    WHOLE,
    Words,
    planes,
    slabs_of,
)

# As update.cu has them: rows of a tile, and the words of shared memory that a block takes.
TILE_ROWS = 512
_WARPS = TILE_ROWS // 32
_PITCH = SLAB + 4
_SHARED = 4 * (
    2 * (TILE_ROWS * _PITCH + _WARPS * 4)  # tiles
    + PLANES * _PITCH  # planes of h
    + 2 * PLANES * (_WARPS + 4)  # planes of weights
    + _WARPS * 2 * _WARPS * 32  # columns turned around
)
_FUSED, _FORWARD, _ADJOINT = range(3)


def source() -> str:
    """The loop in the language of cards."""
    return resources.files(__package__).joinpath("update.cu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Rows:
    """Rows in the memory of the card."""

    words: Any
    count: int


class Card:
    """The first card of this machine."""

    def __init__(self) -> None:
        self.cupy = needed("cupy", "the engine gpu")
        try:
            self.device = self.cupy.cuda.Device()
            self.name = self.cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        except self.cupy.cuda.runtime.CUDARuntimeError as problem:
            raise InputError(
                f"the engine gpu needs a graphics card with its driver; got {problem}"
            ) from None
        if self.device.attributes["MaxSharedMemoryPerBlockOptin"] < _SHARED:
            raise InputError(
                f"the engine gpu needs a card with {_SHARED:,} bytes of shared memory for a block "
                f"(compute capability 9.0); got {self.name}"
            )

    @functools.cached_property
    def _loops(self) -> list[Any]:
        names = [f"update<{mode}>" for mode in (_FUSED, _FORWARD, _ADJOINT)]
        module = self.cupy.RawModule(code=source(), options=("-std=c++17",), name_expressions=names)
        found = [module.get_function(name) for name in names]
        for one in found:
            one.max_dynamic_shared_size_bytes = _SHARED
        return found

    @property
    def free(self) -> int:
        """Bytes of its memory that nobody uses."""
        held = self.cupy.get_default_memory_pool()
        return int(self.device.mem_info[0]) + int(held.free_bytes())

    def room(self, rows: int, words: int) -> Any:
        """Memory for so many rows, not yet filled."""
        return self.cupy.empty((rows, words), dtype=np.uint32)

    def pinned(self, rows: int, words: int) -> Words:
        """Memory of the host from which copies go by themselves, filled with zeros."""
        memory = self.cupy.cuda.alloc_pinned_memory(max(1, rows) * words * 4)
        out = np.frombuffer(memory, dtype="<u4", count=rows * words).reshape(rows, words)
        out[:] = 0
        return out

    def pass_over(
        self, chunks: Iterable[Rows], words: int, values: int, state: tuple[Vector, float, int]
    ) -> Vector:
        """For every value the sum of weights, then those of all logarithms and weights."""
        h, c, power = state
        bits, unit = planes(h, words)
        slabs, cupy = slabs_of(words), self.cupy
        totals = cupy.zeros(slabs * SLAB * 32, dtype=np.uint64)
        sums = cupy.zeros(2, dtype=np.uint64)
        bits = cupy.asarray(bits)
        weights = cupy.empty(0, dtype=np.uint32)
        multiprocessors = self.device.attributes["MultiProcessorCount"]

        def launch(mode: int, grid: tuple[int, ...], chunk: Rows) -> None:
            self._loops[mode](
                grid,
                (TILE_ROWS,),
                (
                    *(chunk.words, np.int64(chunk.count), np.int32(words), np.int32(slabs)),
                    *(bits, np.float64(unit), np.float64(c), np.int32(power)),
                    *(weights, totals, sums),
                ),
                shared_mem=_SHARED,
            )

        for chunk in chunks:
            if slabs == 1:
                launch(_FUSED, (multiprocessors,), chunk)
                continue
            if weights.size < chunk.count:
                weights = cupy.empty(chunk.count, dtype=np.uint32)
            launch(_FORWARD, (multiprocessors,), chunk)
            launch(_ADJOINT, (max(1, multiprocessors // slabs), slabs), chunk)
        found, both = totals.get()[:values], sums.get()
        logs = float(both.view(np.int64)[1]) / LOG_UNITS
        return np.append(found / WHOLE, [logs, float(both[0]) / WHOLE])
