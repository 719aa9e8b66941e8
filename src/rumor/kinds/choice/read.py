"""Reading of a column of labels, or of integers without labels; the prompts of `rumor init`."""

from __future__ import annotations

import functools

from rumor.kinds.interviews import LABELS
from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.oracle import FrequencyOracle

ABOUT = "one of a list of answers"
ASKS = (LABELS,)


def reader(oracle: FrequencyOracle) -> Reader:
    """Return the reader of answers to a choice, which maps them to positions."""
    cell = "integer" if oracle.labels is None else "text"
    return Reader(cell, functools.partial(positions, oracle))
