"""Counting reports, and leaving out those that occur more than once.

Every estimate begins with the fold that counts.

Files that overlap (an export done twice, a batch delivered again) hold a report twice, with one
id. The first report of each id counts, in the order of files and rows, so that the estimate
depends on nothing else. Only ids and places are moved, 24 bytes for a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rumor.analysis.engines.base import Batch, Engine, Fold, ReportSource, Stratum
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.sources import IdPartition, ParquetSource
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Progress
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
    """A function that counts a batch on a worker."""

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
        # Not `Summary.update`, which would validate once more.
        tally = self.empty.mechanism.tally(valid)
        return Totals({stratum: replace(self.empty, reports=len(valid), tally=tally)}, refused)


def summarize(
    source: ReportSource,
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


# The bytes of an id as two numbers, and its place: the number of the partition, then of the row.
_ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("place", "<u8")])
_ROW_BITS = 32
# Bytes of a bucket, which one worker sorts at a time.
_BUCKET_BYTES = 64 << 20
# More are no accident, and the places of repeated reports must fit into every worker.
_MAX_REPEATED = 1 << 27


def leave_out_repeated(source: ParquetSource, engine: Engine) -> int:
    """Make a source leave out reports whose ids occurred before; return their number."""
    parts = list(enumerate(source.parts()))
    rows = sum(part.rows for _, part in parts)
    buckets = max(1, -(-rows * _ENTRY.itemsize // _BUCKET_BYTES))
    found = engine.regroup(parts, split_ids, repeated_places, buckets)
    places = np.sort(np.concatenate([np.frombuffer(piece, "<u8") for piece in found]))
    if places.size > _MAX_REPEATED:
        raise InputError(
            f"at most {_MAX_REPEATED:,} reports may be repeated; got {places.size:,}: "
            f"the files are copies of each other"
        )
    numbers, starts = np.unique(places >> np.uint64(_ROW_BITS), return_index=True)
    in_part = np.split((places & np.uint64((1 << _ROW_BITS) - 1)).astype(np.intp), starts[1:])
    source.leave_out(dict(zip(numbers.tolist(), in_part, strict=False)))
    return int(places.size)


def split_ids(numbered: tuple[int, IdPartition], buckets: int) -> list[bytes]:
    """Return the ids of a partition with their places, dealt into `buckets` by the ids."""
    number, part = numbered
    pieces = [b""] * buckets
    entries = [_entries(number, rows, ids) for rows, ids in part.ids()]
    if not entries:
        return pieces
    table = np.concatenate(entries)
    # Ids are random, so any of their bits deal them out evenly.
    bucket = (table["high"] % np.uint64(buckets)).astype(np.intp)
    order = np.argsort(bucket, kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(1, buckets))
    return [piece.tobytes() for piece in np.split(table[order], ends)]


def _entries(number: int, rows: NDArray[np.intp], ids: NDArray[np.uint8]) -> NDArray[np.void]:
    table = np.empty(len(rows), dtype=_ENTRY)
    halves = np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)
    table["high"], table["low"] = halves[:, 0], halves[:, 1]
    table["place"] = (number << _ROW_BITS) | rows.astype(np.uint64)
    return table


def repeated_places(pieces: Sequence[bytes]) -> bytes:
    """Return the places of all entries of a bucket whose id occurs at an earlier place."""
    table = np.frombuffer(b"".join(pieces), dtype=_ENTRY)
    # Half an id tells nearly all of them apart; only the rest is sorted in full.
    order = np.argsort(table["high"])
    high = table["high"][order]
    same = high[1:] == high[:-1]
    table = table[order[np.append(same, False) | np.append(False, same)]] if len(order) else table
    table = table[np.lexsort((table["place"], table["low"], table["high"]))]
    same = (table["high"][1:] == table["high"][:-1]) & (table["low"][1:] == table["low"][:-1])
    places: NDArray[np.uint64] = table["place"][1:][same]
    return places.tobytes()
