"""Sources of reports: arrays in memory, and Parquet files or folders of them.

Parquet is read by row groups, of which each worker takes one at a time, and a row group in
batches, so files and row groups may be larger than memory.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rumor.analysis.engines.base import Batch, Stratum
from rumor.analysis.grouping import Grouping
from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import (
    DAMAGE,
    PROVENANCE_COLUMNS,
    ReportFile,
    damaged_file_error,
    find_files,
    report_bytes,
)
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.reports import Mask, Reports
from rumor.core.types import Days, Rows

# Bytes of reports in a batch: the overhead of a batch is lost in it, and it is still in the
# cache when it is counted (measured fastest from one megabyte to two).
BATCH_BYTES = 1 << 21
# With strata a batch is split into many, so it starts larger.
_SPLIT_BYTES = 1 << 25
_MIN_BATCH_ROWS = 1024
_BUFFER_BYTES = 1 << 20
_NOT_PUBLIC = ("id", "report", *PROVENANCE_COLUMNS)


def batch_rows(rows: int, width: int, size: int, counters: int = 0) -> int:
    """Return how many of `rows` reports to take at a time: about `size` bytes, all alike.

    At least as many rows as counters, since a batch is counted into fresh ones; a multiple
    of 64, so that every batch of a buffer is aligned to words.
    """
    most = max(_MIN_BATCH_ROWS, size // width, counters)
    batches = max(1, -(-rows // most))
    return max(64, (-(-rows // batches) + 63) // 64 * 64)


@dataclass(frozen=True)
class _MemoryPartition:
    reports: Reports

    @property
    def rows(self) -> int:
        return len(self.reports)

    def batches(self) -> Iterator[Batch]:
        yield Batch(self.reports)


class MemorySource:
    """Reports in memory, as an array (n, width)."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def parts(self) -> Sequence[_MemoryPartition]:
        """Return slices of the array, one batch each."""
        count, width = self._reports.shape
        size = batch_rows(count, width, BATCH_BYTES)
        slices = (self._reports[start : start + size] for start in range(0, count, size))
        return [_MemoryPartition(piece) for piece in slices]


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file, with the selection that still has to be made in it."""

    path: Path
    footer: pq.FileMetaData | None
    index: int
    rows: int
    size: int
    by: Grouping | None
    window: Days | None
    left_out: Rows | None = None
    """The numbers of rows to leave out, in ascending order."""

    def __getstate__(self) -> dict[str, object]:
        # Other machines get the place alone and read the footer themselves.
        return {**self.__dict__, "footer": None}

    def batches(self) -> Iterator[Batch]:
        """Yield the selected reports, one stratum at a time."""
        for _, rows in self._read("report", *(self.by.columns if self.by else [])):
            strata = self.by.strata(rows) if self.by else None
            yield from split_strata(report_bytes(rows.column("report")), strata, str(self.path))

    def with_column(self, column: str) -> Iterator[tuple[pa.Array, Reports]]:
        """Yield a column of the selected rows, and their reports."""
        for _, rows in self._read("report", column):
            yield _plain(rows.column(column)), report_bytes(rows.column("report"))

    def ids(self) -> Iterator[tuple[Rows, Reports]]:
        """Yield the numbers of the selected rows, and their ids."""
        for (start, chosen), rows in self._read("id"):
            numbers = np.arange(len(rows)) if chosen is None else np.flatnonzero(chosen)
            yield start + numbers, report_bytes(rows.column("id"))

    def _read(self, *wanted: str) -> Iterator[tuple[tuple[int, Mask | None], pa.RecordBatch]]:
        """Yield the selected rows of these columns, with the first's number and the selection."""
        columns, start = list(dict.fromkeys([*wanted, *(["day"] if self.window else [])])), 0
        try:
            # A ParquetFile belongs to one thread; the footer is shared and not read again.
            # A buffer keeps Arrow from holding a whole column of the row group.
            with pq.ParquetFile(
                self.path, metadata=self.footer, buffer_size=_BUFFER_BYTES
            ) as parquet:
                for rows in parquet.iter_batches(
                    self.size, row_groups=[self.index], columns=columns, use_threads=False
                ):
                    chosen = self._chosen(start, rows)
                    yield (start, chosen), rows if chosen is None else rows.filter(pa.array(chosen))
                    start += len(rows)
        except FileNotFoundError:
            raise InputError(
                f"{self.path}: a reports file must stay where every worker can read it; "
                f"on {socket.gethostname()} it is not there"
            ) from None
        except DAMAGE:
            raise damaged_file_error(self.path) from None
        except InputError as problem:
            raise InputError(f"{self.path}: {problem}") from None

    def _chosen(self, start: int, rows: pa.RecordBatch) -> Mask | None:
        """Return which of some rows are selected; None for all of them."""
        chosen = None
        if self.window is not None:
            inside = days_within(rows.column("day"), self.window)
            chosen = np.array(inside.to_numpy(zero_copy_only=False), dtype=np.bool_)
        if self.left_out is not None:
            first, last = np.searchsorted(self.left_out, [start, start + len(rows)])
            chosen = np.ones(len(rows), dtype=np.bool_) if chosen is None else chosen
            chosen[self.left_out[first:last] - start] = False
        return chosen


