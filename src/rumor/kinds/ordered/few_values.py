"""Advice on numbers that take few values, which are better asked as ordered labels.

Examples are brackets of incomes, amounts of money that a form offers, and "0, 1, 2, more". With a
range of hundreds of bins, nearly all the information in reports goes into telling apart bins that
nobody is in.
"""

from __future__ import annotations

import pyarrow.compute as pc

from rumor.core.answer_table import AnswerTable
from rumor.core.plain_text import one_line
from rumor.mechanisms.wave.wave import Wave

# The advice needs at most this many values, on a scale with this many positions for each of them,
# and this many people for each on average: a small group always has few values.
_MOST = 40
_POSITIONS = 4
_PEOPLE = 20


def advise_labels(wave: Wave, table: AnswerTable, column: str) -> str | None:
    """Return a sentence of advice where a `column` of numbers takes few of the possible values.

    A row is a person, or the number in "count" of people where the table has a column "value".
    """
    if wave.labels is not None or column not in table.schema.names:
        return None
    held: set[float] = set()
    people = 0
    counted = column == "value" and "count" in table.schema.names
    columns = {column: "number", **({"count": "integer"} if counted else {})}
    for batch in table.batches(list(columns), list(columns.values())):
        answers = batch.column(0).drop_null()
        held.update(pc.unique(answers).to_pylist())
        people += (pc.sum(batch.column(1)).as_py() or 0) if counted else len(answers)
        if len(held) > _MOST:
            return None
    if not held or len(held) * _POSITIONS > wave.domain or len(held) * _PEOPLE > people:
        return None
    return (
        f"column {one_line(column)!r} takes {len(held):,} distinct values on a scale of "
        f"{wave.domain:,} positions: ask for them as labels in their order, which makes intervals "
        f"much shorter."
    )
