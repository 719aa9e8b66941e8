"""Batches for more than one fold: held in memory, or prepared anew each time.

The methods "bayes", "em" and "refined" iterate over passes of the kept reports. The reports are
read, checked and kept near the workers at the first pass; at every pass a state goes to all of
them and a sum comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rumor.analysis.engines.base import Batch, Engine, Fold, Partition, ReportSource, S, Stratum
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.mechanisms import Mechanism

# Bytes of a batch in memory: so large that starting a pass costs little.
HELD_BYTES = 1 << 24


@dataclass(frozen=True)
class _PreparedPartition:
    part: Partition
    prepare: Callable[[Batch], Batch]

    @property
    def rows(self) -> int:
        return self.part.rows

    def batches(self) -> Iterator[Batch]:
        return map(self.prepare, self.part.batches())


class PreparedSource:
    """A source whose batches are prepared each time they are read."""

    def __init__(self, source: ReportSource, prepare: Callable[[Batch], Batch]) -> None:
        self._source, self._prepare = source, prepare

    def parts(self) -> Sequence[_PreparedPartition]:
        """Return the partitions of the source."""
        return [_PreparedPartition(part, self._prepare) for part in self._source.parts()]


@dataclass(frozen=True)
class _BatchPartition:
    batch: Batch

    @property
    def rows(self) -> int:
        return len(self.batch.reports)

    def batches(self) -> Iterator[Batch]:
        yield self.batch


class BatchSource:
    """Batches that are in memory, each a partition."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._parts = [_BatchPartition(batch) for batch in batches]

    def parts(self) -> Sequence[_BatchPartition]:
        """Return one partition for each batch."""
        return self._parts


def merge_batches(batches: Iterable[Batch], size: int = HELD_BYTES) -> Iterator[Batch]:
    """Yield small batches joined, stratum by stratum, to some of at least `size` bytes."""
    waiting: dict[Stratum, list[Batch]] = {}
    for batch in batches:
        group = waiting.setdefault(batch.stratum, [])
        group.append(batch)
        if sum(one.reports.nbytes for one in group) >= size:
            yield _join_batches(waiting.pop(batch.stratum))
    yield from map(_join_batches, waiting.values())


def _join_batches(batches: list[Batch]) -> Batch:
    first = batches[0]
    return Batch(np.concatenate([b.reports for b in batches]), first.stratum, first.origin)


class KeptReports:
    """The valid reports of a source on an engine, kept from the first pass to the end."""

    def __init__(self, engine: Engine, source: ReportSource, mechanism: Mechanism) -> None:
        self.engine = engine
        self._source, self._valid = source, _ValidOnly(mechanism)
        self._kept: ReportSource | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._kept = None
        self._stack.close()

    @property
    def source(self) -> ReportSource:
        """The kept source, which is read when first asked for."""
        if self._kept is None:
            self._kept = self._stack.enter_context(self.engine.keep(self._source, self._valid))
        return self._kept

    def passes(self, stratum: Stratum, count: int) -> StratumPasses:
        """Return passes over the `count` reports of one stratum."""
        return StratumPasses(self, stratum, count)


@dataclass(frozen=True)
class StratumPasses:
    """Passes over the reports of one stratum."""

    kept: KeptReports
    stratum: Stratum
    count: int

    def total(self, function: Callable[[Reports, S], Vector], state: S) -> Vector:
        """Return the sum of `function` over the kept reports, in one fold."""
        fold = Fold(StratumFunction(function, self.stratum), state, _add, None)
        found = self.kept.engine.fold(self.kept.source, fold)
        assert found is not None  # a stratum has at least one report
        return found


@dataclass(frozen=True)
class _ValidOnly:
    """A function that removes the invalid reports of a batch."""

    mechanism: Mechanism

    def __call__(self, batch: Batch) -> Batch:
        validity = self.mechanism.validate(batch.reports)
        if validity.all:
            return batch
        return Batch(batch.reports[validity.valid], batch.stratum, batch.origin)


@dataclass(frozen=True)
class StratumFunction:
    """A function of reports as one of batches: None for batches of other strata."""

    function: Callable[[Reports, Any], Vector]
    stratum: Stratum

    def __call__(self, batch: Batch, state: Any) -> Vector | None:
        """Apply the function to the batch's reports."""
        if batch.stratum != self.stratum or not len(batch.reports):
            return None
        return self.function(batch.reports, state)


def _add(one: Vector | None, other: Vector | None) -> Vector | None:
    """Return the sum, where None stands for nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
