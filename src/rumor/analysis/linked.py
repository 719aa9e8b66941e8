"""Linked reports of two questions: joined person by person, where the collection declared it.

A public column of both files identifies the person of a report (`rumor privatize --keep`).
People in only one of the files are left out and counted; a person who is in a file twice is
refused, since nobody knows which report is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.analysis.counting import Totals
from rumor.analysis.estimate import Analysis, as_collection
from rumor.analysis.sources import ParquetSource
from rumor.contract.collection import Collection, Question
from rumor.contract.linking import Linked, table_kind
from rumor.core.checks import checked_choice
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.reports import Reports
from rumor.core.types import Days
from rumor.mechanisms.summary import Summary
from rumor.results.view import View


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkedAnalysis(Analysis):
    """The table of two questions that were asked apart, and how it is shown."""

    partner: Question
    """The question of the columns; that of the rows is `question`."""
    on: str
    """The public column that identifies a person in both files."""
    alone: dict[str, int]
    """The number of reports of each question that had no partner and were left out."""

    @property
    def reports(self) -> int:
        """The number of people with a report of each question."""
        return int(self.estimates[None].reports)

    def summary(self) -> Summary:
        """Refuse: counts of either question do not say which reports belong together."""
        raise InputError("a saved summary holds one question; got linked reports of two")

    def _names(self) -> dict[str, object]:
        ids = [self.question.id, self.partner.id]
        return {"questions": ids, "on": self.on, "alone": self.alone}

    def _title(self) -> str:
        return f"{self.question.id} and {self.partner.id}"

    def _heading(self) -> str:
        lines = [f"{q.id}: {q.text}" for q in (self.question, self.partner) if q.text]
        return "\n".join(lines)

    def _omissions(self) -> list[str]:
        alone = [f"{count:,} reports of {id}" for id, count in self.alone.items()]
        return [*super()._omissions(), f"{' and '.join(alone)} had no partner and were left out"]


def analyse_linked(
    collection_file: PathLike | Collection,
    path: PathLike,
    linked: PathLike,
    *,
    on: str,
    method: str = "auto",
    window: Days = (None, None),
    skip_invalid: bool = False,
    view: View | None = None,
    together: Sequence[str] = (),
) -> LinkedAnalysis:
    """Estimate the table of two linked questions, from a reports file (or folder) of each.

    `on` is a public column that both have, with another value for each person. The files may be
    given in any order; which question is rows is as the collection declares it.
    """
    collection = as_collection(collection_file)
    ids = _linked_questions(collection)
    checked_choice("method", method, table_kind(collection.question(ids[0])).methods())
    sources = [_source(place, collection, window) for place in (path, linked)]
    named = {source.question.id: source for source in sources}
    if set(named) != set(ids):
        got = " and ".join(repr(source.question.id) for source in sources)
        raise InputError(
            f"linked reports must be of {ids[0]!r} and {ids[1]!r}, a file (or folder) of each; "
            f"got reports of {got}"
        )
    first, second = (_read_reports(named[id], on, skip_invalid) for id in ids)
    return _join(collection, ids, on, (first, second), method, view or View(), together)


def _linked_questions(collection: Collection) -> Linked:
    """Return the ids of the two questions whose reports may be joined."""
    if collection.linked is None:
        raise InputError(
            f"reports of two questions can be linked only if the collection declares it "
            f"(linked = [...]); {collection.name!r} does not"
        )
    return collection.linked


def _source(path: PathLike, collection: Collection, window: Days) -> ParquetSource:
    if Summary.is_file(path):
        raise InputError(
            f"linking needs the single reports of both questions; got the summary {str(path)!r}"
        )
    return ParquetSource(path, collection, window=window)


@dataclass(frozen=True)
class _RespondentReports:
    """The reports of one question, one for each person, with the person's value."""

    question: Question
    whose: pa.Array
    reports: Reports
    nobodys: int
    """The number of reports without a value in the column."""
    skipped: int
    """The number of invalid reports, which were left out."""


def _read_reports(source: ParquetSource, on: str, skip_invalid: bool) -> _RespondentReports:
    """Return the reports of a source with the values that identify people, each person once."""
    question = source.question
    batches = list(source.with_column(on))
    if not any(len(own) for own, _ in batches):
        raise InputError(
            f"{source.files[0].path}: joining needs reports of these days; got none of "
            f"{question.id!r}"
        )
    reports = np.concatenate([own for _, own in batches])
    whose = pa.concat_arrays([own for own, _ in batches])
    repeated = len(whose.drop_null()) - len(pc.unique(whose.drop_null()))
    if repeated:
        raise InputError(
            f"{source.files[0].path}: each person must have one report of {question.id!r}, with a "
            f"value of {on!r} of their own; got {repeated:,} more with one that came before"
        )
    validity = question.mechanism.validate(reports)
    if not skip_invalid:
        validity.require(f"reports of {question.id!r}")
    known = np.asarray(whose.is_valid())
    kept = np.flatnonzero(validity.valid & known)
    return _RespondentReports(
        question,
        whose.take(pa.array(kept)),
        reports[kept],
        int(np.count_nonzero(validity.valid & ~known)),
        int(np.count_nonzero(~validity.valid)),
    )


def _join(
    collection: Collection,
    ids: Linked,
    on: str,
    people: tuple[_RespondentReports, _RespondentReports],
    method: str,
    view: View,
    together: Sequence[str],
) -> LinkedAnalysis:
    """Estimate from the people who are in both files."""
    first, second = people
    if first.whose.type != second.whose.type:
        raise InputError(
            f"the column {on!r} must be of one type in both files; got {first.whose.type} beside "
            f"the reports of {ids[0]!r} and {second.whose.type} beside those of {ids[1]!r}"
        )
    place = pc.index_in(first.whose, value_set=second.whose)
    rows = np.flatnonzero(np.asarray(place.is_valid()))
    if not rows.size:
        raise InputError(f"linked reports must have people in common; no {on!r} is in both files")
    aligned: dict[str, tuple[Any, Reports]] = {
        ids[0]: (first.question.mechanism, first.reports[rows]),
        ids[1]: (second.question.mechanism, second.reports[place.drop_null().to_numpy()]),
    }
    return LinkedAnalysis(
        collection,
        first.question,
        Totals({}, first.skipped + second.skipped),
        {None: table_kind(first.question).estimate_linked(aligned, method)},
        None,
        view,
        tuple(together),
        partner=second.question,
        on=on,
        alone={
            one.question.id: len(one.reports) + one.nobodys - len(rows) for one in (first, second)
        },
    )
