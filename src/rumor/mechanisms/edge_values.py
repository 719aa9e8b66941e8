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


def edge_items(
    domain: int, labels: Sequence[object] | None, places: Sequence[int]
) -> Sequence[object]:
    """Return the values of a `domain` at `places`, or all its `labels` where they are few."""
    if labels is not None and domain <= _MOST_NAMES:
        return labels
    values = range(domain) if labels is None else labels
    return [values[place] for place in sorted(set(places))]
