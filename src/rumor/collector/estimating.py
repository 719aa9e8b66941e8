"""From a stored summary to the analyst's answer: plain data, or a file to keep."""

from __future__ import annotations

import datetime
import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rumor.collector.chart_rendering import picture
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.kinds import KINDS
from rumor.mechanisms import Mechanism
from rumor.mechanisms.summary import Summary
from rumor.privacy.integrity import co_support
from rumor.results.selection import RankedRows

if TYPE_CHECKING:
    from rumor.collector.service import EstimateQuery
    from rumor.contract.collection import Question
    from rumor.results.view import View


_NO_TEST = "There is no test for crafted reports of this kind of question."


def make_estimate(
    question: Question,
    summary: Summary,
    method: str,
    dictionary: Sequence[str] | None,
    rounds: Sequence[Summary] | None = None,
) -> Any:
    """Return the estimate; open vocabularies are decoded with the dictionary.

    `rounds` are the summaries of all rounds, where the mechanism has such (PrivKVM).
    """
    kind = KINDS[question.kind]
    options = kind.collector_options(dictionary)
    if rounds is not None:
        return kind.estimate_rounds(rounds, method)
    return kind.estimate(question.mechanism, summary, method, options)


class KeptEstimates:
    """The estimates asked for last, by the counts that they were made of.

    One visit of the dashboard asks for an estimate in several forms, and the next one asks again.
    Whatever changes the counts (reports, withdrawals, other days or groups) asks for another.
    """

    def __init__(self, most: int = 16, most_rows: int = 1 << 20) -> None:
        """Keep at most `most` estimates, with at most `most_rows` rows together."""
        self._most, self._most_rows = most, most_rows
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        # A request that was given up leaves its thread behind, beside that of the next one.
        self._changing = threading.Lock()

    def estimate(
        self,
        question: Question,
        summary: Summary,
        method: str,
        dictionary: Sequence[str] | None,
        rounds: Sequence[Summary] | None = None,
    ) -> Any:
        """Return the estimate that `make_estimate` makes, made now or kept from before."""
        key = _counts_digest(summary, method, rounds)
        with self._changing:
            result = self._kept.get(key)
        if result is None:
            result = make_estimate(question, summary, method, dictionary, rounds)
        with self._changing:
            self._kept[key] = result
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self._is_full():
                self._kept.popitem(last=False)
        return result

    def _is_full(self) -> bool:
        rows = sum(np.size(one.stderr) for one in self._kept.values())
        return len(self._kept) > self._most or rows > self._most_rows


def _counts_digest(summary: Summary, method: str, rounds: Sequence[Summary] | None) -> bytes:
    """Return the digest of all that an estimate is made of: contract, question, method, counts."""
    used = [summary, *(rounds or ())]
    parts = [f"{one.contract} {one.question} {one.reports} {one.tally.size}" for one in used]
    digest = hashlib.sha256("\n".join([method, *parts, ""]).encode())
    for one in used:
        digest.update(np.ascontiguousarray(one.tally).data)
    return digest.digest()


def as_data(result: Any, query: EstimateQuery) -> Mapping[str, Any]:
    """Return the estimate as plain data.

    With it come the number of reports that halves its error, and how many values stand out from
    noise.
    """
    answer: Mapping[str, Any] = result.to_dict(query.view)
    found = {} if query.find is None else _found(result, query)
    return {**answer, **found, "halving": _halving(result), **_above_noise(result, query.view)}


def _above_noise(result: Any, view: View) -> dict[str, Any]:
    """Return how many of the values stand out from noise, if the rows are values with shares."""
    if not isinstance(result, RankedRows):
        return {}
    values = result.above_noise(view.for_file(result.LISTING))
    return {"above_noise": {"values": values, "of": len(result.values)}}


def _found(result: Any, query: EstimateQuery) -> dict[str, Any]:
    """Return the rows of the values whose names contain the text that `query` seeks."""
    assert query.find is not None
    if not isinstance(result, RankedRows):
        raise InputError(
            f"find needs a question whose answers have names; got it for {query.question!r}"
        )
    places = result.containing(query.find)
    columns = result.cells(places[: query.view.rows], query.view.for_file(result.LISTING))
    rows = [
        column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()
    ]
    estimates = [dict(zip(columns, row, strict=True)) for row in zip(*rows, strict=True)]
    return {"found": len(places), "estimates": estimates}


