"""Tables of answers: reading their columns in batches, missing answers, and filtered rows.

Missing answers (`--missing`): a blank is a refusal, so that leaving it out changes what the
remaining rows say. The analyst chooses: raise an error (the default), drop the row, or substitute a
label. The affected rows are counted.

In CSV every cell is text: answers are labels if the question has labels and integers if it has
none, and strata stay text. In Parquet the column's own type decides. A table may be a file, a
folder of files or a pattern of their names; their rows follow one another.

A filtered table leaves out rows and keeps the row numbers of the whole table.
"""

from __future__ import annotations

import difflib
import glob
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.core.columns import normalized_name
from rumor.core.errors import AnswerError, InputError
from rumor.core.files import PathLike
from rumor.core.option_sets import MARK
from rumor.core.plain_text import one_line
from rumor.core.table_files import MemoryFile, RenamedFile, TableFile, open_file, table_ending
from rumor.core.types import Rows

ERROR, DROP = "error", "drop"
_NAME = re.compile(r"[^\W\d][\w .:/()?-]{0,60}")
_SHOWN_NAMES = 20
_COLUMNS_TO_TELL, _ROWS_TO_TELL = 3, 20
_RULE = "an answer must not be missing (--missing says what becomes of such rows)"


class NoAnswerError(AnswerError):
    """A missing answer in a column that must not have any."""

    def __init__(self, row: int, column: str) -> None:
        super().__init__(_RULE, row, "nothing")
        self.column = column


