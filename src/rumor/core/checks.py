"""Checks of arguments: what is passed comes back, and what is not gets one sentence."""

from __future__ import annotations

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


def checked_choice(name: str, value: object, choices: Mapping[str, object] | Sequence[str]) -> str:
    """One of a few words, or the sentence that lists them."""
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{name} must be one of {', '.join(choices)}; got {shown(value)}")


def checked_method_of(method: object, known: Sequence[str], mechanism: str) -> str:
    """A method's name for a mechanism of this name, or the sentence that lists them."""
    if isinstance(method, str) and method in known:
        return method
    raise InputError(
        f"method must be one of {', '.join(known)} for {mechanism}; got {shown(method)}"
    )


def checked_method(method: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """A method's name, or the sentence that lists them."""
    if isinstance(method, str) and method in known:
        return method
    raise InputError(f"method must be one of {', '.join(known)}; got {shown(method)}")
