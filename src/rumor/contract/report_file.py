"""Reports files: Parquet, one question to a file.

Columns: `id` (16 random bytes, which name a report and nobody), `report` (the bytes of the
report, fixed width), `day` (a date), then any public columns (country, version, ...): the
groups of the contract, as texts, and others that were kept. The schema's metadata holds the format
version, the digest of the contract and the question's id. The columns `contract` and `question`
repeat digest and id in every row: readers of tables (Spark, a warehouse) lose the metadata and keep
the columns. Older files without these two columns are read as well.

A file is written in row groups of bounded size, and each row group is sorted by its random
ids: the order of the rows says nothing about the order of the people they came from, so a
report cannot be traced to a line of the input by its place. A file is there whole or not
at all.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError, format_value
from rumor.core.files import OWNER_ONLY, PathLike, whole_file
from rumor.core.randomness import RandomSource, System
from rumor.core.reports import Reports, as_reports

VERSION = "1"
ID_BYTES = 16
OWN_COLUMNS = ("id", "report", "day")
PROVENANCE_COLUMNS = ("contract", "question")
"""Columns that repeat in every row which contract and question the reports answer."""
RESERVED_COLUMNS = (*OWN_COLUMNS, *PROVENANCE_COLUMNS)

# Errors that a damaged Parquet file causes; a broken column name is the last one.
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)

_CONSTANT = pa.dictionary(pa.int8(), pa.string())
_VERSION_KEY, _CONTRACT_KEY, _QUESTION_KEY = b"rumor.version", b"rumor.contract", b"rumor.question"

# The reports of a row group are shuffled together and read by one worker at a time: large
# enough to hide a person and to cost no overhead, small enough for a few to fit in memory.
_GROUP_BYTES = 64 << 20
_MAX_GROUP_ROWS = 1 << 22


def group_rows(width: int) -> int:
    """Return how many reports of `width` bytes make a row group of about 64 MB."""
    return max(1024, min(_MAX_GROUP_ROWS, _GROUP_BYTES // (width + ID_BYTES + 4)))


def group_names(collection: Collection) -> tuple[str, ...]:
    """Return the names of the public columns that the contract of `collection` has."""
    return () if collection.groups is None else collection.groups.names


def file_schema(collection: Collection, question: Question, strata: pa.Schema) -> pa.Schema:
    """Return the columns and the metadata of a reports file with these `strata` and all groups."""
    groups = [pa.field(name, pa.string(), nullable=False) for name in group_names(collection)]
    for name in strata.names:
        if name in RESERVED_COLUMNS:
            raise InputError(
                f"a public column must not be named {', '.join(RESERVED_COLUMNS)}, which are "
                f"columns of every reports file; got {name!r}"
            )
    fields = [
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("report", pa.binary(question.mechanism.width), nullable=False),
        pa.field("day", pa.date32(), nullable=False),
        *groups,
        *strata,
        *(pa.field(name, _CONSTANT, nullable=False) for name in PROVENANCE_COLUMNS),
    ]
    metadata = {
        _VERSION_KEY: VERSION,
        _CONTRACT_KEY: collection.digest,
        _QUESTION_KEY: question.id,
    }
    return pa.schema(fields, metadata=metadata)


class ReportWriter:
    """A writer that gathers batches of reports into row groups, and shuffles each."""

    def __init__(self, parquet: pq.ParquetWriter, schema: pa.Schema, random: RandomSource) -> None:
        self._parquet, self._schema, self._random = parquet, schema, random
        self._rows = pa.schema([field for field in schema if field.name not in PROVENANCE_COLUMNS])
        self._of_what = [schema.metadata[key].decode() for key in (_CONTRACT_KEY, _QUESTION_KEY)]
        self._width: int = schema.field("report").type.byte_width
        self._group_rows = group_rows(self._width)
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        self.reports = self.batches = 0

    def write(
        self,
        reports: object,
        day: datetime.date | NDArray[np.datetime64],
        strata: Mapping[str, pa.Array] | None = None,
        *,
        ids: Reports | None = None,
    ) -> None:
        """Add a batch of reports of one day or of a day each, with a column for each stratum.

        New random ids name the reports, unless they have `ids` already (in a collector's store).
        """
        batch = as_reports(reports, self._width)
        columns = {
            "id": fixed_binary(self._ids(len(batch)) if ids is None else as_reports(ids, ID_BYTES)),
            "report": fixed_binary(batch),
            "day": (
                pa.array(day, pa.date32())
                if isinstance(day, np.ndarray)
                else pa.repeat(pa.scalar(day, pa.date32()), len(batch))
            ),
            **(strata or {}),
        }
        table = pa.table([columns[name] for name in self._rows.names], schema=self._rows)
        self.reports, self.batches = self.reports + len(batch), self.batches + 1
        start = 0
        while start < len(batch):
            piece = table.slice(start, self._group_rows - self._waiting_rows)
            self._waiting.append(piece)
            self._waiting_rows += len(piece)
            start += len(piece)
            if self._waiting_rows == self._group_rows:
                self.flush()

    def flush(self) -> None:
        """Write the waiting reports as one row group."""
        if not self._waiting:
            return
        table = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting, self._waiting_rows = [], 0
        # Eight of the sixteen random bytes decide the order; no need to compare the rest.
        ids = report_bytes(table.column("id").chunk(0))
        order = np.argsort(np.ascontiguousarray(ids[:, :8]).view(np.uint64).ravel())
        said = [_constant(text, len(order)) for text in self._of_what]
        columns = [*table.take(pa.array(order)).columns, *said]
        whole = pa.table(columns, schema=self._schema)
        self._parquet.write_table(whole, row_group_size=len(order))

    def _ids(self, count: int) -> Reports:
        ids = np.empty((count, ID_BYTES), dtype=np.uint8)
        if count:
            self._random.stream().fill(ids)
        return ids


def _constant(text: str, rows: int) -> pa.DictionaryArray:
    """Return `text` in each of `rows` rows, in one byte each."""
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), rows), [text])


@contextmanager
def write_reports(
    path: PathLike,
    collection: Collection,
    question: Question,
    *,
    strata: pa.Schema | None = None,
    random: RandomSource | None = None,
    announce: Callable[[Path], None] | None = None,
) -> Iterator[ReportWriter]:
    """Yield a writer of a new reports file, which appears at `path` if the block succeeds.

    Only its owner can read it: it holds reports by id.

    `random` makes the ids: leave it out for real people. `announce` is that of `whole_file`.
    """
    schema = file_schema(collection, question, pa.schema([]) if strata is None else strata)
    # Ids and reports are noise: neither compression, dictionaries nor statistics help.
    plain = ["id", "report"]
    others = [name for name in schema.names if name not in plain]
    options = {
        "compression": {name: "none" if name in plain else "zstd" for name in schema.names},
        "use_dictionary": others,
        "write_statistics": others,
    }
    with (
        whole_file(path, OWNER_ONLY, announce) as aside,
        pq.ParquetWriter(aside, schema, **options) as parquet,
    ):
        writer = ReportWriter(parquet, schema, System() if random is None else random)
        yield writer
        writer.flush()


@dataclass(frozen=True)
class ReportFile:
    """An existing reports file, with its metadata read and its columns checked."""

    path: Path
    schema: pa.Schema
    footer: pq.FileMetaData
    contract: str
    question: str

    @classmethod
    def open(cls, path: PathLike) -> Self:
        """Read the metadata of the file at `path`, and none of its reports."""
        file = Path(path)
        try:
            with pq.ParquetFile(file) as parquet:
                schema, footer = parquet.schema_arrow, parquet.metadata
        except FileNotFoundError:
            raise InputError(f"a reports file must exist; got {str(file)!r}") from None
        except DAMAGE:
            raise damaged_file_error(file) from None
        metadata = schema.metadata or {}
        version, contract, question = (
            metadata.get(key, b"").decode("utf-8", "replace")
            for key in (_VERSION_KEY, _CONTRACT_KEY, _QUESTION_KEY)
        )
        missing = [name for name in OWN_COLUMNS if name not in schema.names]
        if missing or not contract:
            raise InputError(
                f"{file}: a reports file must have the columns {', '.join(OWN_COLUMNS)} and name "
                f"its collection; got the columns {', '.join(schema.names)}"
                + ("" if contract else " and no collection")
            )
        if version != VERSION:
            raise InputError(
                f"{file}: a reports file must be of format version {VERSION}; got "
                f"{format_value(version)}"
            )
        return cls(file, schema, footer, contract, question)

    def require(self, collection: Collection, question: Question) -> None:
        """Refuse the file unless its reports answer `question` of `collection`."""
        if self.contract != collection.digest:
            raise InputError(
                f"{self.path}: the reports must be of this collection "
                f"(digest {collection.digest[:16]}...); got reports of {self.contract[:16]}..."
            )
        if self.question != question.id:
            raise InputError(
                f"{self.path}: the reports must answer question {question.id!r}; "
                f"got reports of {format_value(self.question)}"
            )
        width = question.mechanism.width
        if self.schema.field("report").type != pa.binary(width):
            raise InputError(
                f"{self.path}: the column report must hold {width} bytes in each row; "
                f"got {self.schema.field('report').type}"
            )
        if self.schema.field("id").type != pa.binary(ID_BYTES):
            raise InputError(
                f"{self.path}: the column id must hold {ID_BYTES} bytes in each row; "
                f"got {self.schema.field('id').type}"
            )
        for name in group_names(collection):
            held = self.schema.field(name).type if name in self.schema.names else None
            if held is None or not (pa.types.is_string(held) or pa.types.is_dictionary(held)):
                raise InputError(
                    f"{self.path}: the column {name} must hold the collection's groups as texts; "
                    f"got {'none' if held is None else held}"
                )
        if self.schema.field("day").type != pa.date32():
            raise InputError(
                f"{self.path}: the column day must hold dates; got {self.schema.field('day').type}"
            )


def find_files(path: PathLike) -> list[ReportFile]:
    """Return the reports file at `path`, or all in that folder and its subfolders, by name."""
    place = Path(path)
    if not place.is_dir():
        return [ReportFile.open(place)]
    found = sorted(
        file
        for file in place.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in file.relative_to(place).parts)
    )
    if not found:
        raise InputError(f"a folder of reports must hold .parquet files; {str(place)!r} has none")
    return [ReportFile.open(file) for file in found]


def damaged_file_error(file: Path) -> InputError:
    """Return the error for a `file` that Parquet cannot read."""
    return InputError(
        f"{file}: a reports file must be a complete Parquet file; "
        f"this one is truncated, damaged or something else"
    )


def fixed_binary(rows: Reports) -> pa.FixedSizeBinaryArray:
    """Return an Arrow column over the rows of a contiguous array, without a copy."""
    count, width = rows.shape
    buffers = [None, pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, buffers)


def report_bytes(column: pa.FixedSizeBinaryArray) -> Reports:
    """Return the rows of an Arrow column as an array (n, width), without a copy."""
    if column.null_count:
        raise InputError(f"reports must not be missing; got {column.null_count} nulls")
    width, count = column.type.byte_width, len(column)
    flat = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    return flat[column.offset * width : (column.offset + count) * width].reshape(count, width)
