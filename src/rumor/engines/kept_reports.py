"""Passes over reports on an engine: what "bayes", "em" and "refined" iterate over.

The reports are read, checked and kept near the workers at the first pass; a state goes to all
of them and a sum comes back at every one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.engines import Batch, Engine, Fold, S, Source, Stratum
from rumor.mechanisms import Mechanism


class KeptReports:
    """The valid reports of a source on an engine, kept from the first pass to the end."""

    def __init__(self, engine: Engine, source: Source, mechanism: Mechanism) -> None:
        self.engine = engine
        self._source, self._valid = source, _ValidOnly(mechanism)
        self._kept: Source | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._kept = None
        self._stack.close()

    @property
    def source(self) -> Source:
        """The kept source; the first to ask waits until it is read."""
        if self._kept is None:
            self._kept = self._stack.enter_context(self.engine.keep(self._source, self._valid))
        return self._kept

    def passes(self, stratum: Stratum, count: int) -> StratumPasses:
        """Passes over the reports of one stratum, of which there are so many."""
        return StratumPasses(self, stratum, count)


@dataclass(frozen=True)
class StratumPasses:
    """Passes over the reports of one stratum."""

    kept: KeptReports
    stratum: Stratum
    count: int

    def total(self, function: Callable[[Reports, S], Vector], state: S) -> Vector:
        """One fold over the kept reports."""
        fold = Fold(OfStratum(function, self.stratum), state, _added, None)
        found = self.kept.engine.fold(self.kept.source, fold)
        assert found is not None  # a stratum has at least one report
        return found


@dataclass(frozen=True)
class _ValidOnly:
    """A batch without its invalid reports."""

    mechanism: Mechanism

    def __call__(self, batch: Batch) -> Batch:
        validity = self.mechanism.validate(batch.reports)
        if validity.all:
            return batch
        return Batch(batch.reports[validity.valid], batch.stratum, batch.origin)


@dataclass(frozen=True)
class OfStratum:
    """A function of reports as one of batches: None for batches of other strata."""

    function: Callable[[Reports, Any], Vector]
    stratum: Stratum

    def __call__(self, batch: Batch, state: Any) -> Vector | None:
        """The function of a batch's reports."""
        if batch.stratum != self.stratum or not len(batch.reports):
            return None
        return self.function(batch.reports, state)


def _added(one: Vector | None, other: Vector | None) -> Vector | None:
    """The sum, where None is nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
