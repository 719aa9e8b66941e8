"""Answers of several parts: each part one of its labels, all of them one cell of a table.

A person answers every part. Parts are known by an id and their values by labels, or both by their
numbers where they have no names. The cells of all parts together are numbered with the last part
running fastest.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rumor.core.canonical import Json
from rumor.core.checks import checked_size, checked_slug, exact_keys
from rumor.core.columns import checked_labels, encode, one_code
from rumor.core.errors import AnswerError, InputError, format_value, type_in_words
from rumor.core.types import Codes

FEWEST, MOST = 2, 4
MAX_CELLS = 100
"""The most cells of one table: with more, most cells would hold only noise."""


@dataclass(frozen=True)
class Parts:
    """The numbers of values of the parts, with the names of parts and values."""

    sizes: tuple[int, ...]
    ids: tuple[str, ...] | None = None
    labels: tuple[tuple[str, ...], ...] | None = None

    @classmethod
    def of(cls, given: object) -> Self:
        """Return the parts given by a number of values for each, or
        by tables with an id and labels.
        """
        if isinstance(given, cls):
            return given
        rule = f"parts must be a list of {FEWEST} to {MOST} of them, each with an id and labels"
        if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
            raise InputError(f"{rule}; got {format_value(given)}")
        if not FEWEST <= len(given) <= MOST:
            raise InputError(f"{rule}; got {len(given)}")
        if not any(isinstance(part, Mapping) for part in given):
            sizes = [checked_size("the values of a part", size, 2, MAX_CELLS) for size in given]
            return cls(_few(sizes))
        tables = [exact_keys("a part", part, ("id", "labels")) for part in given]
        ids = tuple(checked_slug(table, "id", "a part") for table in tables)
        if len(set(ids)) < len(ids):
            raise InputError(f"ids of parts must be distinct; got {format_value(list(ids))}")
        labels = tuple(_labels(table) for table in tables)
        return cls(_few([len(names) for names in labels]), ids, labels)

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.sizes)

    @property
    def cells(self) -> int:
        """The number of possible answers."""
        return math.prod(self.sizes)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the parts: their ids, or else their numbers."""
        return self.ids or tuple(str(part) for part in range(self.count))

    @functools.cached_property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """The labels of the values of each part."""
        return self.labels or tuple(tuple(map(str, range(size))) for size in self.sizes)

    @property
    def unnamed(self) -> Parts:
        """A copy without names: parts and values are known by their numbers."""
        return Parts(self.sizes)

    def to_json(self) -> Json:
        """Return the parts as a contract writes them; None if they have no names."""
        if self.ids is None or self.labels is None:
            return None
        pairs = zip(self.ids, self.labels, strict=True)
        return [{"id": id, "labels": list(labels)} for id, labels in pairs]

    def inputs(self) -> list[tuple[Any, ...]]:
        """Return every answer in the form that people give, in the order of cells."""
        own: Sequence[Sequence[object]] = self.labels or [range(size) for size in self.sizes]
        return list(itertools.product(*own))

    def edge_values(self) -> list[object]:
        """Return answers at the ends and in between, each part by its name."""
        cells = self.inputs()
        places = sorted({0, 1, len(cells) // 3, len(cells) - 1})
        return [dict(zip(self.keys, cells[place], strict=True)) for place in places]

    def code(self, value: object) -> int:
        """Return the cell of one person's answer: an object of its
        parts, or a list in their order.
        """
        cell = 0
        for part, given in enumerate(self._row(value)):
            cell = cell * self.sizes[part] + self._code(part, given)
        return cell

    def _code(self, part: int, given: object) -> int:
        rule = f"the part {self.keys[part]!r} of an answer must be one of its labels"
        if self.labels is None:
            rule = f"the part {part} of an answer must be an integer below {self.sizes[part]}"
        try:
            return one_code(functools.partial(self._column, part), given, rule)
        except AnswerError as problem:
            raise AnswerError(rule, got=problem.got) from None

    def codes(self, values: object) -> Codes:
        """Return the cells of many answers: a row for each person, or the numbers of cells."""
        rows = values
        if not isinstance(rows, np.ndarray):
            if isinstance(rows, (str, bytes)) or not isinstance(rows, Sequence):
                rule = "answers must be a row for each person, or numbers of cells"
                raise InputError(f"{rule}; got {type_in_words(rows)}")
            rows = [self._row(row, at) for at, row in enumerate(rows)]
            columns: Sequence[object] = list(zip(*rows, strict=True)) or [[]] * self.count
        elif rows.ndim == 1:
            return encode(rows, self.cells, None)
        elif rows.ndim == 2 and rows.shape[1] == self.count:
            columns = list(rows.T)
        else:
            raise InputError(
                f"answers must have a column for each of {self.count} parts; "
                f"got an array of shape {rows.shape}"
            )
        return self.joined([self.column(part, column) for part, column in enumerate(columns)])

    def column(self, part: int, values: object) -> Codes:
        """Return a column of answers to one part, as positions."""
        try:
            return self._column(part, values)
        except AnswerError as problem:
            rule = f"the part {self.keys[part]!r} of an answer must be one of its labels"
            rule = rule if self.labels else problem.rule
            raise AnswerError(rule, problem.row, problem.got) from None

    def _column(self, part: int, values: object) -> Codes:
        names = None if self.labels is None else {x: i for i, x in enumerate(self.labels[part])}
        return encode(values, self.sizes[part], names)

    def joined(self, columns: Sequence[Codes]) -> Codes:
        """Return the cells of people whose parts are in these columns."""
        cells = np.zeros_like(columns[0])
        for size, column in zip(self.sizes, columns, strict=True):
            cells = cells * size + column
        return cells

    def within(self, cells: Codes, asks: Sequence[int]) -> Codes:
        """Return the cells of the table of some parts alone."""
        places = np.unravel_index(cells, self.sizes)
        found = np.zeros_like(cells)
        for part in asks:
            found = found * self.sizes[part] + places[part]
        return found

    def one_within(self, cell: int, asks: Sequence[int]) -> int:
        """Return the cell of some parts that one cell lies in, as a device reckons it."""
        places = []
        for size in reversed(self.sizes):
            cell, place = divmod(cell, size)
            places.append(place)
        found = 0
        for part in asks:
            found = found * self.sizes[part] + places[self.count - 1 - part]
        return found

    def _row(self, value: object, row: int | None = None) -> Sequence[object]:
        rule = f"an answer must have every part ({', '.join(self.keys)})"
        if isinstance(value, Mapping):
            for key in self.keys:
                if key not in value:
                    raise AnswerError(rule, row, f"none for {key!r}")
            if len(value) > self.count:
                raise AnswerError(rule, row, "others as well")
            return [value[key] for key in self.keys]
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise AnswerError(rule, row, type_in_words(value))
        if len(value) != self.count:
            raise AnswerError(rule, row, f"{len(value)} of {self.count}")
        return value


def _labels(table: Mapping[str, object]) -> tuple[str, ...]:
    labels = table["labels"]
    if not isinstance(labels, Sequence) or isinstance(labels, (str, bytes)):
        raise InputError(
            f"labels of part {table['id']!r} must be a list; got {format_value(labels)}"
        )
    checked_size(f"the number of labels of part {table['id']!r}", len(labels), 2, MAX_CELLS)
    return checked_labels(labels)


def _few(sizes: Sequence[int]) -> tuple[int, ...]:
    """Check that the tables of any two parts are small enough for their cells to be estimated."""
    for one, other in itertools.combinations(sizes, 2):
        if one * other > MAX_CELLS:
            raise InputError(
                f"a table of two parts must have at most {MAX_CELLS} cells (ask for coarser "
                f"answers, or each part as a question of its own); got {one} times {other}"
            )
    return tuple(sizes)
