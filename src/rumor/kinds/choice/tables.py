"""Answers to a choice in a table: labels, or integers where values have none."""

from __future__ import annotations

import functools

from rumor.kinds.reading import Reader, positions
from rumor.mechanisms.oracle import FrequencyOracle


def reader(oracle: FrequencyOracle) -> Reader:
    """Positions."""
    cell = "integer" if oracle.labels is None else "text"
    return Reader(cell, functools.partial(positions, oracle))
