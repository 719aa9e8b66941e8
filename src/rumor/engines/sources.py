"""Where reports are read from: arrays in memory, and Parquet files or folders of them.

Parquet is read by row groups, of which each worker takes one at a time, and a row group in
batches: files larger than memory, and row groups larger than memory, are no matter.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rumor.collection import Collection, Question
from rumor.engines import Batch, Stratum
from rumor.errors import InputError, shown
from rumor.files import PathLike
from rumor.report import Reports
from rumor.reportfile import ReportFile, damaged, find_files, report_bytes

# Bytes of reports in a batch: the overhead of a batch is lost in it, and it is still in the
# cache when it is counted (measured fastest from one megabyte to two).
BATCH_BYTES = 1 << 21
# With strata a batch is split into many, so it starts larger.
_SPLIT_BYTES = 1 << 25
_MIN_BATCH_ROWS = 1024
_BUFFER_BYTES = 1 << 20

Rows = NDArray[np.intp]

Window = tuple[datetime.date | None, datetime.date | None]
"""The first and the last day, both included; None where there is no bound."""


def batch_rows(rows: int, width: int, size: int, counters: int = 0) -> int:
    """How many of `rows` reports to take at a time: about `size` bytes, all batches alike.

    At least as many rows as counters, since a batch is counted into fresh ones; a multiple
    of 64, so that every batch of a buffer is aligned to words.
    """
    most = max(_MIN_BATCH_ROWS, size // width, counters)
    batches = max(1, -(-rows // most))
    return max(64, (-(-rows // batches) + 63) // 64 * 64)


@dataclass(frozen=True)
class _MemoryPart:
    reports: Reports

    @property
    def rows(self) -> int:
        return len(self.reports)

    def batches(self) -> Iterator[Batch]:
        yield Batch(self.reports)


class MemorySource:
    """Reports that are already here, as an array (n, width)."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def parts(self) -> Sequence[_MemoryPart]:
        """Slices of the array, one batch each."""
        count, width = self._reports.shape
        size = batch_rows(count, width, BATCH_BYTES)
        slices = (self._reports[start : start + size] for start in range(0, count, size))
        return [_MemoryPart(piece) for piece in slices]


@dataclass(frozen=True)
class _RowGroup:
    """One row group of a file, with the selection that still has to be made in it."""

    file: ReportFile
    index: int
    rows: int
    size: int
    by: str | None
    window: Window | None

    def batches(self) -> Iterator[Batch]:
        columns = ["report", *(["day"] if self.window else []), *([self.by] if self.by else [])]
        try:
            # A ParquetFile belongs to one thread; the footer is shared and not read again.
            # A buffer keeps Arrow from holding a whole column of the row group.
            with pq.ParquetFile(
                self.file.path, metadata=self.file.footer, buffer_size=_BUFFER_BYTES
            ) as parquet:
                for rows in parquet.iter_batches(
                    self.size, row_groups=[self.index], columns=columns, use_threads=False
                ):
                    yield from self._selected(rows)
        except (pa.ArrowException, OSError):
            raise damaged(self.file.path) from None
        except InputError as problem:
            raise InputError(f"{self.file.path}: {problem}") from None

    def _selected(self, rows: pa.RecordBatch) -> Iterator[Batch]:
        if self.window is not None:
            rows = rows.filter(_within(rows.column("day"), self.window))
        reports, origin = report_bytes(rows.column("report")), str(self.file.path)
        if self.by is None:
            if len(reports):
                yield Batch(reports, origin=origin)
            return
        for stratum, index in _groups(rows.column(self.by)):
            yield Batch(reports[index], stratum, origin)


class ParquetSource:
    """The reports of one question in a Parquet file or a folder of them.

    With `by`, a batch holds one stratum only; with `window`, only the days within it are
    read, and row groups that lie outside are not touched.
    """

    def __init__(
        self,
        path: PathLike,
        collection: Collection,
        question: Question | None = None,
        *,
        by: str | None = None,
        window: Window = (None, None),
    ) -> None:
        self.files = find_files(path)
        named = self.files[0].question if question is None else question.id
        self.question = question or _asked(self.files[0], collection, named)
        for file in self.files:
            file.require(collection, self.question)
            if by is not None:
                _check_stratum(file, by)
        self._by, self._window = by, _checked_window(window)

    @property
    def reports(self) -> int:
        """How many reports the files hold, before any selection."""
        return sum(file.footer.num_rows for file in self.files)

    def parts(self) -> Sequence[_RowGroup]:
        """The row groups that may hold selected reports."""
        mechanism = self.question.mechanism
        size = BATCH_BYTES if self._by is None else _SPLIT_BYTES
        parts = []
        for file in self.files:
            for index in range(file.footer.num_row_groups):
                group = file.footer.row_group(index)
                inside = _share_inside(group, self._window)
                if inside == "none" or group.num_rows == 0:
                    continue
                window = None if inside == "all" else self._window
                rows = group.num_rows
                batch = batch_rows(rows, mechanism.width, size, mechanism.tally_size)
                parts.append(_RowGroup(file, index, rows, batch, self._by, window))
        return parts


def _asked(file: ReportFile, collection: Collection, named: str) -> Question:
    """The question that a file names, if the collection has it."""
    for question in collection.questions:
        if question.id == named:
            return question
    # Of another collection, most likely: that is the better sentence.
    file.require(collection, collection.questions[0])
    raise AssertionError("unreachable")


def _check_stratum(file: ReportFile, by: str) -> None:
    public = [name for name in file.schema.names if name not in ("id", "report")]
    if by not in public:
        raise InputError(
            f"{file.path}: strata must be a public column of the reports "
            f"({', '.join(public)}); got {shown(by)}"
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
            f"{file.path}: strata must be texts, integers, booleans or dates; got {by!r} of {kind}"
        )


def _checked_window(window: Window) -> Window:
    first, last = window
    if first is not None and last is not None and first > last:
        raise InputError(f"the first day must not be after the last; got {first} and {last}")
    return window


def _share_inside(group: pq.RowGroupMetaData, window: Window) -> str:
    """Whether "all", "none" or "some" of a row group's days lie within the window."""
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


def _within(days: pa.Array, window: Window) -> pa.Array:
    first, last = window
    bounds = []
    if first is not None:
        bounds.append(pc.greater_equal(days, pa.scalar(first, pa.date32())))
    if last is not None:
        bounds.append(pc.less_equal(days, pa.scalar(last, pa.date32())))
    return bounds[0] if len(bounds) == 1 else pc.and_(*bounds)


def _groups(column: pa.Array) -> Iterator[tuple[Stratum, Rows]]:
    """Each distinct value of a column with the indices of its rows, in a fixed order."""
    plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
    coded = plain.dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    names = coded.dictionary.to_pylist()
    for code, index in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        yield _stratum(names[code]) if code >= 0 else None, index


def _stratum(value: object) -> Stratum:
    return value if isinstance(value, (str, int)) else str(value)
