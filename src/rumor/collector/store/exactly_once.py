"""Exactly once: which reports of some batches are new, repeated, or in conflict.

The rule, for batches in their order: an id that nobody has used is new; an id used before
for the same question with the same bytes is a duplicate; an id used before for anything
else is a conflict and refuses its whole batch. Where the bytes were deleted since, the id
alone makes a duplicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rumor.collector.store.base import (
    ID_BYTES,
    BatchAccepted,
    IdConflict,
    ReportBatch,
    TokenRefused,
)
from rumor.core.reports import Reports

Known = Mapping[bytes, tuple[int, bytes | None]]
"""Ids in use: for which question, and with which bytes (None when they were deleted)."""

Fresh = dict[int, Reports]
"""Rows to insert, by question."""


def rows_by_question(batches: Sequence[ReportBatch]) -> Fresh:
    """Return all rows of `batches`, by question."""
    parts: dict[int, list[Reports]] = {}
    for batch in batches:
        parts.setdefault(batch.question, []).append(batch.rows)
    # In the order of their numbers: collectors that write the same rows at once wait for each
    # other, and never in a circle.
    return {
        question: rows[0] if len(rows) == 1 else np.concatenate(rows)
        for question, rows in sorted(parts.items())
    }


Settled = BatchAccepted | IdConflict | TokenRefused


def resolve_batches(
    batches: Sequence[ReportBatch], known: Known, admitted: set[bytes]
) -> tuple[list[Settled], Fresh]:
    """Return the outcome of each batch, and the rows that are new.

    A batch that needs admission and brings something new takes its key out of `admitted`.
    """
    used = dict(known)
    outcomes: list[Settled] = []
    fresh: list[ReportBatch] = []
    for batch in batches:
        mine: dict[bytes, tuple[int, bytes | None]] = {}
        new: list[int] = []
        conflicts: list[int] = []
        for index, row in enumerate(map(bytes, batch.rows)):
            id, report = row[:ID_BYTES], row[ID_BYTES:]
            before = used.get(id) or mine.get(id)
            if before is None:
                mine[id] = (batch.question, report)
                new.append(index)
            elif before[0] != batch.question or before[1] not in (None, report):
                conflicts.append(index)
        if conflicts:
            outcomes.append(IdConflict(tuple(conflicts)))
            continue
        if new and batch.admission is not None:
            if batch.admission not in admitted:
                outcomes.append(TokenRefused())
                continue
            admitted.remove(batch.admission)
        used.update(mine)
        outcomes.append(BatchAccepted(len(new), len(batch) - len(new)))
        fresh.append(ReportBatch(batch.question, batch.rows[new]))
    return outcomes, rows_by_question(fresh)
