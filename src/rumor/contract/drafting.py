"""Drafts of collections, from what a person states or from the columns of a table."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rumor.contract.collection import Collection
from rumor.contract.groups import MAX_STRATA
from rumor.contract.table_columns import GroupColumn, read_column
from rumor.core.answer_table import AnswerTable
from rumor.core.checks import slug
from rumor.core.errors import InputError
from rumor.core.exact import PLANNED
from rumor.core.files import PathLike
from rumor.core.plain_text import toml_text
from rumor.kinds import KINDS
from rumor.kinds.planning.planned import Size

Spec = Mapping[str, object]
PUBLIC = (
    "# Labels and ranges below were read from a table of answers. A contract is public: keep only\n"
    "# what everybody may know without that table, and add the answers that nobody gave there.\n"
)
_GROUPS = (
    "# Sent in the clear with every report, for estimates by group: whoever sees a report knows\n"
    "# the groups of its person. Take out whatever should not be known.\n"
)


@dataclass(frozen=True)
class Draft:
    """A collection before it is resolved, and the text of its file."""

    name: str
    contact: str
    users: int
    questions: Sequence[Spec]
    note: str = ""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The public groups of each column."""

    @property
    def text(self) -> str:
        """The TOML file of the draft."""
        head: Spec = {"name": self.name, "series": slug(self.name), "contact": self.contact}
        proposed = "" if not self.groups else f"{_GROUPS}groups = {toml_text(self.groups)}\n"
        blocks = [f"{self.note}{_lines({**head, 'users': self.users})}{proposed}"]
        blocks += [f"[[questions]]\n{_lines(question)}" for question in self.questions]
        return "\n".join(blocks)

    def check(self) -> Collection:
        """Return the resolved collection, or raise an InputError that names the fault."""
        return Collection.from_toml(self.text)


def _lines(table: Spec) -> str:
    return "".join(f"{key} = {toml_text(value)}\n" for key, value in table.items())


@dataclass(frozen=True)
class TableDraft:
    """What the columns of a table suggest: questions, groups, and what is no answer."""

    questions: list[Spec]
    skipped: dict[str, str]
    """The reason why a column is not asked for, by its name."""
    notes: dict[str, str]
    """What is to be said about a column that is asked for, by its name."""
    groups: dict[str, GroupColumn]
    """Columns that are public groups instead of questions, by their names in the table."""

    @property
    def smallest(self) -> GroupColumn | None:
        """The column that has the smallest group, if there are groups."""
        return min(self.groups.values(), key=lambda group: group.share, default=None)


def draft_questions(
    path: PathLike, epsilon: float, only: Sequence[str] = (), users: int = PLANNED
) -> TableDraft:
    """Return a question for each column of the table at `path` that holds answers.

    Each has a kind that fits its cells. Columns such as countries are groups instead, as far as
    there will be enough of `users` respondents in them. With `only`, these columns are asked for
    and no others.
    """
    table = AnswerTable.open(path)
    for name in only:
        table.require(name)
    made: list[Spec] = []
    names: list[str] = []
    found = TableDraft([], {}, {}, {})
    for name in table.schema.names:
        if only and name not in only:
            continue
        column = read_column(table, name)
        if not column.cells:
            continue
        if not only and (reason := column.reason_to_skip()) is not None:
            found.skipped[name] = reason
            continue
        group = None if only else column.as_group(users)
        if group is not None and _fits(group, found.groups.values()):
            found.groups[name] = group
            continue
        made.append(
            {"id": slug(name), "text": column.text, **column.guess_kind(), "epsilon": epsilon}
        )
        names.append(name)
        if (note := column.note()) is not None:
            found.notes[name] = note
    if not made and found.groups:
        return draft_questions(path, epsilon, list(found.groups), users)
    if not made:
        few = "; ".join(f"{name}: {reason}" for name, reason in list(found.skipped.items())[:3])
        raise InputError(
            f"{path}: a table must have a column with answers; got none"
            + (f" ({few}; --only asks for a column anyhow)" if few else "")
        )
    ids = [str(question["id"]) for question in made]
    for i, (question, id) in enumerate(zip(made, ids, strict=True)):
        if ids.count(id) > 1:
            made[i] = {**question, "id": f"{id}-{ids[: i + 1].count(id)}"}
    # Tables are read by a column's name where that cannot be the question's id.
    found.questions.extend(
        question if question["id"] == name else {**question, "column": name}
        for question, name in zip(made, names, strict=True)
    )
    return found


def _fits(group: GroupColumn, others: Iterable[GroupColumn]) -> bool:
    """Return whether a contract can have `group` with `others`: one name each, few combinations."""
    sizes = [len(one.values) for one in (group, *others)]
    return group.name not in {one.name for one in others} and math.prod(sizes) <= MAX_STRATA


def expected_errors(collection: Collection, users: int) -> dict[str, str]:
    """Return, in words, the standard error of each question that a plan knows for `users`."""
    found = {}
    for question in collection.questions:
        kind, mechanism = KINDS[question.kind], question.mechanism
        domain = kind.answer_domain(mechanism)
        ends, answers = domain["range"], domain["answers"]
        last = answers - 1 if isinstance(answers, int) else 1  # labels in order are 0, 1, 2, ...
        low, high = ends if isinstance(ends, (list, tuple)) else (0, last)
        size = Size(
            domain=answers if isinstance(answers, int) else None,
            users=users,
            low=float(str(low)),
            high=float(str(high)),
        )
        with contextlib.suppress(InputError):
            planned = kind.plan_question(size)
            error = planned.error(mechanism, users)
            share = planned.unit == "share"
            found[question.id] = f"{error:.2%}" if share else f"{error:.3g} (of the mean)"
    return found
