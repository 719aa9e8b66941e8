"""Groups of reports: the public columns that tell them apart, and periods of days.

A grouping is written as the name of a public column, as a period ("week", "month"), or as several
of these with commas between them. A week is called by its Monday, a month as in 2026-03.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.core.day_columns import PERIODS, period_name, period_starts
from rumor.core.errors import InputError, format_value

_DAY = "day"


@dataclass(frozen=True)
class Grouping:
    """The columns by which reports are grouped, each with the period of its days, if any."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def read(cls, by: str, columns: Sequence[str]) -> Grouping:
        """Read the grouping `by` of reports with these `columns`; a column of that name comes
        first.
        """
        if by in columns:
            return cls(((by, None),))
        names = named_columns(by)
        if len(set(names)) < len(names) or "" in names:
            raise InputError(
                f"groups must be public columns or periods, each named once, with commas between "
                f"them; got {format_value(by)}"
            )
        return cls(
            tuple(
                (_DAY, name) if name in PERIODS and name not in columns else (name, None)
                for name in names
            )
        )

    @property
    def columns(self) -> list[str]:
        """The columns that have to be read."""
        return list(dict.fromkeys(column for column, _ in self.parts))

    def strata(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the group of each of `rows`; several columns make one text."""
        found = [_in_periods(rows.column(name), period) for name, period in self.parts]
        if len(found) == 1:
            return found[0]
        texts = [_as_texts(column) for column in found]
        return pc.binary_join_element_wise(*texts, ", ", null_handling="replace")


def named_columns(by: str) -> list[str]:
    """Return the names in the grouping `by`."""
    return [name.strip() for name in by.split(",")]


def is_over_time(by: str) -> bool:
    """Return whether groups `by` this may be of the same people at several times."""
    return any(name in PERIODS for name in named_columns(by))


def _in_periods(column: pa.Array, period: str | None) -> pa.Array:
    """Return the name of the period of each day in `column`; the column itself without one."""
    if period is None:
        return column
    days = column.to_numpy(zero_copy_only=False).astype("datetime64[D]")
    starts, which = np.unique(period_starts(days, period), return_inverse=True)
    names = pa.array([period_name(start, period) for start in starts.tolist()], pa.string())
    return names.take(pa.array(which.ravel()))


def _as_texts(column: pa.Array) -> pa.Array:
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    return pc.fill_null(pc.cast(plain, pa.string()), "none")
