"""Values at the ends of a domain and in between, of which vectors are drawn (`edge_values`)."""

from __future__ import annotations

from collections.abc import Sequence

BEYOND = (-1e9, 1e300)
"""Numbers outside nearly every range."""
WORDS = ("", "news", "café", "cafe\u0301", "検索", "🙂 two words", "a" * 300)
"""Words of no letters and of many, of other scripts, and one that is written in two ways."""

_MOST_NAMES = 8  # so many names are all taken, and places alone of more
_PARTS = (0.0, 0.1, 1 / 3, 0.5, 0.7 + 1e-9, 1.0)


def edge_points(low: float, high: float) -> list[float]:
    """Return numbers from `low` to `high`, both ends among them."""
    return [min(low + (high - low) * part, high) for part in _PARTS]


def edge_items(values: Sequence[object], places: Sequence[int], *, named: bool) -> list[object]:
    """Return the `values` at `places`, or all where they are `named` and few."""
    if named and len(values) <= _MOST_NAMES:
        return list(values)
    return [values[place] for place in sorted(set(places))]
