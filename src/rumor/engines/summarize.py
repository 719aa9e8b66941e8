"""Counting reports: the fold that every estimate begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Progress
from rumor.engines import Batch, Engine, Fold, Source, Stratum
from rumor.engines.local import LocalEngine
from rumor.mechanisms import Mechanism
from rumor.mechanisms.summary import Summary

# Strata times counters that one run may hold: 256 MB of them, and as much again while merging.
_MAX_COUNTERS = 1 << 25


@dataclass(frozen=True)
class Totals:
    """A summary for each stratum, and how many invalid reports were left out of them."""

    summaries: Mapping[Stratum, Summary] = field(default_factory=dict)
    skipped: int = 0

    def __add__(self, other: Totals) -> Totals:
        total = dict(self.summaries)
        for stratum, summary in other.summaries.items():
            total[stratum] = total[stratum] + summary if stratum in total else summary
        if total:
            size = next(iter(total.values())).tally.size
            if len(total) > 1 and len(total) * size > _MAX_COUNTERS:
                raise InputError(
                    f"groups must be few enough to count side by side: at most "
                    f"{max(1, _MAX_COUNTERS // size):,} of {size:,} counters each; got more"
                )
        return Totals(total, self.skipped + other.skipped)


@dataclass(frozen=True)
class _Count:
    """What a worker needs to know to count a batch."""

    empty: Summary
    skip_invalid: bool

    def __call__(self, batch: Batch, state: None) -> Totals:
        reports = batch.reports
        validity = self.empty.mechanism.validate(reports)
        if validity.all:
            return self._totals(batch.stratum, reports)
        refused = int((~validity.valid).sum())
        if not self.skip_invalid:
            raise InputError(
                f"{batch.origin}: every report must be valid ({validity.reason}); "
                f"got at least {refused} that {'are' if refused > 1 else 'is'} not "
                f"(--skip-invalid, or skip_invalid=True, leaves such reports out)"
            )
        return self._totals(batch.stratum, reports[validity.valid], refused)

    def _totals(self, stratum: Stratum, valid: Reports, refused: int = 0) -> Totals:
        # As `Summary.update`, which would validate once more.
        tally = self.empty.mechanism.tally(valid)
        return Totals({stratum: replace(self.empty, reports=len(valid), tally=tally)}, refused)


def summarize(
    source: Source,
    mechanism: Mechanism,
    *,
    contract: str | None = None,
    question: str | None = None,
    engine: Engine | None = None,
    skip_invalid: bool = False,
    on_progress: Progress | None = None,
) -> Totals:
    """Count all reports of a source, stratum by stratum.

    One invalid report refuses the whole, with a sentence that names the file, unless
    `skip_invalid` leaves such reports out and counts them.
    """
    empty = Summary.empty(mechanism, contract=contract, question=question)
    fold = Fold(_Count(empty, skip_invalid), None, Totals.__add__, Totals())
    return (engine or LocalEngine()).fold(source, fold, on_progress)
