"""Declared round numbers: part of the people round their answer to a mark, every so many values.

A mark then holds h r times its neighbours' share on top of 1 - h, h being the part that rounds
and r how many values there are for each mark. The data cannot warn of heaps that nobody declared
(a window that spans whole spacings cannot see them), but once declared they are weighed like
every other law: where there are none, nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.core.types import Vector

PARTS = (0.1, 0.2, 0.35, 0.55, 0.8)


def checked_spacings(spacings: object, domain: int) -> tuple[tuple[int, int], ...]:
    """Pairs of a spacing and the place of the first mark, or the sentence that says why not."""
    rule = "round numbers are pairs of a spacing from 2 on and an offset from 0 to below it"
    if not isinstance(spacings, Sequence) or isinstance(spacings, str):
        raise InputError(f"{rule}; got {shown(spacings)}")
    found = []
    for pair in spacings:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"{rule}; got {shown(pair)}")
        spacing, offset = pair
        whole = all(isinstance(part, (int, np.integer)) for part in pair)
        if not whole or spacing < 2 or not 0 <= offset < spacing:
            raise InputError(f"{rule}; got {shown(pair)}")
        if offset + spacing < domain:  # else there is one mark at most: an atom, no heaps
            found.append((int(spacing), int(offset)))
    return tuple(found)


def offset(domain: int, spacing: int, first: int, part: float) -> Vector:
    """The log-weights of the values where this part of the people rounds."""
    marks = np.arange(domain) % spacing == first
    ratio = domain / int(marks.sum())
    return np.log(np.where(marks, 1 - part + part * ratio, 1 - part))
