"""What a column of a table holds: an answer, and of which kind; or an id, a time, a weight.

A column is read as its cells look, as somebody would who opens the table: nothing is kept of it
but its name, short lists of labels and round ends of numbers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rumor.contract.groups import LEAST_SHOWN, OTHER
from rumor.contract.person_rows import is_id_name
from rumor.core.answer_table import AnswerTable
from rumor.core.columns import normalized_name
from rumor.core.option_sets import MARK
from rumor.core.value_labels import ColumnLabels, labels_of

_MOST_LABELS = 50  # more distinct texts than this are words, not a list of labels
_SCALE = 12  # whole numbers within a range up to this are the points of a scale
_FEW_VALUES, _ROWS_OF_EACH = 20, 20  # numbers with few values, each in many rows, are labels
_FEWEST_IDS = 20  # in fewer rows, that all values differ says nothing
_WORDS_OF_TEXT = 3.0  # more words to a cell than this, on average, are free text
_MOST_GROUPS = 20
_READ_ROWS = 200_000
NO_ANSWER = "no answer"

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+(,[0-9]+)?")
_CODE = re.compile(r"(?=.*[0-9])[\w.-]+")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+ ?(Z|[+-][0-9:]+)?)?"
    r"|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}( [0-9:.]+)?"
)
_TIME_NAME = re.compile(r"ts|(.*-)?(time|timestamp|datetime|date|day)|.*-at")
_WEIGHT_NAME = re.compile(r"(.*-)?(weights?|wgt|wts?|pweight|finalwt|calweight)(-.*)?")
_NAMES_PEOPLE = re.compile(
    r"(first-|last-|full-|sur)?name|phone(-number)?|(street-|ip-)?address|ip"
)
_GROUP_NAME = re.compile(
    r"country|region|state|province|land|canton|city|language|lang|locale|platform|os|"
    r"operating-system|browser|version|app-version|channel|plan|department|site|store|branch"
)


@dataclass(frozen=True)
class GroupColumn:
    """A column as a public group: its values, and the smallest of them with its part of all."""

    name: str
    values: tuple[str, ...]
    smallest: str
    share: float


@dataclass(frozen=True)
class TableColumn:
    """The cells of one column, as texts, and how many rows have none."""

    name: str
    cells: tuple[str, ...]
    blanks: int
    labels: ColumnLabels = field(default_factory=ColumnLabels)
    """What the file says of the column."""

    @property
    def text(self) -> str:
        """The question in words: the file's label of the column, or its name."""
        return self.labels.text or self.name

    def reason_to_skip(self) -> str | None:
        """Return why this column is no answer, or None where it may be one."""
        name, values = normalized_name(self.name), set(self.cells)
        numbers = all(map(_NUMBER.fullmatch, values))
        if is_id_name(self.name) or _NAMES_PEOPLE.fullmatch(name):
            return (
                "names people; where one of them has several rows: "
                f"rumor privatize --person {self.name}"
            )
        if all(map(_TIME.fullmatch, values)) or (
            _TIME_NAME.fullmatch(name) and numbers and min(map(float, values)) > 1e8
        ):
            return f"is a time; rumor privatize --day-column {self.name} takes days from it"
        if numbers and _WEIGHT_NAME.fullmatch(name):
            return f"is a weight of the rows; rumor privatize --weight-column {self.name} keeps it"
        if len(self.cells) >= _FEWEST_IDS and len(values) == len(self.cells):
            if all(map(_CODE.fullmatch, values)) and not numbers:
                return "has another code in every row, as ids have"
            if all(value.isdigit() for value in values) and _are_consecutive(values):
                return "numbers the rows"
        if sum("@" in cell for cell in self.cells) * 2 > len(self.cells):
            return "holds addresses, which name people"
        if self._options() is None and len(values) > _MOST_LABELS and not numbers:
            words = sum(len(cell.split()) for cell in self.cells) / len(self.cells)
            if words > _WORDS_OF_TEXT:
                return "is free text, whose words can name people: ask for one word, or from a list"
        return None

    def guess_kind(self) -> Mapping[str, object]:
        """Return the kind and the domain that the cells suggest."""
        values = sorted(set(self.cells))
        if (options := self._options()) is not None:
            return {"kind": "set", "labels": options}
        if all(map(_NUMBER.fullmatch, values)):
            return self._guess_number(values)
        if 0 < len(self.labels.values) <= _MOST_LABELS:
            is_ordered = self.labels.is_ordered and not self.blanks
            kind = "ordered" if is_ordered else "choice"
            return {"kind": kind, "labels": self._labels(list(self.labels.values))}
        if len(values) > _MOST_LABELS:
            return {"kind": "text", "words": "open"}
        return {"kind": "choice", "labels": self._labels(values)}

    def note(self) -> str | None:
        """Return what is to be said of the rows without an answer, or None."""
        if not self.blanks or self._options() is not None:
            return None
        rows = f"{self.blanks:,} row{' is' if self.blanks == 1 else 's are'} blank"
        if NO_ANSWER in (self.guess_kind().get("labels") or ()):  # type: ignore[operator]
            return f'{rows}: rumor privatize --missing "{NO_ANSWER}" counts them as that answer'
        return f"{rows}: rumor privatize --missing drop leaves them out"

    def as_group(self, users: int) -> GroupColumn | None:
        """Return this column as a public group, where its name suggests one.

        Values of fewer than `LEAST_SHOWN` of `users` respondents are in "other": nobody would
        estimate from them, and few people could hide among each other.
        """
        name = normalized_name(self.name)
        counts, rows = Counter(self.cells), len(self.cells) + self.blanks
        if not _GROUP_NAME.fullmatch(name) or not 2 <= len(counts) <= _MOST_GROUPS:
            return None
        named = sorted(
            value
            for value, count in counts.items()
            if value != OTHER and count * users >= LEAST_SHOWN * rows
        )
        if not named:
            return None
        smallest = min(named, key=lambda value: counts[value])
        column = re.sub("[^a-z0-9_]", "_", name)
        return GroupColumn(column, (*named, OTHER), smallest, counts[smallest] / rows)

    def _options(self) -> list[str] | None:
        """Return the options that cells list with marks between them, or None."""
        if not any(MARK in cell for cell in self.cells):
            return None
        found = {one.strip() for cell in set(self.cells) for one in cell.split(MARK)} - {""}
        return sorted(found) if 2 <= len(found) <= _MOST_LABELS else None

    def _labels(self, values: list[str]) -> list[str]:
        # One label alone is no choice: there was another answer that nobody gave.
        labels = values if len(values) > 1 or self.blanks else [*values, "other"]
        lacks = self.blanks and NO_ANSWER not in map(str.lower, values)
        return [*labels, NO_ANSWER] if lacks else labels

    def _guess_number(self, values: list[str]) -> Mapping[str, object]:
        numbers = sorted(set(map(float, values)))
        low, high = numbers[0], numbers[-1]
        if len(values) == 2:
            return {"kind": "choice", "labels": self._labels(values)}
        whole = all(number.is_integer() for number in numbers)
        if whole and 0 < high - low <= _SCALE:
            points = range(int(low), int(high) + 1)
            return {"kind": "ordered", "labels": [str(point) for point in points]}
        few = 2 < len(numbers) <= _FEW_VALUES and len(self.cells) >= _ROWS_OF_EACH * len(numbers)
        # Labels are read as the table writes them, so each number must be written in one way.
        if few and len(numbers) == len(values):
            return {"kind": "ordered", "labels": sorted(values, key=float)}
        return {"kind": "number", **_rounded_range(low, high), "outside": "clip"}