class IdPartition(Protocol):
    """A partition whose reports have ids."""

    def ids(self) -> Iterator[tuple[Rows, Reports]]:
        """Yield the numbers of the selected rows, and their ids."""
        ...


class ParquetSource:
    """The reports of one question in a Parquet file or a folder of them.

    With `by`, a batch holds one stratum only (see `Grouping`); with `window`, only the days within
    it are read, and row groups that lie outside are not touched.
    """

    def __init__(
        self,
        path: PathLike,
        collection: Collection,
        question: Question | None = None,
        *,
        by: str | None = None,
        window: Days = (None, None),
    ) -> None:
        self.files = find_files(path)
        _require_one_question(self.files, path, collection, question)
        named = self.files[0].question if question is None else question.id
        self.question: Question = question or _question_of_file(self.files[0], collection, named)
        self._by = None if by is None else Grouping.read(by, self.files[0].schema.names)
        for file in self.files:
            file.require(collection, self.question)
            for column in () if self._by is None else self._by.columns:
                _check_public(file, column, "groups")
        self._window = checked_window(window)
        self._left_out: Mapping[int, Rows] = {}

    @property
    def reports(self) -> int:
        """The number of reports in the files, before any selection."""
        return sum(file.footer.num_rows for file in self.files)

    def with_column(self, column: str) -> Iterator[tuple[pa.Array, Reports]]:
        """Yield a public column and the reports beside it, some rows at a time."""
        for file in self.files:
            _check_public(file, column, "what reports are joined on")
        for part in self.parts():
            yield from part.with_column(column)

    def leave_out(self, rows: Mapping[int, Rows]) -> None:
        """Leave out `rows` of each partition, numbered as in `parts`, in ascending order."""
        self._left_out = rows

    def parts(self) -> Sequence[RowGroup]:
        """Return the row groups that may hold selected reports."""
        mechanism = self.question.mechanism
        size = BATCH_BYTES if self._by is None else _SPLIT_BYTES
        parts: list[RowGroup] = []
        for file in self.files:
            for index in range(file.footer.num_row_groups):
                group = file.footer.row_group(index)
                inside = _share_inside(group, self._window)
                if inside == "none" or group.num_rows == 0:
                    continue
                window = None if inside == "all" else self._window
                rows = group.num_rows
                batch = batch_rows(rows, mechanism.width, size, mechanism.tally_size)
                left_out = self._left_out.get(len(parts))
                parts.append(
                    RowGroup(file.path, file.footer, index, rows, batch, self._by, window, left_out)
                )
        return parts


