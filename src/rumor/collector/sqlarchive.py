"""Reports out of a SQL store and back in: for a look at some, an export, and back from one."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import numpy as np

from rumor.collector.sqlbase import Run, day_number, day_of
from rumor.collector.sqlsummaries import CHUNK, Counted, SqlSummaries, put
from rumor.collector.store import ID_BYTES, Registered, StoredReports, sorted_by_id
from rumor.errors import InputError
from rumor.report import Reports
from rumor.summary import Summary

# How far back the newest reports of a question are looked for.
_RECENT = 1_000_000


class SqlArchive(SqlSummaries):
    """Export and restoring; see `rumor.collector.store.Store` for what each method promises."""

    def reports(
        self, registered: Registered, question: str, upto: int | None = None
    ) -> Iterator[StoredReports]:
        """The reports that are still there, day by day."""
        most = (1 << 62) if upto is None else upto
        number, width = registered.questions[question], _width(registered, question)
        with self._reading() as run:
            spans = run(
                "SELECT day, MIN(number), MAX(number) FROM report"
                " WHERE question = ? AND day IS NOT NULL AND number <= ? GROUP BY day ORDER BY day",
                *(number, most),
            )
        for day, low, high in spans:
            for start in range(low, high + 1, CHUNK):
                with self._reading() as run:
                    rows = run(
                        "SELECT id, report FROM report WHERE question = ? AND day = ?"
                        " AND number >= ? AND number < ? AND number <= ?",
                        *(number, day, start, start + CHUNK, most),
                    )
                if rows:
                    flat = b"".join(bytes(id) + bytes(report) for id, report in rows)
                    whole = sorted_by_id(_rows(flat, ID_BYTES + width))
                    yield StoredReports(day_of(day), whole[:, :ID_BYTES], whole[:, ID_BYTES:])

    def newest(self, registered: Registered, question: str, most: int) -> Reports:
        """Looked for among the last reports of all questions, so that the search is bounded."""
        width = _width(registered, question)
        with self._reading() as run:
            rows = run(
                "SELECT report FROM report WHERE question = ? AND report IS NOT NULL"
                " AND number > (SELECT COALESCE(MAX(number), 0) FROM report) - ?"
                " ORDER BY number DESC LIMIT ?",
                *(registered.questions[question], _RECENT, most),
            )
        return _rows(b"".join(bytes(report) for (report,) in rows), width)

    def spent_ids(self, registered: Registered, question: str) -> Iterator[Reports]:
        """The ids of deleted reports."""
        after = b""
        while True:
            with self._reading() as run:
                rows = run(
                    "SELECT id FROM report WHERE question = ? AND report IS NULL AND id > ?"
                    f" ORDER BY id LIMIT {CHUNK}",
                    *(registered.questions[question], after),
                )
            if not rows:
                return
            after = bytes(rows[-1][0])
            yield _rows(b"".join(bytes(id) for (id,) in rows), ID_BYTES)

    def restore(
        self,
        registered: Registered,
        question: str,
        reports: Iterator[StoredReports],
        spent_ids: Iterator[Reports],
        days: dict[datetime.date, Summary],
    ) -> None:
        """Put back a question that has nothing yet, whole or not at all."""
        number = registered.questions[question]
        while True:
            self.summarize()
            with self._writing(alone=True) as run:
                ((top,),) = run("SELECT COALESCE(MAX(number), 0) FROM report")
                ((mark,),) = run("SELECT number FROM mark")
                if mark < top:
                    continue  # others wrote meanwhile: what is put back must follow the mark
                self._put_back(run, number, question, reports, spent_ids, days)
                return

    def _put_back(
        self,
        run: Run,
        number: int,
        question: str,
        reports: Iterator[StoredReports],
        spent_ids: Iterator[Reports],
        days: dict[datetime.date, Summary],
    ) -> None:
        """Insert what was counted already, and move the mark past it."""
        if run("SELECT 1 FROM report WHERE question = ? LIMIT 1", number) or run(
            "SELECT 1 FROM summary WHERE question = ? LIMIT 1", number
        ):
            raise InputError(
                f"a question must be empty to be restored; the store has reports of {question!r}"
            )
        for part in reports:
            rows = np.concatenate([part.ids, part.reports], axis=1)
            if self._insert(run, number, day_number(part.day), sorted_by_id(rows)) != len(rows):
                raise InputError("report ids must be new to the store; some are in use")
        for ids in spent_ids:
            self._insert_spent(run, number, ids)
        for day, summary in days.items():
            put(run, Counted(number, day_number(day), summary.reports, summary.tally))
        run("UPDATE mark SET number = (SELECT COALESCE(MAX(number), 0) FROM report)")


def _rows(flat: bytes, width: int) -> Reports:
    return np.frombuffer(flat, dtype=np.uint8).reshape(-1, width)


def _width(registered: Registered, question: str) -> int:
    return registered.collection.question(question).mechanism.width
