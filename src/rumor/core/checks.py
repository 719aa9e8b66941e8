"""Checks of arguments: what is passed comes back, and what is not gets one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from rumor.core.errors import InputError, shown


def checked_size(name: str, size: object, low: int, high: int) -> int:
    """An integer within a closed range, or the sentence that says why not."""
    rule = f"{name} must be an integer from {low:,} to {high:,}"
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
        raise InputError(f"{rule}; got {shown(size)}")
    if not low <= int(size) <= high:
        raise InputError(f"{rule}; got {int(size):,}")
    return int(size)


def checked_above_zero(name: str, value: object) -> float:
    """A finite number above 0."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise InputError(f"{name} must be a number above 0; got {shown(value)}")
    return value  # type: ignore[return-value]


def checked_hex(name: str, value: object) -> bytes:
    """Return the bytes of lower-case hexadecimal digits: written otherwise, it is another text."""
    if isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value):
        return bytes.fromhex(value)
    raise InputError(f"{name} must be hexadecimal; got {shown(value)}")


def checked_choice(
    name: str, value: object, choices: Mapping[str, object] | Sequence[str], of: str = ""
) -> str:
    """One of a few words, or the sentence that lists them; `of` ends the rule."""
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{name} must be one of {', '.join(choices)}{of}; got {shown(value)}")
