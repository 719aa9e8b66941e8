"""The engine of a graphics card: what goes over supports again and again runs there.

Reports are read, checked and counted by the threads of this process, once. What "bayes" and
"em" then ask for at every step, sums over the supported values of all reports, is a product of
bits with numbers: the supports are kept on the card, packed, and only frequencies go there and
sums come back. Everything else runs as on the local engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rumor.analysis.engines.base import Batch, Fold, Join, M, P, Part, R, S, Source, Split
from rumor.analysis.engines.gpu.card import MOST_ODDS, Card
from rumor.analysis.engines.gpu.held import HeldSupports, packed
from rumor.analysis.engines.kept import OfStratum, PreparedSource
from rumor.analysis.engines.local import LocalEngine, check_no_master
from rumor.core.types import Progress
from rumor.estimators.frequency.likelihood import SupportSums
from rumor.mechanisms import FrequencyOracle


class GpuEngine:
    """Folds over threads of this process, and sums over supports on its card."""

    def __init__(self, card: Card | None = None, workers: int | None = None) -> None:
        self.card = Card() if card is None else card
        self.local = LocalEngine(workers)

    def fold(self, source: Source, fold: Fold[S, M], on_progress: Progress | None = None) -> M:
        """The merged results; see `rumor.analysis.engines.base.Engine`."""
        function: Any = fold.function
        if isinstance(source, CardSource) and isinstance(function, OfStratum):
            asked = function.function
            held = source.supports(asked.oracle) if isinstance(asked, SupportSums) else None
            if held is not None:
                found: Any = held.total(function.stratum, fold.state)  # type: ignore[arg-type]
                return fold.merge(fold.empty, found)
        return self.local.fold(source, fold, on_progress)

    @contextmanager
    def keep(self, source: Source, prepare: Callable[[Batch], Batch]) -> Iterator[Source]:
        """The prepared batches, whose supports come to the card when they are first asked for."""
        kept = CardSource(self, PreparedSource(source, prepare))
        try:
            yield kept
        finally:
            kept.release()

    def regroup(self, parts: Sequence[P], split: Split[P], join: Join[R], buckets: int) -> list[R]:
        """As on one machine."""
        return self.local.regroup(parts, split, join, buckets)


class CardSource:
    """Reports on the host whose supports are on the card."""

    def __init__(self, engine: GpuEngine, source: Source) -> None:
        self._engine, self._source = engine, source
        self._held: HeldSupports | None = None

    def parts(self) -> Sequence[Part]:
        """Those on the host, for what does not run on the card."""
        return self._source.parts()

    def supports(self, oracle: FrequencyOracle) -> HeldSupports | None:
        """What the reports support; None where an oracle has no form for it.

        Also where the odds are so large that weights of 32 bits would show in an estimate.
        """
        if oracle.odds > MOST_ODDS:
            return None
        if packed(oracle, np.zeros((0, oracle.width), dtype=np.uint8)) is None:
            return None
        if self._held is None:
            self._held = HeldSupports(self._engine.card, self._engine.local, self._source, oracle)
        return self._held

    def release(self) -> None:
        """Nothing is asked for any more."""
        self._held = None


@contextmanager
def started(master: str | None, on_status: object) -> Iterator[GpuEngine]:
    """The engine, as commands start it by its name."""
    check_no_master(master, "gpu")
    yield GpuEngine()
