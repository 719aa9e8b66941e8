"""Choice of implementation for the heavy loops: numba's, or plain numpy.

The two modules have the same functions, so the choice is only about time. Where results
are integers they are the same bit for bit; sums of floats may differ in the last bit.
Small work never waits for a compiler to load, and an installation without numba is
slower but complete.
"""

from __future__ import annotations

import functools
import importlib.util
from types import ModuleType

# Loading numba costs about a third of a second; plain numpy does this many bytes of
# reports in about a tenth of one.
SMALL_BYTES = 1 << 21

# How much small work was done the plain way so far; only ever decides about time.
_plain_bytes = 0


def loops(size_in_bytes: int, *, floats: bool = False) -> ModuleType:
    """Return the module of loops suited to `size_in_bytes` of work.

    Small pieces of work add up: a stream of them loads numba once that would have paid. Work whose
    results are `floats` is judged by its own size alone, so that equal calls give equal bits
    whatever ran before.
    """
    global _plain_bytes
    if not _has_numba():
        return _plain()
    if floats:
        return _compiled() if size_in_bytes > SMALL_BYTES else _plain()
    if _plain_bytes + size_in_bytes > SMALL_BYTES:
        _plain_bytes = SMALL_BYTES  # from now on everything is compiled
        return _compiled()
    _plain_bytes += size_in_bytes
    return _plain()


@functools.cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


@functools.cache
def _plain() -> ModuleType:
    from rumor.core.loops.plain import reports as twins

    return twins


@functools.cache
def _compiled() -> ModuleType:
    from rumor.core.loops.compiled import reports as kernels

    return kernels


@functools.cache
def decode_loops() -> ModuleType:
    """Return the loops of decoding, compiled wherever numba is installed: no decode is small
    work.
    """
    if _has_numba():
        from rumor.core.loops.compiled import decode as kernels_decode

        return kernels_decode
    from rumor.core.loops.plain import decode as twins_decode

    return twins_decode


@functools.cache
def discover_loops() -> ModuleType:
    """Return the loops of the prefix search, compiled wherever numba is installed."""
    if _has_numba():
        from rumor.core.loops.compiled import decode as kernels_discover

        return kernels_discover
    from rumor.core.loops.plain import decode as twins_discover

    return twins_discover


def bayes_loops(size_in_bytes: int) -> ModuleType:
    """Return the loops of the Bayesian update, for `size_in_bytes` of work in total."""
    if _has_numba() and size_in_bytes > SMALL_BYTES:
        from rumor.core.loops.compiled import bayes as kernels_bayes

        return kernels_bayes
    from rumor.core.loops.plain import bayes as twins_bayes

    return twins_bayes
