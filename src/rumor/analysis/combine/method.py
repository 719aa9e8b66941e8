"""Groups weighted to a population, and several sources of one quantity in one likelihood.

Both work on summaries in memory and on stored reports.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from rumor.analysis.combine.result import (
    Combined,
    CombinedGroup,
    DesignEffects,
    WeightedGroups,
)
from rumor.analysis.compare.method import (
    Counting,
    ReportGroup,
    ReportSelection,
    compare_groups,
    file_names,
    question_heading,
    read_design,
)
from rumor.analysis.compare.quantities import (
    Combination,
    collect_notes,
    measure_groups,
    pool_sources,
    weight_groups,
)
from rumor.analysis.engines.base import Stratum
from rumor.analysis.estimate import as_collection, stratum_name, stratum_order
from rumor.analysis.people import repeated_within, require_different
from rumor.analysis.sources import as_stratum
from rumor.analysis.survey import (
    DesignColumns,
    check_design_target,
    kept_scores,
    scored,
    weigh_scores,
)
from rumor.contract.collection import Collection, Question
from rumor.core.columns import as_column
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike, readable
from rumor.core.reports import Mask
from rumor.estimators.data import as_summary
from rumor.estimators.survey import SurveyDesign
from rumor.kinds import KINDS, kind_of
from rumor.kinds.base import Kind
from rumor.kinds.measures import Measures
from rumor.mechanisms.base import Mechanism

# Sources that differ with a smaller p-value than this are not of one population.
_DIFFER = 0.01


@overload
def weigh(
    mechanism: Mechanism,
    groups: Mapping[Any, object] | object,
    weights: Mapping[Any, float] | SurveyDesign,
    *,
    by: None = None,
    of: str = "population",
    **options: Any,
) -> Combined: ...


@overload
def weigh(
    mechanism: Mechanism,
    groups: Mapping[Any, object] | object,
    weights: Mapping[Any, float] | SurveyDesign,
    *,
    by: object,
    of: str = "population",
    **options: Any,
) -> WeightedGroups: ...


def weigh(
    mechanism: Mechanism,
    groups: Mapping[Any, object] | object,
    weights: Mapping[Any, float] | SurveyDesign,
    *,
    by: object = None,
    of: str = "population",
    **options: Any,
) -> Combined | WeightedGroups:
    """Estimate a population from groups weighted to their size in it (post-stratification).

    `groups` are the reports, or summaries, of each group by name; `weights` how many people of
    the population, or which part of it, belongs to each. So a group counts by its size in the
    population, however few of it answered.

    Where each person has a weight, `groups` are the reports of all, and `weights` a `SurveyDesign`
    with the weight, the stratum and the cluster of each, in the same order. With `by`, the group of
    each, the result has an estimate for each group (`GroupedEstimates`).
    """
    if isinstance(weights, SurveyDesign):
        strata = None if by is None else _strata(by)
        return weigh_people(kind_of(mechanism), mechanism, groups, weights, strata=strata, of=of)
    if by is not None:
        raise InputError(
            "groups by a column are of people with weights, a SurveyDesign; got weights of groups"
        )
    if not isinstance(groups, Mapping):
        raise InputError(
            f"weights of groups are for reports by group; got {format_value(type(groups).__name__)}"
        )
    found = [
        ReportGroup(str(name), as_summary(mechanism, data, may_be_empty=True))
        for name, data in groups.items()
    ]
    named = {str(name): weight for name, weight in weights.items()}
    return weigh_groups(kind_of(mechanism), found, named, of=of, options=options)


def _strata(column: object) -> list[Stratum]:
    """Return the groups in `column`, as a table of any library has them; a missing one is None."""
    values = as_column(column).tolist()
    return [None if value != value else as_stratum(value) for value in values]


def weigh_people(
    kind: Kind[Any],
    mechanism: Mechanism,
    reports: object,
    design: SurveyDesign,
    *,
    by: str = "group",
    strata: Sequence[Stratum] | None = None,
    of: str = "population",
    heading: str = "",
    notes: Sequence[str] = (),
) -> Combined | WeightedGroups:
    """Estimate a population from people who have weights of their own.

    With `strata`, the group of each person `by` a column, each group is estimated as a domain of
    the whole sample: its variance is linearised over all strata, clusters and margins.
    """
    check_design_target(of)
    known = scored(kind, mechanism, reports)
    people = len(known.scores.hits)
    if strata is not None and len(strata) != people:
        raise InputError(
            f"groups must have a row for each of the {people:,} reports; got {len(strata):,}"
        )
    survey = design.resolve(people)
    known = kept_scores(known, survey)

    def estimated(inside: Mask | None, heading: str, notes: Sequence[str]) -> Combined:
        found = weigh_scores(survey, known, inside)
        combination = found.combination
        return Combined(
            values=known.values,
            quantities=known.quantities,
            unbiased=combination.mean,
            stderr=combination.stderr,
            intervals=combination,
            parts={},
            reports=found.people,
            epsilon=mechanism.epsilon,
            method="weighted, unbiased",
            of=of,
            heading=heading,
            notes=tuple(notes),
            design=DesignEffects(found.weights_effect, found.effect, found.means.freedom),
        )

    told = [*notes, *known.notes]
    if strata is None:
        return estimated(None, heading, [*told, *survey.sentences(), *survey.notes])
    kept = [stratum for stratum, is_kept in zip(strata, survey.kept, strict=True) if is_kept]
    groups = sorted(set(kept), key=stratum_order)
    codes = {stratum: code for code, stratum in enumerate(groups)}
    column = np.array([codes[stratum] for stratum in kept])
    named = {
        stratum_name(stratum): estimated(column == code, "", survey.sentences(column == code))
        for stratum, code in codes.items()
    }
    return WeightedGroups(by, named, groups, heading, (*told, *survey.notes))


post_stratify = weigh
"""The name of `weigh` in survey statistics."""


def weigh_groups(
    kind: Kind[Any],
    groups: Sequence[ReportGroup],
    weights: Mapping[str, float],
    *,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
    method: str = "post-stratified",
) -> Combined:
    """Return the weighted sum of the groups with reports and a weight; name the others."""
    checked = {name: _weight(name, weight) for name, weight in weights.items()}
    groups = [group for group in groups if group.summary.reports]
    there = [group for group in groups if checked.get(group.name, 0.0) > 0]
    total = sum(checked.values())
    if not there:
        raise InputError(
            f"weights must be for groups that have reports ({_names([g.name for g in groups])}); "
            f"got {_names(list(weights))}"
        )
    known = {group.name for group in groups}
    silent = [name for name, weight in checked.items() if weight > 0 and name not in known]
    unweighted = [group.name for group in groups if checked.get(group.name, 0.0) == 0]
    told = list(notes)
    if silent:
        part = sum(checked[name] for name in silent) / total
        told.append(
            f"no reports of {_names(silent)}, {part:.1%} of the population: the estimate is of "
            f"the rest."
        )
    if unweighted:
        told.append(f"without a weight, and left out: {_names(unweighted)}.")
    counted = sum(checked[group.name] for group in there)
    shares = [checked[group.name] / counted for group in there]
    found = measure_groups(kind, [group.summary for group in there], of, options)
    return _as_combined(
        found[0],
        weight_groups(found, shares),
        there,
        shares,
        method,
        of,
        heading,
        collect_notes(told, found),
    )


def combine(
    sources: Mapping[str, tuple[Mechanism, object]] | Sequence[tuple[Mechanism, object]],
    *,
    of: str = "population",
    **options: Any,
) -> Combined:
    """Estimate from several sources of one question, answered by different people.

    A source is a mechanism and its reports (or a summary): a revision with another epsilon, a
    second service. Each has the weight of its own noise. Sources must have been assigned to people,
    not chosen by them: people who choose less noise may answer differently, and such sources are
    weighted instead (`weigh`). A note names sources that differ by more than chance.
    """
    named = (
        sources
        if isinstance(sources, Mapping)
        else {f"source {i}": source for i, source in enumerate(sources, 1)}
    )
    if not named:
        raise InputError("an estimate needs at least one source; got none")
    groups = [ReportGroup(str(name), as_summary(*source)) for name, source in named.items()]
    kind = kind_of(next(iter(named.values()))[0])
    return combine_groups(kind, groups, of=of, options=options)


def combine_groups(
    kind: Kind[Any],
    groups: Sequence[ReportGroup],
    *,
    of: str = "population",
    options: Mapping[str, Any] | None = None,
    heading: str = "",
    notes: Sequence[str] = (),
) -> Combined:
    """Estimate from all sources in one likelihood."""
    found = measure_groups(kind, [group.summary for group in groups], of, options)
    told = collect_notes([*notes, *_differences(kind, groups, options)], found)
    return _as_combined(
        found[0],
        pool_sources(found),
        groups,
        None,
        "several sources, one likelihood",
        of,
        heading,
        told,
    )


def _differences(
    kind: Kind[Any], groups: Sequence[ReportGroup], options: Mapping[str, Any] | None
) -> list[str]:
    """Return a warning if sources differ by more than chance, or nothing."""
    if len(groups) < 2:
        return []
    found = compare_groups(kind, groups, against=groups[0].name, options=options)
    least = float(found.adjusted.min())
    tests = [pair.overall_adjusted for pair in found.pairs if pair.overall_adjusted is not None]
    least = min([least, *tests])
    if least >= _DIFFER:
        return []
    return [
        f"the sources differ by more than chance (p-value {least:.2g}): they may not be of one "
        f"population. If people chose their source, weigh the sources instead (--weights)."
    ]


def _as_combined(
    first: Measures,
    combined: Combination,
    groups: Sequence[ReportGroup],
    shares: Sequence[float] | None,
    method: str,
    of: str,
    heading: str,
    notes: Sequence[str],
) -> Combined:
    weights: Sequence[float | None] = [None] * len(groups) if shares is None else shares
    return Combined(
        values=first.values,
        quantities=first.quantities,
        unbiased=combined.mean,
        stderr=combined.stderr,
        intervals=combined,
        parts={
            group.name: CombinedGroup(
                group.summary.reports, group.summary.mechanism.epsilon, weight
            )
            for group, weight in zip(groups, weights, strict=True)
        },
        reports=sum(group.summary.reports for group in groups),
        epsilon=max(group.summary.mechanism.epsilon for group in groups),
        method=method,
        of=of,
        heading=heading,
        notes=tuple(notes),
    )


def _weight(name: str, weight: object) -> float:
    number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
    if not number or not math.isfinite(weight) or weight < 0:  # type: ignore[arg-type,operator]
        raise InputError(
            f"weights must be numbers from 0 on; got {format_value(weight)} for {name!r}"
        )
    return float(weight)  # type: ignore[arg-type]


def _names(names: Sequence[str], most: int = 12) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + rest


def read_weights(path: PathLike) -> tuple[str, dict[str, float]]:
    """Read a CSV of two columns: the values of a public column, and the weight of each."""
    rule = "a table of weights must be a CSV with two columns, groups and their weights"
    with (
        readable("a table of weights", Path(path)),
        Path(path).open(encoding="utf-8-sig", newline="") as file,
    ):
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2 or any(len(row) != 2 for row in rows):
        raise InputError(f"{path}: {rule}; got something else")
    weights: dict[str, float] = {}
    for name, text in rows[1:]:
        try:
            number = float(text)
        except ValueError:
            raise InputError(f"{path}: {rule}; got the weight {format_value(text)}") from None
        if name in weights:
            raise InputError(f"{path}: {rule}, each group once; got {name!r} twice")
        weights[name] = number
    return rows[0][0], weights


def read_margins(paths: Sequence[PathLike]) -> tuple[tuple[str, dict[str, float]], ...]:
    """Read the tables of several margins, each of another public column."""
    found = [read_weights(path) for path in paths]
    names = [name for name, _ in found]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"each table of weights must be of another column; got {name!r} twice")
    return tuple(found)


def weigh_stored_people(
    stored: ReportSelection,
    columns: DesignColumns,
    *,
    by: str | None = None,
    of: str = "population",
) -> Combined | WeightedGroups:
    """Estimate a population, or groups of it, from stored reports whose `columns` hold a survey
    design.
    """
    check_design_target(of)
    rows = read_design(stored, columns, by)
    asked = rows.question
    return weigh_people(
        KINDS[asked.kind],
        asked.mechanism,
        rows.reports,
        columns.design(rows.columns),
        by=by or "group",
        strata=None if by is None else rows.strata(by),
        of=of,
        heading=question_heading(asked),
        notes=repeated_within(asked, stored.different_people),
    )


def weigh_reports(
    stored: ReportSelection, weights: PathLike, *, by: str | None = None, of: str = "population"
) -> Combined:
    """Weight a question's answers to a population, by the public column that the table names."""
    column, known = read_weights(weights)
    if by is not None and by != column:
        raise InputError(
            f"the table of weights must be of the column that groups are by, {by!r}; "
            f"got one of {column!r}"
        )
    asked, found = stored.groups(column)
    return weigh_groups(
        KINDS[asked.kind],
        [ReportGroup(name, summary) for name, summary in found.items()],
        known,
        of=of,
        options=stored.counting.options(asked),
        heading=question_heading(asked),
        notes=repeated_within(asked, stored.different_people),
    )


