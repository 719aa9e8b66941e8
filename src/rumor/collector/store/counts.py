"""The rows of counts: the tally of a question's day, and the mark of what is counted."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rumor.collector.store.checksums import checksum, damage_error
from rumor.collector.store.tables import Row, Run
from rumor.core.types import Tally
from rumor.mechanisms.summary import Summary

COLUMNS = "question, day, reports, tally, checksum"


@dataclass(frozen=True)
class DayTally:
    """The tally of some reports of one question and one day."""

    question: int
    day: int
    reports: int
    tally: Tally

    def __add__(self, other: DayTally) -> DayTally:
        """Add two tallies of one question and day."""
        return replace(self, reports=self.reports + other.reports, tally=self.tally + other.tally)

    def __sub__(self, other: DayTally) -> DayTally:
        """Subtract a tally that this one contains."""
        left = replace(self, reports=self.reports - other.reports, tally=self.tally - other.tally)
        if left.reports < 0 or (left.tally < 0).any():
            raise damage_error(f"the counts of day {self.day} lack reports that were counted")
        return left


def put(run: Run, counted: DayTally) -> None:
    """Write the summary of a day in place of what was there; nothing where nothing is counted."""
    run("DELETE FROM summary WHERE (question, day) = (?, ?)", counted.question, counted.day)
    if counted.reports:
        tally = counted.tally.astype("<i8").tobytes()
        numbers = (counted.question, counted.day, counted.reports)
        run(
            f"INSERT INTO summary ({COLUMNS}) VALUES (?, ?, ?, ?, ?)",
            *(*numbers, tally, checksum(*numbers, data=tally)),
        )


def read_summary(run: Run, question: int, day: int) -> DayTally | None:
    """Return the summary of a day, if there is one."""
    rows = run(f"SELECT {COLUMNS} FROM summary WHERE (question, day) = (?, ?)", *(question, day))
    return checked_summary(rows[0]) if rows else None


def checked_summary(row: Row, empty: Summary | None = None) -> DayTally:
    """Return a row of the summaries if its checksum fits (and its shape that of `empty`)."""
    question, day, reports, tally, stored = row
    try:
        intact = bytes(stored) == checksum(question, day, reports, data=bytes(tally))
    except (TypeError, struct.error):
        intact = False
    if not intact:
        raise damage_error(f"the counts of day {day} of a question do not fit their checksum")
    found = np.frombuffer(tally, dtype="<i8").astype(np.int64)
    if empty is not None and found.size != empty.tally.size:
        raise damage_error(f"the counts of day {day} are of another question")
    return DayTally(question, day, reports, found)


def read_mark(run: Run) -> int:
    """Return the number of the last report that is counted."""
    ((number, stored),) = run("SELECT number, checksum FROM mark")
    return checked_mark(number, stored)


def checked_mark(number: Any, stored: Any) -> int:
    """Return the mark, if it is what was stored."""
    if not isinstance(number, int) or stored is None or bytes(stored) != checksum(number):
        raise damage_error("the mark of what is counted does not fit its checksum")
    return number


def move_mark(run: Run, end: int, mark: int) -> bool:
    """Move the mark, if it still is where it was."""
    move = "UPDATE mark SET number = ?, checksum = ? WHERE number = ? RETURNING number"
    return bool(run(move, end, checksum(end), mark))
