"""Reports that are counted twice: ids that repeat in files, and summaries of the same reports.

Every report has a random id, so an id that occurs twice is a copy: of a file in a folder, of an
export, of rows. Up to a million reports are all looked at; of more, the first of each row group,
which are those of the smallest ids in files that Rumor wrote: enough for any copied file or row
group. What is kept of the ids in a summary, a few hashes, tells it from a copy of itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator

import numpy as np

from rumor.analysis.counting import repeated_places, split_ids
from rumor.analysis.sources import ParquetSource, RowGroup
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Rows

_ALL = 1 << 20  # up to so many reports, every id is looked at
_FIRST_ROWS = 1 << 12  # of each row group, where there are more reports
_KEPT = 8  # hashes of ids that a summary keeps
_ROW_BITS = np.uint64(32)


def require_distinct(
    source: ParquetSource,
    remedy: str = "--distinct-ids, or distinct_ids=True, counts each id once",
) -> tuple[str, ...]:
    """Refuse a source that has an id twice, and say the `remedy`; return hashes of some ids."""
    parts = source.parts()
    whole = sum(part.rows for part in parts) <= _ALL
    read = [part if whole else _Beginning(part) for part in parts]
    entries = [split_ids((number, part), 1)[0] for number, part in enumerate(read)]
    places = np.frombuffer(repeated_places(entries), dtype="<u8")
    if places.size:
        number = int(places[0] >> _ROW_BITS)
        more = "" if whole else " or more"
        raise InputError(
            f"{parts[number].path}: every report must have an id of its own; got {places.size:,}"
            f"{more} with the id of another report, as in a copied file ({remedy})"
        )
    return _smallest([ids for part in read for _, ids in part.ids()])


@dataclasses.dataclass(frozen=True)
class _Beginning:
    """The first rows of a row group."""

    part: RowGroup

    def ids(self) -> Iterator[tuple[Rows, Reports]]:
        """Yield the numbers and the ids of the rows that are selected among the first."""
        yield next(dataclasses.replace(self.part, size=_FIRST_ROWS).ids())


def _smallest(ids: list[Reports]) -> tuple[str, ...]:
    """Return hashes of the smallest of `ids`, which do not name a report."""
    found = np.concatenate(ids) if ids else np.zeros((0, 16), dtype=np.uint8)
    first = np.ascontiguousarray(found[:, :8]).view("<u8").ravel()
    order = np.argsort(first, kind="stable")[:_KEPT]
    return tuple(sorted(hashlib.sha256(found[row].tobytes()).hexdigest()[:16] for row in order))
