"""Which implementation of the heavy loops to run: numba's or the plain numpy twin.

The two modules have the same functions with the same results, bit for bit, so the
choice is only about time. Small work never waits for a compiler to load, and an
installation without numba is slower but complete.
"""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType

# Loading numba costs about a third of a second; plain numpy does this many bytes of
# reports in about a tenth of one.
SMALL_BYTES = 1 << 21


def loops(size_in_bytes: int) -> ModuleType:
    """The module of loops fit for work of this size."""
    return _plain() if size_in_bytes <= SMALL_BYTES or not _has_numba() else _compiled()


@functools.cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


@functools.cache
def _plain() -> ModuleType:
    from rumor import twins

    return twins


@functools.cache
def _compiled() -> ModuleType:
    from rumor import kernels

    return kernels
