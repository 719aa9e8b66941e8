"""Drafts of collections, from what a person states or from the columns of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rumor.contract.collection import Collection
from rumor.contract.table_columns import read_column
from rumor.core.answer_table import AnswerTable
from rumor.core.checks import slug
from rumor.core.errors import InputError
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
    "# Columns that could be groups instead of questions: sent in the clear with every report,\n"
    "# for estimates by group. Take out the mark of the next line, and their questions below.\n"
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
    """Columns that could be public groups, which the file proposes in a comment."""

    @property
    def text(self) -> str:
        """The TOML file of the draft."""
        head: Spec = {"name": self.name, "series": slug(self.name), "contact": self.contact}
        proposed = "" if not self.groups else f"{_GROUPS}# groups = {toml_text(self.groups)}\n"
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
    groups: dict[str, list[str]]


def draft_questions(path: PathLike, epsilon: float, only: Sequence[str] = ()) -> TableDraft:
    """Return a question for each column of the table at `path` that holds answers.

    Each has a kind that fits its cells. With `only`, these columns are asked for and no others.
    """
    table = AnswerTable.open(path)
    for name in only:
        table.require(name)
    made: list[Spec] = []
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
        made.append({"id": slug(name), "text": name, **column.guess_kind(), "epsilon": epsilon})
        if (note := column.note()) is not None:
            found.notes[name] = note
        if (group := column.as_group()) is not None:
            found.groups[group[0]] = group[1]
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
        question if question["id"] == question["text"] else {**question, "column": question["text"]}
        for question in made
    )
    return found


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
