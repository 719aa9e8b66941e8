"""Answers as plain data that fits into a file, and the first number in which two of them differ."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FILES = {
    name: Path(__file__).parents[1] / "vectors" / f"{name}.json"
    for name in ("answers", "charts", "papers")
}
# Rounding differs between processors, and between loops that are compiled and those that are not;
# fits of few reports, whose likelihood is flat, make some 1e-6 of it.
RELATIVE, ABSOLUTE = 1e-4, 1e-7
_DIGITS = 9
# Differences of numbers that are nearly the same: another processor rounds them otherwise.
_UNSTEADY = ("gap",)
# A longer list keeps some of its entries, and sums that every entry changes.
_LONG = 5
_KEPT = 3


def plain(data: Any) -> Any:
    """Return `data` as JSON has it: numbers of nine digits, rows as columns, long lists as sums."""
    if isinstance(data, Mapping):
        return {str(key): plain(data[key]) for key in data if key not in _UNSTEADY}
    if isinstance(data, np.generic | np.ndarray):
        return plain(data.tolist())
    if isinstance(data, (list, tuple)):
        return _list(list(data))
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else repr(data)
    return data if data is None or isinstance(data, (bool, int, str)) else str(data)


def _list(rows: list[Any]) -> Any:
    alike = all(isinstance(row, Mapping) and list(row) == list(rows[0]) for row in rows)
    if len(rows) > 1 and alike:
        return {"rows": {str(key): plain([row[key] for row in rows]) for key in rows[0]}}
    if len(rows) <= _LONG:
        return [plain(row) for row in rows]
    places = sorted({round(i * (len(rows) - 1) / (_KEPT - 1)) for i in range(_KEPT)})
    short: dict[str, Any] = {"of": len(rows), "kept": [plain(rows[place]) for place in places]}
    numbers = np.array([_number(row) for row in rows])
    finite = np.isfinite(numbers)
    if finite.any():
        kept = np.where(finite, numbers, 0.0)
        by_place = kept @ np.arange(1, len(rows) + 1)
        short["sums"] = [plain(total) for total in (kept.sum(), by_place, kept @ kept)]
    return short


def _number(row: Any) -> float:
    return float(row) if isinstance(row, int | float | np.number) else math.nan


def apart(found: Any, base: Any) -> Any:
    """Return what plain `found` says that plain `base` does not say already."""
    if not (isinstance(found, dict) and isinstance(base, dict)):
        return found
    return {
        key: apart(found[key], base.get(key))
        for key in found
        if key not in base or difference(found[key], base[key])
    }


def difference(found: Any, expected: Any, place: str = "") -> str:
    """Return where `found` first differs from `expected` by more than rounding; "" if nowhere."""
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = dict.fromkeys([*expected, *found])
        parts = (
            difference(found.get(key, "nothing"), expected.get(key, "nothing"), f"{place}.{key}")
            for key in keys
        )
        return next(filter(None, parts), "")
    if isinstance(found, list) and isinstance(expected, list):
        pairs = itertools.zip_longest(found, expected, fillvalue="nothing")
        parts = (difference(a, b, f"{place}[{number}]") for number, (a, b) in enumerate(pairs))
        return next(filter(None, parts), "")
    if isinstance(found, float) and isinstance(expected, int | float):
        if math.isclose(found, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            return ""
    elif found == expected:
        return ""
    return f"{place.lstrip('.')}: found {found!r}, expected {expected!r}"


def named_by_place(chart: Any) -> Any:
    """Return a `chart` whose data are named by their order: Altair takes a hash of all digits."""
    text = json.dumps(chart)
    for place, name in enumerate(dict.fromkeys(re.findall("data-[0-9a-f]{32}", text))):
        text = text.replace(name, f"data-{place}")
    return json.loads(text)


def written(answers: Mapping[str, Any]) -> str:
    """Return the text of a file of answers: a line for each, so that its differences are read."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(answers[name], ensure_ascii=False)}"
        for name in sorted(answers)
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


@functools.cache
def read(name: str) -> dict[str, Any]:
    """Return the answers of a file by their names."""
    found: dict[str, Any] = json.loads(FILES[name].read_text(encoding="utf-8"))
    return found