@dataclass
class MissingAnswerRule:
    """The rule for rows without an answer: "error", "drop", or the label to substitute."""

    rule: str = ERROR
    affected_rows: int = 0
    """The number of rows without an answer when the answers were last read."""
    _dropped: list[Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise InputError("--missing must be drop, error or a label; got an empty text")

    @property
    def label(self) -> str | None:
        """The label to substitute for a missing answer, or None."""
        return None if self.rule in (ERROR, DROP) else self.rule

    def without_counts(self) -> MissingAnswerRule:
        """Return a copy of this rule for other answers, with no row counted yet."""
        return MissingAnswerRule(self.rule)

    def apply(
        self, batches: Iterable[pa.RecordBatch], answers: int, *, blank: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Yield `batches` whose first `answers` columns have no missing answer.

        A null is always missing, an empty text only if `blank` is set.
        """
        self.affected_rows, self._dropped = 0, []
        before = 0
        for batch in batches:
            columns = [_without_dictionary(batch.column(i)) for i in range(answers)]
            masks = [missing_cells(column, blank) for column in columns]
            some = np.logical_or.reduce(masks)
            if self.rule == ERROR and some.any():
                row = int(np.argmax(some))
                column = next(i for i, mask in enumerate(masks) if mask[row])
                raise NoAnswerError(before + row, batch.schema.names[column])
            self.affected_rows += int(some.sum())
            if self.label is not None:
                columns = [
                    self._fill(column, mask) for column, mask in zip(columns, masks, strict=True)
                ]
            rest = [batch.column(i) for i in range(answers, batch.num_columns)]
            made = pa.RecordBatch.from_arrays([*columns, *rest], names=batch.schema.names)
            if self.rule == DROP and some.any():
                self._dropped.append(before + np.flatnonzero(some))
                made = made.filter(pa.array(~some))
            before += len(batch)
            if len(made):
                yield made

    def _fill(self, column: pa.Array, mask: NDArray[np.bool_]) -> pa.Array:
        """Return `column` with the label wherever `mask` is set."""
        if not mask.any():
            return column
        text = column if _is_text(column.type) else pc.cast(column, pa.string())
        return pc.if_else(pa.array(mask), pa.scalar(self.label, text.type), text)

    def original_row(self, row: int) -> int:
        """Return the number in the whole table of a `row` counted after dropping."""
        if not self._dropped:
            return row
        dropped = np.concatenate(self._dropped)
        return row + int(np.searchsorted(dropped - np.arange(dropped.size), row, side="right"))

    def sentence(self) -> str | None:
        """Return a sentence that says how many rows were affected, or None if none was."""
        if not self.affected_rows:
            return None
        rows = (
            "1 row had no answer"
            if self.affected_rows == 1
            else f"{self.affected_rows:,} rows had no answer"
        )
        if self.rule == DROP:
            return f"{rows} and {'was' if self.affected_rows == 1 else 'were'} left out"
        return f"{rows} and {'counts' if self.affected_rows == 1 else 'count'} as {self.rule!r}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _without_dictionary(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def missing_cells(column: pa.Array, blank: bool) -> NDArray[np.bool_]:
    """Return which cells of `column` hold no answer; an empty text holds none if `blank` is set."""
    column = _without_dictionary(column)
    nothing = column.is_null(nan_is_null=True)
    if blank and _is_text(column.type):
        empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
        nothing = pc.or_(nothing, pc.fill_null(empty, False))
    return np.asarray(nothing.to_numpy(zero_copy_only=False), dtype=np.bool_)


@dataclass(frozen=True)
class AnswerTable:
    """A table of answers: its columns are known, its rows are read on demand."""

    path: Path
    """The path of the table: a file, a folder or a pattern."""
    files: tuple[TableFile, ...]
    mark: str = MARK
    """The separator of several answers in one cell."""
    missing_rule: MissingAnswerRule = field(default_factory=MissingAnswerRule)
    """The rule for rows without an answer."""
    _starts: list[int] = field(default_factory=list)
    """The number of rows before each file when the files were last read."""

    @classmethod
    def open(
        cls,
        path: PathLike,
        mark: str = MARK,
        missing: str = ERROR,
        separator: str | None = None,
    ) -> AnswerTable:
        """Open a file, a folder, a pattern, or "-" for standard input; only headers are read."""
        files = [open_file(one, separator) for one in _matching_files(path)]
        return cls._of_files(Path(path), files, mark, missing)

    @classmethod
    def of(cls, table: object, mark: str = MARK, missing: str = ERROR) -> AnswerTable:
        """Return `table` in memory as a table of answers; see `MemoryFile.of`."""
        file = MemoryFile.of(table)
        return cls._of_files(file.path, [file], mark, missing)

    @classmethod
    def _of_files(
        cls, path: Path, files: Sequence[TableFile], mark: str, missing: str
    ) -> AnswerTable:
        if not mark:
            raise InputError("a mark between answers must be a text; got an empty one")
        rule = MissingAnswerRule(missing)
        for other in files[1:]:
            if other.schema != files[0].schema:
                raise InputError(
                    f"{other.path}: the files of one table must have the same columns, of the same "
                    f"types, as {str(files[0].path)!r}; got others"
                )
        return cls(path, tuple(files), mark, rule)

    @property
    def schema(self) -> pa.Schema:
        """Column names and types; a CSV column is text until `batches` converts it."""
        return self.files[0].schema

    @property
    def has_all_rows(self) -> bool:
        """Whether `batches` yields every row of the files."""
        return True

    def expected_rows(self) -> int | None:
        """Return about how many rows there are; None where that is not known before reading."""
        found = [file.expected_rows() for file in self.files]
        known = [rows for rows in found if rows is not None]
        return sum(known) if len(known) == len(found) else None

    def digest(self) -> str:
        """Return the SHA-256 of the files' digests, in their order: that of all answers."""
        return hashlib.sha256(b"".join(file.digest() for file in self.files)).hexdigest()

    def require(self, column: str) -> None:
        """Raise an InputError unless the table has `column`.

        If a header is missing, the names are respondents' answers: so the error shows names only
        if they look like those of a header, or one that is very similar to `column`.
        """
        names = {normalized_name(name): name for name in reversed(self.schema.names)}
        if column not in self.schema.names:
            close = difflib.get_close_matches(normalized_name(column), names, n=1, cutoff=0.75)
            meant = f" (did you mean {names[close[0]]!r}?)" if close else ""
            count = len(self.schema.names)
            got = f"{count:,} columns of other names"
            if self._has_header():
                shown = ", ".join(map(one_line, self.schema.names[:_SHOWN_NAMES]))
                got = (
                    f"{shown}{'' if count <= _SHOWN_NAMES else f' and {count - _SHOWN_NAMES} more'}"
                )
            raise InputError(
                f"{self.path}: the table must have a column {column!r} in its header; got {got}"
                f"{meant}"
            )

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Return this table with columns called by new `names`, each given with its old name."""
        if not names:
            return self
        for name in names.values():
            self.require(name)
        taken = set(self.schema.names) - set(names.values())
        if again := sorted(taken & set(names)):
            raise InputError(
                f"{self.path}: a column can only have a name that no other has; got {again[0]!r}"
            )
        return replace(self, files=tuple(RenamedFile(file, names) for file in self.files))

    def _has_header(self) -> bool:
        """Return whether the columns' names look like names, and are in none of many cells below.

        In few columns or rows nothing tells a header from the answers of a first person.
        """
        names = self.schema.names
        if len(names) < _COLUMNS_TO_TELL or not all(_NAME.fullmatch(name) for name in names):
            return False
        for batch in self.files[0].batches(dict.fromkeys(names, "text")):
            cells = ({str(cell) for cell in batch.column(name).to_pylist()} for name in names)
            is_below = (name in found for name, found in zip(names, cells, strict=True))
            return len(batch) >= _ROWS_TO_TELL and not any(is_below)
        return False

    @contextmanager
    def locate_errors(self, column: str | None = None, before: int = 0) -> Iterator[None]:
        """Add file, `column` and row to errors about answers raised in the block.

        The answers checked in the block are those of the rows from `before` on.
        """
        beside = "" if column is None else f", column {column!r}"
        try:
            yield
        except AnswerError as problem:
            if problem.row is None:
                raise problem.located_in(f"{self.path}{beside}") from None
            file, row = self._place(self.original_row(before + problem.row))
            told = AnswerError(problem.rule, row, problem.got)
            raise told.located_in(f"{file.path}{beside}") from None
        except InputError as problem:
            places = (f"{place}" for place in (self.path, *(file.path for file in self.files)))
            named = str(problem).startswith(tuple(places))
            raise problem if named else InputError(f"{self.path}{beside}: {problem}") from None

    def _place(self, row: int) -> tuple[TableFile, int]:
        """Return the file that holds `row`, and the row's number in that file."""
        file = max(bisect_right(self._starts, row) - 1, 0)
        return self.files[file], row - (self._starts[file] if self._starts else 0)

    def original_row(self, row: int) -> int:
        """Return the number in the whole table of a `row` counted among those that `batches`
        yields.
        """
        return self.missing_rule.original_row(row)

    def answered_batches(
        self,
        columns: Sequence[str],
        cells: Sequence[str] | None = None,
        answers: int = 1,
        *,
        blank: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Yield `batches` after the missing-answer rule was applied to the first `answers` columns.

        An empty text is a missing answer, unless `blank` is False.
        """
        try:
            yield from self.missing_rule.apply(self.batches(columns, cells), answers, blank=blank)
        except NoAnswerError as problem:
            found = problem
        else:
            return
        with self.locate_errors(found.column):
            raise found

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield `columns` of all rows, in order.

        `cells` gives the type to read each CSV column as: "text", "integer" or "number".
        """
        for column in columns:
            self.require(column)
        # A column asked for twice (as the answer and as a stratum) is read once.
        kinds = dict(zip(columns, cells or ["text"] * len(columns), strict=True))
        self._starts.clear()
        rows = 0
        for file in self.files:
            self._starts.append(rows)
            for batch in file.batches(kinds):
                rows += len(batch)
                yield batch.select(list(columns))


def _matching_files(path: PathLike) -> list[str]:
    """Return the files that `path` stands for, in the order of their names."""
    place = Path(path)
    if place.is_dir():
        found = [
            str(file)
            for file in sorted(place.rglob("*"))
            if table_ending(file) is not None
            and file.is_file()
            and not any(part.startswith((".", "_")) for part in file.relative_to(place).parts)
        ]
        if not found:
            raise InputError(f"a folder of answers must hold tables; {str(place)!r} has none")
        return found
    if not place.exists() and glob.has_magic(str(place)):
        matching = sorted(glob.glob(str(place), recursive=True))  # noqa: PTH207 (or absolute)
        if not matching:
            raise InputError(f"a pattern must match some files; got none for {str(place)!r}")
        return matching
    return [str(place)]


@dataclass(frozen=True)
class FilteredTable(AnswerTable):
    """A table restricted to selected rows."""

    is_selected: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def select_rows(cls, table: AnswerTable, picked: NDArray[np.bool_]) -> FilteredTable:
        """Return `table` restricted to the rows in which the mask `picked` is set."""
        return cls(table.path, table.files, table.mark, table.missing_rule, is_selected=picked)

    @property
    def has_all_rows(self) -> bool:
        """Whether `batches` yields every row of the files: never."""
        return False

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield `columns` of the selected rows, in order."""
        before = 0
        for batch in super().batches(columns, cells):
            picked = batch.filter(pa.array(self.is_selected[before : before + len(batch)]))
            before += len(batch)
            if len(picked):
                yield picked

    def original_row(self, row: int) -> int:
        """Return the number in the whole table of a `row` counted among the selected rows."""
        return int(np.flatnonzero(self.is_selected)[super().original_row(row)])
