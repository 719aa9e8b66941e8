"""The start of Spark by its name; a missing part is reported in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.analysis.engines.spark.engine import SparkEngine


@contextmanager
def open_engine(
    master: str | None, on_status: Callable[[Any], None] | None
) -> Iterator[SparkEngine]:
    """Yield the Spark engine at `master`; it ends with the block."""
    try:
        from rumor.analysis.engines.spark.engine import SparkEngine
    except ModuleNotFoundError as problem:
        if (problem.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise InputError(
            "the Spark engine needs PySpark (pip install 'rumor[spark]'); it is not installed"
        ) from None
    with SparkEngine.start(master, on_status=on_status) as engine:
        yield engine