def comparison_data(
    question: Question,
    periods: Mapping[str, Summary],
    different_people: bool,
    dictionary: Sequence[str] | None,
    view: View,
) -> Mapping[str, Any]:
    """Return the comparison of two `periods` as plain data, computed as by `rumor compare`."""
    from rumor.analysis.compare.method import ReportGroup, compare_groups
    from rumor.analysis.people import require_different

    kind = KINDS[question.kind]
    notes = require_different(question, "periods", different_people)
    for name, summary in periods.items():
        if summary.reports == 0:
            raise InputError(f"a comparison needs reports of both periods; got none of {name!r}")
    groups = [ReportGroup(name, summary) for name, summary in periods.items()]
    options = kind.collector_options(dictionary)
    return compare_groups(kind, groups, options=options, notes=notes, of=view.of).to_dict(view)


def trend_data(
    question: Question,
    days: Mapping[datetime.date, Summary],
    every: str,
    different_people: bool,
    dictionary: Sequence[str] | None,
    spans: Mapping[datetime.date, datetime.date] | None = None,
) -> Mapping[str, Any]:
    """Return the trend over `days` as plain data, with what a weekly watch has found.

    Memoised answers must be of different people.
    """
    from rumor.analysis.people import require_different
    from rumor.analysis.trend.method import estimate_trend
    from rumor.analysis.trend.periods import Periods
    from rumor.analysis.trend.watching import estimate_watch

    kind = KINDS[question.kind]
    notes = require_different(question, "days", different_people)
    some = {day: summary for day, summary in days.items() if summary.reports}
    options = kind.collector_options(dictionary)
    found = estimate_trend(kind, some, every=every, options=options, notes=notes, spans=spans)
    watch = estimate_watch(kind, Periods.of(some, "week", spans), options=options)
    return {**found.to_dict(), "watch": watch.changes_as_dict()}


def _halving(result: Any) -> dict[str, Any]:
    """Return how many more reports halve the standard errors: they fall with the square root."""
    errors = np.atleast_1d(result.stderr)
    known = errors[np.isfinite(errors)]
    return {
        "more_reports": 3 * result.reports,
        "stderr": float(known.max()) if known.size else None,
    }


def _csv(result: Any, query: EstimateQuery, title: str) -> bytes:
    text: str = result.to_csv(query.view)
    return text.encode("utf-8")


def _parquet(result: Any, query: EstimateQuery, title: str) -> bytes:
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(result.to_arrow(query.view), file)
    return file.getvalue()


def _picture(result: Any, query: EstimateQuery, title: str) -> bytes:
    return picture(query.format, result.plot(None, query.view, title=title).to_dict())


Maker = Callable[[Any, "EstimateQuery", str], bytes]
_FILES: Mapping[str, Maker] = {
    "csv": _csv,
    "parquet": _parquet,
    "png": _picture,
    "svg": _picture,
}


def as_file(result: Any, query: EstimateQuery, title: str) -> bytes:
    """Return the estimate in the file format that the query asks for."""
    return _FILES[query.format](result, query, title)


def integrity(mechanism: Mechanism, reports: Reports) -> dict[str, Any]:
    """Return whether `reports` look crafted, if the mechanism allows a test."""
    untested = {"testable": False, "alarm": False, "deviations": None, "reports": len(reports)}
    if mechanism.oracle is None:
        return {**untested, "explanation": _NO_TEST}
    try:
        found = co_support(mechanism.oracle, reports)
    except InputError as problem:
        sentence = str(problem)
        return {**untested, "explanation": f"{sentence[0].upper()}{sentence[1:]}."}
    return {
        "testable": found.testable,
        "alarm": found.alarm,
        "deviations": found.deviations if found.testable else None,
        "reports": len(reports),
        "explanation": found.explanation,
    }
