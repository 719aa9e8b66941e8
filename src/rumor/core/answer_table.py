"""Reading the columns that people hand in: CSV or Parquet tables, a bounded batch at a time.

In CSV every cell is text: answers are labels where the question has labels and integers
where it has none, and strata stay text. In Parquet the column's own type decides.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rumor.core.errors import AnswerError, InputError
from rumor.core.files import PathLike
from rumor.core.missing import ERROR, Missing, NoAnswerError
from rumor.core.option_sets import MARK

# How the cells of a CSV can be read.
_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}

# What Arrow says of a table quotes its cells, so that only these parts of it are repeated.
_BAD_CELL = re.compile(
    # Where Arrow has one thread, it names the row, too.
    r"CSV column #(?P<column>\d+): (Row #\d+: )?CSV conversion error to (?P<kind>int64|double)"
)
_BAD_TEXT = re.compile(r"CSV column #(?P<column>\d+): .*invalid UTF8 data")
_BAD_ROW = re.compile(r"Expected (?P<right>\d+) columns, got (?P<wrong>\d+)")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")

_BLOCK_BYTES = 16 << 20
_BATCH_ROWS = 1 << 20


@dataclass(frozen=True)
class Table:
    """A table in a file: its columns are known, its rows are read when asked for."""

    path: Path
    schema: pa.Schema
    """Column names and types; in CSV everything is text until it is read as something else."""
    mark: str = MARK
    """What stands between several answers in one cell."""
    missing: Missing = field(default_factory=Missing)
    """What becomes of rows without an answer."""

    @classmethod
    def open(cls, path: PathLike, mark: str = MARK, missing: str = ERROR) -> Table:
        """A .csv or .parquet file; only its header is read."""
        rule = Missing(missing)
        if not mark:
            raise InputError("a mark between answers must be a text; got an empty one")
        file = Path(path)
        if file.suffix.lower() not in (".csv", ".parquet"):
            raise InputError(f"a table must be a .csv or .parquet file; got {str(file)!r}")
        if not file.is_file():
            raise InputError(f"a table must be a file that exists; got {str(file)!r}")
        if file.suffix.lower() == ".parquet":
            try:
                return cls(file, pq.read_schema(file), mark, rule)
            except (pa.ArrowException, OSError):
                raise _broken_parquet(file) from None
        names = _header(file)
        if len(set(names)) != len(names):
            raise InputError(f"{file}: columns must have distinct names; got one name twice")
        return cls(file, pa.schema([(name, pa.string()) for name in names]), mark, rule)

    @property
    def whole(self) -> bool:
        """Whether every row is handed on."""
        return True

    @property
    def is_csv(self) -> bool:
        """Whether cells are text."""
        return self.path.suffix.lower() == ".csv"

    def require(self, column: str) -> None:
        """Raise one clear sentence unless there is such a column.

        Where a header is missing the names are somebody's answers, so that only one which is
        much like the wanted one is shown.
        """
        names = self.schema.names
        if column not in names:
            close = difflib.get_close_matches(column, names, n=1, cutoff=0.75)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise InputError(
                f"{self.path}: the table must have a column {column!r} in its header; "
                f"got {len(names)} columns of other names{meant}"
            )

    @contextmanager
    def placing(self, column: str | None = None, before: int = 0) -> Iterator[None]:
        """Let errors about answers name this table, the column and the row.

        The answers are those of the rows from `before` on.
        """
        place = f"{self.path}" if column is None else f"{self.path}, column {column!r}"
        try:
            yield
        except AnswerError as problem:
            row = None if problem.row is None else self.number(before + problem.row)
            raise AnswerError(problem.rule, row, problem.got).within(place) from None
        except InputError as problem:
            named = str(problem).startswith(f"{self.path}")
            raise problem if named else InputError(f"{place}: {problem}") from None

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
        if not self.is_csv:
            yield from self._parquet_batches(columns)
            return
        kinds = dict(zip(columns, cells or ["text"] * len(columns), strict=True))
        reason = ""
        try:
            alone = len(self.schema.names) == 1
            with _open_csv(self.path, kinds, list(columns), alone=alone) as reader:
                for batch in reader:
                    if len(batch):
                        yield batch
        except pa.ArrowInvalid as problem:
            reason = str(problem)
        if reason:  # and no chain of exceptions that quotes a cell
            raise self._broken_csv(reason)

    def _broken_csv(self, reason: str) -> InputError:
        """Arrow's reason in our words, which name the place and quote nothing."""
        cell = _BAD_CELL.search(reason)
        if cell is not None:
            name, whole = self.schema.names[int(cell["column"])], cell["kind"] == "int64"
            row = self._first_row(name, _is_integer if whole else _is_number)
            kind = "integers" if whole else "numbers"
            rule = f"{self.path}, column {name!r}{row}: the column must hold {kind}"
            return InputError(f"{rule}; got something else")
        return _malformed_csv(self.path, reason)

    def _first_row(self, column: str, right: Callable[[str], bool]) -> str:
        """The first row whose cell is not right, as a message names it."""
        before = 0
        for batch in Table.batches(self, [column]):
            for row, cell in enumerate(batch.column(0).to_pylist()):
                if not right(cell):
                    return f", row {before + row + 1:,}"
            before += len(batch)
        return ""

    def _parquet_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # A column asked for twice (as the answer and as a stratum) is read once.
        names = list(dict.fromkeys(columns))
        try:
            with pq.ParquetFile(self.path) as parquet:
                for batch in parquet.iter_batches(_BATCH_ROWS, columns=names):
                    if len(batch):
                        yield batch.select(list(columns))
        except (pa.ArrowException, OSError):
            raise _broken_parquet(self.path) from None


def _header(file: Path) -> list[str]:
    """The names of a CSV's columns."""
    reason = ""
    try:
        with _open_csv(file, {}, None) as reader:
            return list(reader.schema.names)
    except pa.ArrowInvalid as problem:
        reason = str(problem)
    raise _malformed_csv(file, reason)


def _open_csv(
    file: Path, kinds: dict[str, str], columns: list[str] | None, *, alone: bool = False
) -> pa_csv.CSVStreamingReader:
    """Where a column is `alone`, an empty line is a row without an answer; else it is no row."""
    with file.open("rb") as raw:
        above = 0
        while not (line := raw.readline()).strip():
            if not line:
                raise InputError(f"{file}: a table must have a header line; got an empty file")
            above += 1
    return pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES, skip_rows=above),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=not alone),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: _TYPES[kind] for name, kind in kinds.items()},
            include_columns=columns,
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    )


def _malformed_csv(file: Path, reason: str) -> InputError:
    rule = f"{file}: a table must be well-formed CSV (UTF-8, with a header)"
    row, text = _BAD_ROW.search(reason), _BAD_TEXT.search(reason)
    if row is not None:
        return InputError(f"{rule}; got a row of {row['wrong']} cells for {row['right']} columns")
    if text is not None:
        return InputError(f"{rule}; got invalid UTF-8 in column {int(text['column']) + 1}")
    return InputError(f"{rule}; got something else")


def _is_integer(cell: str) -> bool:
    return not cell or (_INTEGER.fullmatch(cell) is not None and -(1 << 63) <= int(cell) < 1 << 63)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def _broken_parquet(file: Path) -> InputError:
    return InputError(
        f"{file}: a table must be a complete Parquet file; "
        f"this one is truncated, damaged or something else"
    )
