"""The GPU engine: it runs the repeated passes over supported values on a graphics card.

Reports are read, checked and counted by the threads of this process, once. What "bayes" and
"em" then ask for at every step, sums over the supported values of all reports, is a product of
bits with numbers: the supports stay packed on the GPU, and only frequencies go there and
sums come back. Everything else runs as on the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rumor.analysis.engines.base import (
    Batch,
    Fold,
    Join,
    M,
    P,
    Partition,
    R,
    ReportSource,
    S,
    Split,
)
from rumor.analysis.engines.gpu.device import MOST_ODDS, GpuDevice
from rumor.analysis.engines.gpu.supports import DeviceSupports, pack_supports
from rumor.analysis.engines.kept import PreparedSource, StratumFunction
from rumor.analysis.engines.local import LocalEngine, check_no_master
from rumor.core.types import Progress
from rumor.estimators.frequency.likelihood import SupportSums
from rumor.mechanisms import FrequencyOracle


class GpuEngine:
    """An engine that folds over threads of this process, and sums supports on its GPU."""

    def __init__(self, card: GpuDevice | None = None, workers: int | None = None) -> None:
        self.card = GpuDevice() if card is None else card
        self.local = LocalEngine(workers)

    def fold(
        self, source: ReportSource, fold: Fold[S, M], on_progress: Progress | None = None
    ) -> M:
        """Return the merged results; see `rumor.analysis.engines.base.Engine`."""
        function: Any = fold.function
        if isinstance(source, GpuSource) and isinstance(function, StratumFunction):
            asked = function.function
            held = source.supports(asked.oracle) if isinstance(asked, SupportSums) else None
            if held is not None:
                found: Any = held.total(function.stratum, fold.state)  # type: ignore[arg-type]
                return fold.merge(fold.empty, found)
        return self.local.fold(source, fold, on_progress)

    @contextmanager
    def keep(
        self, source: ReportSource, prepare: Callable[[Batch], Batch]
    ) -> Iterator[ReportSource]:
        """Yield the prepared batches, whose supports move to the GPU when first asked for."""
        kept = GpuSource(self, PreparedSource(source, prepare))
        try:
            yield kept
        finally:
            kept.release()

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """Regroup on the local engine."""
        return self.local.regroup(parts, split, join, buckets)


class GpuSource:
    """Reports on the host whose supports are on the GPU."""

    def __init__(self, engine: GpuEngine, source: ReportSource) -> None:
        self._engine, self._source = engine, source
        self._held: DeviceSupports | None = None

    def parts(self) -> Sequence[Partition]:
        """Return the partitions on the host, for folds that do not run on the GPU."""
        return self._source.parts()

    def supports(self, oracle: FrequencyOracle) -> DeviceSupports | None:
        """Return the supported values on the GPU; None if `oracle` has no form for them.

        It is None also if the odds are so large that weights of 32 bits would show in an estimate.
        """
        if oracle.odds > MOST_ODDS:
            return None
        if pack_supports(oracle, np.zeros((0, oracle.width), dtype=np.uint8)) is None:
            return None
        if self._held is None:
            self._held = DeviceSupports(self._engine.card, self._engine.local, self._source, oracle)
        return self._held

    def release(self) -> None:
        """Release the memory of the GPU."""
        self._held = None


@contextmanager
def open_engine(master: str | None, on_status: object) -> Iterator[GpuEngine]:
    """Yield the engine, as commands start it by its name."""
    check_no_master(master, "gpu")
    yield GpuEngine()
