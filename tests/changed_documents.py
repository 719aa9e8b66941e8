"""Documents with one thing changed: every member, by every value that might take its place."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Integers at which rules end, and those beside them: powers of two and of ten, days, hours.
ENDS = sorted(
    {
        end + beside
        for end in (
            *(-1, 1, 2, 64, 100, 128, 1000, 1024, 2047, 4096, 8760, 36525, 10**5, 10**6),
            *(3650, 2 * 10**6, 10**9, 1 << 16, 1 << 20, 1 << 24),
        )
        for beside in (0, 1)
    }
)
THRESHOLDS = [str(2**63 + n) for n in (-1, 0, 1)] + [str(2**64 - 1), str(2**64), "0", "1", "-1"]
DIGITS = "0123456789abcdef"
TEXTS = ["", " ", "x", "-", "A", "a-b", "a-", "open", "invited", "blind", "clip", "sample", "value"]
TEXTS += ["a" * n for n in (63, 64, 65)] + [DIGITS * 4, (DIGITS * 4).upper(), DIGITS * 4 + "0"]
TEXTS += ["e\u0301", "\ud800", "\x07", "\ufdd0", "\u2028", "\U0001f642", "0", "period", "kind"]
TEXTS += [f"{scheme}://a.example" for scheme in ("http", "https", "ftp", "HTTP")]
TEXTS += [f"https://{rest}" for rest in ("", "a/", "a/b", "a:1", "a:123456", "[::1]:8/x", "a b")]
TEXTS += [f"https://a/{'b' * n}" for n in (490, 491)]
TEXTS += ["1969-12-31", "1970-01-01", "2026-02-30", "2026-2-3", "2999-12-31", "3000-01-01"]


def changes(
    document: Any,
    ends: Sequence[int] = ENDS,
    texts: Sequence[str] = TEXTS,
    seen: set[str] | None = None,
    path: str = "",
) -> Iterator[Any]:
    """Yield `document` with one thing of it changed: an integer to one of `ends`, and so on.

    Places that were `seen` are left alone (with all that is in them where they end in ".*"), and
    what is changed here is added to them.
    """
    known = set[str]() if seen is None else seen
    if f"{path}.*" in known:
        return
    if path not in known:
        known.add(path)
        yield from _others(document, ends, texts)
        if isinstance(document, dict):
            yield {**document, "more": 1}
            for key in document:
                yield {name: each for name, each in document.items() if name != key}
    if isinstance(document, dict):
        for key, value in document.items():
            for other in changes(value, ends, texts, known, f"{path}.{key}"):
                yield {**document, key: other}
    if isinstance(document, list):
        for place in sorted({0, len(document) - 1} - {-1}):
            for other in changes(document[place], ends, texts, known, f"{path}.{place}"):
                yield [*document[:place], other, *document[place + 1 :]]


def distinct(documents: Iterable[Any]) -> list[Any]:
    """Return documents without repetitions, in order."""
    return list({json.dumps(each): each for each in documents}.values())


def _others(value: object, ends: Sequence[int], texts: Sequence[str]) -> list[Any]:
    """Return what might stand in the place of a value."""
    match value:
        case bool():
            return [not value, None, 1, "true"]
        case int():
            return [*ends, value - 1, value + 1, value + 0.5, str(value), None, True, [value]]
        case float():
            return [
                value / 2,
                math.nextafter(value, 0),
                -value,
                None,
                str(value),
                1e101,
                -1e100,
                True,
            ]
        case str() if value.isdigit():
            near = [str(int(value) + 1), str(int(value) - 1)]
            return [*THRESHOLDS, *near, f"0{value}", f" {value}", int(value) % 2**53, None, ""]
        case str():
            return [*texts, f"{value}0", value.upper(), None, 5, [value]]
        case None:
            return [0, 1, 1.5, "1", [], {}, DIGITS * 4]
        case list():
            return [value[:-1], [*value, *value[:1]], value[::-1], [], None, "x", value * 40, {}]
        case Mapping():
            return [None, [], {}, "x"]
    return []