def read_column(table: AnswerTable, name: str) -> TableColumn:
    """Return the column `name` of `table`, of its first rows where there are very many."""
    cells: list[str] = []
    rows = 0
    for batch in table.batches([name]):
        column = batch.column(0)
        texts = (_text(cell) for cell in column.slice(0, _READ_ROWS - rows).to_pylist())
        cells += [text for text in texts if text]
        rows = min(rows + len(batch), _READ_ROWS)
        if rows >= _READ_ROWS:
            break
    if all(map(_COMMA_NUMBER.fullmatch, set(cells))) and any("," in cell for cell in cells):
        cells = [cell.replace(",", ".") for cell in cells]
    labels = labels_of(table.schema.field(name), tuple(set(cells)))
    return TableColumn(name, tuple(cells), rows - len(cells), labels)


def _are_consecutive(values: set[str]) -> bool:
    numbers = set(map(int, values))
    return max(numbers) - min(numbers) == len(values) - 1


def _text(cell: object) -> str:
    """Return a cell as a text; a list as its options with marks between them."""
    if isinstance(cell, list):
        return MARK.join(str(one).strip() for one in cell if one is not None)
    return "" if cell is None or cell != cell else str(cell).strip()


def _rounded_range(low: float, high: float) -> Mapping[str, object]:
    """Return round ends around the range, so that no one's own number is an end."""
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    least, most = ends if ends[0] < ends[1] else (low - step, high + step)
    return {"low": _plain(least), "high": _plain(most)}


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else round(number, 12)
