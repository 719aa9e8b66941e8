"""Days of rows: a column of dates or timestamps as the calendar days of one time zone.

A timestamp with an offset is a moment: its day is that of `zone`. One without is a local time
already, and its day is the one that it says. Weeks begin on Monday.
"""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.core.answer_table import AnswerTable
from rumor.core.checks import checked_choice
from rumor.core.errors import AnswerError, InputError, format_value

PERIODS = ("day", "week", "month")
"""The lengths of periods, by the word that options take."""

_RULE = "a day must be a date or a timestamp, such as 2026-03-01 or 2026-03-01T09:30:00+01:00"
_OFFSET = r"([Zz]|[0-9][+-][0-9]{2}:?[0-9]{2})\s*$"
_THURSDAY = 3  # 1970-01-01, day 0, was three days after a Monday


@dataclass(frozen=True)
class DayColumn:
    """A column of a table that says when each row happened, and the time zone of its days."""

    column: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            zoneinfo.ZoneInfo(self.zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise InputError(
                f"a time zone must be UTC or a name such as Europe/Berlin; "
                f"got {format_value(self.zone)}"
            ) from None

    def read(self, table: AnswerTable) -> NDArray[np.datetime64]:
        """Return the day of every row of `table`."""
        found, before = [np.zeros(0, dtype="datetime64[D]")], 0
        for batch in table.batches([self.column]):
            with table.locate_errors(self.column, before):
                found.append(self.days(batch.column(0)))
            before += len(batch)
        return np.concatenate(found)

    def days(self, cells: pa.Array) -> NDArray[np.datetime64]:
        """Return the days of `cells`, or raise an AnswerError that says which one is none."""
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if pa.types.is_large_string(cells.type):
            cells = cells.cast(pa.string())
        if pa.types.is_string(cells.type):
            cells = pc.utf8_trim_whitespace(cells)
        _refuse_missing(cells)
        if pa.types.is_string(cells.type):
            return self._of_texts(cells)
        if pa.types.is_timestamp(cells.type):
            return self._of_timestamps(cells)
        if pa.types.is_date(cells.type):
            return _as_days(cells)
        raise InputError(f"{_RULE}; got a column of {cells.type}")

    def _of_texts(self, cells: pa.Array) -> NDArray[np.datetime64]:
        days = np.empty(len(cells), dtype="datetime64[D]")
        moments = np.asarray(pc.match_substring_regex(cells, _OFFSET), dtype=np.bool_)
        for chosen, zone in ((moments, "UTC"), (~moments, None)):
            rows = np.flatnonzero(chosen)
            if rows.size:
                try:
                    stamps = cells.take(pa.array(rows)).cast(pa.timestamp("us", tz=zone))
                except pa.ArrowInvalid:  # whose message quotes the cell
                    stamps = None
                if stamps is None:
                    raise AnswerError(_RULE, _first_unreadable(cells, rows, zone))
                days[rows] = self._of_timestamps(stamps)
        return days

    def _of_timestamps(self, stamps: pa.Array) -> NDArray[np.datetime64]:
        if stamps.type.tz is not None:
            stamps = stamps.cast(pa.timestamp(stamps.type.unit, tz=self.zone))
            stamps = pc.local_timestamp(stamps)
        return _as_days(pc.floor_temporal(stamps, unit="day"))


def _refuse_missing(cells: pa.Array) -> None:
    missing = cells.is_null()
    if pa.types.is_string(cells.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(cells, ""), False))
    row = pc.index(missing, True).as_py()
    if row >= 0:
        raise AnswerError(_RULE, row, "nothing")


def _first_unreadable(cells: pa.Array, rows: NDArray[np.intp], zone: str | None) -> int:
    """Return the first of `rows` whose cell is no timestamp of this kind."""
    kind = pa.timestamp("us", tz=zone)
    for row in rows.tolist():
        try:
            cells.slice(row, 1).cast(kind)
        except pa.ArrowInvalid:
            return int(row)
    return int(rows[0])


def _as_days(dates: pa.Array) -> NDArray[np.datetime64]:
    found: NDArray[np.datetime64] = dates.cast(pa.date32()).to_numpy(zero_copy_only=False)
    return found.astype("datetime64[D]")


def period_starts(days: NDArray[np.datetime64], every: str) -> NDArray[np.datetime64]:
    """Return the first day of the day, week or month that each of `days` lies in."""
    if checked_choice("a period", every, PERIODS) == "month":
        return days.astype("datetime64[M]").astype("datetime64[D]")
    if every == "week":
        numbers = days.astype(np.int64)
        return (numbers - (numbers + _THURSDAY) % 7).astype("datetime64[D]")
    return days


def period_name(start: datetime.date, every: str) -> str:
    """Return the name of the period that begins on `start`: its month, or its first day."""
    return start.isoformat()[:7] if every == "month" else start.isoformat()
