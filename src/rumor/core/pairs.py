"""Key-value answers of many respondents: each holds some of the keys, each key with a number.

A column of key-value answers can be given as:

- a table (n, keys) of numbers, NaN if a person does not hold the key;
- a sequence with a dict {key: value} for each person, or with a row (None: does not hold);
- three columns person, key, value (`long_pairs`), a row for each pair, and a row with an
  empty key for a person who holds nothing.

Values are rounded to steps of the question's grid. An input that breaks a rule is refused as a
whole, with a message that gives the row; a single answer on a device is clipped instead.
"""

from __future__ import annotations

import abc
import functools
import math
import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rumor.core.columns import as_column
from rumor.core.errors import AnswerError, InputError, type_in_words
from rumor.core.loops import loops
from rumor.core.number_range import NumberGrid, parse_number
from rumor.core.option_sets import RaggedRows
from rumor.core.randomness import Stream

Steps = NDArray[np.int32]
Keys = NDArray[np.int64]
Cell = TypeVar("Cell", bound=np.generic)
NOT_HELD = -1
# A pair (person, key) as one integer: keys are fewer than this.
_BASE = 1 << 20
# Rows looked at at a time when a whole table is checked.
_CHECK_ROWS = 1 << 14


class Pairs(Protocol):
    """The keys and values of many respondents."""

    @property
    def people(self) -> int:
        """The number of respondents."""
        ...

    def at(self, start: int, keys: Keys) -> Steps:
        """Return the steps at `keys` (rows, m) of the people from `start` on; NOT_HELD if not
        held.
        """
        ...

    def sizes(self) -> Keys:
        """Return how many keys each person holds."""
        ...

    def held(self, slots: Keys) -> tuple[Keys, Steps]:
        """Return key and step in each person's slot (0 is their first key); 0 beyond their last."""
        ...


@dataclass(frozen=True)
class _CellTable(abc.ABC, Generic[Cell]):
    """A table (n, keys) with a row for each person and a cell for each key that they may hold."""

    cells: NDArray[Cell]
    grid: NumberGrid

    @property
    def width(self) -> int:
        """The number of keys."""
        return int(self.cells.shape[1])

    @property
    def people(self) -> int:
        """The number of respondents: one row each."""
        return len(self.cells)

    @abc.abstractmethod
    def at(self, start: int, keys: Keys) -> Steps:
        """Return the steps at `keys` of the people from `start` on."""

    def sizes(self) -> Keys:
        """Return how many keys each person holds."""
        return self.long.sizes()

    def held(self, slots: Keys) -> tuple[Keys, Steps]:
        """Return the key and the step in each person's slot."""
        return self.long.held(slots)

    @functools.cached_property
    def long(self) -> LongTable:
        """These pairs as a long table."""
        person, key, steps = self._listed()
        return LongTable(_starts(person, self.people), key, steps, self.width, self.grid)

    @abc.abstractmethod
    def _listed(self) -> tuple[Keys, Keys, Steps]:
        """Return person, key and step of every cell that holds a value, row by row."""


class WideTable(_CellTable[np.floating]):
    """A table of numbers, NaN where a person does not hold the key."""

    def at(self, start: int, keys: Keys) -> Steps:
        """Return the steps at `keys`; if values outside are refused, whole rows are checked."""
        rows, grid = self.cells[start : start + len(keys)], self.grid
        out = np.empty(keys.shape, dtype=np.int32)
        line = (*self._ends, grid.low, grid.high, grid.scale)
        if loops(rows.nbytes).pick_cells(rows, keys, *line, grid.steps, self._refuse, out):
            self._complain(rows, start)
        return out

    @property
    def _refuse(self) -> bool:
        return self.grid.outside == "refuse"

    @property
    def _ends(self) -> tuple[np.floating, np.floating]:
        """The ends of the range in the precision of the cells: a float32 table holds 0.1 as
        float32.
        """
        kind = self.cells.dtype.type
        with np.errstate(over="ignore"):  # no float32 lies beyond an end that none can hold
            return kind(self.grid.low), kind(self.grid.high)

    def _complain(self, rows: NDArray[np.floating], start: int) -> NoReturn:
        low, high = self._ends
        wrong = ((rows < low) | (rows > high)).any(axis=1)
        raise self.grid.outside_error(start + int(np.flatnonzero(wrong)[0]))

    def checked(self) -> StepTable:
        """Return this table as steps of its grid, with every cell checked."""
        grid, everything = self.grid, np.arange(self.cells.shape[1])
        kind = np.uint16 if grid.steps < np.iinfo(np.uint16).max else np.uint32
        steps = np.empty(self.cells.shape, dtype=kind)
        for start in range(0, self.people, _CHECK_ROWS):
            rows = min(_CHECK_ROWS, self.people - start)
            # NOT_HELD becomes the largest number that the type holds.
            found = self.at(start, np.broadcast_to(everything, (rows, everything.size)))
            steps[start : start + rows] = found.astype(kind)
        return StepTable(steps, grid)

    def sampled(self, stream: Stream, start: int, keys: Keys, signs: Keys) -> None:
        """Fill in, for each person from `start` on, one random key and its rounded sign."""
        rows, grid = self.cells[start : start + keys.size], self.grid
        flagged = np.empty(keys.size + 1, dtype=np.int64)
        line = (*self._ends, grid.low, grid.high, grid.scale)
        words = stream.words(keys.size)
        rare, bad = loops(rows.nbytes).pick_signs(
            words, rows, grid.steps, *line, self._refuse, keys, signs, flagged
        )
        if bad:
            self._complain(rows, start)
        _settle(self, stream, start, flagged[:rare], keys, signs)

    def _listed(self) -> tuple[Keys, Keys, Steps]:
        person, key = np.nonzero(~np.isnan(self.cells))
        steps = self.grid.codes(self.cells[person, key].astype(np.float64, copy=False), person)
        return person, key, steps.astype(np.int32)


