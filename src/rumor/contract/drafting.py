"""Drafts of collections, from what a person states or from the columns of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rumor.contract.collection import Collection
from rumor.core.answer_table import AnswerTable
from rumor.core.checks import slug
from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.plain_text import toml_text

Spec = Mapping[str, object]
_MOST_LABELS = 50  # more distinct texts than this are free text, not a list of labels
_SCALE = 12  # whole numbers within a range up to this are an ordered scale
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

PUBLIC = (
    "# Labels and ranges below were read from a table of answers. A contract is public: keep only\n"
    "# what everybody may know without that table, and add the answers that nobody gave there.\n"
)


@dataclass(frozen=True)
class Draft:
    """A collection before it is resolved, and the text of its file."""

    name: str
    contact: str
    users: int
    questions: Sequence[Spec]
    note: str = ""

    @property
    def text(self) -> str:
        """The TOML file of the draft."""
        head: Spec = {"name": self.name, "series": slug(self.name), "contact": self.contact}
        blocks = [f"{self.note}{_lines({**head, 'users': self.users})}"]
        blocks += [f"[[questions]]\n{_lines(question)}" for question in self.questions]
        return "\n".join(blocks)

    def check(self) -> Collection:
        """Return the resolved collection, or raise an InputError that names the fault."""
        return Collection.from_toml(self.text)


def _lines(table: Spec) -> str:
    return "".join(f"{key} = {toml_text(value)}\n" for key, value in table.items())


def draft_questions(path: PathLike, epsilon: float) -> list[Spec]:
    """Return a question for each column of the table at `path`, with a kind that fits its cells."""
    table = AnswerTable.open(path)
    made: list[Spec] = []
    for name in table.schema.names:
        read = (cell for batch in table.batches([name]) for cell in batch.column(0).to_pylist())
        cells = [str(cell).strip() for cell in read if cell is not None and str(cell).strip()]
        if not cells:
            continue
        asked: Spec = {"id": slug(name), "text": name, **_guess_kind(cells), "epsilon": epsilon}
        made.append(asked)
    if not made:
        raise InputError(f"{path}: a table must have a column with answers; got none")
    ids = [str(question["id"]) for question in made]
    for i, (question, id) in enumerate(zip(made, ids, strict=True)):
        if ids.count(id) > 1:
            made[i] = {**question, "id": f"{id}-{ids[: i + 1].count(id)}"}
    # Tables are read by a column's name where that cannot be the question's id.
    return [
        question if question["id"] == question["text"] else {**question, "column": question["text"]}
        for question in made
    ]


def _guess_kind(cells: Sequence[str]) -> Spec:
    """Return the kind and domain that the texts in `cells` suggest."""
    values = sorted(set(cells))
    if all(map(_NUMBER.fullmatch, values)):
        low, high = min(map(float, values)), max(map(float, values))
        if len(values) == 2:
            return {"kind": "choice", "labels": values}
        whole = all(float(value).is_integer() for value in values)
        if whole and high - low <= _SCALE and high > low:
            return {"kind": "ordered", "low": int(low), "high": int(high)}
        return {"kind": "number", **_rounded_range(low, high), "outside": "clip"}
    if len(values) <= _MOST_LABELS:
        # One label alone is no choice: there was another answer that nobody gave.
        return {"kind": "choice", "labels": values if len(values) > 1 else [*values, "other"]}
    return {"kind": "text", "words": "open"}


def _rounded_range(low: float, high: float) -> Spec:
    """Return round ends around the range, so that no one's own number is an end."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    least, most = ends if ends[0] < ends[1] else (low - step, high + step)
    return {"low": _plain(least), "high": _plain(most)}


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else round(number, 12)
