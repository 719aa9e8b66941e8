"""Declared round numbers: part of the people round their answer to a mark, every so many values.

A mark is then more frequent than its neighbours by a factor, which is a parameter like any other:
where there are no heaps the factor is 1, or the laws without it have the weight, and nothing is
lost. The data cannot warn of heaps that nobody declared (a window that spans whole spacings
cannot see them).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumor.core.errors import InputError, shown
from rumor.estimators.ordered.shape import Marks


def checked_spacings(spacings: object, domain: int) -> tuple[Marks, ...]:
    """Pairs of a spacing and the place of the first mark, or the sentence that says why not."""
    rule = "round numbers are pairs of a spacing from 2 on and an offset from 0 to below it"
    if not isinstance(spacings, Sequence) or isinstance(spacings, str):
        raise InputError(f"{rule}; got {shown(spacings)}")
    found = []
    for pair in spacings:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"{rule}; got {shown(pair)}")
        spacing, first = pair
        whole = all(isinstance(part, (int, np.integer)) for part in pair)
        if not whole or spacing < 2 or not 0 <= first < spacing:
            raise InputError(f"{rule}; got {shown(pair)}")
        if first + spacing < domain:  # else there is one mark at most: an atom, no heaps
            found.append(Marks(int(spacing), int(first)))
    return tuple(dict.fromkeys(found))
