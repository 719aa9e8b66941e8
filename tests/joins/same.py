"""Whether two answers are the same, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

# Sums of reports in another order differ in the last digits; nothing else may.
_RELATIVE, _ABSOLUTE = 1e-7, 1e-9


def assert_same(found: Any, expected: Any, path: str = "") -> None:
    """Fail unless what was found holds all that is expected, with the place of a difference."""
    if isinstance(expected, Mapping):
        assert isinstance(found, Mapping), f"{path}: {found!r} is no table"
        for key, value in expected.items():
            assert str(key) in found, f"{path}: {key!r} is missing"
            assert_same(found[str(key)], value, f"{path}/{key}")
    elif isinstance(expected, (list, tuple)):
        assert isinstance(found, list), f"{path}: {found!r} is no list"
        assert len(found) == len(expected), f"{path}: {len(found)} rows, not {len(expected)}"
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_same(one, other, f"{path}/{number}")
    elif hasattr(expected, "tolist"):
        assert_same(found, expected.tolist(), path)
    elif isinstance(expected, float) and not math.isfinite(expected):
        assert found is None, f"{path}: {found!r} is not unknown"
    elif isinstance(expected, float):
        close = isinstance(found, (int, float)) and math.isclose(
            found, expected, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE
        )
        assert close, f"{path}: {found!r} is not {expected!r}"
    else:
        assert found == expected, f"{path}: {found!r} is not {expected!r}"
