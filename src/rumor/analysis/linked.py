"""Reports of two questions joined person by person, where the collection declared it.

Whose reports are whose is told by a public column that both files have (`rumor privatize --keep`).
Who is in one of the files alone says nothing of how answers go together, and is left out and
counted; a person who is in a file twice is refused, since nobody knows which report is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumor.analysis.counting import Totals
from rumor.analysis.estimate import Analysis, opened
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
    """The table of two questions that were asked apart, and how it is to be shown."""

    partner: Question
    """The question of the columns; that of the rows is `question`."""
    on: str
    """The column that tells whose reports are whose."""
    alone: dict[str, int]
    """For each question, how many reports had no partner and were left out."""

    @property
    def reports(self) -> int:
        """How many people have a report of each."""
        return int(self.estimates[None].reports)

    def summary(self) -> Summary:
        """There is none: counts of either question do not tell who gave them."""
        raise InputError("a saved summary holds one question; got reports of two that were joined")

    def _names(self) -> dict[str, object]:
        ids = [self.question.id, self.partner.id]
        return {"questions": ids, "on": self.on, "alone": self.alone}

    def _title(self) -> str:
        return f"{self.question.id} and {self.partner.id}"

    def _heading(self) -> str:
        lines = [f"{q.id}: {q.text}" for q in (self.question, self.partner) if q.text]
        return "\n".join(lines)

    def _left_out(self) -> list[str]:
        alone = [f"{count:,} reports of {id}" for id, count in self.alone.items()]
        return [*super()._left_out(), f"{' and '.join(alone)} had no partner and were left out"]


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
    """The table of two linked questions, from a reports file (or a folder of them) of each.

    `on` is a public column that both have, with another value for each person. The files may be
    given in any order; which question is rows is as the collection declares it.
    """
    collection = opened(collection_file)
    ids = _declared(collection)
    checked_choice("method", method, table_kind(collection.question(ids[0])).methods())
    sources = [_source(place, collection, window) for place in (path, linked)]
    named = {source.question.id: source for source in sources}
    if set(named) != set(ids):
        got = " and ".join(repr(source.question.id) for source in sources)
        raise InputError(
            f"linked reports must be of {ids[0]!r} and {ids[1]!r}, a file (or folder) of each; "
            f"got reports of {got}"
        )
    first, second = (_people(named[id], on, skip_invalid) for id in ids)
    return _joined(collection, ids, on, (first, second), method, view or View(), together)


def _declared(collection: Collection) -> Linked:
    """The two questions whose reports may be joined."""
    if collection.linked is None:
        raise InputError(
            f"reports of two questions are joined only where the people who answered were told "
            f"(linked = [...] in the collection); {collection.name!r} does not say so"
        )
    return collection.linked


def _source(path: PathLike, collection: Collection, window: Days) -> ParquetSource:
    if Summary.is_file(path):
        raise InputError(f"reports are joined one by one; got a summary, {str(path)!r}")
    return ParquetSource(path, collection, window=window)


@dataclass(frozen=True)
class _People:
    """Everybody's report of one question, and whose it is."""

    question: Question
    whose: pa.Array
    reports: Reports
    nobodys: int
    """Reports without a value in the column."""
    skipped: int
    """Invalid ones, left out."""


def _people(source: ParquetSource, on: str, skip_invalid: bool) -> _People:
    """The reports of a source with what tells people apart, every person once."""
    question = source.question
    batches = list(source.beside(on))
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
    return _People(
        question,
        whose.take(pa.array(kept)),
        reports[kept],
        int(np.count_nonzero(validity.valid & ~known)),
        int(np.count_nonzero(~validity.valid)),
    )


def _joined(
    collection: Collection,
    ids: Linked,
    on: str,
    people: tuple[_People, _People],
    method: str,
    view: View,
    together: Sequence[str],
) -> LinkedAnalysis:
    """The estimate of those who are in both."""
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
