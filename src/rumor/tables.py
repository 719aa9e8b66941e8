"""Reading the columns that people hand in: CSV or Parquet tables, a bounded batch at a time.

In CSV every cell is text: answers are labels where the question has labels and integers
where it has none, and strata stay text. In Parquet the column's own type decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rumor.errors import InputError, shown
from rumor.files import PathLike

# How the cells of a CSV can be read.
_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}

_BAD_CELL = re.compile(r"conversion error to (?P<kind>int64|double): invalid value '(?P<value>.*)'")

_BLOCK_BYTES = 16 << 20
_BATCH_ROWS = 1 << 20


@dataclass(frozen=True)
class Table:
    """A table in a file: its columns are known, its rows are read when asked for."""

    path: Path
    schema: pa.Schema
    """Column names and types; in CSV everything is text until it is read as something else."""

    @classmethod
    def open(cls, path: PathLike) -> Table:
        """A .csv or .parquet file; only its header is read."""
        file = Path(path)
        if file.suffix.lower() not in (".csv", ".parquet"):
            raise InputError(f"a table must be a .csv or .parquet file; got {str(file)!r}")
        if not file.is_file():
            raise InputError(f"a table must be a file that exists; got {str(file)!r}")
        if file.suffix.lower() == ".parquet":
            try:
                return cls(file, pq.read_schema(file))
            except (pa.ArrowException, OSError):
                raise _broken_parquet(file) from None
        reader = _open_csv(file, {}, None)
        with reader:
            names = reader.schema.names
        if len(set(names)) != len(names):
            raise InputError(f"{file}: columns must have distinct names; got {shown(names)}")
        return cls(file, pa.schema([(name, pa.string()) for name in names]))

    @property
    def is_csv(self) -> bool:
        """Whether cells are text."""
        return self.path.suffix.lower() == ".csv"

    def require(self, column: str) -> None:
        """Raise one clear sentence unless there is such a column."""
        if column not in self.schema.names:
            raise InputError(
                f"{self.path}: the table must have a column {column!r}; "
                f"got the columns {shown(', '.join(self.schema.names))}"
            )

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
        with _open_csv(self.path, kinds, list(columns)) as reader:
            try:
                for batch in reader:
                    if len(batch):
                        yield batch
            except pa.ArrowInvalid as problem:
                raise _broken_csv(self.path, problem) from None

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


def _open_csv(
    file: Path, kinds: dict[str, str], columns: list[str] | None
) -> pa_csv.CSVStreamingReader:
    try:
        with file.open("rb") as raw:
            if not raw.read(1):
                raise InputError(f"{file}: a table must have a header line; got an empty file")
        return pa_csv.open_csv(
            file,
            read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: _TYPES[kind] for name, kind in kinds.items()},
                include_columns=columns,
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as problem:
        raise _broken_csv(file, problem) from None


def _broken_csv(file: Path, problem: Exception) -> InputError:
    """Arrow's reason in our words where it is a cell's, else in one line of its own."""
    reason = " ".join(str(problem).split())
    cell = _BAD_CELL.search(reason)
    if cell is not None:
        kind = "integers" if cell["kind"] == "int64" else "numbers"
        return InputError(f"{file}: the column must hold {kind}; got {shown(cell['value'])}")
    return InputError(f"{file}: a table must be well-formed CSV (UTF-8, with a header); {reason}")


def _broken_parquet(file: Path) -> InputError:
    return InputError(
        f"{file}: a table must be a complete Parquet file; "
        f"this one is truncated, damaged or something else"
    )
