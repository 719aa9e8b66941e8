"""Ordered answers in a table: labels, or numbers."""

from __future__ import annotations

import functools

from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.wave import Wave


def reader(wave: Wave) -> Reader:
    """Positions of labels, or numbers as they are."""
    if wave.labels is None:
        return Reader("number")
    return Reader("text", functools.partial(positions, wave))
