"""Comparisons of groups: their differences in the quantities that their kind estimates.

`compare_reports` does the work of the command `rumor compare`.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rumor.analysis.compare.quantities import (
    Differences,
    QuantileDifferences,
    collect_notes,
    differences,
    measure_groups,
)
from rumor.analysis.compare.result import Comparison, Pair
from rumor.analysis.engines.base import Engine
from rumor.analysis.estimate import as_collection, count, stratum_name
from rumor.analysis.grouping import Grouping, is_over_time
from rumor.analysis.people import repeated_within, require_different
from rumor.analysis.sources import checked_window
from rumor.analysis.survey import (
    DesignColumns,
    ReportRows,
    Student,
    check_design_target,
    kept_scores,
    read_rows,
    scored,
    weigh_scores,
    weighted_difference,
)
from rumor.contract.collection import Collection, Question
from rumor.core.checks import checked_method
from rumor.core.columns import as_column
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.types import Days, Progress, Vector
from rumor.estimators.data import as_summary
from rumor.estimators.groups import OmnibusTest
from rumor.estimators.multiple_testing import holm
from rumor.estimators.survey import SurveyDesign
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.kinds.word_lists import read_words
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary

_MAX_ROWS = 1_000_000


@dataclass(frozen=True)
class ReportGroup:
    """Some people by a name, and the counts of their reports."""

    name: str
    summary: Summary


def compare(
    mechanism: Mechanism,
    first: object,
    second: object = None,
    *,
    other: Mechanism | None = None,
    against: str | None = None,
    design: SurveyDesign | None = None,
    of: str = "population",
    **options: Any,
) -> Comparison:
    """Compare groups of different people.

    `first` and `second` are reports, or summaries of them; the difference is the second's less
    the first's. `other` is the mechanism of the second group if it differs. Several groups are
    a mapping from names to reports as `first` alone: all pairs of them, or each `against` one.

    Estimates are unbiased, never posterior means. Intervals are made of both groups' score
    intervals; a p-value is of one row alone, `adjusted` (Holm) of all rows together, and each pair
    has an omnibus test of all rows.

    With a `design` people have weights: `first` are the reports of all, and `second` has the group
    of each. Pairs then have no omnibus test.
    """
    if design is not None:
        if isinstance(first, Mapping) or second is None or other is not None or options:
            raise InputError(
                "people with weights are compared as one column of reports and one of their "
                "groups, first and second; got something else"
            )
        names = [stratum_name(name) for name in as_column(second).tolist()]
        return compare_people(
            kind_of(mechanism), mechanism, first, design, names, against=against, of=of
        )
    if isinstance(first, Mapping):
        if second is not None or other is not None:
            raise InputError("groups by name must be the only reports; got second or other as well")
        groups = [
            ReportGroup(str(name), as_summary(mechanism, data)) for name, data in first.items()
        ]
    else:
        if second is None:
            raise InputError("a comparison needs two groups of reports; got one")
        groups = [
            ReportGroup("first", as_summary(mechanism, first)),
            ReportGroup("second", as_summary(other or mechanism, second)),
        ]
    return compare_groups(kind_of(mechanism), groups, against=against, of=of, options=options)


def compare_people(
    kind: Kind[Any],
    mechanism: Mechanism,
    reports: object,
    design: SurveyDesign,
    names: Sequence[str],
    *,
    against: str | None = None,
    of: str = "population",
    heading: str = "",
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare groups of people with weights; `names` has the group of each."""
    check_design_target(of)
    known = scored(kind, mechanism, reports)
    if len(names) != len(known.scores.hits):
        raise InputError(
            f"groups must have a row for each of the {len(known.scores.hits):,} reports; got "
            f"{len(names):,}"
        )
    survey = design.resolve(len(names))
    known = kept_scores(known, survey)
    column = np.asarray(names, dtype=object)[survey.kept]
    groups = sorted(set(column.tolist()))
    pairs = chosen_pairs(groups, against)
    _check_size(len(pairs), len(known.values))
    found = [weigh_scores(survey, known, column == name) for name in groups]
    effects = ", ".join(
        f"{name} {one.weights_effect:.3g}" for name, one in zip(groups, found, strict=True)
    )
    told = (
        *known.notes,
        *survey.sentences(),
        *survey.notes,
        f"design effect of the weights by group: {effects}.",
    )
    return _as_comparison(
        (known.values, known.quantities),
        {name: one.people for name, one in zip(groups, found, strict=True)},
        pairs,
        [one.combination.mean for one in found],
        [weighted_difference(survey, found[a], found[b]) for a, b in pairs],
        [None] * len(pairs),
        reports=survey.people,
        epsilon=mechanism.epsilon,
        of=of,
        method="weighted, unbiased",
        weighted=True,
        heading=heading,
        notes=(*notes, *told),
    )


