"""Sums over supported values on a GPU, where numbers are planes of bits.

A frequency becomes an integer of 32 bits in units of the largest one, a weight one in units of
2^-32. Rounding moves a frequency by at most 2^-33 of the largest and a weight by at most 2^-33;
all that is done with them afterwards is exact.

The module holds the compiled loop, buffers of reports, and one pass over them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.extras import import_optional
from rumor.core.types import Vector

PLANES, SLAB = 32, 32
"""Bits of a number, and words of a row that are multiplied at a time."""
WHOLE = (1 << PLANES) - 1
"""A weight of one, as an integer."""
MOST_ODDS = 1 << 13
"""The largest odds: a gradient is off by less than the odds times 2^-33, so by less than 1e-6."""
LOG_UNITS = 1 << 28
"""A logarithm of one, as an integer."""

Words = NDArray[np.uint32]


def words_of(values: int) -> int:
    """Return the words of 32 bits in a row of `values` values: whole lines of 16 bytes."""
    return -(-values // 128) * 4


def slabs_of(words: int) -> int:
    """Return the number of slabs in a row of `words` words."""
    return -(-words // SLAB)


def integers(h: Vector) -> tuple[NDArray[np.uint64], float]:
    """Return frequencies as integers of 32 bits, and the unit that they are counted in."""
    unit = float(h.max()) / WHOLE
    return np.rint(h / unit).astype(np.uint64), unit


def planes(h: Vector, words: int) -> tuple[Words, float]:
    """Return 32 planes of 32 words for each slab, and the unit of the frequencies `h`.

    Bit x of plane p is bit p of the integer of value x.
    """
    whole, unit = integers(h)
    slabs = slabs_of(words)
    padded = np.zeros(slabs * SLAB * 32, dtype="<u4")
    padded[: h.size] = whole
    bits = np.unpackbits(padded.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view("<u4")
    by_slab = packed.reshape(PLANES, slabs, SLAB).transpose(1, 0, 2)
    return np.ascontiguousarray(by_slab), unit


# As in update.cu: the rows of a tile, and the bytes of shared memory of a block.
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
    """Return the source code of the loop, in CUDA."""
    return resources.files(__package__).joinpath("update.cu").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Rows:
    """Rows in the memory of the GPU."""

    words: Any
    count: int


class GpuDevice:
    """The first GPU of this machine."""

    def __init__(self) -> None:
        self.cupy = import_optional("cupy", "the engine gpu")
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
    def free_bytes(self) -> int:
        """The number of bytes of its memory that are free."""
        held = self.cupy.get_default_memory_pool()
        return int(self.device.mem_info[0]) + int(held.free_bytes())

    def allocate_rows(self, rows: int, words: int) -> Any:
        """Return memory for `rows` rows, not yet filled."""
        return self.cupy.empty((rows, words), dtype=np.uint32)

    def allocate_pinned(self, rows: int, words: int) -> Words:
        """Return zeroed memory of the host that the GPU can copy from by itself."""
        memory = self.cupy.cuda.alloc_pinned_memory(max(1, rows) * words * 4)
        out = np.frombuffer(memory, dtype="<u4", count=rows * words).reshape(rows, words)
        out[:] = 0
        return out

    def sum_weights(
        self, chunks: Iterable[Rows], words: int, values: int, state: tuple[Vector, float, int]
    ) -> Vector:
        """Return the sum of weights for every value, then those of all logarithms and weights."""
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