def _require_one_question(
    files: Sequence[ReportFile], path: PathLike, collection: Collection, asked: Question | None
) -> None:
    """Refuse a folder with reports of several questions, and say where those of one are."""
    places: dict[str, list[Path]] = {}
    for file in files:
        places.setdefault(file.question, []).append(file.path)
    if len(places) == 1 or any(file.contract != collection.digest for file in files):
        return
    wanted = next(iter(places)) if asked is None else asked.id
    if wanted not in places:
        return
    folder = Path(os.path.commonpath([place.parent for place in places[wanted]]))
    others = [place for name, each in places.items() if name != wanted for place in each]
    mixed = any(place.is_relative_to(folder) for place in others)
    of = "one question" if asked is None else f"question {wanted!r}"
    raise InputError(
        f"{path}: the reports must answer {of}; got reports of "
        f"{', '.join(map(repr, sorted(places)))} (name those of {wanted!r} alone: "
        f"{places[wanted][0] if mixed else folder})"
    )


def _question_of_file(file: ReportFile, collection: Collection, named: str) -> Question:
    """Return the question that a file names, if the collection has it."""
    for question in collection.questions:
        if question.id == named:
            return question
    # The file is most likely of another collection, for which `require` has the better error.
    file.require(collection, collection.questions[0])
    raise AssertionError("unreachable")


def _check_public(file: ReportFile, by: str, what: str) -> None:
    public = [name for name in file.schema.names if name not in _NOT_PUBLIC]
    if by not in public:
        raise InputError(
            f"{file.path}: {what} must be a public column of the reports "
            f"({', '.join(public)}); got {format_value(by)}"
        )
    kind = file.schema.field(by).type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date(kind)
        or pa.types.is_dictionary(kind)
    ):
        raise InputError(
            f"{file.path}: {what} must be texts, integers, booleans or dates; got {by!r} of {kind}"
        )


def checked_window(window: Days) -> Days:
    """Return `window` if its days are in order."""
    first, last = window
    if first is not None and last is not None and first > last:
        raise InputError(f"the first day must not be after the last; got {first} and {last}")
    return window


def _share_inside(group: pq.RowGroupMetaData, window: Days) -> str:
    """Return whether "all", "none" or "some" of a row group's days lie within the window."""
    first, last = window
    if first is None and last is None:
        return "all"
    columns = [group.column(i) for i in range(group.num_columns)]
    statistics = next(c.statistics for c in columns if c.path_in_schema == "day")
    if statistics is None or not statistics.has_min_max:
        return "some"
    low, high = statistics.min, statistics.max
    if (first is not None and high < first) or (last is not None and low > last):
        return "none"
    inside = (first is None or low >= first) and (last is None or high <= last)
    return "all" if inside else "some"


def days_within(days: pa.Array, window: Days) -> pa.Array:
    """Return which days lie within a window that has at least one end."""
    first, last = window
    bounds = []
    if first is not None:
        bounds.append(pc.greater_equal(days, pa.scalar(first, pa.date32())))
    if last is not None:
        bounds.append(pc.less_equal(days, pa.scalar(last, pa.date32())))
    return bounds[0] if len(bounds) == 1 else pc.and_(*bounds)


def split_strata(reports: Reports, strata: pa.Array | None, origin: str) -> Iterator[Batch]:
    """Yield reports as batches, one for each stratum."""
    if not len(reports):
        return
    if strata is None:
        yield Batch(reports, origin=origin)
        return
    for stratum, index in _groups(strata):
        yield Batch(reports[index], stratum, origin)


def _groups(column: pa.Array) -> Iterator[tuple[Stratum, Rows]]:
    """Yield each distinct value of a column with the indices of its rows, in a fixed order."""
    coded = _plain(column).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    names = coded.dictionary.to_pylist()
    for code, index in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield as_stratum(names[code]) if code >= 0 else None, index


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def as_stratum(value: object) -> Stratum:
    """Return a value of a public column as the name of a group."""
    return value if value is None or isinstance(value, (str, int)) else str(value)