class StepTable(_CellTable[np.unsignedinteger]):
    """A table of checked steps; the type's largest number means "not held"."""

    def at(self, start: int, keys: Keys) -> Steps:
        """Return the steps at `keys` of the people from `start` on."""
        rows = self.cells[start : start + len(keys)]
        found = np.take_along_axis(rows, keys, axis=1)
        missing = found == np.iinfo(rows.dtype).max
        return np.where(missing, np.int32(NOT_HELD), found.astype(np.int32))

    def sampled(self, stream: Stream, start: int, keys: Keys, signs: Keys) -> None:
        """Fill in, for each person from `start` on, one random key and its rounded sign."""
        rows = self.cells[start : start + keys.size]
        flagged = np.empty(keys.size + 1, dtype=np.int64)
        absent = np.iinfo(rows.dtype).max
        rare = loops(rows.nbytes).pick_steps(
            stream.words(keys.size), rows, self.grid.steps, absent, keys, signs, flagged
        )
        _settle(self, stream, start, flagged[:rare], keys, signs)

    def _listed(self) -> tuple[Keys, Keys, Steps]:
        person, key = np.nonzero(self.cells != np.iinfo(self.cells.dtype).max)
        return person, key, self.cells[person, key].astype(np.int32)


def _settle(
    table: WideTable | StepTable,
    stream: Stream,
    start: int,
    rows: Keys,
    keys: Keys,
    signs: Keys,
) -> None:
    """Draw keys and signs again, from whole words, for rows whose half words would bias the
    pick.
    """
    steps = table.grid.steps
    for row in rows.tolist():
        key = stream.below(table.cells.shape[1], 1).astype(np.int64)
        step = int(table.at(start + row, key[:, None])[0, 0])
        up = int(stream.below(steps, 1)[0]) < step
        keys[row], signs[row] = int(key[0]), 0 if step < 0 else 1 if up else 2


@dataclass(frozen=True)
class LongTable(RaggedRows):
    """The pairs of many people in one sequence, those of each person by ascending key."""

    starts: Keys
    keys: Keys
    steps: Steps
    width: int
    grid: NumberGrid

    def at(self, start: int, keys: Keys) -> Steps:
        """Return the steps at `keys`, by binary search for (person, key) among all pairs."""
        if not self.keys.size:
            return np.full(keys.shape, NOT_HELD, dtype=np.int32)
        wanted = np.arange(start, start + len(keys))[:, None] * _BASE + keys
        place = np.minimum(np.searchsorted(self._ordered, wanted), self.keys.size - 1)
        return np.where(self._ordered[place] == wanted, self.steps[place], np.int32(NOT_HELD))

    @functools.cached_property
    def _ordered(self) -> Keys:
        """All pairs (person, key) as ascending integers."""
        return np.repeat(np.arange(self.people), np.diff(self.starts)) * _BASE + self.keys

    def sizes(self) -> Keys:
        """Return how many keys each person holds."""
        return np.diff(self.starts)

    def held(self, slots: Keys) -> tuple[Keys, Steps]:
        """Return the key and the step in each person's slot."""
        if not self.keys.size:
            return np.zeros_like(slots), np.zeros(slots.size, dtype=np.int32)
        place = np.minimum(self.starts[:-1] + slots, self.keys.size - 1)
        return self.keys[place], self.steps[place]


