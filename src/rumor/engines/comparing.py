"""Groups of stored reports beside each other: what `rumor compare` does, without its options."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError, shown
from rumor.core.files import PathLike
from rumor.core.settings import checked_method
from rumor.core.types import Days, Progress
from rumor.engines import Engine
from rumor.engines.analysis import count, opened, stratum_name
from rumor.engines.people import repeated_within, require_different
from rumor.engines.sources import checked_window
from rumor.estimators.decode.candidates import read_words
from rumor.kinds import KINDS
from rumor.kinds.comparing import Group, compare_groups
from rumor.mechanisms.summary import Summary
from rumor.results.comparison import Comparison


@dataclass(frozen=True)
class Counting:
    """How stored reports are counted: where, which of them, and with which words."""

    engine: str | Engine | AbstractContextManager[Engine] = "local"
    window: Days = (None, None)
    distinct_ids: bool = False
    skip_invalid: bool = False
    candidates: PathLike | None = None
    on_progress: Progress | None = None
    assume: str | None = None
    """What intervals of ordered answers assume of the distribution."""

    def groups(
        self,
        collection: Collection,
        path: PathLike,
        question: str | None,
        by: str | None = None,
        window: Days | None = None,
    ) -> tuple[Question, dict[str, Summary]]:
        """The question, and a summary for each group of a public column, by its name."""
        with count(
            collection,
            path,
            question=question,
            engine=self.engine,
            by=by,
            window=self.window if window is None else window,
            distinct_ids=self.distinct_ids,
            skip_invalid=self.skip_invalid,
            on_progress=self.on_progress,
        ) as counted:
            named = counted.totals.summaries.items()
            # The contract's own mechanism: one read from a file does not know the labels.
            mechanism = counted.question.mechanism
            return counted.question, {
                stratum_name(stratum): Summary(
                    mechanism, one.reports, one.tally, one.contract, one.question
                )
                for stratum, one in named
            }

    def options(self, question: Question) -> dict[str, Any]:
        """Return what the kind makes of the words, and what intervals assume."""
        words = None if self.candidates is None else read_words(self.candidates)
        kind = KINDS[question.kind]
        known = kind.dictionary(question.id, question.mechanism, words, self.on_progress)
        if self.assume is None:
            return known
        checked_method("auto", {"assume": self.assume}, kind.options())
        return {**known, "assume": self.assume}


@dataclass(frozen=True)
class Stored:
    """Reports to one question of a collection: where they are, and how they are counted."""

    collection: PathLike | Collection
    path: PathLike
    question: str | None = None
    different_people: bool = False
    """Whether nobody is said to be in two groups of them."""
    counting: Counting = Counting()

    def groups(self, by: str) -> tuple[Question, dict[str, Summary]]:
        """The question, and a summary for each group of a public column, by its name."""
        return self.counting.groups(opened(self.collection), self.path, self.question, by)


def compare_reports(
    collection: PathLike | Collection,
    first: PathLike,
    second: PathLike | None = None,
    *,
    question: str | None = None,
    other: PathLike | Collection | None = None,
    by: str | None = None,
    against: str | None = None,
    periods: Sequence[Days] = (),
    different_people: bool = False,
    of: str = "population",
    counting: Counting | None = None,
) -> Comparison:
    """What differs between groups of reports.

    Two files, folders or summaries; or one, in groups `by` a public column, or in `periods` of
    days. `other` is the collection of the second, where it is another one that asks the same.
    Reports of the same people are refused where they share permanent noise, unless they are said
    to be of `different_people`.
    """
    how, contract = counting or Counting(), opened(collection)
    ways = [second is not None, by is not None, bool(periods)]
    if sum(ways) != 1:
        raise InputError(
            "a comparison is of two files, of groups (--by) or of periods (--period, twice or "
            f"more); got {sum(ways)} of these"
        )
    if periods and how.window != (None, None):
        raise InputError("periods say which days are compared; got --from or --to beside them")
    if other is not None and second is None:
        raise InputError("another collection is that of a second file; got none beside it")
    if by is not None:
        asked, found = how.groups(contract, first, question, by)
        notes = (
            require_different(asked, "days", different_people)
            if by == "day"
            else repeated_within(asked, different_people)
        )
    elif periods:
        found = {}
        for window in periods:
            asked, one = how.groups(contract, first, question, window=window)
            found[period_name(window)] = one[stratum_name(None)]
        notes = require_different(asked, "periods", different_people)
    else:
        assert second is not None
        asked, found, notes = _files(
            contract, other, (first, second), question, different_people, how
        )
    kind = KINDS[asked.kind]
    return compare_groups(
        kind,
        [Group(name, summary) for name, summary in found.items()],
        against=against,
        of=of,
        options=how.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )


def question_heading(asked: Question) -> str:
    """The question over a table."""
    return f"{asked.id}: {asked.text}" if asked.text else asked.id


def read_period(text: str) -> Days:
    """FIRST..LAST, either of which may be left out, or one day."""
    first, dots, last = text.partition("..")
    try:
        start, end = (datetime.date.fromisoformat(day) if day else None for day in (first, last))
    except ValueError:
        start = end = None
    if start is None and end is None:
        raise InputError(f"a period must be days written FIRST..LAST; got {shown(text)}")
    return checked_window((start, end if dots else start))


def period_name(window: Days) -> str:
    """A period as it is written."""
    first, last = ("" if day is None else str(day) for day in window)
    return first if first == last else f"{first}..{last}"


def file_names(paths: Sequence[PathLike]) -> list[str]:
    """What files are called beside each other: shortly, where that tells them apart."""
    places = [Path(path).resolve() for path in paths]
    if len(set(places)) < len(places):
        twice = next(
            path for path, place in zip(paths, places, strict=True) if places.count(place) > 1
        )
        raise InputError(f"groups must be different files; got {str(twice)!r} twice")
    stems = [Path(path).stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _files(
    contract: Collection,
    other: PathLike | Collection | None,
    paths: tuple[PathLike, PathLike],
    question: str | None,
    different_people: bool,
    how: Counting,
) -> tuple[Question, dict[str, Summary], list[str]]:
    """Two files; people may be in both where they are asked again, or in a revision."""
    names = file_names(paths)
    second = contract if other is None else opened(other)
    asked, one = how.groups(contract, paths[0], question)
    beside, two = how.groups(second, paths[1], asked.id if other is None else question)
    if beside.kind != asked.kind:
        raise InputError(
            f"both questions must be of one kind; got {asked.kind!r} and {beside.kind!r}"
        )
    notes = require_different(asked, "files", different_people)
    if not notes:
        notes = require_different(beside, "files", different_people)
    if second != contract and second.series == contract.series and not different_people:
        notes.append(
            "both collections are of one series: people may have answered both, and intervals "
            "are then somewhat too large."
        )
    whole = stratum_name(None)
    return asked, {names[0]: one[whole], names[1]: two[whole]}, notes
