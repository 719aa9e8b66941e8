"""Shared type aliases, and the target of an interval: population or respondents."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError, format_value

Vector = NDArray[np.float64]
"""A number for each value, key or word."""
Tally = NDArray[np.int64]
"""The counters of a summary."""
Codes = NDArray[np.int64]
"""Values as integers from 0."""
Rows = NDArray[np.intp]
"""Indices of rows."""
Days = tuple[datetime.date | None, datetime.date | None]
"""The first and the last day, both included; None stands for the first or last day there is."""
Progress = Callable[[int, int], None]
"""A function that is called now and then with the work done and the total work."""
Target = Literal["population", "people"]
"""The target of an interval: the population that the people were drawn from, or these people."""


def checked_target(of: str) -> Target:
    """Return `of` if it is "population" or "people", or raise an InputError."""
    if of == "population":
        return "population"
    if of == "people":
        return "people"
    raise InputError(f'an interval is of "population" or "people"; got {format_value(of)}')
