"""The file formats of tables of answers: CSV of any separator, Parquet, Stata, SPSS and Excel.

A CSV may be compressed (.gz), and a CSV or a Parquet file may come by standard input: it is then
kept in memory, since respondents' answers do not belong in a temporary file. A library's message
about a file that it cannot read may quote an answer, and is never repeated.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from rumor.core.errors import InputError, format_value, type_in_words
from rumor.core.value_labels import spss_labels, stata_labels, with_labels

STANDARD_INPUT = "-"
# The file types that pandas reads, and the package that it needs for each.
STATISTICS = {
    ".dta": ("read_stata", ("pandas",)),
    ".sav": ("read_spss", ("pandas", "pyreadstat")),
    ".zsav": ("read_spss", ("pandas", "pyreadstat")),
    ".xlsx": ("read_excel", ("pandas", "openpyxl")),
}
_KNOWN = (".csv", ".parquet", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", *STATISTICS)

_STATISTICS = " (pip install 'rumor[statistics]')"
_INSTEAD = {
    ".xlsx": " (pip install 'rumor[excel]'), or the sheet saved as CSV",
    **dict.fromkeys((".dta", ".sav", ".zsav"), _STATISTICS),
}

# How the cells of a CSV can be read.
_TYPES = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}

# Arrow's messages about a table quote its cells, so that only these parts of them are repeated.
_BAD_CELL = re.compile(
    # Where Arrow has one thread, it names the row, too.
    r"CSV column #(?P<column>\d+): (Row #\d+: )?CSV conversion error to (?P<kind>int64|double)"
)
_BAD_TEXT = re.compile(r"CSV column #(?P<column>\d+): .*invalid UTF8 data")
_BAD_ROW = re.compile(r"Expected (?P<right>\d+) columns, got (?P<wrong>\d+)")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")

_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+,[0-9]+")
_LOOKED_AT = 10_000  # cells that show how a table writes its numbers

_BLOCK_BYTES = 16 << 20
_START_BYTES = 1 << 20  # of a CSV, by which its rows are counted about
_UNPACKED_BYTES = 64 << 20  # the most that they may unpack to
_BATCH_ROWS = 1 << 20
_QUOTED = re.compile('"[^"]*"?')
_SEPARATORS = (",", ";", "\t")


class TableFile(Protocol):
    """One file of a table."""

    @property
    def path(self) -> Path:
        """The file's path, as shown in messages."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Column names and types; a CSV column is text until `batches` converts it."""
        ...

    def expected_rows(self) -> int | None:
        """Return about how many rows there are; None where that is not known before reading."""
        ...

    def batches(self, cells: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns named in `cells` of all rows, in order; CSV reads each as its type
        there.
        """
        ...

    def digest(self) -> bytes:
        """Return the SHA-256 of the whole file."""
        ...


def open_file(path: str | Path, separator: str | None = None) -> TableFile:
    """Open one file by the suffix of its name, or "-" for standard input; only its header is
    read.
    """
    if str(path) == STANDARD_INPUT:
        return _from_input(sys.stdin.buffer.read(), separator)
    file = Path(path)
    ending = table_ending(file)
    if ending is None:
        raise InputError(f"a table must be a {_or(_KNOWN)} file; got {str(file)!r}")
    if not file.is_file():
        raise InputError(f"a table must be a file that exists; got {str(file)!r}")
    if ending == ".parquet":
        return ParquetFile.open(file)
    if ending in STATISTICS:
        return StatisticsFile.open(file)
    return CsvFile.open(file, None, separator)


def table_ending(file: Path) -> str | None:
    """Return the suffix of `file` if it is that of a table, else None."""
    name = file.name.lower()
    return next((ending for ending in _KNOWN if name.endswith(ending)), None)


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _from_input(data: bytes, separator: str | None) -> TableFile:
    named = Path(STANDARD_INPUT)
    if data.startswith(b"PAR1"):
        return ParquetFile.open(named, data)
    return CsvFile.open(named, data, separator)


@dataclass(frozen=True)
class RenamedFile:
    """A file whose columns are called by other names."""

    file: TableFile
    names: Mapping[str, str]
    """New names of columns, each with its old one."""

    @property
    def path(self) -> Path:
        """The file's path, as shown in messages."""
        return self.file.path

    @property
    def schema(self) -> pa.Schema:
        """Column names and types, by the new names."""
        new = {old: name for name, old in self.names.items()}
        return pa.schema(
            [field.with_name(new.get(field.name, field.name)) for field in self.file.schema]
        )

    def expected_rows(self) -> int | None:
        """Return about how many rows there are."""
        return self.file.expected_rows()

    def digest(self) -> bytes:
        """Return the SHA-256 of the whole file."""
        return self.file.digest()

    def batches(self, cells: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns named in `cells`, by their new names."""
        old = {self.names.get(name, name): kind for name, kind in cells.items()}
        for batch in self.file.batches(old):
            columns = [batch.column(self.names.get(name, name)) for name in cells]
            yield pa.RecordBatch.from_arrays(columns, names=list(cells))


@dataclass(frozen=True)
class CsvFile:
    """A CSV file: cells of text with a separator between them."""

    path: Path
    schema: pa.Schema
    separator: str
    data: bytes | None = None
    """The bytes of the table if it does not come from a file."""

    def _decimal_mark(self, numbers: list[str]) -> str:
        """Return the mark between a number's whole part and its fraction, by the first rows.

        Only where commas separate no cells can one be in a number.
        """
        if self.separator == "," or not numbers:
            return "."
        with self._reader(dict.fromkeys(numbers, "text"), numbers) as reader:
            cells = [cell for batch in _first(reader) for column in batch for cell in column]
        texts = [cell.as_py() or "" for cell in cells[:_LOOKED_AT]]
        commas = any(_COMMA_NUMBER.fullmatch(text.strip()) for text in texts)
        return "," if commas and not any("." in text for text in texts) else "."

    @classmethod
    def open(cls, path: Path, data: bytes | None, separator: str | None) -> CsvFile:
        """Read the header; without a `separator`, the candidate most frequent in it is taken."""
        if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
            raise InputError(
                f"--separator must be one character between the cells, or tab; "
                f"got {format_value(separator)}"
            )
        first, _ = _header_line(path, data)
        plain = _QUOTED.sub("", first)
        found = separator or max(_SEPARATORS, key=plain.count)
        file = cls(path, pa.schema([]), found, data)
        reason = ""
        try:
            with file._reader({}, None) as reader:
                names = list(reader.schema.names)
        except (pa.ArrowInvalid, OSError) as problem:
            reason = str(problem) or "damaged"
        if reason:
            raise _malformed_csv(path, reason)
        if len(set(names)) != len(names):
            raise InputError(f"{path}: columns must have distinct names; got one name twice")
        return cls(path, pa.schema([(name, pa.string()) for name in names]), found, data)

    def expected_rows(self) -> int | None:
        """Return about how many rows there are, by the length of the first lines."""
        if self.data is None:
            with self.path.open("rb") as opened:
                start, size = opened.read(_START_BYTES), self.path.stat().st_size
        else:
            start, size = self.data[:_START_BYTES], len(self.data)
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        with contextlib.suppress(zlib.error):  # a file that is not packed
            lines = unpacker.decompress(start, _UNPACKED_BYTES).count(b"\n")
            used = len(start) - len(unpacker.unconsumed_tail) - len(unpacker.unused_data)
            return max(size * lines // used - 1, 1) if lines else None
        lines = start.count(b"\n")
        return max(size * lines // len(start) - 1, 1) if lines else None

    def digest(self) -> bytes:
        """Return the SHA-256 of the whole file."""
        return _digest(self.path, self.data)

    def batches(self, cells: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns named in `cells` of all rows."""
        reason = ""
        try:
            with self._reader(cells, list(cells)) as reader:
                for batch in reader:
                    if len(batch):
                        yield batch
        except (pa.ArrowInvalid, OSError) as problem:
            reason = str(problem) or "damaged"
        if reason:  # and no chain of exceptions that quotes a cell
            raise self._broken(reason)

    def _reader(
        self, cells: Mapping[str, str], columns: list[str] | None
    ) -> pa_csv.CSVStreamingReader:
        """Open a streaming reader of `columns`.

        In a table of one column an empty line is a row without an answer; in other tables it is no
        row.
        """
        _, above = _header_line(self.path, self.data)
        return pa_csv.open_csv(
            _stream(self.path, self.data),
            read_options=pa_csv.ReadOptions(block_size=_BLOCK_BYTES, skip_rows=above),
            parse_options=pa_csv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=True,
                ignore_empty_lines=len(self.schema.names) != 1,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={name: _TYPES[kind] for name, kind in cells.items()},
                decimal_point=self._decimal_mark(
                    [name for name, kind in cells.items() if kind == "number"]
                ),
                include_columns=columns,
                strings_can_be_null=False,
                quoted_strings_can_be_null=False,
            ),
        )

    def _broken(self, reason: str) -> InputError:
        """Return an error that replaces Arrow's `reason`: it names the place and quotes nothing."""
        cell = _BAD_CELL.search(reason)
        if cell is not None:
            name, whole = self.schema.names[int(cell["column"])], cell["kind"] == "int64"
            row = self._first_row(name, _is_integer if whole else _is_number)
            kind = "integers" if whole else "numbers"
            rule = f"{self.path}, column {name!r}{row}: the column must hold {kind}"
            return InputError(f"{rule}; got something else")
        return _malformed_csv(self.path, reason)

    def _first_row(self, column: str, right: Callable[[str], bool]) -> str:
        """Return the first row whose cell is not `right`, as a message names it."""
        before = 0
        for batch in self.batches({column: "text"}):
            for row, cell in enumerate(batch.column(0).to_pylist()):
                if not right(cell):
                    return f", row {before + row + 1:,}"
            before += len(batch)
        return ""


def _stream(path: Path, data: bytes | None) -> pa.NativeFile:
    """Open a file or standard input as UTF-8: unpacked if packed, converted if it is UTF-16."""
    with _unpacked(path, data) as stream:
        is_utf16 = stream.read(2) in (b"\xff\xfe", b"\xfe\xff")
    found = _unpacked(path, data)
    return pa.transcoding_input_stream(found, "utf-16", "utf-8") if is_utf16 else found


def _unpacked(path: Path, data: bytes | None) -> pa.NativeFile:
    """Open the bytes of a file or of standard input, decompressed if they are compressed."""
    if data is None:
        packed = path.suffix.lower() == ".gz"
        return pa.input_stream(str(path), compression="gzip" if packed else None)
    raw = pa.BufferReader(data)
    return pa.CompressedInputStream(raw, "gzip") if data.startswith(b"\x1f\x8b") else raw


def _header_line(path: Path, data: bytes | None) -> tuple[str, int]:
    """Return the first line that is not empty, and the number of lines above it."""
    start = b""
    try:
        with _stream(path, data) as stream:
            while b"\n" not in start.lstrip() and (more := stream.read(1 << 16)):
                start += more
    except (OSError, pa.ArrowException):  # an archive that is none, or is cut
        raise _malformed_csv(path, "damaged") from None
    for above, line in enumerate(start.splitlines()):
        if line.strip():
            return line.decode("utf-8", "replace"), above
    raise InputError(f"{path}: a table must have a header line; got an empty file")


def _malformed_csv(file: Path, reason: str) -> InputError:
    rule = f"{file}: a table must be well-formed CSV (UTF-8, with a header)"
    row, text = _BAD_ROW.search(reason), _BAD_TEXT.search(reason)
    if row is not None:
        return InputError(f"{rule}; got a row of {row['wrong']} cells for {row['right']} columns")
    if text is not None:
        return InputError(f"{rule}; got invalid UTF-8 in column {int(text['column']) + 1}")
    return InputError(f"{rule}; got something else")


def _first(reader: pa_csv.CSVStreamingReader) -> Iterator[pa.RecordBatch]:
    """Yield the first batch of `reader`, if it has any."""
    with contextlib.suppress(StopIteration):
        yield reader.read_next_batch()


def _is_integer(cell: str) -> bool:
    return not cell or (_INTEGER.fullmatch(cell) is not None and -(1 << 63) <= int(cell) < 1 << 63)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file, whose columns have types."""

    path: Path
    schema: pa.Schema
    data: bytes | None = None

    @classmethod
    def open(cls, path: Path, data: bytes | None = None) -> ParquetFile:
        """Read the schema."""
        try:
            return cls(path, pq.read_schema(_parquet(path, data)), data)
        except (pa.ArrowException, OSError):
            raise _broken_parquet(path) from None

    def expected_rows(self) -> int | None:
        """Return how many rows there are."""
        rows: int = pq.read_metadata(_parquet(self.path, self.data)).num_rows
        return rows

    def digest(self) -> bytes:
        """Return the SHA-256 of the whole file."""
        return _digest(self.path, self.data)

    def batches(self, cells: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns named in `cells` of all rows."""
        try:
            with pq.ParquetFile(_parquet(self.path, self.data)) as parquet:
                for batch in parquet.iter_batches(_BATCH_ROWS, columns=list(cells)):
                    if len(batch):
                        yield batch
        except (pa.ArrowException, OSError):
            raise _broken_parquet(self.path) from None


def _digest(path: Path, data: bytes | None) -> bytes:
    """Return the SHA-256 of a file, or of what came by standard input."""
    if data is not None:
        return hashlib.sha256(data).digest()
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()


def _parquet(path: Path, data: bytes | None) -> Any:
    return path if data is None else pa.BufferReader(data)


def _broken_parquet(file: Path) -> InputError:
    return InputError(
        f"{file}: a table must be a complete Parquet file; "
        f"this one is truncated, damaged or something else"
    )


def _plain_text_type(kind: pa.DataType) -> pa.DataType:
    """Return `kind`, or the plain type of texts for the others that texts have."""
    texts = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if texts else kind


@dataclass(frozen=True)
class MemoryFile:
    """A table in memory, as a file."""

    path: Path
    table: pa.Table

    @classmethod
    def of(cls, table: object) -> Self:
        """Return `table` (Arrow, pandas, Polars, or columns by name) as a file called "table"."""
        with contextlib.suppress(Exception):  # which may quote an answer
            found = table if isinstance(table, pa.Table) else pa.table(table)
            plain = [field.with_type(_plain_text_type(field.type)) for field in found.schema]
            return cls(Path("table"), found.cast(pa.schema(plain)))
        raise InputError(
            "a table must be a file, or a table in memory (Arrow, pandas, Polars, or columns by "
            f"name); got {type_in_words(table)}"
        )

    @property
    def schema(self) -> pa.Schema:
        """Column names and types."""
        return self.table.schema

    def expected_rows(self) -> int | None:
        """Return how many rows there are."""
        return len(self.table)

    def digest(self) -> bytes:
        """Return the SHA-256 of all columns, with their names and types."""
        found = hashlib.sha256(bytes(self.schema.serialize()))
        for batch in self.table.combine_chunks().to_batches(_BATCH_ROWS):
            found.update(batch.serialize())
        return found.digest()

    def batches(self, cells: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns named in `cells` of all rows."""
        for batch in self.table.select(list(cells)).to_batches(_BATCH_ROWS):
            if len(batch):
                yield batch


@dataclass(frozen=True)
class StatisticsFile(MemoryFile):
    """A Stata, SPSS or Excel file, read whole: value labels are the answers, in their order.

    Of an Excel file the first sheet is read.
    """

    @classmethod
    def open(cls, path: Path) -> StatisticsFile:
        """Read the whole file with pandas."""
        ending = path.suffix.lower()
        reader, needed = STATISTICS[ending]
        for name in needed:
            try:
                importlib.import_module(name)
            except ImportError:
                raise InputError(
                    f"{path}: to read {ending} files the Python package {name} must be installed"
                    f"{_INSTEAD.get(ending, '')}; it is not"
                ) from None
        pandas: Any = importlib.import_module("pandas")
        with contextlib.suppress(Exception):  # which may quote an answer
            if ending == ".dta":
                with pandas.read_stata(path, iterator=True) as opened:
                    labels, frame = stata_labels(opened), opened.read()
            else:
                frame = getattr(pandas, reader)(path)
                labels = spss_labels(path) if reader == "read_spss" else {}
            for name, column in frame.items():
                if isinstance(column.dtype, pandas.CategoricalDtype):
                    # Only some values may have labels: the others are shown unchanged.
                    frame[name] = column.cat.rename_categories(_called)
            frame.attrs = {}  # notes of the file, such as its day, which Arrow may not take
            return cls(path, with_labels(pa.Table.from_pandas(frame, preserve_index=False), labels))
        raise InputError(
            f"{path}: a table must be a complete {ending} file; this one is damaged or something "
            f"else"
        )


def _called(value: object) -> str:
    """Return a value without a label as text: 1 and not 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
