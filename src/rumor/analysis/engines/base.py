"""Engines move work, not meaning: map a function over batches of reports, merge what it gives.

Everything that is done to many reports is a *fold*: a pure function of a batch (and of a
state that all batches share), whose results add up in any order and split. Counting is one
fold; expectation-maximisation is one fold per iteration, with the current estimate as the
state. Whoever writes a fold need not know which engine runs it, and an engine need not know
what is folded.
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
"""The public group that a report belongs to; None where it is not known or not asked for."""


@dataclass(frozen=True)
class Batch:
    """Some reports, all of one stratum, and where they come from (for messages)."""

    reports: Reports
    stratum: Stratum = None
    origin: str = "reports"


class Part(Protocol):
    """A share of a source that one worker reads on its own."""

    @property
    def rows(self) -> int:
        """How many reports it holds, before any selection."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Its reports, a bounded number at a time."""
        ...


class Source(Protocol):
    """Reports that can be read again and again, a part at a time."""

    def parts(self) -> Sequence[Part]:
        """The parts in a fixed order; nothing is read yet."""
        ...


@runtime_checkable
class QuestionSource(Source, Protocol):
    """Reports that answer one question."""

    @property
    def question(self) -> Question:
        """The question."""
        ...


@dataclass(frozen=True)
class Fold(Generic[S, M]):
    """What is done to every batch, and how two results become one.

    `merge` must be associative with `empty` as its neutral element, and must not change its
    arguments.
    """

    function: Callable[[Batch, S], M]
    state: S
    merge: Callable[[M, M], M]
    empty: M

    def of_part(self, part: Part) -> M:
        """The results of one part's batches, merged."""
        result = self.empty
        for batch in part.batches():
            result = self.merge(result, self.function(batch, self.state))
        return result


class Engine(Protocol):
    """Where folds run."""

    def fold(self, source: Source, fold: Fold[S, M], on_progress: Progress | None = None) -> M:
        """The merged results of a fold over all batches of the source.

        They are merged in the order of the parts, so that sums of floating-point numbers come
        out the same every time on the same engine.
        """
        ...

    def keep(
        self, source: Source, prepare: Callable[[Batch], Batch]
    ) -> AbstractContextManager[Source]:
        """The prepared batches of a source, kept near the workers as long as the block lasts.

        For what goes over the same reports many times. The source that the block is given is
        for folds of this engine alone.
        """
        ...

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """Deal pieces of parts out into buckets, and join the pieces of each bucket.

        `split(part, buckets)` gives the part's piece for every bucket; `join` gets those of
        one bucket, in any order, and what it gives should be small. What `fold` is to sums,
        this is to finding equals.
        """
        ...