def combine_reports(
    sources: Sequence[tuple[PathLike | Collection, PathLike]],
    *,
    question: str | None = None,
    chosen: bool = False,
    weights: Mapping[str, float] | None = None,
    different_people: bool = False,
    of: str = "population",
    counting: Counting | None = None,
) -> Combined:
    """Estimate from reports of several collections that ask one question.

    Where people have `chosen` their source, as an epsilon, only `weights` of the sources (by the
    name of their file) make one estimate of them.
    """
    how = counting or Counting()
    if len(sources) < 2:
        raise InputError(f"several sources are combined; got {len(sources)}")
    if chosen and weights is None:
        raise InputError(
            "respondents who choose their source, or epsilon, may answer differently from others: "
            "--weights must give each source's share of the population; got none"
        )
    groups: list[ReportGroup] = []
    notes: list[str] = []
    asked: list[Question] = []
    names = file_names([path for _, path in sources])
    for (collection, path), name in zip(sources, names, strict=True):
        one, found = how.groups(as_collection(collection), path, question)
        notes += [
            note
            for note in require_different(one, "sources", different_people)
            if note not in notes
        ]
        groups.append(ReportGroup(name, found[stratum_name(None)]))
        asked.append(one)
    if len({one.kind for one in asked}) > 1:
        raise InputError(
            f"all sources must be of one kind; got {', '.join(sorted({one.kind for one in asked}))}"
        )
    kind, options = KINDS[asked[0].kind], how.options(asked[0])
    heading = question_heading(asked[0])
    if weights is not None:
        return weigh_groups(
            kind,
            groups,
            weights,
            of=of,
            options=options,
            heading=heading,
            notes=notes,
            method="sources weighted to the population",
        )
    return combine_groups(kind, groups, of=of, options=options, heading=heading, notes=notes)
