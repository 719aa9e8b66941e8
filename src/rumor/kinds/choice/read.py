"""Reading a column of labels, or of integers where there are none; what `rumor init` asks."""

from __future__ import annotations

import functools

from rumor.kinds.interviews import LABELS
from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.oracle import FrequencyOracle

ABOUT = "one of a list of answers"
ASKS = (LABELS,)


def reader(oracle: FrequencyOracle) -> Reader:
    """Positions."""
    cell = "integer" if oracle.labels is None else "text"
    return Reader(cell, functools.partial(positions, oracle))
