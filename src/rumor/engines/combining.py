"""Stored reports weighted to a population, or of several collections together."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError, shown
from rumor.core.files import PathLike, readable
from rumor.engines.analysis import opened, stratum_name
from rumor.engines.comparing import Counting, Stored, file_names, question_heading
from rumor.engines.people import repeated_within, require_different
from rumor.kinds import KINDS
from rumor.kinds.combining import combine_groups, weigh_groups
from rumor.kinds.comparing import Group
from rumor.results.combined import Combined


def read_weights(path: PathLike) -> tuple[str, dict[str, float]]:
    """A CSV of two columns: a public column's values, and how many people have each."""
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
            raise InputError(f"{path}: {rule}; got the weight {shown(text)}") from None
        if name in weights:
            raise InputError(f"{path}: {rule}, each group once; got {name!r} twice")
        weights[name] = number
    return rows[0][0], weights


def weigh_reports(
    stored: Stored, weights: PathLike, *, by: str | None = None, of: str = "population"
) -> Combined:
    """A question's answers weighted to a population, by the public column that the table names."""
    column, known = read_weights(weights)
    if by is not None and by != column:
        raise InputError(
            f"the table of weights must be of the column that groups are by, {by!r}; "
            f"got one of {column!r}"
        )
    asked, found = stored.groups(column)
    return weigh_groups(
        KINDS[asked.kind],
        [Group(name, summary) for name, summary in found.items()],
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
    """One estimate from reports of several collections that ask the same.

    Where people have `chosen` their source, as an epsilon, only `weights` of the sources (by the
    name of their file) make one estimate of them.
    """
    how = counting or Counting()
    if len(sources) < 2:
        raise InputError(f"several sources are combined; got {len(sources)}")
    if chosen and weights is None:
        raise InputError(
            "who chooses a source, or an epsilon, may answer otherwise than who does not: give the "
            "sources their part of the population (--weights); got none"
        )
    groups: list[Group] = []
    notes: list[str] = []
    asked: list[Question] = []
    names = file_names([path for _, path in sources])
    for (collection, path), name in zip(sources, names, strict=True):
        one, found = how.groups(opened(collection), path, question)
        notes += [
            note
            for note in require_different(one, "sources", different_people)
            if note not in notes
        ]
        groups.append(Group(name, found[stratum_name(None)]))
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
