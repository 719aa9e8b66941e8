"""What questions about numbers have in common: a range, and numbers as people type them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from rumor.core.errors import AnswerError, InputError
from rumor.core.number_range import one_number

RANGE = ("low", "high", "outside")
"""The keys of a range."""


def range_arguments(wish: Mapping[str, object], name: str) -> dict[str, Any]:
    """The ends and the epsilon of a wish, as constructors take them."""
    if "epsilon" not in wish:
        raise InputError(f"mechanism {name!r} needs an epsilon; got none")
    return {**{key: wish[key] for key in RANGE if key in wish}, "epsilon": wish["epsilon"]}


def typed_number(text: str, rule: str) -> float:
    """A number, however large, or the rule."""
    with contextlib.suppress(ValueError):  # which quotes the text
        return one_number(float(text))
    raise AnswerError(rule, got="a text")
