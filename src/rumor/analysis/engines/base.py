"""Engines: they map a function over batches of reports and merge its results.

All work on many reports is a *fold*: a pure function of a batch (and of a state that all batches
share), whose results add up in any order and split. Counting is one fold;
expectation-maximisation is one fold per iteration, with the current estimate as the state. A fold
does not depend on the engine that runs it, nor an engine on the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from rumor.core.reports import Reports
from rumor.core.types import Progress

if TYPE_CHECKING:
    from rumor.contract.collection import Question

S = TypeVar("S")
M = TypeVar("M")
P = TypeVar("P")
R = TypeVar("R")

Split = Callable[[P, int], Sequence[bytes]]
Join = Callable[[Sequence[bytes]], R]

Stratum = str | int | bool | None
"""The public group that a report belongs to; None if it is not known or not asked for."""


@dataclass(frozen=True)
class Batch:
    """Some reports, all of one stratum, and their origin (for messages)."""

    reports: Reports
    stratum: Stratum = None
    origin: str = "reports"


class Partition(Protocol):
    """A share of a source that one worker reads on its own."""

    @property
    def rows(self) -> int:
        """The number of reports in it, before any selection."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Yield its reports, a bounded number at a time."""
        ...


class ReportSource(Protocol):
    """Reports that can be read again and again, a partition at a time."""

    def parts(self) -> Sequence[Partition]:
        """Return the partitions in a fixed order; nothing is read yet."""
        ...


@runtime_checkable
class QuestionSource(ReportSource, Protocol):
    """Reports that answer one question."""

    @property
    def question(self) -> Question:
        """The question that the reports answer."""
        ...


@dataclass(frozen=True)
class Fold(Generic[S, M]):
    """A function of every batch, and how two of its results become one.

    `merge` must be associative with `empty` as its neutral element, and must not change its
    arguments.
    """

    function: Callable[[Batch, S], M]
    state: S
    merge: Callable[[M, M], M]
    empty: M

    def of_part(self, part: Partition) -> M:
        """Return the merged results of one partition's batches."""
        result = self.empty
        for batch in part.batches():
            result = self.merge(result, self.function(batch, self.state))
        return result


class Engine(Protocol):
    """A runner of folds."""

    def fold(
        self, source: ReportSource, fold: Fold[S, M], on_progress: Progress | None = None
    ) -> M:
        """Return the merged results of a fold over all batches of the source.

        They are merged in the order of the parts, so that sums of floating-point numbers come
        out the same every time on the same engine.
        """
        ...

    def keep(
        self, source: ReportSource, prepare: Callable[[Batch], Batch]
    ) -> AbstractContextManager[ReportSource]:
        """Yield the prepared batches of a source, kept near the workers while the block lasts.

        Use it to pass over reports many times. The source that the block gets is for folds of this
        engine alone.
        """
        ...

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """Deal pieces of `parts` out into buckets, and join the pieces of each bucket.

        `split(part, buckets)` returns the part's piece for every bucket; `join` gets those of one
        bucket, in any order, and should return something small. Folds compute sums; this finds
        equals.
        """
        ...
