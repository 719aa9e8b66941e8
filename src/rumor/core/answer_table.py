"""Reading the columns that people hand in, a bounded batch at a time.

In CSV every cell is text: answers are labels where the question has labels and integers
where it has none, and strata stay text. In Parquet the column's own type decides. A table may be
a file, a folder of files or a pattern of their names; their rows follow one another.
"""

from __future__ import annotations

import difflib
import glob
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from rumor.core.errors import AnswerError, InputError
from rumor.core.files import PathLike
from rumor.core.missing import ERROR, Missing, NoAnswerError
from rumor.core.option_sets import MARK
from rumor.core.table_files import TableFile, open_file, table_ending


@dataclass(frozen=True)
class Table:
    """A table: its columns are known, its rows are read when asked for."""

    path: Path
    """What it is called: a file, a folder, a pattern."""
    files: tuple[TableFile, ...]
    mark: str = MARK
    """What stands between several answers in one cell."""
    missing: Missing = field(default_factory=Missing)
    """What becomes of rows without an answer."""
    _starts: list[int] = field(default_factory=list)
    """How many rows there were before each file, as they were read last."""

    @classmethod
    def open(
        cls,
        path: PathLike,
        mark: str = MARK,
        missing: str = ERROR,
        separator: str | None = None,
    ) -> Table:
        """A file, a folder or a pattern, or "-" for the standard input; only headers are read."""
        if not mark:
            raise InputError("a mark between answers must be a text; got an empty one")
        rule = Missing(missing)
        files = [open_file(one, separator) for one in _found(path)]
        for other in files[1:]:
            if other.schema.names != files[0].schema.names or other.schema != files[0].schema:
                raise InputError(
                    f"{other.path}: the files of one table must have the same columns, of the same "
                    f"types, as {str(files[0].path)!r}; got others"
                )
        return cls(Path(path), tuple(files), mark, rule)

    @property
    def schema(self) -> pa.Schema:
        """Column names and types; in CSV everything is text until it is read as something else."""
        return self.files[0].schema

    @property
    def whole(self) -> bool:
        """Whether every row is handed on."""
        return True

    def require(self, column: str) -> None:
        """Raise one clear sentence unless there is such a column.

        Where a header is missing the names are somebody's answers, so that only one which is
        much like the wanted one is shown.
        """
        names = {alike(name): name for name in reversed(self.schema.names)}
        if column not in self.schema.names:
            close = difflib.get_close_matches(alike(column), names, n=1, cutoff=0.75)
            meant = f" (did you mean {names[close[0]]!r}?)" if close else ""
            raise InputError(
                f"{self.path}: the table must have a column {column!r} in its header; "
                f"got {len(self.schema.names)} columns of other names{meant}"
            )

    @contextmanager
    def placing(self, column: str | None = None, before: int = 0) -> Iterator[None]:
        """Let errors about answers name the file, the column and the row.

        The answers are those of the rows from `before` on.
        """
        beside = "" if column is None else f", column {column!r}"
        try:
            yield
        except AnswerError as problem:
            if problem.row is None:
                raise problem.within(f"{self.path}{beside}") from None
            file, row = self._place(self.number(before + problem.row))
            told = AnswerError(problem.rule, row, problem.got)
            raise told.within(f"{file.path}{beside}") from None
        except InputError as problem:
            places = (f"{place}" for place in (self.path, *(file.path for file in self.files)))
            named = str(problem).startswith(tuple(places))
            raise problem if named else InputError(f"{self.path}{beside}: {problem}") from None

    def _place(self, row: int) -> tuple[TableFile, int]:
        """The file that a row is in, and its number there."""
        file = max(bisect_right(self._starts, row) - 1, 0)
        return self.files[file], row - (self._starts[file] if self._starts else 0)

    def number(self, row: int) -> int:
        """The number of a row that was handed on, among all rows of the table."""
        return self.missing.number(row)

    def answered(
        self,
        columns: Sequence[str],
        cells: Sequence[str] | None = None,
        answers: int = 1,
        *,
        blank: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """As `batches`, the first so many columns holding answers: none of them is missing.

        The table's rule says what becomes of rows where one is. An empty text is none, unless
        `blank` says that it is an answer.
        """
        try:
            yield from self.missing.applied(self.batches(columns, cells), answers, blank=blank)
        except NoAnswerError as problem:
            found = problem
        else:
            return
        with self.placing(found.column):
            raise found

    def batches(
        self, columns: Sequence[str], cells: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order.

        `cells` says how each is to be read from CSV: as "text", "integer" or "number".
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


def _found(path: PathLike) -> list[str]:
    """The files that a path means, in the order of their names."""
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


def alike(name: str) -> str:
    """What names have in common that people take for the same."""
    return re.sub(r"[-_.\s]+", "-", unicodedata.normalize("NFKC", name).casefold().strip())
