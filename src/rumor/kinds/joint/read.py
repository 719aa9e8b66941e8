"""Reading of joint answers: a column for each part, or the counted cells of a cross-table."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.types import Codes, Tally
from rumor.kinds.interviews import InitPrompt, parse_parts
from rumor.kinds.reading import positions, require_present
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts

ABOUT = "two to four answers, to see how they go together"
ASKS = (
    InitPrompt(
        "parts", "The parts, such as smokes: yes, no; drinks: much, some, none", parse_parts
    ),
)


COUNT = "count"


@dataclass(frozen=True)
class _Part:
    """One part, with the reader of its column."""

    parts: Parts
    part: int

    @property
    def labels(self) -> Sequence[str] | None:
        return None if self.parts.labels is None else self.parts.labels[self.part]

    def encode(self, values: object) -> Codes:
        return self.parts.column(self.part, values)


def read_people(
    mechanism: Mixed, table: AnswerTable, keep: Sequence[str] = (), numbers: Sequence[str] = ()
) -> Iterator[tuple[Codes, pa.RecordBatch]]:
    """Yield people's cells, batch by batch, with the columns `keep` and the integers `numbers`."""
    parts, before = mechanism.parts, 0
    own = "integer" if parts.labels is None else "text"
    cells = [own] * parts.count + ["text"] * len(keep) + ["integer"] * len(numbers)
    for batch in table.answered_batches([*parts.keys, *keep, *numbers], cells, parts.count):
        columns = []
        for part, key in enumerate(parts.keys):
            with table.locate_errors(key, before):
                read = functools.partial(positions, _Part(parts, part))
                columns.append(read(require_present(batch.column(part))))
        yield parts.joined(columns), batch
        before += len(batch)


def read_counts(mechanism: Mixed, table: AnswerTable) -> Tally:
    """Return the number of people in each cell, from a row for each or from counted cells."""
    counts = np.zeros(mechanism.parts.cells, dtype=np.int64)
    counted = [COUNT] if COUNT in table.schema.names else []
    for cells, batch in read_people(mechanism, table, numbers=counted):
        people = [1] * len(batch) if not counted else batch.column(COUNT).to_pylist()
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in people):
            raise InputError(
                f"{table.path}, column {COUNT!r}: counts must be integers of 0 or more; "
                f"got one that is not"
            )
        np.add.at(counts, cells, people)
    if counts.sum() == 0:
        raise InputError(f"{table.path}: a table must hold at least one answer; got none")
    return counts
