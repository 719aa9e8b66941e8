"""Counts made by a warehouse: a table of them, as the summary of the reports behind it.

A table has either a row for each different report with its number (`report`, `count`), for any
mechanism; or a row for each value with the number of reports that support it and the number of all
reports (`value`, `count`, `reports`), for mechanisms whose summaries hold no more than that.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rumor.contract.collection import Collection, Question
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Tally
from rumor.kinds import KINDS
from rumor.kinds.reading import TableAnswers, read_histogram
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.summary import Summary

BY_REPORT, BY_VALUE = ("report", "count"), ("value", "count")
_IN_ALL = "reports"
_MAX_COUNT = 1 << 62


def summary_of_counts(collection: Collection, question: Question, table: AnswerTable) -> Summary:
    """Return the summary that a table of counts describes, if reports can have these counts."""
    names = set(table.schema.names)
    if set(BY_REPORT) <= names:
        reports, tally = _by_report(question, table)
    elif set(BY_VALUE) <= names:
        reports, tally = _by_value(question, table)
    else:
        raise InputError(
            f"{table.path}: a table of counts must have the columns {' and '.join(BY_REPORT)}, or "
            f"value, count and reports; got {', '.join(table.schema.names)}"
        )
    mechanism = question.mechanism
    mechanism.check_report_count(reports)
    if not mechanism.consistent(tally, reports):
        raise InputError(
            f"{table.path}: counts must be those of the number of reports; got counts that no "
            f"{reports:,} reports of {mechanism.name!r} have"
        )
    return Summary(mechanism, reports, tally, collection.digest, question.id)


def _by_report(question: Question, table: AnswerTable) -> tuple[int, Tally]:
    mechanism = question.mechanism
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    total = 0
    for batch in table.batches(BY_REPORT, ["text", "integer"]):
        with table.locate_errors("report"):
            reports = _bytes(batch.column(0), mechanism.width)
            mechanism.validate(reports).require()
        counts = _counts(table, batch.column(1))
        total += sum(counts.tolist())
        if total > _MAX_COUNT:
            mechanism.check_report_count(total)
        # A report that came n times is counted for each binary digit of n.
        for digit in range(int(counts.max()).bit_length()):
            chosen = np.flatnonzero(counts >> digit & 1)
            if chosen.size:
                tally += mechanism.tally(np.ascontiguousarray(reports[chosen])) << digit
    return total, tally


def _bytes(column: pa.Array, width: int) -> Reports:
    """Return reports given as bytes or as hexadecimal digits, the way databases write them."""
    rule = f"a report must be {width} bytes, or {2 * width} hexadecimal digits"
    found = []
    for cell in column.to_pylist():
        try:
            one = bytes.fromhex(cell.removeprefix("\\x")) if isinstance(cell, str) else bytes(cell)
        except (ValueError, TypeError):
            raise InputError(f"{rule}; got something else") from None
        if len(one) != width:
            raise InputError(f"{rule}; got {len(one)} bytes")
        found.append(one)
    return np.frombuffer(b"".join(found), dtype=np.uint8).reshape(-1, width)


def _by_value(question: Question, table: AnswerTable) -> tuple[int, Tally]:
    mechanism = question.mechanism
    if not isinstance(mechanism, FrequencyOracle) or not mechanism.tally_is_support_counts:
        raise InputError(
            f"{table.path}: reports of {mechanism.name!r} are more than counts of values; count "
            f"each different report (columns report and count)"
        )
    values = [cell for batch in table.batches(["value"]) for cell in batch.column(0).to_pylist()]
    if len(set(values)) != len(values):
        raise InputError(f"{table.path}: each value must have one row; got one twice")
    spoken = mechanism.spoken()
    reader = KINDS[question.kind].reader(spoken)
    tally = read_histogram(spoken, reader, TableAnswers(table, question.id, None))
    if _IN_ALL in table.schema.names:
        batches = table.batches([_IN_ALL], ["integer"])
        said = {int(n) for batch in batches for n in _counts(table, batch.column(0))}
        if len(said) != 1:
            raise InputError(
                f"{table.path}, column {_IN_ALL!r}: the number of all reports must be the same in "
                f"every row; got {len(said)} numbers"
            )
        return said.pop(), tally
    if mechanism.counters_per_report == 1:
        return int(tally.sum()), tally
    raise InputError(
        f"{table.path}: reports of {mechanism.name!r} support several values, so a column "
        f"{_IN_ALL!r} must say how many there are; got none"
    )


def _counts(table: AnswerTable, column: pa.Array) -> Tally:
    numbers = column.to_pylist()
    if any(
        isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= _MAX_COUNT for n in numbers
    ):
        raise InputError(f"{table.path}: counts must be integers of 0 or more; got one that is not")
    return np.array(numbers, dtype=np.int64)
