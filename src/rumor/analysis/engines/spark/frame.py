"""Reports in a Spark DataFrame: a table of a lake or a warehouse, whatever Spark can read.

The rows reach the workers as Arrow batches. Spark loses the metadata of a reports file, so a
DataFrame must name the contract and the question of its reports in the columns `contract` and
`question`, as reports files do. Every row that is counted is checked.
"""

from __future__ import annotations

import datetime
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import RDD, TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, BooleanType, DateType, IntegralType, StringType

from rumor.analysis.engines.base import Batch, M, Partition
from rumor.analysis.engines.kept import merge_batches
from rumor.analysis.engines.spark.engine import Outcome, SentFold
from rumor.analysis.sources import BATCH_BYTES, checked_window, split_strata
from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import PROVENANCE_COLUMNS
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports
from rumor.core.types import Days

# The column that says whether a row belongs to the collection and the question.
_IS_OF_QUESTION = "rumor_right"
_STRATA = (StringType, IntegralType, BooleanType, DateType)


class FrameSource:
    """The reports of one question in a DataFrame with a binary column `report`.

    Its columns `contract` (a digest) and `question` (an id) say in every row what the report is.
    `by` names a column of strata. `window` needs a column `day` of dates. `distinct_ids` needs
    a column `id`, and takes the least of the rows with the same id.
    """

    def __init__(
        self,
        frame: DataFrame,
        collection: Collection,
        question: str | None = None,
        *,
        by: str | None = None,
        window: Days = (None, None),
        distinct_ids: bool = False,
    ) -> None:
        self.question: Question = collection.question(question)
        first, last = checked_window(window)
        _require(frame, "report", (BinaryType,), "binary")
        if not set(PROVENANCE_COLUMNS) <= set(frame.columns):
            raise InputError(
                "a DataFrame of reports must say what they answer, in the columns contract (the "
                "collection's digest) and question (its id), as reports files do; "
                f"got {format_value(frame.columns)}"
            )
        for name in PROVENANCE_COLUMNS:
            _require(frame, name, (StringType,), "texts")
        frame = frame.withColumn(_IS_OF_QUESTION, _is_of_question(collection, self.question))
        if by is not None:
            _require(frame, by, _STRATA, "texts, integers, booleans or dates")
        if distinct_ids:
            _require(frame, "id", (BinaryType, StringType), "binary or texts")
            frame = _select_days(frame, first, last)
            if not frame.filter(frame["id"].isNull()).isEmpty():
                raise InputError(
                    "the column id must have no missing values with distinct_ids; some are missing"
                )
            # The least of an id's rows, so that a repeated read of a partition agrees.
            row = f.struct("report", *([] if by is None else [by]))
            least = (f.min(row).alias("row"), f.min(_IS_OF_QUESTION).alias(_IS_OF_QUESTION))
            frame = frame.groupBy("id").agg(*least).select("row.*", _IS_OF_QUESTION)
        else:
            frame = _select_days(frame, first, last)
        self._frame = frame.select("report", _IS_OF_QUESTION, *([] if by is None else [by]))
        self._read = _Read(self.question.mechanism.width, self.question.id, by)

    @property
    def rows(self) -> int:
        """Zero, since the number of rows is not known before they are counted."""
        return 0

    def parts(self) -> Sequence[Partition]:
        """Refuse: no other engine can read a DataFrame."""
        raise InputError("a DataFrame of reports is for the Spark engine; got another engine")

    def outcomes(self, fold: SentFold[M]) -> RDD[Outcome[M]]:
        """Return one outcome for each partition of the DataFrame."""
        read = self._read

        def work(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            assert context is not None
            return map(_pickle, fold.of_batches(context.partitionId(), read(rows)))

        return _map_batches(self._frame, work).map(_unpickle)

    def batches(self) -> RDD[Batch]:
        """Return the batches as Python objects, which Spark can keep."""
        read = self._read

        def work(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return map(_pickle, read(rows))

        return _map_batches(self._frame, work).map(_unpickle)


@dataclass(frozen=True)
class _Read:
    """A function that turns batches of rows into batches of reports."""

    width: int
    question: str
    by: str | None

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        # Spark's batches have ten thousand rows; the loops are faster on larger ones.
        return merge_batches(self._batches(rows), BATCH_BYTES)

    def _batches(self, rows: Iterable[pa.RecordBatch]) -> Iterator[Batch]:
        for some in rows:
            if not pc.all(some.column(1), min_count=0).as_py():
                columns = " and ".join(PROVENANCE_COLUMNS)
                raise InputError(
                    f"the DataFrame must hold reports of this collection's question "
                    f"{self.question!r} alone, by its columns {columns}; got other reports"
                )
            reports = _report_rows(some.column(0), self.width)
            yield from split_strata(reports, some.column(2) if self.by else None, "the DataFrame")


def _is_of_question(collection: Collection, question: Question) -> Column:
    """Return a column that says whether a row is a report of this question."""
    expected = zip(PROVENANCE_COLUMNS, (collection.digest, question.id), strict=True)
    contract, asked = (f.col(name).eqNullSafe(f.lit(text)) for name, text in expected)
    return contract & asked


def _report_rows(column: pa.Array, width: int) -> Reports:
    """Return the rows of a binary column as an array (n, width), without a copy."""
    rule = f"the column report must hold {width} bytes in each row"
    if column.null_count:
        raise InputError(f"{rule}; got {column.null_count} nulls")
    wide = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=wide)[column.offset : column.offset + len(column) + 1]
    wrong = np.flatnonzero(np.diff(ends) != width)
    if wrong.size:
        raise InputError(f"{rule}; got {int(np.diff(ends)[wrong[0]])} bytes")
    if not len(column):
        return np.empty((0, width), dtype=np.uint8)
    flat = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    return flat.reshape(len(column), width)


def _map_batches(
    frame: DataFrame, work: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> RDD[tuple[bytes]]:
    with warnings.catch_warnings():
        # mapInArrow asks for pandas without using it.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        return frame.mapInArrow(work, "pickled binary").rdd


def _pickle(thing: object) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(thing)], pa.binary())], names=["pickled"])


def _unpickle(row: tuple[bytes]) -> Any:
    return pickle.loads(row[0])


def _select_days(
    frame: DataFrame, first: datetime.date | None, last: datetime.date | None
) -> DataFrame:
    if first is None and last is None:
        return frame
    _require(frame, "day", (DateType,), "dates")
    if first is not None:
        frame = frame.filter(f.col("day") >= f.lit(first))
    return frame if last is None else frame.filter(f.col("day") <= f.lit(last))


def _require(frame: DataFrame, name: str, kinds: tuple[type, ...], rule: str) -> None:
    if name not in frame.columns:
        raise InputError(
            f"a DataFrame of reports must have the column {name!r}; got "
            f"{format_value(frame.columns)}"
        )
    kind = frame.schema[name].dataType
    if not isinstance(kind, kinds):
        raise InputError(f"the column {name!r} must hold {rule}; got {kind.simpleString()}")
