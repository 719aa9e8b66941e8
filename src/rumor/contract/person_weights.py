"""Weights of people, as they stand beside reports in the clear.

A weight of many digits is a name: whoever knows somebody's finds their report. So weights are
rounded to the powers of 1.1, which moves none by more than 5 %, and an estimate by far less than
its error.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from rumor.core.errors import AnswerError

STEP = 1.1
"""The ratio of neighbouring weights."""


def rounded_weights(cells: Any) -> pa.Array:
    """Return a column of weights, as numbers or texts, each rounded to a power of 1.1."""
    known: dict[object, float] = {}
    found = []
    for row, cell in enumerate(cells.to_pylist()):
        if cell not in known:
            known[cell] = _rounded(cell, row)
        found.append(known[cell])
    return pa.array(found, pa.float64())


def weight_names(cells: Any) -> list[str]:
    """Return each weight as it will be seen; of rows that become no report, whatever they hold."""
    found = []
    for cell in cells.to_pylist():
        try:
            found.append(str(_rounded(cell, 0)))
        except AnswerError:
            found.append("")
    return found


def _rounded(cell: object, row: int) -> float:
    try:
        weight = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        weight = math.nan
    if not 0 < weight < math.inf:
        got = "nothing" if cell is None or cell == "" else "something else"
        raise AnswerError("a weight must be a number above 0", row, got)
    return float(STEP ** round(math.log(weight) / math.log(STEP)))
