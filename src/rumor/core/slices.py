"""Rows some at a time, so that what is made of them on the way stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator


def slices(rows: int, step: int) -> Iterator[slice]:
    """All rows in their order, `step` of them at a time; the last slice may reach beyond."""
    return (slice(start, start + step) for start in range(0, rows, step))