def _starts(person: Keys, people: int) -> Keys:
    counts = np.bincount(person, minlength=people)
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True)
class Layout:
    """The names of the keys, and the grid of their values."""

    keys: int
    positions: Mapping[str, int] | None
    grid: NumberGrid

    def read(self, values: object) -> Pairs:
        """Read a column of key-value answers in any of the forms listed in this module."""
        if isinstance(values, (WideTable, StepTable, LongTable)):
            if (values.width, values.grid) != (self.keys, self.grid):
                raise InputError(
                    f"people must have been read for the same keys and range: {self.keys:,} keys, "
                    f"{self.grid}; got {values.width:,} keys, {values.grid}"
                )
            return values
        if isinstance(values, np.ndarray):
            return self._wide(values)
        columns = _named_columns(values)
        if columns is not None:
            return self._frame(values, columns)
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
            raise InputError(
                f"key-value answers must be a table (people, keys) with NaN for what is not held, "
                f"or a sequence with a dict or a row for each person; got {type_in_words(values)}"
            )
        if not len(values):
            raise InputError("values must hold at least one person; got an empty batch")
        if isinstance(values[0], Mapping):
            return self._dicts(values)
        table = _numbers(values)
        if table is None:
            rule = f"key-value answers must be a row of {self.keys} numbers (None: does not hold)"
            raise InputError(f"{rule} or a dict for each person; got something else")
        return self._wide(table)

    def person(self, value: object) -> dict[int, int]:
        """Return one person's pairs as {key: step}, by ascending key, clipped to the grid."""
        return {key: self.grid.step(number) for key, number in sorted(self.held(value).items())}

    def held(self, value: object) -> dict[int, float]:
        """Return one person's pairs as {key: number}, from a dict or a row with None for gaps."""
        if isinstance(value, Mapping):
            given = [(self.key(key), _number(number)) for key, number in value.items()]
            if len(dict(given)) < len(given):
                raise AnswerError("a person must hold each key once", got="one twice")
            return dict(given)
        row = value.tolist() if isinstance(value, np.ndarray) else value
        if not isinstance(row, (list, tuple)) or len(row) != self.keys:
            rule = "an answer must be an object of keys and numbers"
            raise AnswerError(rule, got=type_in_words(value))
        return {key: _number(cell) for key, cell in enumerate(row) if not _missing(cell)}

    def _wide(self, table: NDArray[np.generic]) -> WideTable:
        if table.ndim != 2 or table.shape[1] != self.keys:
            raise InputError(
                f"a table of answers must have a column for each of the {self.keys:,} keys; "
                f"got shape {table.shape}"
            )
        if not len(table):
            raise InputError("values must hold at least one person; got an empty batch")
        if table.dtype.kind not in "iuf":
            raise InputError(f"a table of answers must hold numbers; got dtype {table.dtype}")
        small = table.dtype in (np.float32, np.float64)
        with np.errstate(over="ignore"):  # longer floats may hold more than doubles do
            cells = table if small else table.astype(np.float64)
        return WideTable(np.ascontiguousarray(cells), self.grid)

    def _dicts(self, people: Sequence[object]) -> LongTable:
        person: list[int] = []
        keys: list[int] = []
        values: list[float] = []
        for index, held in enumerate(people):
            if not isinstance(held, Mapping):
                rule = "every person must be a dict of keys and values"
                raise AnswerError(rule, index, type_in_words(held))
            for key, value in held.items():
                person.append(index)
                keys.append(self.key(key, index))
                values.append(_number(value, index))
        rows = np.array(person, np.int64)
        return self._long(rows, np.array(keys, np.int64), values, len(people), rows)

    def key(self, key: object, row: int | None = None) -> int:
        """Return the index of a key by its label, or by its number if keys have no labels.

        With labels, a number stands for its decimal text. `row` is named in the error.
        """
        whole = isinstance(key, (int, np.integer)) and not isinstance(key, bool)
        if self.positions is not None:
            named = whole or isinstance(key, str)
            position = self.positions.get(unicodedata.normalize("NFC", str(key))) if named else None
            if position is not None:
                return position
            some = ", ".join(list(self.positions)[:5]) + (", ..." if self.keys > 5 else "")
            raise AnswerError(f"a key must be one of the question's ({some})", row, "another")
        number = int(key) if whole else -1  # type: ignore[call-overload]
        if not 0 <= number < self.keys:
            rule = f"a key must be an integer from 0 to {self.keys - 1:,}"
            raise AnswerError(rule, row, "another")
        return number

    def _long(
        self,
        person: Keys,
        keys: Keys,
        values: Sequence[float] | NDArray[np.float64],
        people: int,
        rows: Keys,
    ) -> LongTable:
        """Build a long table of people, keys and values; `rows` are their input rows, for
        errors.
        """
        steps = self.grid.codes(np.asarray(values, np.float64), rows).astype(np.int32)
        order = np.lexsort((keys, person))
        person, keys = person[order], keys[order]
        twice = np.flatnonzero((np.diff(person) == 0) & (np.diff(keys) == 0))
        if twice.size:
            row = int(rows[order][twice[0] + 1])
            raise AnswerError("a person must hold each key once", row, "one for the second time")
        return LongTable(_starts(person, people), keys, steps[order], self.keys, self.grid)

    def columns(self, person: object, key: object, value: object) -> LongTable:
        """Read three columns: person, key and value (see `long_pairs`)."""
        try:
            people, owner = np.unique(as_column(person), return_inverse=True)
        except TypeError:  # texts cannot be told from numbers by their order
            raise InputError("the column person must hold names of one type") from None
        given = _with_gaps(key)
        numbers = np.asarray(_with_gaps(value))
        if not given.size == numbers.size == owner.size:
            raise InputError(
                f"the columns person, key and value must have the same length; "
                f"got {owner.size}, {given.size} and {numbers.size}"
            )
        if not owner.size:
            raise InputError("values must hold at least one person; got an empty batch")
        distinct, which, first = _factor(given)
        named = zip(distinct, first, strict=True)
        codes = np.array([-1 if k is None else self.key(k, at) for k, at in named], np.int64)[which]
        rows = np.flatnonzero(codes >= 0)
        values = _numbers(numbers[rows])
        if values is None:
            raise InputError("the column value must hold numbers; got something else")
        return self._long(owner[rows].astype(np.int64), codes[rows], values, people.size, rows)

    def _frame(self, frame: object, columns: Sequence[str]) -> Pairs:
        if set(columns) == {"person", "key", "value"}:
            return self.columns(*(frame[name] for name in ("person", "key", "value")))  # type: ignore[index]
        names = [str(k) for k in range(self.keys)] if self.positions is None else self.positions
        odd = [name for name in columns if name not in set(names)]
        if odd or len(columns) != self.keys:
            # Columns without a header are called by somebody's answers: no name is shown.
            raise InputError(
                f"a table of answers must have the columns person, key and value, or a column for "
                f"each of the {self.keys:,} keys; got {len(columns):,} columns, {len(odd):,} of "
                f"them called otherwise"
            )
        cells = [_numbers(_with_gaps(frame[name])) for name in names]  # type: ignore[index]
        if any(column is None for column in cells):
            raise InputError("a table of answers must hold numbers; got something else")
        return self._wide(np.stack([c for c in cells if c is not None], axis=1))