def compare_groups(
    kind: Kind[Any],
    groups: Sequence[ReportGroup],
    *,
    against: str | None = None,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare all pairs of groups, or each group with one of them."""
    pairs = chosen_pairs([group.name for group in groups], against)
    found = measure_groups(kind, [group.summary for group in groups], of, options)
    common = found[0]
    _check_size(len(pairs), len(common.values))
    return _as_comparison(
        (common.values, common.quantities),
        {group.name: group.summary.reports for group in groups},
        pairs,
        [one.sample.mean for one in found],
        [differences(*(found[i] for i in pair)) for pair in pairs],
        [kind.omnibus_test(*(groups[i].summary for i in pair)) for pair in pairs],
        reports=sum(group.summary.reports for group in groups),
        epsilon=max(group.summary.mechanism.epsilon for group in groups),
        of=of,
        heading=heading,
        notes=tuple(collect_notes(notes, found)),
    )


def _as_comparison(
    rows: tuple[Sequence[str] | Sequence[int], Sequence[str]],
    groups: Mapping[str, int],
    pairs: Sequence[tuple[int, int]],
    estimates: Sequence[Vector],
    found: Sequence[Differences | QuantileDifferences | Student],
    tests: Sequence[OmnibusTest | None],
    **facts: Any,
) -> Comparison:
    """Return the differences `found` of all `pairs` of `groups`, adjusted for their number.

    `rows` are the names of values and quantities.
    """
    p_values = [_p_values_or_one(one.p_value) for one in found]
    adjusted = np.split(holm(np.concatenate(p_values)), len(pairs))
    known = np.array([1.0 if test is None else test.p_value for test in tests])
    together = [
        None if test is None else float(p) for test, p in zip(tests, holm(known), strict=True)
    ]
    names = list(groups)
    return Comparison(
        values=rows[0],
        quantities=rows[1],
        pairs=[
            Pair(
                first=names[a],
                second=names[b],
                estimates=(estimates[a], estimates[b]),
                difference=found[k].mean,
                stderr=found[k].stderr,
                p_value=p_values[k],
                adjusted=adjusted[k],
                intervals=found[k],
                overall=tests[k],
                overall_adjusted=together[k],
            )
            for k, (a, b) in enumerate(pairs)
        ],
        groups=groups,
        **facts,
    )


def _check_size(pairs: int, values: int) -> None:
    if pairs * values > _MAX_ROWS:
        raise InputError(
            f"a comparison has at most {_MAX_ROWS:,} rows; got {pairs:,} pairs of groups with "
            f"{values:,} each (name one to compare with: --against)"
        )


def chosen_pairs(names: Sequence[str], against: str | None) -> list[tuple[int, int]]:
    """Return all pairs in order, or the group `against` paired with each of the others."""
    if len(names) < 2 or len(set(names)) != len(names):
        raise InputError(
            "a comparison needs two groups or more, each by its own name; got "
            f"{format_value(list(names))}"
        )
    if against is None:
        return list(itertools.combinations(range(len(names)), 2))
    if against not in names:
        raise InputError(
            f"the group to compare with must be one of them; got {format_value(against)}"
        )
    at = list(names).index(against)
    return [(at, i) for i in range(len(names)) if i != at]


def _p_values_or_one(p_value: Any) -> Any:
    """Return p-values with 1 for unknown ones: no reports, no evidence of a difference."""
    return np.where(np.isfinite(p_value), p_value, 1.0)


@dataclass(frozen=True)
class Counting:
    """The settings by which stored reports are counted: engine, selection and words."""

    engine: str | Engine | AbstractContextManager[Engine] = "local"
    window: Days = (None, None)
    distinct_ids: bool = False
    skip_invalid: bool = False
    candidates: PathLike | None = None
    on_progress: Progress | None = None
    assume: str | None = None
    """The assumption of intervals of ordered answers about the distribution."""

    def groups(
        self,
        collection: Collection,
        path: PathLike,
        question: str | None,
        by: str | None = None,
        window: Days | None = None,
    ) -> tuple[Question, dict[str, Summary]]:
        """Return the question, and a summary for each group of a public column, by its name."""
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
        known = kind.candidate_options(question.id, question.mechanism, words, self.on_progress)
        if self.assume is None:
            return known
        checked_method("auto", {"assume": self.assume}, kind.options())
        return {**known, "assume": self.assume}


@dataclass(frozen=True)
class ReportSelection:
    """Reports to one question of a collection: their place, and how they are counted."""

    collection: PathLike | Collection
    path: PathLike
    question: str | None = None
    different_people: bool = False
    """Whether the analyst states that nobody is in two groups."""
    counting: Counting = Counting()

    def groups(self, by: str) -> tuple[Question, dict[str, Summary]]:
        """Return the question, and a summary for each group of a public column, by its name."""
        return self.counting.groups(as_collection(self.collection), self.path, self.question, by)


def read_design(
    stored: ReportSelection, columns: DesignColumns, by: str | None = None
) -> ReportRows:
    """Return stored reports beside the `columns` of a survey design, and those of groups `by`."""
    how = stored.counting
    said = {
        "--assume": how.assume is not None,
        "--candidates": how.candidates is not None,
    }
    for option, given in said.items():
        if given:
            raise InputError(f"people with weights are estimated without {option}; got both")

    def chosen(public: Sequence[str]) -> list[str]:
        more = () if by is None else Grouping.read(by, [*public, "day"]).columns
        for name in more:
            if name not in [*public, "day"]:
                raise InputError(
                    f"groups must be a public column of the reports "
                    f"({', '.join(public) or 'none'}); got {format_value(by)}"
                )
        return [name for name in (*columns.names(public), *more) if name != "day"]

    return read_rows(
        as_collection(stored.collection),
        stored.path,
        stored.question,
        how.window,
        chosen,
        skip_invalid=how.skip_invalid,
        distinct_ids=how.distinct_ids,
        what="an estimate with weights",
    )


def compare_stored_people(
    stored: ReportSelection,
    columns: DesignColumns,
    by: str,
    *,
    against: str | None = None,
    of: str = "population",
) -> Comparison:
    """Compare groups `by` a public column, of stored reports with a survey design."""
    check_design_target(of)
    rows = read_design(stored, columns, by)
    asked = rows.question
    return compare_people(
        KINDS[asked.kind],
        asked.mechanism,
        rows.reports,
        columns.design(rows.columns),
        [stratum_name(stratum) for stratum in rows.strata(by)],
        against=against,
        of=of,
        heading=question_heading(asked),
        notes=_notes_of_groups(asked, by, stored.different_people),
    )


def _notes_of_groups(asked: Question, by: str, different_people: bool) -> list[str]:
    if is_over_time(by):
        return require_different(asked, "days", different_people)
    return repeated_within(asked, different_people)


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
    """Compare groups of stored reports.

    Two files, folders or summaries; or one, in groups `by` a public column, or in `periods` of
    days. `other` is the collection of the second file if it differs and asks this question too.
    Reports of people who may share permanent noise are refused, unless `different_people` states
    that nobody is in two groups.
    """
    how, contract = counting or Counting(), as_collection(collection)
    ways = [second is not None, by is not None, bool(periods)]
    if sum(ways) != 1:
        raise InputError(
            "a comparison must be of two files, of groups (--by) or of periods (--period, twice or "
            f"more); got {sum(ways)} of these"
        )
    if periods and how.window != (None, None):
        raise InputError("periods choose the days already; got --from or --to as well")
    if other is not None and second is None:
        raise InputError("another collection needs a second file with its reports; got none")
    if by is not None:
        asked, found = how.groups(contract, first, question, by)
        notes = _notes_of_groups(asked, by, different_people)
    elif periods:
        found = {}
        for window in periods:
            asked, one = how.groups(contract, first, question, window=window)
            found[period_name(window)] = one[stratum_name(None)]
        notes = require_different(asked, "periods", different_people)
    else:
        assert second is not None
        asked, found, notes = _count_files(
            contract, other, (first, second), question, different_people, how
        )
    kind = KINDS[asked.kind]
    return compare_groups(
        kind,
        [ReportGroup(name, summary) for name, summary in found.items()],
        against=against,
        of=of,
        options=how.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )


def count_samples(
    collection: PathLike | Collection,
    first: PathLike,
    second: PathLike,
    *,
    question: str | None = None,
    other: PathLike | Collection | None = None,
    different_people: bool = False,
    counting: Counting | None = None,
) -> tuple[Question, Sequence[Summary]]:
    """Return the question and the counts of two samples of different people, `first` before.

    `other` is the collection of the second sample if it differs.
    """
    asked, found, _ = _count_files(
        as_collection(collection),
        other,
        (first, second),
        question,
        different_people,
        counting or Counting(),
    )
    return asked, list(found.values())


def question_heading(asked: Question) -> str:
    """Return the heading of a table about the question `asked`."""
    return f"{asked.id}: {asked.text}" if asked.text else asked.id


def read_period(text: str) -> Days:
    """Read a period written FIRST..LAST, either of which may be left out, or one day."""
    first, dots, last = text.partition("..")
    try:
        start, end = (datetime.date.fromisoformat(day) if day else None for day in (first, last))
    except ValueError:
        start = end = None
    if start is None and end is None:
        raise InputError(f"a period must be days written FIRST..LAST; got {format_value(text)}")
    return checked_window((start, end if dots else start))


def period_name(window: Days) -> str:
    """Return a period as it is written."""
    first, last = ("" if day is None else str(day) for day in window)
    return first if first == last else f"{first}..{last}"


def file_names(paths: Sequence[PathLike]) -> list[str]:
    """Return short names for files, or their whole paths if those would be equal."""
    places = [Path(path).resolve() for path in paths]
    if len(set(places)) < len(places):
        twice = next(
            path for path, place in zip(paths, places, strict=True) if places.count(place) > 1
        )
        raise InputError(f"groups must be different files; got {str(twice)!r} twice")
    stems = [Path(path).stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _count_files(
    contract: Collection,
    other: PathLike | Collection | None,
    paths: tuple[PathLike, PathLike],
    question: str | None,
    different_people: bool,
    how: Counting,
) -> tuple[Question, dict[str, Summary], list[str]]:
    """Count two files; people may be in both if they are asked again, or in a revision."""
    names = file_names(paths)
    second = contract if other is None else as_collection(other)
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
