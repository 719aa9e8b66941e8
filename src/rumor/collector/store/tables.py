"""The tables of a SQL store, in every dialect alike, and how statements are run on them.

    collection  number, digest, series, contract (canonical JSON), open, users (the number of
                reports that intervals for any look are planned for)
    question    number, collection, id
    report      number, id (unique), question, day, report, checksum; the last three are NULL
                once the report has been deleted and only its id is kept
    summary     question, day, reports, tally (little-endian 64-bit counters), checksum
    span        question, day, last, checksum: up to which day a summary past retention goes
    drop_count  question, day, last, reports, checksum: reports past retention without a tally
    mark        number: reports up to this one are in the summaries; checksum
    early_withdrawal  id, question, day: withdrawals of reports that have not arrived
    admission   key, series: one-time tokens that were not used yet
    invited     person, series: who may enrol with an issuer
    issued      person, key, number, message: of what was signed for them a hash

Days are counted from 1970-01-01.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from typing import Any

Row = tuple[Any, ...]
Run = Callable[..., list[Row]]
"""Run a statement (with ? for each parameter) inside a transaction; the rows it gives."""

# Reports handled at a time: their time and memory are no matter.
CHUNK = 50_000
# Delete a report and keep its id.
SPEND = "UPDATE report SET report = NULL, day = NULL, checksum = NULL"
# Every question, and whether its collection takes reports.
QUESTIONS = (
    "SELECT question.number, collection.open FROM question JOIN collection"
    " ON collection.number = question.collection"
)

_EPOCH = datetime.date(1970, 1, 1)


def day_number(day: datetime.date) -> int:
    """Return a day as the store counts it."""
    return (day - _EPOCH).days


def day_of(number: int) -> datetime.date:
    """Return the day with this number."""
    return _EPOCH + datetime.timedelta(days=number)


def one_of(numbers: Collection[int]) -> str:
    """Return the SQL that compares a column with `numbers`, given as parameters."""
    return f"IN ({', '.join('?' * len(numbers))})"


def newest_number(run: Run) -> int:
    """Return the number of the last report that is there."""
    ((top,),) = run("SELECT COALESCE(MAX(number), 0) FROM report")
    return int(top)