def _named_columns(values: object) -> Sequence[str] | None:
    """Return the column names of a frame (Arrow, pandas, Polars), or None for anything else."""
    names = getattr(values, "column_names", None)  # Arrow
    if names is None and hasattr(values, "to_numpy"):
        names = getattr(values, "columns", None)
    return None if names is None else [str(name) for name in names]


def _with_gaps(column: object) -> NDArray[np.generic]:
    """Return a column in which cells may be missing: None in objects, NaN in numbers."""
    if type(column).__module__.startswith("pyarrow"):
        return np.asarray(column.to_numpy(zero_copy_only=False))  # type: ignore[attr-defined]
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy())
    return np.asarray(column)


def _factor(given: NDArray[np.generic]) -> tuple[list[object], Keys, list[int]]:
    """Return the distinct keys (None if empty), each row's index among them, and their first
    rows.
    """
    seen: dict[object, int] = {}
    first: list[int] = []
    which = np.empty(given.size, dtype=np.int64)
    for index, key in enumerate(given.tolist()):
        empty = _missing(key) or key == ""
        if not isinstance(key, Hashable):
            raise AnswerError("a key must be a label or an integer", index, type_in_words(key))
        whole = int(key) if isinstance(key, float) and not empty and key.is_integer() else key
        which[index] = seen.setdefault(None if empty else whole, len(seen))
        if len(first) < len(seen):
            first.append(index)
    return list(seen), which, first


def _missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _numbers(cells: object) -> NDArray[np.float64] | None:
    """Return cells as doubles, or None on failure: the library's reason would quote a cell."""
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _number(value: object, row: int | None = None) -> float:
    return parse_number(value, row, "the value of a key that is held")
