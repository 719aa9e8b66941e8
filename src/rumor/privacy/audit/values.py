"""Which values an audit compares, and how they are handed to samplers.

Two values are enough for a distinguishing game, but they must be as far apart as any. Where
a mechanism treats all values alike, the first and the last are. Words are probed for a pair
whose filters do not overlap. People with keys and numbers are too many to list: a few
extreme ones stand for them, those that hold nothing, everything, or as much as a cap allows,
each value at an end of its range.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rumor.core.reports import Reports, from_little_endian
from rumor.mechanisms import (
    FrequencyOracle,
    KeyValueMechanism,
    MeanMechanism,
    Mechanism,
    Piecewise,
    Rappor,
)

_VALUES_WALKED = 4
# People with keys that are still worth listing one by one.
_MAX_LISTED = 4096
# Reports of so few bytes are integers.
_SHORT = 7


def walked_values(mechanism: Mechanism) -> Sequence[object]:
    """All values where they are few, else those at both ends and in the middle."""
    if isinstance(mechanism, KeyValueMechanism) and _people(mechanism) > _MAX_LISTED:
        return extreme_people(mechanism)
    values = mechanism.inputs()
    if len(values) <= _VALUES_WALKED:
        return values
    middle = len(values) // 2
    return [values[0], values[1], values[middle], values[-1]]


def pairs_to_compare(mechanism: Mechanism) -> Sequence[tuple[object, object]]:
    """Pairs of values, one of which can be told apart as well as any pair."""
    if isinstance(mechanism, KeyValueMechanism):
        return list(itertools.combinations(extreme_people(mechanism), 2))
    values = mechanism.inputs()
    if isinstance(mechanism, Rappor):
        pairs = itertools.combinations([str(value) for value in values], 2)
        return [max(pairs, key=lambda pair: _apart(mechanism, *pair))]
    return [(values[0], values[-1])]


def _apart(rappor: Rappor, word: str, other: str) -> int:
    """In how many cohorts two words have no bit in common."""
    filters = (
        (rappor.bloom.filter(word, cohort), rappor.bloom.filter(other, cohort))
        for cohort in range(min(rappor.cohorts, 64))
    )
    return sum(
        not int.from_bytes(one, "little") & int.from_bytes(two, "little") for one, two in filters
    )


def extreme_people(mechanism: KeyValueMechanism) -> list[tuple[float | None, ...]]:
    """People who hold nothing, one key, or as many as they may, at either end of the range."""
    cap = mechanism.keys
    if getattr(mechanism, "over_cap", "sample") == "refuse":
        cap = getattr(mechanism, "cap", mechanism.keys)
    ends = (mechanism.grid.high, mechanism.grid.low)
    people: dict[tuple[float | None, ...], None] = {(None,) * mechanism.keys: None}
    for held in (1, cap):
        for end in ends:
            people[(end,) * held + (None,) * (mechanism.keys - held)] = None
    return list(people)


def _people(mechanism: KeyValueMechanism) -> float:
    cells = len(mechanism.grid.points()) + 1
    return math.exp(min(700.0, mechanism.keys * math.log(cells)))


def repeated(mechanism: Mechanism, value: object, count: int) -> object:
    """A batch of people who all hold one value, in the form that is read fastest."""
    if isinstance(mechanism, KeyValueMechanism):
        assert isinstance(value, tuple)
        row = np.array([math.nan if cell is None else cell for cell in value])
        return np.tile(row, (count, 1))
    if isinstance(mechanism, FrequencyOracle):
        return np.full(count, mechanism.code(value))
    if isinstance(mechanism, MeanMechanism):
        return np.full(count, value)
    return [value] * count


def evidence(
    mechanism: Mechanism, reports: Reports, first: object, second: object
) -> NDArray[np.float64]:
    """The model's log-likelihood ratio of each report, fast where reports are short.

    A piecewise mechanism has a million outputs, which are judged at once; of others, each
    different report is judged once.
    """
    if isinstance(mechanism, FrequencyOracle) or reports.shape[1] > _SHORT:
        return mechanism.evidence(reports, first, second)
    outputs = from_little_endian(reports).astype(np.int64)
    if not isinstance(mechanism, Piecewise):
        _, where, inverse = np.unique(outputs, return_index=True, return_inverse=True)
        return mechanism.evidence(reports[where], first, second)[inverse]
    near = [
        (outputs >= mechanism.code(value)) & (outputs < mechanism.code(value) + mechanism.window)
        for value in (first, second)
    ]
    return (near[0].astype(np.float64) - near[1]) * mechanism.epsilon


def as_argument(mechanism: Mechanism, value: object) -> str:
    """A value as a command's argument: as `rumor answer` takes it, keys by number."""
    if isinstance(mechanism, KeyValueMechanism):
        assert isinstance(value, tuple)
        held = ((key, cell) for key, cell in enumerate(value) if cell is not None)
        return ",".join(f"{key}:{cell!r}" for key, cell in held)
    return str(value)
