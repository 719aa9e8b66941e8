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
"""Counters."""
Codes = NDArray[np.int64]
"""Values as integers from 0."""
Rows = NDArray[np.intp]
"""Which of them."""
Days = tuple[datetime.date | None, datetime.date | None]
"""From one day to another, both included; None: from the first, or to the last."""
Progress = Callable[[int, int], None]
"""Called now and then with how much is done and how much there is in all."""
Target = Literal["population", "people"]
"""Whom an interval is about: those the people were drawn from, or these people."""


def checked_target(of: str) -> Target:
    """Return `of` if it is "population" or "people", or raise an InputError."""
    if of == "population":
        return "population"
    if of == "people":
        return "people"
    raise InputError(f'an interval is of "population" or "people"; got {format_value(of)}')
