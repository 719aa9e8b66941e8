"""Reading of keys with numbers: a column for each key, or a row for each pair.

A *wide* table has a row for each person and a column for each key (called by its label, or by its
number where keys have no labels); an empty cell means that the person does not have the key. A
*long* table has the columns person, key and value; a person without a key has one row with an
empty key. A wide table is read a batch at a time; a long one whole, since a person's rows may lie
anywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError, format_value
from rumor.kinds.interviews import HIGH, LOW, InitPrompt, cap_prompt, parse_list
from rumor.mechanisms.keyvalue import KeyValueMechanism

ABOUT = "things that people have, with a number for each"
ASKS = (
    InitPrompt("keys", "The things, with commas between them", parse_list),
    LOW,
    HIGH,
    cap_prompt("things", optional=True),
)


LONG = ("person", "key", "value")


def is_long(table: AnswerTable) -> bool:
    """Return whether a table has the columns person, key and value."""
    return set(LONG) <= set(table.schema.names)


def read_people(
    mechanism: KeyValueMechanism, table: AnswerTable, keep: Sequence[str] = ()
) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
    """Yield people's pairs as the mechanism takes them, with the columns `keep` of a wide table."""
    if is_long(table):
        if keep:
            raise InputError(
                f"{table.path}: columns can be kept where a row is a person, not in a table of "
                f"pairs; got {format_value(list(keep))}"
            )
        with table.locate_errors():
            people = _long(mechanism, table)
        yield people, None
        return
    for batch in _wide_batches(mechanism, table, keep):
        columns = [_numbers(table, batch.column(i)) for i in range(mechanism.keys)]
        yield np.stack(columns, axis=1), batch


def _numbers(table: AnswerTable, column: pa.Array) -> NDArray[np.float64]:
    """Return the `column` of a key as numbers, NaN for empty cells."""
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass  # Arrow's own error may quote a cell
    raise InputError(f"{table.path}: values must be numbers; got something else")


def _names(mechanism: KeyValueMechanism) -> list[str]:
    return [str(name) for name in mechanism.labels or range(mechanism.keys)]


def _wide_batches(
    mechanism: KeyValueMechanism, table: AnswerTable, keep: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    names = _names(mechanism)
    missing = [name for name in names if name not in table.schema.names]
    if missing:
        raise InputError(
            f"{table.path}: the table must have the columns person, key and value, or a column "
            f"for each key; got none for {format_value(missing[0])}"
        )
    cells = ["number"] * len(names) + ["text"] * len(keep)
    yield from table.batches([*names, *keep], cells)


def _long(mechanism: KeyValueMechanism, table: AnswerTable) -> object:
    key = "integer" if mechanism.labels is None else "text"
    batches = list(table.batches(LONG, ["text", key, "number"]))
    if not batches:
        raise InputError(f"{table.path}: a table must hold at least one person; got none")
    whole = pa.Table.from_batches(batches)
    return mechanism.long_pairs(*(whole.column(name) for name in LONG))
