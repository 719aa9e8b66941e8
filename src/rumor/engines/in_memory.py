"""Batches that are held for more than one fold: in memory, or prepared anew each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.engines import Batch, Part, Source, Stratum

# Batches to hold: a pass over one takes long beside what it takes to begin it.
HELD_BYTES = 1 << 24


@dataclass(frozen=True)
class _PreparedPart:
    part: Part
    prepare: Callable[[Batch], Batch]

    @property
    def rows(self) -> int:
        return self.part.rows

    def batches(self) -> Iterator[Batch]:
        return map(self.prepare, self.part.batches())


class PreparedSource:
    """A source whose batches are prepared each time they are read."""

    def __init__(self, source: Source, prepare: Callable[[Batch], Batch]) -> None:
        self._source, self._prepare = source, prepare

    def parts(self) -> Sequence[_PreparedPart]:
        """The parts of the source."""
        return [_PreparedPart(part, self._prepare) for part in self._source.parts()]


@dataclass(frozen=True)
class _HeldPart:
    batch: Batch

    @property
    def rows(self) -> int:
        return len(self.batch.reports)

    def batches(self) -> Iterator[Batch]:
        yield self.batch


class HeldSource:
    """Batches that are in memory, each a part."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._parts = [_HeldPart(batch) for batch in batches]

    def parts(self) -> Sequence[_HeldPart]:
        """One for each batch."""
        return self._parts


def gathered(batches: Iterable[Batch], size: int = HELD_BYTES) -> Iterator[Batch]:
    """Small batches put together, stratum by stratum, to some of at least `size` bytes."""
    waiting: dict[Stratum, list[Batch]] = {}
    for batch in batches:
        group = waiting.setdefault(batch.stratum, [])
        group.append(batch)
        if sum(one.reports.nbytes for one in group) >= size:
            yield _joined(waiting.pop(batch.stratum))
    yield from map(_joined, waiting.values())


def _joined(batches: list[Batch]) -> Batch:
    first = batches[0]
    return Batch(np.concatenate([b.reports for b in batches]), first.stratum, first.origin)
